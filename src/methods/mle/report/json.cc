#include "methods/mle/report/json.h"

#include <nlohmann/json.hpp>

#include "methods/mle/report/estimate_rows.h"
#include "methods/mle/report/moments_json.h"
#include "methods/mle/report/statements.h"
#include "report/document_json.h"
#include "report/facts_json.h"
#include "report/json.h"

namespace partita::methods::mle {
namespace {

using report::Json;

const char* StatusOf(bool converged) { return converged ? "converged" : "not-converged"; }

Json ModelJson(const MleResult& result) {
  const stats::ParameterTable& table = result.table;
  Json groups = Json::array();
  for (size_t i = 0; i < result.group_n.size(); ++i) {
    groups.push_back({{"label", i < result.group_labels.size() ? result.group_labels[i] : ""},
                      {"n", result.group_n[i]}});
  }
  const bool expected = result.information == stats::Information::kExpected;
  return {{"function", result.function},
          {"estimator", "ML"},
          {"information", expected ? "expected" : "observed"},
          {"observed", table.observed},
          {"latent", table.latent},
          {"groups", groups},
          {"meanstructure", table.meanstructure},
          {"fixed_x", table.fixed_x},
          {"free_parameters", table.num_free}};
}

Json ConvergenceJson(const stats::SemFit& fit) {
  return {{"converged", fit.converged},
          {"optimizer", fit.optimizer},
          {"iterations", fit.iterations},
          {"max_scaled_gradient", fit.max_scaled_gradient}};
}

Json ParameterJson(const stats::Parameter& row, const stats::ParameterEstimate& estimate) {
  Json json = {{"lhs", row.lhs},     {"op", row.op},        {"rhs", row.rhs},
               {"group", row.group}, {"label", row.label},  {"free", row.free},
               {"user", row.user},   {"exo", row.exogenous}};
  // The values of a fixed covariate are sample moments.
  const auto number = [&](double value) { return row.exogenous ? Json() : Json(value); };
  json["est"] = number(estimate.estimate);
  json["se"] = number(estimate.standard_error);
  json["z"] = number(estimate.z);
  json["pvalue"] = number(estimate.p_value);
  json["ci.lower"] = number(estimate.ci_lower);
  json["ci.upper"] = number(estimate.ci_upper);
  json["std.lv"] = number(estimate.std_lv);
  json["std.all"] = number(estimate.std_all);
  return json;
}

Json ParametersJson(const MleResult& result) {
  CheckEstimates(result);
  Json parameters = Json::array();
  for (size_t i = 0; i < result.table.rows.size(); ++i) {
    parameters.push_back(ParameterJson(result.table.rows[i], result.fit.estimates[i]));
  }
  return parameters;
}

// lavaan's coefficient names: the label, or else "f=~x2", with ".g2" in later groups.
std::vector<std::string> FreeNames(const stats::ParameterTable& table) {
  std::vector<std::string> names(static_cast<size_t>(table.num_free));
  for (const stats::Parameter& row : table.rows) {
    if (row.free < 1 || row.free > table.num_free) continue;
    std::string name = row.label;
    if (name.empty()) {
      name = row.lhs + row.op + row.rhs;
      if (row.group > 1) name += ".g" + std::to_string(row.group);
    }
    names[static_cast<size_t>(row.free) - 1] = name;
  }
  return names;
}

Json MatrixJson(const Eigen::MatrixXd& matrix) {
  Json values = Json::array();
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    Json row = Json::array();
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) row.push_back(matrix(i, j));
    values.push_back(std::move(row));
  }
  return values;
}

Json VcovJson(const MleResult& result) {
  return {{"names", FreeNames(result.table)}, {"values", MatrixJson(result.fit.vcov)}};
}

// Standard errors, tests and intervals of the robust kind; estimates are the same.
Json RobustJson(const MleResult& result) {
  if (!result.robust) return {};
  const stats::RobustFit& robust = *result.robust;
  Json parameters = Json::array();
  for (size_t i = 0; i < robust.estimates.size(); ++i)
    parameters.push_back(ParameterJson(result.table.rows[i], robust.estimates[i]));
  return {{"parameters", parameters},
          {"fit", robust.fit_measures},
          {"scaling_factor", robust.scaling_factor},
          {"vcov", MatrixJson(robust.vcov)},
          {"warnings", robust.warnings}};
}

Json LikelihoodJson(const MleResult& result) {
  if (!result.likelihood) return {};
  const stats::OracleUsage& usage = result.likelihood->usage;
  return {{"values", usage.values},
          {"gradients", usage.gradients},
          {"opened_numbers", usage.opened_numbers},
          {"rank", usage.rank},
          {"num_statistics", usage.num_statistics},
          {"leakage_level", result.likelihood->leakage_level}};
}

Json TablesJson(const std::vector<CellTable>& tables) {
  Json json = Json::array();
  for (const CellTable& table : tables) json.push_back(report::CellTableJson(table));
  return json;
}

Json LeastSquaresJson(const MleResult& result) {
  Json regressions = Json::array();
  for (const LeastSquares& regression : result.least_squares) {
    Json terms = Json::array();
    for (const LeastSquaresTerm& term : regression.terms) {
      terms.push_back({{"name", term.name},
                       {"parameter", term.row},
                       {"est", term.estimate},
                       {"se", term.standard_error},
                       {"t", term.t},
                       {"pvalue", term.p_value},
                       {"ci.lower", term.ci_lower},
                       {"ci.upper", term.ci_upper}});
    }
    regressions.push_back({{"outcome", regression.outcome},
                           {"group", regression.group + 1},
                           {"n", regression.n},
                           {"df", regression.df},
                           {"sigma", regression.sigma},
                           {"r2", regression.r2},
                           {"adjusted_r2", regression.adjusted_r2},
                           {"f", regression.f},
                           {"f_df", regression.f_df},
                           {"f_pvalue", regression.f_p_value},
                           {"terms", std::move(terms)}});
  }
  return regressions;
}

Json AnalysisJson(const MleResult& result) {
  return {{"name", result.name},
          {"status", StatusOf(result.fit.converged)},
          {"model", ModelJson(result)},
          {"convergence", ConvergenceJson(result.fit)},
          {"warnings", result.fit.warnings},
          {"parameters", ParametersJson(result)},
          {"fit", result.fit.fit_measures},
          {"vcov", VcovJson(result)},
          {"robust", RobustJson(result)},
          {"likelihood", LikelihoodJson(result)},
          {"fit_measures_available", result.fit_measures_available},
          {"notes", result.notes},
          {"family", result.family},
          {"tables", TablesJson(result.tables)},
          {"moments", result.moments ? MomentsJson(MomentsOf(result)) : Json()},
          {"least_squares", LeastSquaresJson(result)}};
}

std::string Dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string ResultJson(std::span<const MleResult> results, const study::Plan& plan,
                       const report::RunFacts& facts) {
  if (results.empty()) throw Error(ErrorCode::kInternal, "a result without an analysis");
  bool converged = true;
  Json analyses = Json::array();
  for (const MleResult& result : results) {
    analyses.push_back(AnalysisJson(result));
    converged = converged && result.fit.converged;
  }
  Json json = report::HeadJson(StatusOf(converged), plan, facts);
  json["analyses"] = std::move(analyses);
  json["statements"] = Json::array();
  for (const report::Statement& statement : Statements(results, plan, facts)) {
    json["statements"].push_back({{"about", statement.about}, {"text", statement.text}});
  }
  json["methods"] = MethodsParagraph(results, plan, facts);
  report::AppendFacts(plan, facts, json);
  return Dump(json);
}

std::string AnalysisResultJson(const MleResult& result) { return Dump(AnalysisJson(result)); }

}  // namespace partita::methods::mle
