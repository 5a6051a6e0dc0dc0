#include "methods/mle/report/moments_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "methods/mle/report/statements.h"
#include "report/json.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using report::Json;

Json VectorJson(const VectorXd& vector) {
  return std::vector<double>(vector.data(), vector.data() + vector.size());
}

VectorXd ReadVector(const Json& json, size_t size) {
  const auto values = json.get<std::vector<double>>();
  if (values.size() != size)
    throw Json::other_error::create(501, "there is not one number for each variable", nullptr);
  return Eigen::Map<const VectorXd>(values.data(), static_cast<Index>(size));
}

Json NoiseJson(const ReleasedNoise& noise) {
  return {{"mechanism", noise.mechanism},
          {"norm", noise.norm},
          {"variance", noise.noise.variance},
          {"noised_count", noise.noise.noised_count},
          {"centre", VectorJson(noise.noise.scale.centre)},
          {"half_width", VectorJson(noise.noise.scale.half_width)}};
}

ReleasedNoise ReadNoise(const Json& json, size_t variables) {
  ReleasedNoise noise;
  noise.mechanism = json.at("mechanism");
  noise.norm = json.at("norm");
  noise.noise.variance = json.at("variance");
  noise.noise.noised_count = json.at("noised_count");
  noise.noise.scale = {ReadVector(json.at("centre"), variables),
                       ReadVector(json.at("half_width"), variables)};
  return noise;
}

stats::GroupMoments ReadGroup(const Json& json, size_t variables) {
  const auto size = static_cast<Index>(variables);
  stats::GroupMoments group{json.at("n"), ReadVector(json.at("mean"), variables),
                            MatrixXd(size, size)};
  const Json& rows = json.at("covariance");
  if (rows.size() != variables)
    throw Json::other_error::create(501, "the covariances are not a square", nullptr);
  for (Index i = 0; i < size; ++i) {
    const Json& row = rows.at(static_cast<size_t>(i));
    if (row.size() != variables)
      throw Json::other_error::create(501, "the covariances are not a square", nullptr);
    group.covariance.row(i) = ReadVector(row, variables);
  }
  return group;
}

}  // namespace

NamedMoments MomentsOf(const MleResult& result) {
  if (result.moments) {
    return {result.name, result.table.observed, result.group_labels, *result.moments};
  }
  throw Error(
      ErrorCode::kBadInput,
      fmt::format("the result of analysis '{}' has no released moments", AnalysisName(result)),
      "the receiver of a study with protocol = \"pooled-moments\" and complete rows has "
      "them; other protocols and other parties do not");
}

Json MomentsJson(const NamedMoments& named) {
  Json groups = Json::array();
  for (size_t g = 0; g < named.moments.groups.size(); ++g) {
    const stats::GroupMoments& group = named.moments.groups[g];
    Json covariance = Json::array();
    for (Index i = 0; i < group.covariance.rows(); ++i)
      covariance.push_back(VectorJson(group.covariance.row(i)));
    groups.push_back({{"label", named.labels.at(g)},
                      {"n", group.n},
                      {"mean", VectorJson(group.mean)},
                      {"covariance", std::move(covariance)}});
  }
  return {{"variables", named.variables},
          {"groups", std::move(groups)},
          {"noise", named.moments.noise ? NoiseJson(*named.moments.noise) : Json()}};
}

NamedMoments ReadMoments(const Json& json) {
  NamedMoments named;
  named.analysis = json.value("analysis", "");
  named.variables = json.at("variables").get<std::vector<std::string>>();
  for (const Json& group : json.at("groups")) {
    named.labels.push_back(group.value("label", ""));
    named.moments.groups.push_back(ReadGroup(group, named.variables.size()));
  }
  const auto noise = json.find("noise");
  if (noise != json.end() && !noise->is_null())
    named.moments.noise = ReadNoise(*noise, named.variables.size());
  return named;
}

std::string MomentsFileText(const std::vector<MleResult>& results) {
  Json list = Json::array();
  for (const MleResult& result : results) {
    if (!result.moments) continue;
    Json entry = {{"analysis", AnalysisName(result)}};
    entry.update(MomentsJson(MomentsOf(result)));
    list.push_back(std::move(entry));
  }
  if (list.empty()) MomentsOf(results.at(0));  // throws
  return Json{{"moments", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

}  // namespace partita::methods::mle
