#include "methods/mle/fit/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/error.h"
#include "data/scaling.h"
#include "data/suggest.h"
#include "methods/mle/fit/families.h"
#include "methods/mle/fit/outcomes.h"
#include "methods/mle/fit/patterns.h"
#include "methods/mle/fit/released.h"

namespace partita::methods::mle {
namespace {

constexpr const char* kFamilies[] = {"regression", "path", "mediation", "saturated", "pca"};

stats::SemFamily FamilyOf(const std::string& function) {
  if (function == "cfa") return stats::SemFamily::kCfa;
  if (function == "sem") return stats::SemFamily::kSem;
  if (function == "growth") return stats::SemFamily::kGrowth;
  if (function == "lavaan") return stats::SemFamily::kLavaan;
  if (std::find(std::begin(kFamilies), std::end(kFamilies), function) != std::end(kFamilies))
    return stats::SemFamily::kSem;
  const std::string hint = HintForFunction(function);
  throw Error(ErrorCode::kBadInput, fmt::format("unknown model function '{}'", function),
              hint.empty()
                  ? "use cfa, sem, growth, lavaan, regression, path, mediation, saturated or pca"
                  : hint);
}

bool IsSaturatedByName(const std::string& function) {
  return function == "saturated" || function == "pca";
}

// "x1 + x2 + x3" as the rows x1 ~~ x1 + x2 + x3, x2 ~~ x2 + x3, x3 ~~ x3.
std::string SaturatedModel(const std::string& variables) {
  std::vector<std::string> names;
  std::string name;
  for (const char c : variables + "+") {
    if (c != '+') {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) name += c;
      continue;
    }
    if (name.empty() || name.find_first_of("~=*:") != std::string::npos) {
      throw Error(ErrorCode::kBadInput,
                  "a saturated model is a list of variables, and this is not one",
                  "write the variables with + between them: x1 + x2 + x3; or use function = "
                  "\"sem\" for a model");
    }
    names.push_back(std::move(name));
    name.clear();
  }
  std::string model;
  for (size_t i = 0; i < names.size(); ++i) {
    model += names[i] + " ~~ " + names[i];
    for (size_t j = i + 1; j < names.size(); ++j) model += " + " + names[j];
    model += "\n";
  }
  return model;
}

// A family by name is a promise about the model.
void RequireFamily(const stats::ParameterTable& table, const std::string& function) {
  const std::string family = FamilyName(table, function);
  const auto is = [&](const char* ending) { return family.ends_with(ending); };
  if (function == "regression" && !is("regression")) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("function = \"regression\", but the model is of the family '{}'", family),
        "a regression has outcomes with ~ that predict nothing, and no latent variables; "
        "use \"path\" or \"sem\" for others");
  }
  if (function == "path" && !is("path analysis") && !is("mediation analysis")) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("function = \"path\", but the model is of the family '{}'", family),
                "in a path analysis an outcome predicts another one, and nothing is latent; use "
                "\"regression\" or \"sem\" for others");
  }
  if (function == "mediation" && !is("mediation analysis")) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("function = \"mediation\", but the model is of the family '{}'", family),
        "write the paths with labels and the indirect effect as a product: m ~ a*x, "
        "y ~ b*m + c*x, indirect := a*b");
  }
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
  if (known->type == data::ColumnType::kOrdered) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the model uses '{}', an ordered item: maximum likelihood here takes "
                            "numbers, and polychoric correlations are not computed",
                            name),
                "with five levels or more say contrasts = \"scores\" in its [[variable]] entry (1, "
                "2, 3, ...) and robust = true; with fewer use its 0/1 columns as predictors: " +
                    (of_factor.empty() ? std::string("see the dictionary") : of_factor));
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
  analysis.table = stats::BuildParameterTable(
      IsSaturatedByName(options.function) ? SaturatedModel(options.model) : options.model, model);
  RequireFamily(analysis.table, options.function);
  for (const std::string& name : analysis.table.observed) {
    analysis.variables.push_back(ModelVariable(dictionary, columns, name));
  }
  analysis.warnings = OutcomeWarnings(options.function, analysis.table, analysis.variables);
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
  if (!analysis.patterns.empty()) return FitPatterns(analysis, moments, fraction_bits, progress);
  return FitReleased(analysis, {SampleMomentsOf(analysis, moments, fraction_bits), {}}, progress);
}

}  // namespace partita::methods::mle
