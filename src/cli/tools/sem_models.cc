#include "cli/tools/sem_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/extras.h"

namespace partita::cli {
namespace {

constexpr const char* kGroup = ".group";  // no name of a variable

std::string ReadModelText(const std::string& path) {
  return ReadFile(path, uint64_t{64} << 20, "the model");
}

[[noreturn]] void RefuseMoments(const std::string& path, const std::string& what) {
  throw Error(
      ErrorCode::kBadInput, path + ": " + what,
      R"(write {"variables": ["x", "y"], "groups": [{"label": "", "n": 100, "mean": [0, 0], )"
      R"("covariance": [[1, 0.5], [0.5, 1]]}]}, covariances with divisor n)");
}

stats::GroupMoments ReadGroup(const nlohmann::json& json, size_t p) {
  const auto size = static_cast<Eigen::Index>(p);
  const auto mean = json.at("mean").get<std::vector<double>>();
  const auto rows = json.at("covariance").get<std::vector<std::vector<double>>>();
  stats::GroupMoments moments{json.at("n"), Eigen::VectorXd(size), Eigen::MatrixXd(size, size)};
  if (mean.size() != p || rows.size() != p)
    throw nlohmann::json::other_error::create(
        501, "there is not one mean and row for each variable", nullptr);
  for (Eigen::Index i = 0; i < size; ++i) {
    const std::vector<double>& row = rows[static_cast<size_t>(i)];
    if (row.size() != p)
      throw nlohmann::json::other_error::create(501, "the covariances are not a square", nullptr);
    moments.mean[i] = mean[static_cast<size_t>(i)];
    for (Eigen::Index j = 0; j < size; ++j) moments.covariance(i, j) = row[static_cast<size_t>(j)];
  }
  return moments;
}

// The moments of some variables, in their order.
stats::GroupMoments Select(const stats::GroupMoments& all, const std::vector<std::string>& names,
                           const std::vector<std::string>& wanted) {
  std::vector<Eigen::Index> index;
  index.reserve(wanted.size());
  for (const std::string& name : wanted)
    index.push_back(std::find(names.begin(), names.end(), name) - names.begin());
  return {all.n, all.mean(index), all.covariance(index, index)};
}

// Variables as a study would declare them; bounds play no part in a fit of moments.
data::Schema DictionaryOf(const MomentsFile& moments) {
  data::Schema schema;
  for (const std::string& name : moments.variables) {
    data::ColumnSchema column;
    column.name = name;
    column.type = data::ColumnType::kNumeric;
    column.lower = -1;
    column.upper = 1;
    schema.columns.push_back(std::move(column));
  }
  data::ColumnSchema group;
  group.name = kGroup;
  group.type = data::ColumnType::kFactor;
  group.levels = moments.labels;
  schema.columns.push_back(std::move(group));
  return schema;
}

}  // namespace

MomentsFile ReadMomentsFile(const std::string& path) {
  MomentsFile file;
  try {
    const nlohmann::json json = nlohmann::json::parse(ReadModelText(path));
    file.variables = json.at("variables").get<std::vector<std::string>>();
    for (const nlohmann::json& group : json.at("groups")) {
      file.labels.push_back(group.value("label", ""));
      file.groups.push_back(ReadGroup(group, file.variables.size()));
    }
  } catch (const nlohmann::json::exception& error) {
    RefuseMoments(path, std::string("these are no moments: ") + error.what());
  }
  const std::set<std::string> names(file.variables.begin(), file.variables.end());
  const std::set<std::string> labels(file.labels.begin(), file.labels.end());
  if (names.size() != file.variables.size()) RefuseMoments(path, "a variable is there twice");
  if (file.groups.empty()) RefuseMoments(path, "it has no group");
  if (labels.size() != file.labels.size()) RefuseMoments(path, "two groups have the same label");
  return file;
}

methods::mle::MleResult FitModelFile(const SemModelSpec& spec, const MomentsFile& moments,
                                     Progress& progress) {
  methods::mle::MleOptions options;
  options.name = spec.name;
  options.function = spec.function;
  options.model = ReadModelText(spec.file);
  options.group = moments.groups.size() > 1 ? kGroup : "";
  options.group_equal = spec.group_equal;
  options.std_lv = spec.std_lv;
  if (spec.function == "regression") options.meanstructure = true;  // its intercept
  options.modification_indices = spec.modification_indices;
  options.bootstrap = spec.bootstrap;
  const data::Schema dictionary = DictionaryOf(moments);
  std::vector<data::DesignColumn> columns;
  for (const data::ColumnSchema& column : dictionary.columns) {
    if (column.name != kGroup) columns.push_back({column, column.name, "", ""});
  }
  const methods::mle::MleAnalysis analysis =
      methods::mle::PrepareAnalysis(options, dictionary, columns);
  std::vector<stats::GroupMoments> groups;
  std::vector<methods::mle::MleResult> results = {methods::mle::ResultWithoutFit(analysis)};
  for (const stats::GroupMoments& group : moments.groups) {
    groups.push_back(Select(group, moments.variables, analysis.table.observed));
    results[0].group_n.push_back(group.n);
  }
  results[0].fit = stats::FitSem(analysis.table, groups, {}, progress);
  methods::mle::AddTables({&analysis}, {groups}, results, progress);
  return results[0];
}

}  // namespace partita::cli
