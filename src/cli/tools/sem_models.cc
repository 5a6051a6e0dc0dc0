#include "cli/tools/sem_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "base/json_problem.h"
#include "methods/all.h"
#include "methods/mle/fit/analysis.h"
#include "methods/mle/fit/extras.h"
#include "methods/mle/fit/released.h"
#include "methods/mle/report/report.h"
#include "methods/mle/report/statements.h"
#include "report/json.h"
#include "report/result_json.h"

namespace partita::cli {
namespace {

using methods::mle::NamedMoments;

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

// Variables as a study would declare them; bounds play no part in a fit of moments.
data::Schema DictionaryOf(const NamedMoments& moments) {
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

// The places of some variables among those of the moments.
std::vector<int> PlacesOf(const NamedMoments& moments, const std::vector<std::string>& wanted) {
  std::vector<int> places;
  for (const std::string& name : wanted) {
    const auto place = std::find(moments.variables.begin(), moments.variables.end(), name);
    places.push_back(static_cast<int>(place - moments.variables.begin()));
  }
  return places;
}

void RequireSound(const std::string& path, const NamedMoments& moments) {
  const std::set<std::string> names(moments.variables.begin(), moments.variables.end());
  const std::set<std::string> labels(moments.labels.begin(), moments.labels.end());
  if (names.size() != moments.variables.size()) RefuseMoments(path, "a variable is there twice");
  if (moments.labels.empty()) RefuseMoments(path, "it has no group");
  if (labels.size() != moments.labels.size()) RefuseMoments(path, "two groups have the same label");
}

// The only one, or that of this name.
template <typename List, typename Name>
const auto& Choose(const std::string& path, const List& list, const std::string& analysis,
                   const Name& name) {
  std::string names;
  for (const auto& one : list) {
    if (name(one) == analysis || (analysis.empty() && list.size() == 1)) return one;
    names += (names.empty() ? "" : ", ") + name(one);
  }
  throw Error(ErrorCode::kBadInput,
              analysis.empty()
                  ? fmt::format("{} has the moments of several analyses", path)
                  : fmt::format("{} has no moments of an analysis '{}'", path, analysis),
              fmt::format("say --analysis with one of {}", names));
}

NamedMoments ReadMomentsOf(const std::string& path, const report::Json& json,
                           const std::string& analysis) {
  if (json.contains("analyses")) {
    const report::StoredResult stored = report::LoadResultJson(path, methods::ReadResult);
    return methods::mle::MomentsOf(Choose(path, methods::mle::AnalysesOf(stored.result.get()),
                                          analysis, methods::mle::AnalysisName));
  }
  if (!json.contains("moments")) return methods::mle::ReadMoments(json);
  std::vector<NamedMoments> list;
  for (const report::Json& one : json.at("moments")) list.push_back(methods::mle::ReadMoments(one));
  return Choose(path, list, analysis, [](const NamedMoments& one) { return one.analysis; });
}

}  // namespace

NamedMoments ReadMomentsFile(const std::string& path, const std::string& analysis) {
  NamedMoments moments;
  try {
    moments = ReadMomentsOf(path, report::Json::parse(ReadModelText(path)), analysis);
  } catch (const report::Json::exception& error) {
    RefuseMoments(path, "these are no moments: " + JsonProblem(error.id, error.what()));
  }
  RequireSound(path, moments);
  return moments;
}

methods::mle::MleResult FitModelFile(const SemModelSpec& spec, const NamedMoments& moments,
                                     Progress& progress) {
  methods::mle::MleOptions options;
  options.name = spec.name;
  options.function = spec.function;
  options.model = ReadModelText(spec.file);
  options.group = moments.labels.size() > 1 ? kGroup : "";
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
  const methods::mle::ReleasedMoments own =
      methods::mle::SelectMoments(moments.moments, PlacesOf(moments, analysis.table.observed));
  std::vector<methods::mle::MleResult> results = {
      methods::mle::FitReleased(analysis, own, progress)};
  methods::mle::AddTables({&analysis}, {own.groups}, results, progress);
  return results[0];
}

}  // namespace partita::cli
