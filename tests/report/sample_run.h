// Inputs of the report tests: lavaan's reference fits as results, and a plan with the facts of its
// run.
#pragma once

#include <Eigen/Dense>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "methods/mle/fit/result.h"
#include "report/run_facts.h"
#include "study/plan/plan.h"
#include "tests/paths.h"

namespace partita::report {

inline std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("missing " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline double NumberOrNan(const nlohmann::json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

// lavaan's fit as this project would hand it to the report.
inline methods::mle::MleResult ReferenceResult(const std::string& name) {
  const auto json =
      nlohmann::json::parse(ReadText(FixturePath("references/sem/" + name + ".json")));
  methods::mle::MleResult result;
  result.function = json.at("lavaan_function");
  result.fit.converged = true;
  result.fit.optimizer = "NLopt SLSQP";
  result.fit.iterations = json.at("optimizer_iterations");
  for (const auto& n : json.at("n")) {
    result.group_n.push_back(n);
    result.group_labels.push_back(json.at("moments").at(result.group_labels.size()).at("group"));
  }
  const bool fixed_x = json.at("lavaan_options").value("fixed.x", false);
  for (const auto& item : json.at("parameters")) {
    if (item.at("op") == "==") continue;  // equal labels say it already
    stats::Parameter row;
    row.lhs = item.at("lhs");
    row.op = item.at("op");
    row.rhs = item.at("rhs");
    row.group = row.op == ":=" ? 0 : item.at("group").get<int>();
    row.label = item.at("label");
    if (item.at("free")) row.free = ++result.table.num_free;
    result.table.rows.push_back(row);
    result.fit.estimates.push_back(
        {NumberOrNan(item.at("est")), NumberOrNan(item.at("se")), NumberOrNan(item.at("z")),
         NumberOrNan(item.at("pvalue")), NumberOrNan(item.at("ci_lower")),
         NumberOrNan(item.at("ci_upper")), NumberOrNan(item.at("std_lv")),
         NumberOrNan(item.at("std_all"))});
  }
  // With fixed covariates, their variances, covariances and means are not parameters.
  for (auto& row : result.table.rows) {
    bool is_covariate = fixed_x && row.free == 0 && (row.op == "~~" || row.op == "~1");
    bool is_predictor = false;
    for (const auto& other : result.table.rows) {
      if (other.op == "~" && other.rhs == row.lhs) is_predictor = true;
      if (other.op == "=~" && other.lhs == row.lhs) is_covariate = false;
    }
    row.exogenous = is_covariate && is_predictor;
  }
  for (const auto& [measure, value] : json.at("fit").items()) {
    result.fit.fit_measures[measure] = NumberOrNan(value);
  }
  const auto size = static_cast<Eigen::Index>(json.at("vcov").size());
  result.fit.vcov.resize(size, size);
  for (Eigen::Index i = 0; i < size; ++i) {
    for (Eigen::Index j = 0; j < size; ++j) {
      result.fit.vcov(i, j) = json["vcov"][static_cast<size_t>(i)][static_cast<size_t>(j)];
    }
  }
  return result;
}

// Two groups, labels, a defined parameter, a constraint, a fixed covariate: small and invented.
inline methods::mle::MleResult SmallResult() {
  methods::mle::MleResult result;
  result.function = "sem";
  result.information = stats::Information::kObserved;
  result.group_labels = {"Pasteur", "Grant-White"};
  result.group_n = {156, 145};
  result.table.observed = {"y", "x"};
  result.table.groups = result.group_labels;
  result.table.fixed_x = true;
  result.table.num_free = 4;
  const auto add = [&](const char* lhs, const char* op, const char* rhs, int group,
                       const char* label, int free, double estimate) {
    stats::Parameter row;
    row.lhs = lhs;
    row.op = op;
    row.rhs = rhs;
    row.group = group;
    row.label = label;
    row.free = free;
    row.exogenous = row.lhs == "x";
    result.table.rows.push_back(row);
    result.fit.estimates.push_back(
        {estimate, 0.1, estimate / 0.1, 0.0004, estimate - 0.196, estimate + 0.196, 0.5, 0.25});
  };
  add("y", "~", "x", 1, "b", 1, 1.0 / 3);
  add("y", "~~", "y", 1, "", 2, 2.5);
  add("x", "~~", "x", 1, "", 0, 7.75);
  add("y", "~", "x", 2, "b", 3, 1.0 / 3);
  add("y", "~~", "y", 2, "", 4, 3.5);
  add("x", "~~", "x", 2, "", 0, 8.875);
  add("twice", ":=", "2*b", 0, "twice", 0, 2.0 / 3);
  add("b", "==", "1/3", 0, "", 0, 0);
  result.fit.converged = true;
  result.fit.optimizer = "NLopt SLSQP";
  result.fit.iterations = 12;
  result.fit.max_scaled_gradient = 3e-10;
  result.fit.fit_measures = {
      {"npar", 3}, {"chisq", 1.25}, {"df", 1}, {"pvalue", 0.2636}, {"rmsea.pvalue", std::nan("")}};
  result.fit.vcov = Eigen::MatrixXd::Identity(4, 4) * 0.01;
  return result;
}

inline study::Plan SamplePlan() {
  study::Plan plan;
  plan.study = "three-factor";
  plan.title = "Three ability factors";
  plan.study_file_hash = std::string(64, 'a');
  plan.method = "mle";
  plan.method_version = 1;
  plan.protocol = "pooled-moments";
  plan.engine = "dealer";
  plan.partition = "vertical";
  plan.parties = {{"north", {"holder", "receiver"}, "x1 of 156 rows", {"n", "the moments"}},
                  {"south", {"holder"}, "x2 of 156 rows", {}},
                  {"helper", {"dealer"}, "", {}}};
  plan.phases = {{"set-up", 1, {{"helper", "south", 1, 1048}}},
                 {"moments", 2, {{"north", "south", 1, 2500}, {"south", "north", 2, 1234567}}}};
  plan.correlations = {{"matrix triple 1 x 156 x 1", 1}};
  plan.releases = {{"moments", "n, sums and cross products of x1, x2", "north", "exact", 1}};
  plan.leakage_level = "sufficient-statistics";
  plan.assumptions = {"The dealer sees no data and colludes with nobody."};
  plan.notes = {"A note."};
  return plan;
}

// With everything that a plan can say.
inline study::Plan FullPlan() {
  study::Plan plan = SamplePlan();
  plan.analyses = {
      {"main", "pooled-moments", "sem of x1, x2, 3 free parameters", "over all rows", 3}};
  plan.checks = {{"main", "rows", "at least min_rows = 20 rows", 20, false},
                 {"main", "rows", "at least five rows for each of the 3 parameters", 15, true}};
  plan.exposures = {{"moments",
                     "north",
                     6,
                     6,
                     "sufficient-statistics",
                     {"n and the exact means of x1, x2", "all 3 of their covariances"},
                     study::PlanBits{84, 190, 156, "1024", "2^-6", true, "at most half"}}};
  plan.privacy = {{"north, the receiver", "", "no bound: the releases are exact"},
                  {"south", "replace", "eps <= 1 at delta = 1e-06"}};
  plan.utility = {{"main", "x1~x2", 0.1, 1.5, 0.28, 0.42}};
  plan.predictions = {{"this machine", 0.25, 1300000}};
  return plan;
}

inline RunFacts SampleFacts() {
  RunFacts facts;
  facts.party = "north";
  facts.agreement_hash = std::string(64, 'a');
  facts.study_hash = std::string(64, 'b');
  facts.plan_hash = std::string(64, 'c');
  facts.run_id = std::string(64, 'd');
  facts.software_version = "0.1.0";
  facts.started_at = "2024-05-01T12:00:00Z";
  facts.seconds_total = 1.5;
  facts.phases = {{"set-up", 1, 1, 1, 700, 1048, 0.25}, {"moments", 2, 1, 2, 2500, 1234567, 0.5}};
  facts.releases = {{"moments", "n, sums and cross products of x1, x2", "north", "exact", 1, 1}};
  return facts;
}

// The same run with everything that a report can show.
inline RunFacts FullFacts() {
  RunFacts facts = SampleFacts();
  facts.phases[0].wire_bytes_sent = 900;
  facts.phases[0].wire_bytes_received = 1300;
  facts.phases[1].wire_bytes_sent = 2700;
  facts.phases[1].wire_bytes_received = 1240000;
  facts.approvals = {
      {"north", "approved", "study", std::string(64, 'e'), "2024-04-20T08:00:00Z",
       "2024-06-30T00:00:00Z", 5, 20},
      {"south", "approved", "envelope", std::string(64, 'f'), "2024-04-21T08:00:00Z", "", 10, 0}};
  facts.min_cell = 10;
  facts.rows = {{"all", 347, 301, {{"missing x1", 6}, {"not in the subset age >= 18", 40}}}};
  facts.variables = {{"x1", "numeric", "points", "north", -10.0, 10.0, 301, 4.9357695, 1.167432},
                     {"x2", "integer", "", "south", 0.0, 20.0, 0, {}, {}}};
  facts.disclosure = {{"all rows", "at least 20 rows", true},
                      {"smoker = yes", "at least 10 rows", false}};
  facts.leakage_level = "likelihood-oracle";
  facts.leakage = {"12 of 54 sufficient statistics were determined by the opened numbers."};
  facts.prediction = {{1.2, 3, 1237067}, {1.5, 3, 1237067}};
  facts.digits_of_agreement = 9;
  facts.corrected = {"south"};
  facts.privacy = {"Exact releases: 1 before this study."};
  facts.history = {{"main", {{0, -4000.5, 0.5}, {1, -3737.75, 1e-9}}}};
  facts.libraries = {"OpenSSL 3.0.17", "Eigen 3.4.0"};
  return facts;
}

// Two factors with three indicators each, a regression, a covariate, a residual covariance and a
// defined parameter; every number is different. `shift` is added to every estimate.
inline methods::mle::MleResult FactorResult(const std::string& name,
                                            std::vector<std::string> groups = {""},
                                            double shift = 0) {
  methods::mle::MleResult result;
  result.name = name;
  result.function = "sem";
  result.group_labels = groups;
  result.table.groups = groups;
  result.table.observed = {"x1", "x2", "x3", "y1", "y2", "y3", "age"};
  result.table.latent = {"verbal", "speed"};
  result.table.fixed_x = true;
  int group = 0;
  const auto add = [&](const char* lhs, const char* op, const char* rhs, bool free,
                       const char* label) {
    const double index = static_cast<double>(result.table.rows.size());
    stats::Parameter row;
    row.lhs = lhs;
    row.op = op;
    row.rhs = rhs;
    row.group = group;
    row.label = label;
    row.user = true;
    row.exogenous = row.lhs == "age" && row.op == "~~";
    if (free) row.free = ++result.table.num_free;
    result.table.rows.push_back(row);
    const double value = free || row.op == ":=" ? 0.3 + 0.0617 * index + shift : 1;
    const double error = 0.05 + 0.011 * index;
    result.fit.estimates.push_back({value, error, value / error, 0.0123, value - 1.96 * error,
                                    value + 1.96 * error, 0.5, 0.25});
  };
  for (size_t i = 0; i < groups.size(); ++i) {
    group = static_cast<int>(i) + 1;
    result.group_n.push_back(156 - 11.0 * static_cast<double>(i));
    for (const char* item : {"x1", "x2", "x3"}) add("verbal", "=~", item, item[1] != '1', "");
    for (const char* item : {"y1", "y2", "y3"}) add("speed", "=~", item, item[1] != '1', "");
    add("speed", "~", "verbal", true, "b");
    add("speed", "~", "age", true, "");
    add("x2", "~~", "y2", true, "");
    for (const char* item : {"x1", "x2", "x3", "y1", "y2", "y3", "verbal", "speed"}) {
      add(item, "~~", item, true, "");
    }
    add("age", "~~", "age", false, "");
  }
  group = 0;
  add("twice", ":=", "2*b", false, "twice");
  result.fit.converged = true;
  result.fit.optimizer = "Fisher scoring";
  result.fit.iterations = 7;
  result.fit.max_scaled_gradient = 2e-11;
  result.fit.fit_measures = {{"npar", result.table.num_free},
                             {"ntotal", 301},
                             {"chisq", 41.25},
                             {"df", 19},
                             {"pvalue", 0.0022},
                             {"cfi", 0.971},
                             {"tli", 0.958},
                             {"rmsea", 0.0625},
                             {"rmsea.ci.lower", 0.036},
                             {"rmsea.ci.upper", 0.0883},
                             {"rmsea.pvalue", 0.1935},
                             {"srmr", 0.0412},
                             {"aic", 5012.25},
                             {"bic", 5075.5}};
  result.fit.vcov =
      Eigen::MatrixXd::Identity(result.table.num_free, result.table.num_free) * 0.0025;
  return result;
}

// A regression by least squares whose slopes are of very different size, with a fixed covariate's
// moments and its fit by maximum likelihood; numbers are invented.
inline methods::mle::MleResult RegressionResult(const std::string& name) {
  methods::mle::MleResult result;
  result.name = name;
  result.function = "regression";
  result.family = "linear regression";
  result.group_labels = {""};
  result.group_n = {301};
  result.table.groups = {""};
  result.table.observed = {"sbp", "age", "income"};
  result.table.fixed_x = result.table.meanstructure = true;
  methods::mle::LeastSquares regression;
  regression.outcome = "sbp";
  regression.n = 301;
  regression.df = 298;
  regression.sigma = 12.3456;
  regression.r2 = 0.25;
  regression.adjusted_r2 = 0.245;
  regression.f = 49.67;
  regression.f_df = 2;
  regression.f_p_value = 3e-19;
  const auto add = [&](const char* lhs, const char* op, const char* rhs, bool exogenous,
                       double estimate, double error, double std_all) {
    stats::Parameter row;
    row.lhs = lhs;
    row.op = op;
    row.rhs = rhs;
    row.group = 1;
    row.exogenous = exogenous;
    if (!exogenous) row.free = ++result.table.num_free;
    if (row.op != "~~" && !exogenous) {
      regression.terms.push_back({row.op == "~1" ? "(Intercept)" : rhs, result.table.rows.size(),
                                  estimate, 1.005 * error, estimate / (1.005 * error), 0.4,
                                  estimate - 2 * error, estimate + 2 * error});
    }
    result.table.rows.push_back(row);
    result.fit.estimates.push_back({estimate, error, estimate / error, 0.4, estimate - 1.96 * error,
                                    estimate + 1.96 * error, std_all, std_all});
  };
  add("sbp", "~1", "", false, 101.234, 4.321, 7);
  add("sbp", "~", "age", false, 0.6543, 0.0521, 0.48);
  add("sbp", "~", "income", false, -0.000123, 0.00512, -0.01);
  add("sbp", "~~", "sbp", false, 150.9, 12.3, 0.75);
  add("age", "~~", "age", true, 81, 0, 1);
  add("age", "~1", "", true, 52, 0, 5);
  result.fit.converged = true;
  result.fit.optimizer = "Fisher scoring";
  result.fit.iterations = 1;
  result.fit.fit_measures = {{"npar", 4},        {"ntotal", 301}, {"df", 0},
                             {"chisq", 0},       {"cfi", 1},      {"rmsea", 0},
                             {"logl", -1183.25}, {"aic", 2374.5}, {"bic", 2389.25}};
  result.fit.vcov = Eigen::MatrixXd::Identity(4, 4) * 0.0025;
  result.notes = {methods::mle::kResidualsNotChecked};
  result.least_squares = {regression};
  return result;
}

// Robust standard errors 1.25 times as large.
inline stats::RobustFit RobustOf(const methods::mle::MleResult& result) {
  stats::RobustFit robust;
  robust.estimates = result.fit.estimates;
  for (stats::ParameterEstimate& estimate : robust.estimates) {
    estimate.standard_error *= 1.25;
    estimate.z /= 1.25;
    estimate.p_value *= 1.5;
    estimate.ci_lower = estimate.estimate - 1.96 * estimate.standard_error;
    estimate.ci_upper = estimate.estimate + 1.96 * estimate.standard_error;
  }
  robust.vcov = result.fit.vcov * 1.5625;
  robust.scaling_factor = 1.125;
  robust.fit_measures = {{"chisq.scaled", 36.5},    {"df.scaled", 19},
                         {"pvalue.scaled", 0.0092}, {"chisq.scaling.factor", 1.125},
                         {"cfi.robust", 0.9777},    {"rmsea.robust", 0.0555}};
  robust.warnings = {"A warning about robust standard errors."};
  return robust;
}

// A crude and an adjusted analysis, and one by group.
inline std::vector<methods::mle::MleResult> ThreeAnalyses() {
  return {FactorResult("crude"), FactorResult("adjusted", {""}, 0.08),
          FactorResult("by-school", {"Pasteur", "Grant-White"}, -0.03)};
}

}  // namespace partita::report
