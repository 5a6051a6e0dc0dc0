#include "methods/mixed/document.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "data/factor_coding.h"
#include "report/covariance_json.h"

namespace partita::methods::mixed {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kIntercept[] = "(Intercept)", kDeviation[] = "std. dev. between groups";
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

study::DocumentTable RatioTable(const Spec& spec, const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"term", std::string(stats::glm::RatioName(spec.law)),
                   PercentText(spec.confidence) + " from", "to"};
  for (const Coefficient& row : regression.coefficients) {
    if (row.term == kIntercept) continue;
    table.rows.push_back({row.term, std::exp(row.estimate), std::exp(row.inference.lower),
                          std::exp(row.inference.upper)});
  }
  return table;
}

// Of the numbers of a point, in their order.
std::string PathName(const Spec& spec, size_t number) {
  const size_t p = spec.columns.size();
  if (number < p) return spec.columns[number].name;
  if (!spec.slope) return kDeviation;
  const std::string& slope = spec.columns[*spec.slope].name;
  const std::vector<std::string> names = {"std. dev. of intercepts", "std. dev. of " + slope,
                                          "correlation of intercepts and " + slope,
                                          "std. dev. within groups"};
  return names[number - p];
}

study::DocumentTable PathTable(const Spec& spec, const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"term"};
  for (size_t t = 0; t < regression.path.front().size(); ++t)
    table.columns.push_back(fmt::format("point {}", t));
  for (size_t i = 0; i < regression.path.size(); ++i) {
    std::vector<study::DocumentCell> cells = {PathName(spec, i)};
    for (const double value : regression.path[i]) cells.emplace_back(value);
    table.rows.push_back(std::move(cells));
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
  const auto add_correlation = [&](const std::string& name, const Part& part) {
    table.rows.push_back(
        {name, part.value, part.lower.value_or(kNone), part.upper.value_or(kNone), "-"});
  };
  if (spec.slope) {
    const std::string& slope = spec.columns[*spec.slope].name;
    add(fmt::format("intercepts of groups ({})", spec.group_name()), regression.between);
    add(fmt::format("slopes of groups ({})", slope), regression.slope);
    add("within (residual)", regression.within);
    add_correlation(fmt::format("correlation of intercepts and {}", slope),
                    regression.slope_correlation);
    return table;
  }
  add(fmt::format("between groups ({})", spec.group_name()), regression.between);
  if (!spec.linear()) return table;
  add("within (residual)", regression.within);
  add_correlation("correlation within groups", regression.correlation);
  return table;
}

study::DocumentTable FitTable(const Spec& spec, const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"fit", "value"};
  const auto add = [&](const char* name, double value) { table.rows.push_back({name, value}); };
  add("rows", static_cast<double>(regression.rows));
  add("groups", static_cast<double>(regression.groups));
  if (!regression.converged) return table;
  add(spec.linear() && spec.reml() ? "REML criterion" : "deviance", -2 * regression.log_likelihood);
  add("log-likelihood", regression.log_likelihood);
  add("AIC", regression.aic);
  add("BIC", regression.bic);
  return table;
}

study::DocumentIntervals IntervalPlot(const Regression& regression) {
  study::DocumentIntervals plot{"Intervals of coefficients", "coefficient", false, {}};
  for (const Coefficient& row : regression.coefficients) {
    if (row.term == kIntercept) continue;
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

std::string NotConvergedText(const Task& task) {
  if (task.spec.slope) {
    const std::string& slope = task.spec.columns[*task.spec.slope].name;
    return fmt::format(
        "The fit did not converge in {} steps: groups do not differ in their intercepts or slopes "
        "beyond what rows alone make of it, intercepts and slopes determine each other (what lme4 "
        "calls a singular fit; take (1 | {}), or subtract a middle value from {} by transform = "
        "\"scale\" in [[derived]]), the standard deviation within groups is below a thousandth of "
        "the outcome's bounds, or more steps are needed (steps = {}).",
        task.spec.steps, task.spec.group, slope, task.spec.steps + 4);
  }
  return fmt::format(
      "The fit did not converge in {} steps: a column or a combination of columns separates the "
      "outcomes, the variance between groups is hardly determined, or more steps are needed (steps "
      "= {}).",
      task.spec.steps, task.spec.steps + 4);
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

std::string CriterionName(const Spec& spec) {
  return !spec.linear() ? kLaplace : spec.reml() ? kReml : kMl;
}

std::string HeadingOf(const Spec& spec) {
  if (spec.linear()) {
    return fmt::format("Linear mixed model by {}: {}; groups are the {}.", CriterionName(spec),
                       spec.formula, GroupsText(spec));
  }
  return fmt::format(
      "Mixed model of family {} with the link {} by Laplace's approximation: {}; groups are the "
      "{}.",
      stats::glm::FamilyName(spec.law), stats::glm::LinkName(spec.law.link), spec.formula,
      GroupsText(spec));
}

std::string RoundingText(const Task& task) {
  if (!task.spec.covariance) {
    return fmt::format(
        "Estimates and standard errors are rounded to a grid of at most 2^-{} of the standard "
        "error; statistics and intervals (Wald) are computed from them.",
        task.grid_bits);
  }
  return fmt::format(
      "Estimates are rounded to grids of at most 2^-{} of the standard error, covariances of "
      "coefficients to steps of the products of two such grids; standard errors, statistics and "
      "intervals (Wald) are computed from the rounded numbers. The covariance matrix is in the "
      "result's JSON (vcov).",
      task.grid_bits);
}

study::DocumentSection PathSection(const Spec& spec, const Regression& regression) {
  return {"Points on the way",
          {"Rounded coefficients that opened to all computing parties. They are no estimates."},
          {PathTable(spec, regression)}};
}

std::string JsonOf(const Spec& spec, const data::Schema& factors, const Regression& regression) {
  Json json = {{"formula", spec.formula},
               {"family", std::string(stats::glm::FamilyName(spec.law))},
               {"criterion", CriterionName(spec)},
               {"group", spec.group_name()},
               {"level", spec.level()},
               {"steps", spec.by_path() ? Json(spec.steps) : Json(nullptr)},
               {"confidence", spec.confidence},
               {"converged", regression.converged},
               {"singular", nullptr},
               {"rows", regression.rows},
               {"groups", regression.groups},
               {"factors", data::FactorCodingsJson(spec, factors)},
               {"coefficients", Json::array()},
               {"vcov", nullptr},
               {"between", nullptr},
               {"within", nullptr},
               {"intraclass_correlation", nullptr},
               {"minus_2_log_likelihood", nullptr},
               {"log_likelihood", nullptr},
               {"aic", nullptr},
               {"bic", nullptr},
               {"path", Json::array()},
               {"warnings", regression.warnings}};
  if (spec.slope) {
    json["slope"] = {
        {"term", spec.columns[*spec.slope].name}, {"variance", nullptr}, {"correlation", nullptr}};
  }
  for (size_t i = 0; i < regression.path.size(); ++i) {
    json["path"].push_back({{"term", PathName(spec, i)}, {"at", regression.path[i]}});
  }
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
  std::vector<std::string> terms;
  for (const Coefficient& row : regression.coefficients) terms.push_back(row.term);
  json["vcov"] = report::CovarianceJson(terms, regression.covariance, regression.covariance_steps);
  json["between"] = PartJson(regression.between);
  if (spec.linear()) {
    json["within"] = PartJson(regression.within);
  }
  if (spec.slope) {
    json["slope"]["variance"] = PartJson(regression.slope);
    json["slope"]["correlation"] = PartJson(regression.slope_correlation);
  } else if (spec.linear()) {
    json["intraclass_correlation"] = PartJson(regression.correlation);
  }
  json["minus_2_log_likelihood"] = -2 * regression.log_likelihood;
  json["log_likelihood"] = regression.log_likelihood;
  json["aic"] = regression.aic;
  json["bic"] = regression.bic;
  return json.dump();
}

}  // namespace

study::Document MixedDocument(const std::string& title, const Task& task,
                              const data::Schema& factors, const Regression& regression) {
  const Spec& spec = task.spec;
  study::Document document;
  document.title = title;
  document.json = JsonOf(spec, factors, regression);
  const std::string model = HeadingOf(spec);
  if (!regression.converged) {
    document.ending = study::Ending::kNotConverged;
    document.sections = {
        {"No fit",
         {model, spec.by_path() ? NotConvergedText(task) : NoFitText(task),
          !spec.by_path()
              ? "Nothing but the numbers of rows and groups opened."
              : "Beside the points on the way, which are no estimates, only the numbers "
                "of rows and groups opened."},
         {FitTable(spec, regression)}}};
    if (spec.by_path()) document.sections.push_back(PathSection(spec, regression));
    return document;
  }
  study::DocumentSection estimates{"Coefficients", {model}};
  if (std::string coding = data::CodingText(spec, factors, spec.outcome_levels ? spec.outcome : "");
      !coding.empty())
    estimates.paragraphs.push_back(std::move(coding));
  estimates.paragraphs.push_back(RoundingText(task));
  for (const std::string& warning : regression.warnings) estimates.paragraphs.push_back(warning);
  estimates.tables = {CoefficientTable(spec, regression)};
  estimates.intervals = {IntervalPlot(regression)};
  if (estimates.intervals.front().rows.empty()) estimates.intervals.clear();
  study::DocumentSection variances{
      "Variances",
      {fmt::format("Intervals are Wald's of the logarithms of "
                   "variances, and of {} of the correlation.",
                   spec.slope ? "the inverse hyperbolic tangent" : "the logit")}};
  variances.tables = {VarianceTable(spec, regression)};
  if (!spec.linear()) {
    estimates.tables.push_back(RatioTable(spec, regression));
    if (estimates.tables.back().rows.empty()) estimates.tables.pop_back();
    variances.paragraphs = {"The interval is Wald's of the logarithm of the variance."};
  }
  document.sections = {
      std::move(estimates), std::move(variances), {"Fit", {}, {FitTable(spec, regression)}}};
  if (spec.by_path()) document.sections.push_back(PathSection(spec, regression));
  return document;
}

}  // namespace partita::methods::mixed
