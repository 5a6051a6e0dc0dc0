#include "methods/glm/document.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "data/csv_writer.h"
#include "methods/glm/read_errors.h"

namespace partita::methods::glm {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNotAvailable = std::numeric_limits<double>::quiet_NaN();

// An interval is shown as a ratio as well.
bool ShowsRatio(const Spec& spec, const Coefficient& coefficient) {
  return HasRatios(spec.law) && coefficient.term != "(Intercept)";
}

std::string ErrorsText(const Spec& spec) {
  std::string text;
  if (!spec.weights.empty())
    text = fmt::format("; {} {}", WeightsName(spec.weights_kind), spec.weights);
  if (spec.sites > 0) text += "; an intercept for each holder";
  if (spec.ridge > 0) text += fmt::format("; ridge {:g} for each row", spec.ridge);
  switch (spec.errors) {
    case Errors::kModel:
      break;
    case Errors::kRobust:
      return text + "; robust standard errors";
    case Errors::kRobustAdjusted:
      return text + "; robust standard errors (HC1)";
    case Errors::kCluster:
      return text + fmt::format("; standard errors of the clusters of {}", spec.cluster);
  }
  return text;
}

std::string PercentText(double confidence) { return fmt::format("{:g} %", 100 * confidence); }

study::DocumentTable CoefficientTable(const Spec& spec, const Regression& regression) {
  study::DocumentTable table;
  const char* statistic = regression.df ? "t" : "z";
  table.columns = {"term",    "estimate", "std. error",
                   statistic, "p-value",  PercentText(spec.confidence) + " from",
                   "to"};
  for (const Coefficient& row : regression.coefficients) {
    table.rows.push_back({row.term, row.estimate, row.standard_error, row.inference.statistic,
                          row.inference.p_value, row.inference.lower, row.inference.upper});
  }
  return table;
}

study::DocumentTable RatioTable(const Spec& spec, const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"term", std::string(RatioName(spec.law)), PercentText(spec.confidence) + " from",
                   "to"};
  for (const Coefficient& row : regression.coefficients) {
    if (!ShowsRatio(spec, row)) continue;
    table.rows.push_back({row.term, std::exp(row.estimate), std::exp(row.inference.lower),
                          std::exp(row.inference.upper)});
  }
  return table;
}

study::DocumentTable TestTable(const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"term", "columns", regression.df ? "F" : "chi-square", "p-value"};
  for (const TermTest& test : regression.tests) {
    table.rows.push_back({test.term, static_cast<double>(test.columns),
                          test.statistic.value_or(kNotAvailable),
                          test.p_value.value_or(kNotAvailable)});
  }
  return table;
}

study::DocumentSection TestSection(const Regression& regression) {
  study::DocumentSection section;
  section.heading = "Tests of terms";
  std::string law =
      regression.df
          ? fmt::format("F with as many degrees of freedom as columns and {:g}", *regression.df)
          : std::string("chi-square with as many degrees of freedom as columns");
  section.paragraphs.push_back(
      fmt::format("Wald tests that all coefficients of a term of several columns are 0: {}.", law));
  section.tables.push_back(TestTable(regression));
  return section;
}

study::DocumentTable FitTable(const Spec& spec, const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"fit", "value"};
  const auto add = [&](const char* name, double value) { table.rows.push_back({name, value}); };
  add("rows", static_cast<double>(regression.rows));
  if (spec.law.binary) add("events", static_cast<double>(regression.events));
  if (spec.clustered()) add("clusters", static_cast<double>(regression.clusters));
  if (regression.fit) {
    const ModelFit& fit = *regression.fit;
    add("null deviance", fit.null_deviance.value_or(kNotAvailable));
    add("null degrees of freedom", regression.df_null);
    add("deviance", fit.deviance);
    add("degrees of freedom", regression.df_residual);
    if (fit.log_likelihood) add("log-likelihood", *fit.log_likelihood);
    if (fit.aic) add("AIC", *fit.aic);
    if (HasDispersion(spec.law)) add("dispersion", fit.dispersion);
  }
  add("steps", spec.steps);
  return table;
}

study::DocumentTable PathTable(const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"term"};
  for (size_t t = 0; t < regression.path.front().at.size(); ++t)
    table.columns.push_back(t == 0 ? "first point" : fmt::format("after step {}", t));
  for (const PathRow& row : regression.path) {
    std::vector<study::DocumentCell> cells = {row.term};
    for (const double value : row.at) cells.emplace_back(value);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

study::DocumentIntervals RatioPlot(const Spec& spec, const Regression& regression) {
  const std::string ratio(RatioName(spec.law));
  study::DocumentIntervals plot{fmt::format("Intervals of {}s", ratio), ratio, true, {}};
  for (const Coefficient& row : regression.coefficients) {
    if (!ShowsRatio(spec, row)) continue;
    plot.rows.push_back({row.term, std::exp(row.inference.lower), std::exp(row.estimate),
                         std::exp(row.inference.upper)});
  }
  return plot;
}

std::string CoefficientsCsv(const Spec& spec, const Regression& regression) {
  std::string csv =
      "term,estimate,std.error,statistic,p.value,conf.low,conf.high,ratio,ratio.low,ratio.high\n";
  for (const Coefficient& row : regression.coefficients) {
    csv += data::QuotedField(row.term, ',');
    for (const double value : {row.estimate, row.standard_error, row.inference.statistic,
                               row.inference.p_value, row.inference.lower, row.inference.upper})
      csv += fmt::format(",{}", value);
    if (ShowsRatio(spec, row)) {
      csv += fmt::format(",{},{},{}", std::exp(row.estimate), std::exp(row.inference.lower),
                         std::exp(row.inference.upper));
    } else {
      csv += ",,,";
    }
    csv += "\n";
  }
  return csv;
}

std::string TermsCsv(const Regression& regression) {
  std::string csv = "term,df,df.residual,statistic,p.value\n";
  const auto cell = [](const std::optional<double>& value) {
    return value ? fmt::format(",{}", *value) : std::string(",");
  };
  for (const TermTest& test : regression.tests) {
    csv += fmt::format("{},{}{}{}{}\n", data::QuotedField(test.term, ','), test.columns,
                       cell(regression.df), cell(test.statistic), cell(test.p_value));
  }
  return csv;
}

Json CoefficientJson(const Spec& spec, const Coefficient& row) {
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

std::string RegressionJson(const Task& task, const Regression& regression) {
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
               {"converged", regression.converged},
               {"steps", spec.steps},
               {"confidence", spec.confidence},
               {"rows", regression.rows}};
  if (!spec.weights.empty()) json["weights"] = WeightsName(spec.weights_kind);
  json["events"] = spec.law.binary ? Json(regression.events) : Json(nullptr);
  json["clusters"] = spec.clustered() ? Json(regression.clusters) : Json(nullptr);
  json["df"] = number(regression.df);
  json["coefficients"] = Json::array();
  for (const Coefficient& row : regression.coefficients)
    json["coefficients"].push_back(CoefficientJson(spec, row));
  json["tests"] = Json::array();
  for (const TermTest& test : regression.tests) {
    json["tests"].push_back({{"term", test.term},
                             {"columns", test.columns},
                             {"statistic", number(test.statistic)},
                             {"p_value", number(test.p_value)}});
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

study::DocumentSection NotConverged(const Spec& spec, const Regression& regression) {
  study::DocumentSection section;
  section.heading = "Not converged";
  if (spec.law.family == stats::glm::Family::kGaussian && regression.moving.empty()) {
    section.paragraphs.emplace_back(
        "There are no estimates. The columns explain the outcome without a rest (a perfect fit), "
        "so "
        "that there are no residuals to estimate a deviance and standard errors from; or a "
        "coefficient or standard error is beyond all bounds. Leave out the column that the outcome "
        "is made of.");
    return section;
  }
  if (spec.sealed) {
    section.paragraphs.emplace_back(
        "There are no estimates: after the last step the score was not zero, a linear predictor "
        "was "
        "beyond all bounds, or a standard error was. Nothing else is known of the fit. If some "
        "level "
        "has outcomes of one kind only (separation), there is no finite estimate: join levels, or "
        "leave the term out. Else ask for more steps in a new study (`steps`).");
    return section;
  }
  section.paragraphs.emplace_back(
      "There are no estimates: after the last step the score was not zero, a linear predictor was "
      "beyond all bounds, or a column became collinear. The points below are steps on the way and "
      "not estimates of anything.");
  if (!regression.moving.empty()) {
    std::string names;
    for (const std::string& name : regression.moving) names += (names.empty() ? "" : ", ") + name;
    section.paragraphs.push_back(fmt::format(
        "The last step still moved by more than a standard error: {}. If these are far from 0 and "
        "move on step by step, some level has outcomes of one kind only (separation), and there is "
        "no finite estimate: join levels, leave the term out, or take a ridge (`penalty`).",
        names));
  }
  section.paragraphs.emplace_back(
      "If nothing runs away, ask for more steps in a new study (`steps`).");
  section.tables.push_back(PathTable(regression));
  return section;
}

}  // namespace

study::Document RegressionDocument(const std::string& title, const Task& task,
                                   const Regression& regression) {
  const Spec& spec = task.spec;
  study::Document document;
  document.title = title;
  document.json = RegressionJson(task, regression);
  if (!regression.converged) {
    document.ending = study::Ending::kNotConverged;
    document.sections.push_back(NotConverged(spec, regression));
    return document;
  }
  study::DocumentSection coefficients;
  coefficients.heading = "Coefficients";
  coefficients.paragraphs.push_back(fmt::format("{}, family {}, link {}{}.", spec.formula,
                                                FamilyName(spec.law), LinkName(spec.law.link),
                                                ErrorsText(spec)));
  coefficients.tables.push_back(CoefficientTable(spec, regression));
  if (HasRatios(spec.law)) {
    study::DocumentTable ratios = RatioTable(spec, regression);
    if (!ratios.rows.empty()) {
      coefficients.tables.push_back(std::move(ratios));
      coefficients.intervals.push_back(RatioPlot(spec, regression));
    }
  }
  if (spec.aggregates) {
    coefficients.paragraphs.emplace_back(
        "Estimates and standard errors have all their digits, and tell more than rounded ones.");
  } else {
    coefficients.paragraphs.push_back(
        fmt::format("Estimates and standard errors are rounded to grids of at most 2^-{} of the "
                    "standard error; "
                    "tests, intervals and ratios are computed from the rounded numbers.",
                    task.grid_bits));
  }
  for (const std::string& warning : regression.warnings) coefficients.paragraphs.push_back(warning);
  study::DocumentSection fit;
  fit.heading = "Fit";
  fit.tables.push_back(FitTable(spec, regression));
  document.files.push_back({kCoefficientsFile, CoefficientsCsv(spec, regression)});
  document.sections.push_back(std::move(coefficients));
  if (!regression.tests.empty()) {
    document.sections.push_back(TestSection(regression));
    document.files.push_back({kTermsFile, TermsCsv(regression)});
  }
  document.sections.push_back(std::move(fit));
  return document;
}

}  // namespace partita::methods::glm
