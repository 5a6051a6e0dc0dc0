#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "report/result_json.h"

namespace partita::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxFileBytes = size_t{64} << 20;

double Number(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

void ReadModel(const Json& model, methods::mle::MleResult& result) {
  result.function = model.at("function");
  result.information = model.at("information") == "expected" ? stats::Information::kExpected
                                                             : stats::Information::kObserved;
  result.table.observed = model.at("observed").get<std::vector<std::string>>();
  result.table.latent = model.at("latent").get<std::vector<std::string>>();
  result.table.meanstructure = model.at("meanstructure");
  result.table.fixed_x = model.at("fixed_x");
  result.table.num_free = model.at("free_parameters");
  for (const Json& group : model.at("groups")) {
    result.group_labels.push_back(group.at("label"));
    result.group_n.push_back(Number(group.at("n")));
  }
  result.table.groups = result.group_labels;
}

stats::Parameter ReadParameter(const Json& json) {
  stats::Parameter row;
  row.lhs = json.at("lhs");
  row.op = json.at("op");
  row.rhs = json.at("rhs");
  row.group = json.at("group");
  row.label = json.at("label");
  row.free = json.at("free");
  row.user = json.at("user");
  row.exogenous = json.at("exo");
  return row;
}

stats::ParameterEstimate ReadEstimate(const Json& json) {
  return {Number(json.at("est")),    Number(json.at("se")),       Number(json.at("z")),
          Number(json.at("pvalue")), Number(json.at("ci.lower")), Number(json.at("ci.upper")),
          Number(json.at("std.lv")), Number(json.at("std.all"))};
}

void ReadFit(const Json& json, methods::mle::MleResult& result) {
  const Json& convergence = json.at("convergence");
  stats::SemFit& fit = result.fit;
  fit.converged = convergence.at("converged");
  fit.optimizer = convergence.at("optimizer");
  fit.iterations = convergence.at("iterations");
  fit.max_scaled_gradient = Number(convergence.at("max_scaled_gradient"));
  fit.warnings = json.at("warnings").get<std::vector<std::string>>();
  for (const Json& parameter : json.at("parameters")) {
    result.table.rows.push_back(ReadParameter(parameter));
    fit.estimates.push_back(ReadEstimate(parameter));
  }
  for (const auto& [name, value] : json.at("fit").items()) fit.fit_measures[name] = Number(value);
}

Eigen::MatrixXd ReadVcov(const Json& values) {
  const auto size = static_cast<Eigen::Index>(values.size());
  Eigen::MatrixXd vcov(size, size);
  for (Eigen::Index i = 0; i < size; ++i) {
    const Json& row = values.at(static_cast<size_t>(i));
    for (Eigen::Index j = 0; j < size; ++j) vcov(i, j) = Number(row.at(static_cast<size_t>(j)));
  }
  return vcov;
}

RunFacts ReadFacts(const Json& json) {
  RunFacts facts;
  facts.party = json.at("party");
  facts.started_at = json.at("started_at");
  facts.software_version = json.at("software").at("version");
  const Json& hashes = json.at("hashes");
  facts.study_file_hash = hashes.at("study_file");
  facts.study_hash = hashes.at("study");
  facts.plan_hash = hashes.at("plan");
  facts.run_id = hashes.at("run_id");
  facts.seconds_total = Number(json.at("seconds_total"));
  for (const Json& phase : json.at("traffic")) {
    facts.phases.push_back({phase.at("phase"), phase.at("rounds"), phase.at("messages_sent"),
                            phase.at("messages_received"), phase.at("bytes_sent"),
                            phase.at("bytes_received"), Number(phase.at("seconds"))});
  }
  for (const Json& release : json.at("releases")) {
    facts.releases.push_back({release.at("id"), release.at("what"), release.at("to"),
                              release.at("mechanism"), release.at("max_count"),
                              release.at("opened")});
  }
  return facts;
}

[[noreturn]] void Refuse(const std::string& file_name, const std::string& why) {
  throw Error(ErrorCode::kBadInput, file_name + ": this is no result of Partita: " + why,
              "give the result.json that the receiver of a study wrote");
}

}  // namespace

StoredResult ParseResultJson(const std::string& text, const std::string& file_name) {
  try {
    const Json json = Json::parse(text);
    if (json.at("schema_version") != kResultSchemaVersion) {
      Refuse(file_name, "its schema_version is not " + std::to_string(kResultSchemaVersion));
    }
    if (json.at("status") == "finished") {
      Refuse(file_name, "it is the record of a party that received no result");
    }
    StoredResult stored;
    ReadModel(json.at("model"), stored.result);
    ReadFit(json, stored.result);
    stored.result.fit.vcov = ReadVcov(json.at("vcov").at("values"));
    stored.plan = study::ParsePlanJson(json.at("plan").dump());
    stored.facts = ReadFacts(json);
    return stored;
  } catch (const Json::exception& error) {
    Refuse(file_name, error.what());
  }
}

StoredResult LoadResultJson(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char buffer[1 << 16];
  while (text.size() <= kMaxFileBytes && (file.read(buffer, sizeof(buffer)), file.gcount() > 0)) {
    text.append(buffer, static_cast<size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad()) {
    throw Error(ErrorCode::kBadInput, "cannot read the result " + path,
                "check the path and that you may read it");
  }
  if (text.size() > kMaxFileBytes) Refuse(path, "it is larger than 64 MiB");
  return ParseResultJson(text, path);
}

}  // namespace partita::report
