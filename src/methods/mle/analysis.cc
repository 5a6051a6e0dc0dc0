#include "methods/mle/analysis.h"

#include <fmt/format.h>

#include "base/error.h"
#include "data/scaling.h"
#include "data/suggest.h"

namespace partita::methods::mle {
namespace {

stats::SemFamily FamilyOf(const std::string& function) {
  if (function == "cfa") return stats::SemFamily::kCfa;
  if (function == "sem") return stats::SemFamily::kSem;
  if (function == "growth") return stats::SemFamily::kGrowth;
  if (function == "lavaan") return stats::SemFamily::kLavaan;
  throw Error(ErrorCode::kBadInput, fmt::format("unknown model function '{}'", function),
              "use cfa, sem, growth or lavaan");
}

std::vector<std::string> NamesOf(const std::vector<data::DesignColumn>& columns) {
  std::vector<std::string> names;
  for (const data::DesignColumn& column : columns) names.push_back(column.schema.name);
  return names;
}

const data::DesignColumn& ModelVariable(const data::Schema& dictionary,
                                        const std::vector<data::DesignColumn>& columns,
                                        const std::string& name) {
  std::string of_factor;
  for (const data::DesignColumn& column : columns) {
    if (column.schema.name == name) return column;
    if (column.factor == name || column.source == name)
      of_factor += (of_factor.empty() ? "" : ", ") + column.schema.name;
  }
  const data::ColumnSchema* known = dictionary.Find(name);
  if (known == nullptr) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("the analysis uses '{}', which is not in the dictionary of the study", name),
        data::SuggestionHint(name, NamesOf(columns)) +
            "; every variable needs a [[variable]] or [[derived]] entry");
  }
  throw Error(ErrorCode::kBadInput,
              fmt::format("the model uses '{}', which is not a number but a {}", name,
                          data::ColumnTypeName(known->type)),
              of_factor.empty() ? "use a variable of type numeric or integer"
                                : "write its columns instead: " + of_factor);
}

std::vector<std::string> GroupLevels(const data::Schema& dictionary, const std::string& group) {
  if (group.empty()) return {};
  const data::ColumnSchema* column = dictionary.Find(group);
  if (column == nullptr) {
    std::vector<std::string> known;
    for (const data::ColumnSchema& other : dictionary.columns) known.push_back(other.name);
    throw Error(ErrorCode::kBadInput,
                fmt::format("the grouping variable '{}' is not in the dictionary", group),
                data::SuggestionHint(group, known));
  }
  if (column->levels.size() < 2) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("the grouping variable '{}' is not a factor with two levels or more", group),
        "declare it with type = \"factor\" and levels = [...] in the dictionary");
  }
  return column->levels;
}

}  // namespace

MleAnalysis PrepareAnalysis(const MleOptions& options, const data::Schema& dictionary,
                            const std::vector<data::DesignColumn>& columns) {
  MleAnalysis analysis;
  analysis.options = options;
  analysis.group_levels = GroupLevels(dictionary, options.group);
  stats::SemModelOptions model;
  model.family = FamilyOf(options.function);
  model.std_lv = options.std_lv;
  model.meanstructure = options.meanstructure;
  model.fixed_x = options.fixed_x;
  model.groups = analysis.group_levels;
  model.group_equal = options.group_equal;
  analysis.table = stats::BuildParameterTable(options.model, model);
  for (const std::string& name : analysis.table.observed) {
    analysis.variables.push_back(ModelVariable(dictionary, columns, name));
  }
  return analysis;
}

std::vector<stats::GroupMoments> SampleMomentsOf(const MleAnalysis& analysis,
                                                 const std::vector<IntegerMoments>& moments,
                                                 int fraction_bits) {
  std::vector<data::ColumnScale> scales;
  for (const data::DesignColumn& variable : analysis.variables)
    scales.push_back(data::ScaleOf(variable.schema));
  const auto p = static_cast<Eigen::Index>(scales.size());
  std::vector<stats::GroupMoments> groups;
  for (const IntegerMoments& integers : moments) {
    if (integers.n <= 0) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("group '{}' has no rows", analysis.table.groups.at(groups.size())),
                  "remove the level from the dictionary, or check with the holders of the data");
    }
    const data::SampleMoments sample = data::ToOriginalUnits(
        {static_cast<uint64_t>(integers.n), fraction_bits, integers.sum, integers.cross}, scales);
    groups.push_back({static_cast<double>(sample.num_rows),
                      Eigen::Map<const Eigen::VectorXd>(sample.mean.data(), p),
                      Eigen::Map<const Eigen::MatrixXd>(sample.covariance.data(), p, p)});
  }
  return groups;
}

MleResult ResultWithoutFit(const MleAnalysis& analysis) {
  MleResult result;
  result.name = analysis.options.name;
  result.table = analysis.table;
  result.information = analysis.options.information;
  result.function = analysis.options.function;
  result.group_labels = analysis.table.groups;
  result.notes = {kNormalityNotChecked};
  return result;
}

MleResult FitMoments(const MleAnalysis& analysis, const std::vector<IntegerMoments>& moments,
                     int fraction_bits, Progress& progress) {
  MleResult result = ResultWithoutFit(analysis);
  const std::vector<stats::GroupMoments> groups = SampleMomentsOf(analysis, moments, fraction_bits);
  for (const stats::GroupMoments& group : groups) result.group_n.push_back(group.n);
  stats::SemFitOptions options;
  options.information = analysis.options.information;
  result.fit = stats::FitSem(analysis.table, groups, options, progress);
  return result;
}

}  // namespace partita::methods::mle
