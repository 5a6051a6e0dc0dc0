#include "methods/mixture/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json_problem.h"
#include "data/byte_source.h"
#include "data/encoding_json.h"

namespace partita::methods::mixture {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFormat = "partita mixture 1";
constexpr size_t kMostParts = 10000;  // columns, levels, components
constexpr size_t kMostBytes = 64 << 20;
constexpr double kLargest = 1e6;

[[noreturn]] void RefuseModel(const std::string& what) {
  throw Error(ErrorCode::kBadInput, fmt::format("the model file is not one: {}", what),
              "use a file that Partita wrote");
}

ModelColumn ParseColumn(const Json& json, size_t num_parties) {
  ModelColumn column = {data::ParseEncodingJson(json), json.at("party").get<size_t>()};
  if (column.party >= num_parties) RefuseModel("a column belongs to a party that is not there");
  return column;
}

Json MatrixJson(const Eigen::ArrayXXd& matrix) {
  Json lines = Json::array();
  for (Eigen::Index k = 0; k < matrix.rows(); ++k) {
    const Eigen::ArrayXd line = matrix.row(k);
    lines.push_back(std::vector<double>(line.begin(), line.end()));
  }
  return lines;
}

Eigen::ArrayXXd ParseMatrix(const Json& json, size_t columns) {
  if (!json.is_array() || json.empty() || json.size() > kMostParts)
    RefuseModel("a matrix has no line, or too many");
  Eigen::ArrayXXd matrix(static_cast<Eigen::Index>(json.size()),
                         static_cast<Eigen::Index>(columns));
  for (size_t k = 0; k < json.size(); ++k) {
    const auto line = json[k].get<std::vector<double>>();
    if (line.size() != columns)
      RefuseModel("a line of a matrix does not have one number per parameter");
    for (size_t j = 0; j < columns; ++j) {
      if (!(std::abs(line[j]) <= kLargest)) RefuseModel("a parameter is out of range");
      matrix(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(j)) = line[j];
    }
  }
  return matrix;
}

FittedModel Parse(const Json& json) {
  const auto format = json.at("format").get<std::string>();
  if (format.starts_with("partita marginals ")) {
    throw Error(ErrorCode::kBadInput, "this is a file of method marginals, not a model of mixture",
                "partita synthetic draw draws from it; to compare its rows with real ones, set "
                "rows aside in the study: [analysis.utility], docs/marginals.md");
  }
  if (format != kFormat) RefuseModel("it has another format");
  FittedModel model;
  model.parties = json.at("parties").get<std::vector<std::string>>();
  model.steps = json.at("steps").get<uint64_t>();
  model.planned_steps = json.value("planned_steps", model.steps);  // none in older files
  const Json& columns = json.at("columns");
  if (!columns.is_array() || columns.size() > kMostParts) RefuseModel("it has too many columns");
  for (const Json& column : columns)
    model.columns.push_back(ParseColumn(column, model.parties.size()));
  const size_t parameters = 1 + ModelLayout(model.columns).num_columns;
  model.mean = ParseMatrix(json.at("mean"), parameters);
  model.log_scale = ParseMatrix(json.at("log_scale"), parameters);
  if (model.mean.rows() != model.log_scale.rows())
    RefuseModel("its matrices have different shapes");
  if (model.log_scale.maxCoeff() > 10) RefuseModel("a scale is out of range");
  if (!json.at("privacy").is_null()) model.privacy = json.at("privacy").dump();
  return model;
}

}  // namespace

stats::mixture::VariationalState FittedModel::state() const {
  const Eigen::ArrayXXd zero = Eigen::ArrayXXd::Zero(mean.rows(), mean.cols());
  return {steps, mean, log_scale, {zero, zero}, {zero, zero}};
}

FittedModel ModelOfParty(const FittedModel& model, size_t party) {
  FittedModel own = model;
  std::erase_if(own.columns, [&](const ModelColumn& column) { return column.party != party; });
  if (own.columns.empty()) {
    throw Error(ErrorCode::kUsage, "the party holds no column of the model",
                "name a party that holds one");
  }
  const stats::mixture::Layout layout = ModelLayout(model.columns);
  const auto with_weights = [&](const Eigen::ArrayXXd& all) {
    const Eigen::ArrayXXd rho = stats::mixture::PartyParameters(layout, party, all);
    Eigen::ArrayXXd taken(all.rows(), 1 + rho.cols());
    taken << all.col(0), rho;
    return taken;
  };
  own.mean = with_weights(model.mean);
  own.log_scale = with_weights(model.log_scale);
  return own;
}

std::string ModelJson(const FittedModel& model) {
  Json columns = Json::array();
  for (const ModelColumn& column : model.columns) {
    columns.push_back(data::EncodingJson(column.encoding));
    columns.back()["party"] = column.party;
  }
  const Json json = {{"format", kFormat},
                     {"parties", model.parties},
                     {"steps", model.steps},
                     {"planned_steps", std::max(model.planned_steps, model.steps)},
                     {"columns", columns},
                     {"mean", MatrixJson(model.mean)},
                     {"log_scale", MatrixJson(model.log_scale)},
                     {"privacy", model.privacy.empty() ? Json() : Json::parse(model.privacy)}};
  return json.dump() + "\n";
}

FittedModel ParseModelJson(const std::string& json) {
  try {
    return Parse(Json::parse(json));
  } catch (const nlohmann::json::exception& error) {
    RefuseModel(JsonProblem(error.id, error.what()));
  }
}

FittedModel ReadModelFile(const std::filesystem::path& file) {
  const data::ByteSource source = data::OpenFile(file);
  std::string text(kMostBytes + 1, '\0');
  text.resize(source({reinterpret_cast<uint8_t*>(text.data()), text.size()}));
  if (text.size() > kMostBytes) RefuseModel(fmt::format("{} is too large", file.string()));
  return ParseModelJson(text);
}

}  // namespace partita::methods::mixture
