#include "methods/mixed/document.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace partita::methods::mixed {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::string PercentText(double confidence) { return fmt::format("{:g} %", 100 * confidence); }

std::string GroupsText(const Spec& spec) {
  return spec.by_site() ? "holders" : fmt::format("values of {} at each holder", spec.group);
}

study::DocumentTable CoefficientTable(const Spec& spec, const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"term", "estimate", "std. error",
                   "z",    "p-value",  PercentText(spec.confidence) + " from",
                   "to"};
  for (const Coefficient& row : regression.coefficients) {
    table.rows.push_back({row.term, row.estimate, row.standard_error, row.inference.statistic,
                          row.inference.p_value, row.inference.lower, row.inference.upper});
  }
  return table;
}

study::DocumentTable VarianceTable(const Spec& spec, const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"variance", "value", PercentText(spec.confidence) + " from", "to", "std. dev."};
  const auto add = [&](const std::string& name, const Part& part) {
    table.rows.push_back({name, part.value, part.lower.value_or(kNone), part.upper.value_or(kNone),
                          std::sqrt(part.value)});
  };
  add(fmt::format("between groups ({})", spec.group_name()), regression.between);
  add("within (residual)", regression.within);
  const Part& icc = regression.correlation;
  table.rows.push_back({"correlation within groups", icc.value, icc.lower.value_or(kNone),
                        icc.upper.value_or(kNone), kNone});
  return table;
}

study::DocumentTable FitTable(const Spec& spec, const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"fit", "value"};
  const auto add = [&](const char* name, double value) { table.rows.push_back({name, value}); };
  add("rows", static_cast<double>(regression.rows));
  add("groups", static_cast<double>(regression.groups));
  if (!regression.converged) return table;
  add(spec.reml() ? "REML criterion" : "deviance", -2 * regression.log_likelihood);
  add("log-likelihood", regression.log_likelihood);
  add("AIC", regression.aic);
  add("BIC", regression.bic);
  return table;
}

study::DocumentIntervals IntervalPlot(const Regression& regression) {
  study::DocumentIntervals plot{"Intervals of coefficients", "coefficient", false, {}};
  for (const Coefficient& row : regression.coefficients) {
    if (row.term == "(Intercept)") continue;
    plot.rows.push_back({row.term, row.inference.lower, row.estimate, row.inference.upper});
  }
  return plot;
}

Json PartJson(const Part& part) {
  Json json = {{"value", part.value}, {"lower", nullptr}, {"upper", nullptr}};
  if (part.lower) json["lower"] = *part.lower;
  if (part.upper) json["upper"] = *part.upper;
  return json;
}

std::string NoFitText(const Task& task) {
  const double scale = task.spec.scale;
  return fmt::format(
      "There is no fit, for one of these reasons: the variance between groups is more than {} "
      "times that within, or nothing is left within; the columns explain the outcome completely, "
      "or leave a standard deviation below {:.2g}, or a standard error below {:.2g} of a "
      "coefficient of a column of size 1, which is too little beside the outcome's bounds (narrow "
      "them to what there is, and declare the numbers of rows); some columns are all but "
      "determined by others.",
      1 << kMostLambdaLog2, scale * std::sqrt(task.LeastResidual()), scale * kLeastStandardError);
}

std::string JsonOf(const Spec& spec, const Regression& regression) {
  Json json = {{"formula", spec.formula},
               {"criterion", spec.reml() ? kReml : kMl},
               {"group", spec.group_name()},
               {"level", kSealed},
               {"confidence", spec.confidence},
               {"converged", regression.converged},
               {"singular", nullptr},
               {"rows", regression.rows},
               {"groups", regression.groups},
               {"coefficients", Json::array()},
               {"between", nullptr},
               {"within", nullptr},
               {"intraclass_correlation", nullptr},
               {"minus_2_log_likelihood", nullptr},
               {"log_likelihood", nullptr},
               {"aic", nullptr},
               {"bic", nullptr},
               {"warnings", regression.warnings}};
  if (!regression.converged) return json.dump();
  json["singular"] = regression.singular;
  for (const Coefficient& row : regression.coefficients) {
    json["coefficients"].push_back({{"term", row.term},
                                    {"estimate", row.estimate},
                                    {"standard_error", row.standard_error},
                                    {"step", row.step},
                                    {"statistic", row.inference.statistic},
                                    {"p_value", row.inference.p_value},
                                    {"lower", row.inference.lower},
                                    {"upper", row.inference.upper}});
  }
  json["between"] = PartJson(regression.between);
  json["within"] = PartJson(regression.within);
  json["intraclass_correlation"] = PartJson(regression.correlation);
  json["minus_2_log_likelihood"] = -2 * regression.log_likelihood;
  json["log_likelihood"] = regression.log_likelihood;
  json["aic"] = regression.aic;
  json["bic"] = regression.bic;
  return json.dump();
}

}  // namespace

study::Document MixedDocument(const std::string& title, const Task& task,
                              const Regression& regression) {
  const Spec& spec = task.spec;
  study::Document document;
  document.title = title;
  document.json = JsonOf(spec, regression);
  const std::string model = fmt::format("Linear mixed model by {}: {}; groups are the {}.",
                                        spec.reml() ? kReml : kMl, spec.formula, GroupsText(spec));
  if (!regression.converged) {
    document.ending = study::Ending::kNotConverged;
    document.sections = {
        {"No fit",
         {model, NoFitText(task), "Nothing but the numbers of rows and groups opened."},
         {FitTable(spec, regression)}}};
    return document;
  }
  study::DocumentSection estimates{"Coefficients", {model}};
  estimates.paragraphs.push_back(
      fmt::format("Estimates and standard errors are rounded to a grid of at most 2^-{} of the "
                  "standard error; statistics and intervals (Wald) are computed from them.",
                  task.grid_bits));
  for (const std::string& warning : regression.warnings) estimates.paragraphs.push_back(warning);
  estimates.tables = {CoefficientTable(spec, regression)};
  estimates.intervals = {IntervalPlot(regression)};
  if (estimates.intervals.front().rows.empty()) estimates.intervals.clear();
  study::DocumentSection variances{"Variances",
                                   {"Intervals are Wald's of the logarithms of variances, and of "
                                    "the logit of the correlation."}};
  variances.tables = {VarianceTable(spec, regression)};
  document.sections = {
      std::move(estimates), std::move(variances), {"Fit", {}, {FitTable(spec, regression)}}};
  return document;
}

}  // namespace partita::methods::mixed
