#include "methods/glm/document.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "data/csv_writer.h"
#include "methods/glm/json.h"
#include "methods/glm/lasso_document.h"
#include "methods/glm/read_errors.h"

namespace partita::methods::glm {
namespace {

constexpr double kNotAvailable = std::numeric_limits<double>::quiet_NaN();

std::string ErrorsText(const Spec& spec) {
  std::string text;
  if (!spec.weights.empty())
    text = fmt::format("; {} {}", WeightsName(spec.weights_kind), spec.weights);
  if (spec.sites > 0) text += "; an intercept for each holder";
  if (spec.ridge > 0) text += fmt::format("; ridge {:g} for each row", spec.ridge);
  if (spec.firth) text += "; Firth's penalty";
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

// What the coefficients of outcomes with several levels are of.
std::string LevelsText(const Spec& spec) {
  const std::vector<std::string>& levels = spec.outcome.classes;
  if (levels.empty()) return "";
  if (spec.law.family == stats::glm::Family::kMultinomial)
    return fmt::format(" Log-odds of each level of {} against {}.", spec.outcome.name,
                       levels.front());
  return fmt::format(
      " Log-odds of a higher level of {}, the same at every cut; {}|{} is the log-odds of a level "
      "up "
      "to {} where all columns are 0.",
      spec.outcome.name, levels[0], levels[1], levels[0]);
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

study::DocumentSection NestedSection(const Spec& spec, const Regression& regression) {
  study::DocumentSection section;
  section.heading = "Test of nested models";
  std::string names;
  for (const std::string& term : spec.dropped) names += (names.empty() ? "" : ", ") + term;
  if (!regression.nested) {
    section.paragraphs.push_back(fmt::format(
        "The model without {} did not converge: there is no test. Ask for more steps (`steps`).",
        names));
    return section;
  }
  const NestedTest& test = *regression.nested;
  section.paragraphs.push_back(fmt::format(
      "That all coefficients of {} are 0: {}.", names,
      test.df_residual
          ? fmt::format("F of the deviances with {} and {:g} degrees of freedom", test.df,
                        *test.df_residual)
          : fmt::format("likelihood ratio, chi-square with {} degrees of freedom", test.df)));
  study::DocumentTable table;
  table.columns = {"without", "degrees of freedom", test.df_residual ? "F" : "chi-square",
                   "p-value"};
  table.rows.push_back({names, static_cast<double>(test.df), test.statistic, test.p_value});
  section.tables.push_back(std::move(table));
  study::DocumentTable smaller;
  smaller.columns = {"without these: term", "estimate", "std. error"};
  for (const Coefficient& row : regression.smaller)
    smaller.rows.push_back({row.term, row.estimate, row.standard_error});
  section.tables.push_back(std::move(smaller));
  return section;
}

study::DocumentSection RiskSection(const Risk& risk) {
  study::DocumentSection section;
  section.heading = "Calibration and discrimination";
  section.paragraphs.push_back(fmt::format(
      "Area under the receiver operating characteristic {:.3f}, from counts of 256 bins "
      "of the predicted log-odds: that of the predictions themselves is at most {:.3f} away.",
      risk.area, risk.error));
  if (!risk.shown) {
    section.paragraphs.emplace_back(
        "The risk groups are withheld: a group has fewer rows with or without an event than "
        "min_cell allows. Take fewer cut points.");
    return section;
  }
  study::DocumentTable table;
  table.columns = {"predicted from", "to", "rows", "events", "expected events"};
  for (const RiskGroup& group : risk.groups)
    table.rows.push_back({group.from, group.to, group.rows, group.events, group.expected});
  section.tables.push_back(std::move(table));
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
    if (HasNull(spec.law)) {
      add("null deviance", fit.null_deviance.value_or(kNotAvailable));
      add("null degrees of freedom", regression.df_null);
    }
    add("deviance", fit.deviance);
    add("degrees of freedom", regression.df_residual);
    if (fit.log_likelihood) add("log-likelihood", *fit.log_likelihood);
    if (fit.aic) add("AIC", *fit.aic);
    if (HasDispersion(spec.law)) add("dispersion", fit.dispersion);
  }
  if (regression.theta) {
    add("theta", regression.theta->estimate);
    add("theta, standard error", regression.theta->standard_error);
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

study::DocumentSection NotConverged(const Task& task, const Regression& regression) {
  const Spec& spec = task.spec;
  study::DocumentSection section;
  section.heading = "Not converged";
  if (task.hidden_rows) {
    section.paragraphs.emplace_back(
        "Which rows match is hidden, so that these are one answer: a count that the plan lists is "
        "too small, a column follows from those before it, or the fit did not converge as below. "
        "Nobody is told which. Join rare levels, leave out a column that may follow from others, "
        "or find more rows.");
  }
  if (spec.law.family == stats::glm::Family::kGaussian && regression.moving.empty()) {
    section.paragraphs.emplace_back(
        "There are no estimates. The columns explain the outcome without a rest (a perfect fit), "
        "so "
        "that there are no residuals to estimate a deviance and standard errors from; or a "
        "coefficient or standard error is beyond all bounds. Leave out the column that the outcome "
        "is made of.");
    return section;
  }
  if (spec.sealed && spec.law.family == stats::glm::Family::kGamma) {
    section.paragraphs.push_back(
        fmt::format("There are no estimates: after the last step the score was not zero, an "
                    "outcome is more than {:g} times its mean by the model, the columns explain "
                    "the outcome without a rest (a perfect fit), or a standard error is beyond all "
                    "bounds. Nothing else is known of the fit. Look for outcomes in another unit "
                    "than the others, or ask for more steps in a new study (`steps`).",
                    kMostSealedRatio));
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
    if (spec.ridge == 0 && (spec.weights.empty() || spec.copies())) {
      section.paragraphs.emplace_back(
          "With separation a ridge has estimates: penalty = {ridge = 0.01}. They are drawn towards "
          "0.");
    }
    if (spec.law.binary) {
      section.paragraphs.emplace_back(
          "With separation Firth's penalty has estimates: penalty = {firth = true} at level "
          "iterates, where every holder has whole rows.");
    }
    return section;
  }
  section.paragraphs.emplace_back(
      "There are no estimates: after the last step the score was not zero, a linear predictor was "
      "beyond all bounds, or a column became collinear. The points below are steps on the way and "
      "not estimates of anything.");
  if (!regression.moving.empty()) {
    std::string names;
    const bool logistic = spec.law.family == stats::glm::Family::kBinomial &&
                          spec.law.link == stats::glm::Link::kLogit && !spec.firth;
    const char* penalty =
        logistic ? "Firth's penalty, which is made for it, or a ridge" : "a ridge";
    for (const std::string& name : regression.moving) names += (names.empty() ? "" : ", ") + name;
    section.paragraphs.push_back(fmt::format(
        "The last step still moved by more than a standard error: {}. If these are far from 0 and "
        "move on step by step, some level has outcomes of one kind only (separation), and there is "
        "no finite estimate: join levels, leave the term out, or take {} (`penalty`).",
        names, penalty));
  }
  if (spec.law.family == stats::glm::Family::kNegativeBinomial) {
    section.paragraphs.emplace_back(
        "Where log(theta) runs up, the counts vary no more than a Poisson law says: take family "
        "poisson.");
  }
  if (!spec.lasso.empty()) {
    section.paragraphs.emplace_back(
        "None of the penalties converged in its steps: the first needs the longest way, so a "
        "larger one "
        "before it helps.");
  }
  section.paragraphs.emplace_back(
      "If nothing runs away, ask for more steps in a new study (`steps`).");
  section.tables.push_back(PathTable(regression));
  return section;
}

}  // namespace

study::Document RegressionDocument(const std::string& title, const Task& task,
                                   const data::Schema& factors, const Regression& regression) {
  const Spec& spec = task.spec;
  study::Document document;
  document.title = title;
  document.json = RegressionJson(task, factors, regression);
  if (!regression.converged) {
    document.ending = study::Ending::kNotConverged;
    document.sections.push_back(NotConverged(task, regression));
    return document;
  }
  const std::string coding =
      data::CodingText(spec, factors, spec.outcome.levels ? spec.outcome.name : "");
  if (!spec.lasso.empty()) {
    AddLasso(spec, regression, document);
    if (!coding.empty()) document.sections.front().paragraphs.push_back(coding);
    return document;
  }
  study::DocumentSection coefficients;
  coefficients.heading = "Coefficients";
  coefficients.paragraphs.push_back(fmt::format("{}, family {}, link {}{}.{}", spec.formula,
                                                FamilyName(spec.law), LinkName(spec.law.link),
                                                ErrorsText(spec), LevelsText(spec)));
  if (!coding.empty()) coefficients.paragraphs.push_back(coding);
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
  } else if (spec.covariance) {
    coefficients.paragraphs.push_back(
        fmt::format("Estimates are rounded to grids of at most 2^-{} of the standard error, "
                    "covariances to steps of "
                    "the products of two such grids; standard errors, tests, intervals and ratios "
                    "are computed from "
                    "the rounded numbers. The covariance matrix is in the result's JSON (vcov).",
                    task.grid_bits));
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
  if (!spec.dropped.empty()) document.sections.push_back(NestedSection(spec, regression));
  document.sections.push_back(std::move(fit));
  if (regression.risk) document.sections.push_back(RiskSection(*regression.risk));
  return document;
}

}  // namespace partita::methods::glm
