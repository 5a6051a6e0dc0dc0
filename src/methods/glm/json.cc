#include "methods/glm/json.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/factor_coding.h"
#include "methods/glm/read_errors.h"
#include "report/covariance_json.h"

namespace partita::methods::glm {
namespace {

using Json = nlohmann::ordered_json;

Json EstimateJson(const Spec& spec, const Coefficient& row) {
  Json json = {{"term", row.term},
               {"estimate", row.estimate},
               {"standard_error", nullptr},
               {"step", row.step}};
  for (const char* none : {"statistic", "p_value", "lower", "upper", "ratio"}) json[none] = nullptr;
  if (ShowsRatio(spec, row))
    json["ratio"] = {{"estimate", std::exp(row.estimate)}, {"lower", nullptr}, {"upper", nullptr}};
  return json;
}

Json CoefficientJson(const Spec& spec, const Coefficient& row) {
  if (!spec.lasso.empty()) return EstimateJson(spec, row);
  Json json = {{"term", row.term},
               {"estimate", row.estimate},
               {"standard_error", row.standard_error},
               {"step", row.step},
               {"statistic", row.inference.statistic},
               {"p_value", row.inference.p_value},
               {"lower", row.inference.lower},
               {"upper", row.inference.upper}};
  json["ratio"] = nullptr;
  if (ShowsRatio(spec, row)) {
    json["ratio"] = {{"estimate", std::exp(row.estimate)},
                     {"lower", std::exp(row.inference.lower)},
                     {"upper", std::exp(row.inference.upper)}};
  }
  return json;
}

Json VcovJson(const Regression& regression) {
  std::vector<std::string> names;
  for (const Coefficient& row : regression.coefficients) names.push_back(row.term);
  return report::CovarianceJson(names, regression.covariance, regression.covariance_steps);
}

}  // namespace

std::string RegressionJson(const Task& task, const data::Schema& factors,
                           const Regression& regression) {
  const Spec& spec = task.spec;
  const auto number = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json json = {{"formula", spec.formula},
               {"family", FamilyName(spec.law)},
               {"link", LinkName(spec.law.link)},
               {"errors", ErrorsName(spec.errors)},
               {"level", spec.level()},
               {"weights", nullptr},
               {"sites", spec.sites > 0 ? Json(spec.sites) : Json(nullptr)},
               {"ridge", spec.ridge > 0 ? Json(spec.ridge) : Json(nullptr)},
               {"firth", spec.firth},
               {"lasso", nullptr},
               {"converged", regression.converged},
               {"steps", spec.steps},
               {"confidence", spec.confidence},
               {"rows", regression.rows}};
  if (!spec.lasso.empty()) {
    json["lasso"] = {{"penalty", nullptr}, {"penalties", Json::array()}};
    if (regression.converged)
      json["lasso"]["penalty"] = regression.lasso[regression.chosen].penalty;
    for (const LassoCandidate& candidate : regression.lasso) {
      json["lasso"]["penalties"].push_back({{"penalty", candidate.penalty},
                                            {"converged", candidate.converged},
                                            {"selected", candidate.selected},
                                            {"bic", candidate.bic}});
    }
  }
  if (!spec.weights.empty()) json["weights"] = WeightsName(spec.weights_kind);
  // Of hidden rows they are told with the estimates only.
  const bool events = spec.law.binary && (regression.converged || !task.hidden_rows);
  json["events"] = events ? Json(regression.events) : Json(nullptr);
  json["clusters"] = spec.clustered() ? Json(regression.clusters) : Json(nullptr);
  json["df"] = number(regression.df);
  json["theta"] = nullptr;
  if (regression.theta) {
    json["theta"] = {{"estimate", regression.theta->estimate},
                     {"standard_error", regression.theta->standard_error}};
  }
  json["factors"] = data::FactorCodingsJson(spec, factors);
  json["coefficients"] = Json::array();
  for (const Coefficient& row : regression.coefficients)
    json["coefficients"].push_back(CoefficientJson(spec, row));
  json["vcov"] = VcovJson(regression);
  json["tests"] = Json::array();
  for (const TermTest& test : regression.tests) {
    json["tests"].push_back({{"term", test.term},
                             {"columns", test.columns},
                             {"statistic", number(test.statistic)},
                             {"p_value", number(test.p_value)}});
  }
  json["nested"] = nullptr;
  if (!spec.dropped.empty()) {
    Json nested = {{"dropped", spec.dropped}, {"converged", regression.smaller_converged}};
    const std::optional<NestedTest>& test = regression.nested;
    nested["statistic"] = test ? Json(test->statistic) : Json(nullptr);
    nested["df"] = test ? Json(test->df) : Json(nullptr);
    nested["df_residual"] = test ? number(test->df_residual) : Json(nullptr);
    nested["p_value"] = test ? Json(test->p_value) : Json(nullptr);
    nested["coefficients"] = Json::array();
    for (const Coefficient& row : regression.smaller)
      nested["coefficients"].push_back(CoefficientJson(spec, row));
    json["nested"] = std::move(nested);
  }
  json["risk"] = nullptr;
  if (regression.risk) {
    const Risk& risk = *regression.risk;
    json["risk"] = {{"area", risk.area},
                    {"area_error", risk.error},
                    {"shown", risk.shown},
                    {"groups", Json::array()}};
    for (const RiskGroup& group : risk.groups) {
      json["risk"]["groups"].push_back({{"from", group.from},
                                        {"to", group.to},
                                        {"rows", group.rows},
                                        {"events", group.events},
                                        {"expected", group.expected}});
    }
  }
  json["fit"] = nullptr;
  if (regression.fit) {
    const ModelFit& fit = *regression.fit;
    json["fit"] = {{"deviance", fit.deviance},
                   {"df_residual", regression.df_residual},
                   {"null_deviance", number(fit.null_deviance)},
                   {"df_null", regression.df_null},
                   {"log_likelihood", number(fit.log_likelihood)},
                   {"aic", number(fit.aic)},
                   {"dispersion", fit.dispersion}};
  }
  json["path"] = Json::array();
  for (const PathRow& row : regression.path)
    json["path"].push_back({{"term", row.term}, {"at", row.at}});
  json["warnings"] = regression.warnings;
  return json.dump();
}

}  // namespace partita::methods::glm
