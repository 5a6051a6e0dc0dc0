#include "methods/mle/fit/outcomes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace partita::methods::mle {
namespace {

constexpr char kTwoValues[] =
    "for odds ratios write method = \"mcmc\" with model = \"logistic\", for a private classifier "
    "method = \"classify\"";

struct OtherModel {
  const char* function;
  const char* model;  // of method mcmc
};
constexpr OtherModel kOtherModels[] = {
    {"poisson", "poisson"}, {"negative-binomial", "negative-binomial"},
    {"cox", "cox"},         {"coxph", "cox"},
    {"survival", "cox"},    {"weibull", "weibull"},
    {"survreg", "weibull"}};

bool HasTwoValues(const data::DesignColumn& column) {
  const bool integer = column.schema.type == data::ColumnType::kInteger;
  return !column.level.empty() || (integer && column.schema.lower == 0 && column.schema.upper == 1);
}

}  // namespace

std::string HintForFunction(const std::string& function) {
  if (function == "lm" || function == "linear") return "write function = \"regression\"";
  if (function == "logistic" || function == "logit" || function == "binomial") return kTwoValues;
  if (function == "glm")
    return std::string(
               "for counts write method = \"mcmc\" with model = \"poisson\" or "
               "\"negative-binomial\"; ") +
           kTwoValues;
  const auto* const found =
      std::find_if(std::begin(kOtherModels), std::end(kOtherModels),
                   [&](const OtherModel& other) { return function == other.function; });
  if (found == std::end(kOtherModels)) return "";
  return fmt::format("write method = \"mcmc\" with model = \"{}\"", found->model);
}

std::vector<std::string> OutcomeWarnings(const std::string& function,
                                         const stats::ParameterTable& table,
                                         const std::vector<data::DesignColumn>& variables) {
  std::vector<std::string> warnings;
  if (function != "regression") return warnings;
  for (const data::DesignColumn& variable : variables) {
    const std::string& name = variable.schema.name;
    const bool outcome = std::any_of(table.rows.begin(), table.rows.end(), [&](const auto& row) {
      return row.op == "~" && row.lhs == name;
    });
    if (!outcome || !HasTwoValues(variable)) continue;
    warnings.push_back(fmt::format(
        "the outcome '{}' is {}, and a linear regression is fitted to it: its coefficients are "
        "differences of probabilities, fitted probabilities may lie outside 0 and 1, and the "
        "standard errors hold only with robust = true; {}.",
        name,
        variable.level.empty() ? "0 or 1"
                               : fmt::format("a level of the factor '{}'", variable.factor),
        kTwoValues));
  }
  return warnings;
}

}  // namespace partita::methods::mle
