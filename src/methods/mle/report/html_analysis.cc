#include "methods/mle/report/html_analysis.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/text_table.h"
#include "methods/mle/report/equations.h"
#include "methods/mle/report/estimate_rows.h"
#include "methods/mle/report/least_squares.h"
#include "methods/mle/report/plot_data.h"
#include "methods/mle/report/statements.h"
#include "report/cell_tables.h"
#include "report/html_text.h"
#include "report/numbers.h"
#include "report/plan_statements.h"

namespace partita::methods::mle {
namespace {

using report::Element;
using report::Escape;
using report::Figure;
using report::HtmlTable;
using report::List;
using report::Number3;
using report::Number4;
using report::Paragraph;
using report::PValue;
using report::RenderHtmlTable;
using report::RunFacts;
using report::Significant3;

// A covariance matrix of more parameters is left to result.json.
constexpr Eigen::Index kMaxVcov = 40;

struct MeasureName {
  const char* name = "";
  const char* label = "";
  bool is_count = false;
  bool is_p_value = false;
};
constexpr std::array<MeasureName, 22> kMeasureNames = {
    {{"chisq", "Chi-square of the model"},
     {"df", "degrees of freedom", true},
     {"pvalue", "p-value", false, true},
     {"baseline.chisq", "Chi-square of the baseline model"},
     {"baseline.df", "degrees of freedom (baseline)", true},
     {"baseline.pvalue", "p-value (baseline)", false, true},
     {"cfi", "Comparative fit index (CFI)"},
     {"tli", "Tucker-Lewis index (TLI)"},
     {"rmsea", "RMSEA"},
     {"rmsea.ci.lower", "RMSEA, 90 % interval, lower"},
     {"rmsea.ci.upper", "RMSEA, 90 % interval, upper"},
     {"rmsea.pvalue", "p-value of RMSEA \u2264 0.05", false, true},
     {"rmsea.notclose.pvalue", "p-value of RMSEA \u2265 0.08", false, true},
     {"srmr", "SRMR"},
     {"logl", "Log-likelihood of the model"},
     {"unrestricted.logl", "Log-likelihood, unrestricted"},
     {"aic", "AIC"},
     {"bic", "BIC"},
     {"bic2", "Sample-size adjusted BIC"},
     {"fmin", "Minimum of the discrepancy"},
     {"npar", "Free parameters after constraints", true},
     {"ntotal", "Rows", true}}};

std::string MeasureText(const MeasureName& measure, double value) {
  if (std::isnan(value)) return "NA";
  if (measure.is_count) return FormatCount(static_cast<uint64_t>(std::llround(value)));
  return measure.is_p_value ? PValue(value) : Number3(value);
}

// "chisq.scaled" is "Chi-square of the model, scaled".
std::string OtherMeasure(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) return {};
  for (const MeasureName& measure : kMeasureNames) {
    if (name.substr(0, dot) == measure.name) {
      return std::string(measure.label) + ", " + name.substr(dot + 1);
    }
  }
  return {};
}

std::string FitTable(const MleResult& result) {
  HtmlTable table{"Fit measures, with lavaan's names", {"Measure", "Value"}, {1}, {}, "fit"};
  std::set<std::string> shown;
  const std::map<std::string, double> measures = ReportedMeasures(result);
  for (const MeasureName& measure : kMeasureNames) {
    const auto found = measures.find(measure.name);
    if (found == measures.end()) continue;
    shown.insert(measure.name);
    table.Add({Escape(measure.label) + " " + Element("small", Escape(measure.name)),
               Escape(MeasureText(measure, found->second))});
  }
  for (const auto& [name, value] : measures) {
    if (shown.contains(name)) continue;
    const MeasureName other{"", "", name.find("df") != std::string::npos,
                            name.find("pvalue") != std::string::npos};
    table.Add({Escape(OtherMeasure(name)) + " " + Element("small", Escape(name)),
               Escape(MeasureText(other, value))});
  }
  return RenderHtmlTable(table);
}

std::vector<std::string> EstimateCells(const MleResult& result, size_t i,
                                       const std::string& symbol) {
  const stats::Parameter& row = result.table.rows[i];
  const stats::ParameterEstimate& estimate = ReportedEstimates(result)[i];
  const bool estimated = row.free > 0 || row.op == ":=";
  const double error = estimated ? estimate.standard_error : std::nan("");
  const auto at_error = [&](double value) { return Escape(report::NumberAt(value, error)); };
  return {Escape(ParameterName(row)),
          symbol,
          Escape(row.op == ":=" || row.label.starts_with(".") ? "" : row.label),
          at_error(estimate.estimate),
          estimated ? at_error(error) : Element("small", "fixed"),
          estimated ? Escape(Number3(estimate.z)) : "",
          estimated ? Escape(PValue(estimate.p_value)) : "",
          estimated ? at_error(estimate.ci_lower) : "",
          estimated ? at_error(estimate.ci_upper) : "",
          Escape(Number3(estimate.std_lv)),
          Escape(Number3(estimate.std_all))};
}

std::string EstimateTable(const MleResult& result) {
  HtmlTable table{result.robust
                      ? "Estimates with robust (Huber-White) standard errors, Wald tests and 95 % "
                        "intervals"
                      : "Estimates with standard errors, Wald tests and 95 % intervals",
                  {"Parameter", "Symbol", "Label", "Estimate", "Std. error", "z", "p", "95 % lower",
                   "95 % upper", "Std.lv", "Std.all"},
                  {3, 4, 5, 6, 7, 8, 9, 10},
                  {},
                  "estimates"};
  const std::vector<std::string> symbols = ParameterSymbols(result.table);
  for (const EstimateSection& section : EstimateSections(result)) {
    std::string title = section.title;
    if (section.group > 0 && result.group_n.size() > 1) {
      title += ", group " + result.group_labels.at(static_cast<size_t>(section.group) - 1);
    }
    table.AddHeading(Escape(title));
    for (size_t i : section.rows) table.Add(EstimateCells(result, i, symbols[i]));
  }
  return RenderHtmlTable(table);
}

// Whether the page shows a regression as least squares does. Its degrees of freedom tell the rows.
bool ShowsLeastSquares(const MleResult& result, const RunFacts& facts) {
  return !result.least_squares.empty() &&
         std::all_of(result.group_n.begin(), result.group_n.end(),
                     [&](double n) { return n >= static_cast<double>(facts.min_cell); });
}

// What the plot of estimates shows, and what is in the table only.
std::string EstimatesCaption(const MleResult& result, const RunFacts& facts) {
  std::string text = ShowsLeastSquares(result, facts)
                         ? "Slopes (points) with 95 % intervals (lines); the intercept is in the "
                           "table"
                         : "Estimates (points) with 95 % Wald intervals (lines)";
  text += result.group_n.size() > 1
              ? ", in the units of the model: every parameter has an axis of its own."
              : ". What has standardised values is drawn on their scale, in standard deviations of "
                "the variables, which the intervals take as known; the rest in the units of the "
                "model, each parameter with an axis of its own.";
  const NotDrawn not_drawn = ParametersNotDrawn(result);
  if (!not_drawn.without_error.empty())
    text +=
        " Not drawn, because there is no standard error: " + List(not_drawn.without_error) + ".";
  if (not_drawn.fixed > 0) {
    text += " Not drawn, because fixed: " + FormatCount(not_drawn.fixed) +
            (not_drawn.fixed == 1 ? " parameter." : " parameters.");
  }
  return text;
}

std::string EstimatesHtml(const MleResult& result, const RunFacts& facts, size_t index) {
  std::string out = Element("h3", "Estimates") + "\n";
  const std::string caption = EstimatesCaption(result, facts);
  if (HasEstimatesPlot(result)) {
    out += Figure({{"plot", "estimates"}, {"analysis", std::to_string(index)}},
                  "Estimates with 95 % intervals; the table below has the numbers", caption);
  }
  if (!ShowsLeastSquares(result, facts)) return out + EstimateTable(result);
  return out + LeastSquaresHtml(result) +
         Element("details",
                 Element("summary", "The same fit by maximum likelihood (divisor n, z tests)") +
                     EstimateTable(result)) +
         "\n";
}

std::string Diagrams(const MleResult& result, size_t index) {
  std::string out = Element("h3", "Path diagram") + "\n";
  if (!HasDiagram(result)) {
    return out + Paragraph(
                     "The model has too many variables for a legible diagram; the table of "
                     "estimates lists every path.");
  }
  for (size_t group = 0; group < result.group_n.size(); ++group) {
    const std::string where =
        result.group_n.size() > 1 ? " Group " + result.group_labels.at(group) + "." : "";
    out += Figure({{"plot", "diagram"},
                   {"analysis", std::to_string(index)},
                   {"group", std::to_string(group)}},
                  "Path diagram of the model; the equations and the table of estimates say the "
                  "same in words and numbers",
                  "Path diagram with unstandardised estimates: rectangles are observed variables, "
                  "ellipses latent ones, arrows with two heads covariances. Variances are in the "
                  "table." +
                      where);
  }
  return out;
}

bool IsWarning(const std::string& note) { return note.starts_with("Warning: "); }

std::string WarningsHtml(const MleResult& result) {
  std::string out;
  for (const std::string& note : result.notes) {
    if (IsWarning(note)) out += Paragraph(note, "warning");
  }
  return out;
}

bool HasFixedCovariates(const MleResult& result) {
  const std::vector<stats::Parameter>& rows = result.table.rows;
  return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.exogenous; });
}

std::string Model(const MleResult& result, const RunFacts& facts) {
  const bool expected = result.information == stats::Information::kExpected;
  const bool least_squares = ShowsLeastSquares(result, facts);
  std::vector<std::pair<std::string, std::string>> items = {
      {"Model function", result.function},
      {"Family", result.family.empty() ? "not known" : result.family},
      {"Estimator", least_squares ? "least squares" : "maximum likelihood"},
      {"Standard errors", least_squares   ? "from the residual standard error"
                          : result.robust ? "robust (Huber-White)"
                          : expected      ? "expected information"
                                          : "observed information"},
      {"Observed variables", List(result.table.observed)}};
  if (!result.table.latent.empty()) {
    items.push_back({"Latent variables", List(result.table.latent)});
  }
  items.push_back({"Free parameters", FormatCount(static_cast<uint64_t>(result.table.num_free)) +
                                          " before equality constraints"});
  items.push_back({"Mean structure", result.table.meanstructure ? "yes" : "no"});
  if (HasFixedCovariates(result)) {
    items.push_back({"Covariates", "fixed: their moments are the sample's, and not shown"});
  }
  for (size_t i = 0; i < result.group_n.size(); ++i) {
    const std::string name =
        result.group_n.size() > 1 ? "Rows, group " + result.group_labels.at(i) : "Rows";
    items.push_back(
        {name, report::SuppressedCount(static_cast<uint64_t>(std::llround(result.group_n[i])),
                                       facts.min_cell)});
  }
  return Element("h3", "Model") + "\n" + report::Definitions(items) + ModelEquations(result);
}

// What a likelihood that was asked point by point told about the data.
std::string Opened(const MleResult& result) {
  if (!result.likelihood) return {};
  const stats::OracleUsage& usage = result.likelihood->usage;
  const auto count = [](int number) { return FormatCount(static_cast<uint64_t>(number)); };
  return Paragraph("The likelihood was opened at " + count(usage.values) +
                   " points and its "
                   "gradient at " +
                   count(usage.gradients) + ": " + count(usage.opened_numbers) +
                   " numbers of rank " + count(usage.rank) + ", where rank " +
                   count(usage.num_statistics) + " gives the sample moments away (leakage level " +
                   result.likelihood->leakage_level + ").");
}

std::string ConvergenceHtml(const MleResult& result, const RunFacts& facts, size_t index) {
  const stats::SemFit& fit = result.fit;
  std::string out = Element("h3", "Convergence") + "\n";
  out += report::Definitions(
      {{"Converged", fit.converged ? "yes" : "NO: the numbers are where it stopped"},
       {"Optimiser", fit.optimizer},
       {"Iterations", FormatCount(static_cast<uint64_t>(fit.iterations))},
       {"Largest scaled gradient", Significant3(fit.max_scaled_gradient)}});
  std::vector<std::string> warnings = fit.warnings;
  if (result.robust) {
    const std::vector<std::string>& robust = result.robust->warnings;
    warnings.insert(warnings.end(), robust.begin(), robust.end());
  }
  if (!warnings.empty()) out += Paragraph("Warnings:", "warning") + report::Bullets(warnings);
  std::vector<std::string> notes = result.notes;
  std::erase_if(notes, IsWarning);
  out += report::Bullets(notes) + Opened(result);
  const report::HistoryFacts* history = HistoryOf(result, facts);
  if (history == nullptr) return out;
  out += Figure({{"plot", "history"}, {"analysis", std::to_string(index)}},
                "Log-likelihood and gradient over the iterations; the table has the numbers",
                "The optimiser's way to the maximum.");
  HtmlTable table{
      "", {"Iteration", "Log-likelihood", "Largest scaled gradient"}, {0, 1, 2}, {}, ""};
  for (const report::HistoryPoint& point : history->points) {
    table.Add({std::to_string(point.iteration), Escape(report::Fixed3(point.log_likelihood)),
               Escape(Significant3(point.max_scaled_gradient))});
  }
  return out +
         Element("details", Element("summary", "Iterations as a table") + RenderHtmlTable(table)) +
         "\n";
}

// Of the family, and what the study asked for.
std::string TablesHtml(const MleResult& result) {
  std::string out;
  for (const CellTable& table : result.tables) out += report::CellTableHtml(table);
  return out.empty() ? out : Element("h3", "What follows from the fit") + "\n" + out;
}

std::string Vcov(const MleResult& result) {
  const Eigen::MatrixXd& vcov = ReportedVcov(result);
  if (vcov.rows() == 0) return {};
  if (vcov.rows() > kMaxVcov) {
    return Paragraph("The covariance matrix of the " +
                     FormatCount(static_cast<uint64_t>(vcov.rows())) +
                     " free parameters is in result.json.");
  }
  std::vector<std::string> names(static_cast<size_t>(vcov.rows()));
  for (const stats::Parameter& row : result.table.rows) {
    if (row.free < 1 || row.free > vcov.rows()) continue;
    names[static_cast<size_t>(row.free) - 1] =
        ParameterName(row) + (row.group > 1 ? " (group " + std::to_string(row.group) + ")" : "");
  }
  HtmlTable table{"", {"", ""}, {}, {}, "vcov"};
  table.header = {"Parameter"};
  for (size_t i = 0; i < names.size(); ++i) {
    table.header.push_back(std::to_string(i + 1));
    table.numbers.push_back(i + 1);
  }
  for (Eigen::Index i = 0; i < vcov.rows(); ++i) {
    std::vector<std::string> cells = {std::to_string(i + 1) + ". " +
                                      Escape(names[static_cast<size_t>(i)])};
    for (Eigen::Index j = 0; j < vcov.cols(); ++j) {
      cells.push_back(j > i ? "" : Escape(Significant3(vcov(i, j))));
    }
    table.Add(std::move(cells));
  }
  return Element("details", Element("summary", "Covariance matrix of the free parameters") +
                                RenderHtmlTable(table)) +
         "\n";
}

std::string RegressionComparison(std::span<const MleResult> results) {
  HtmlTable table{"Fit of the regressions",
                  {"Analysis", "Regression of", "Rows", "R-squared", "Adjusted R-squared",
                   "Residual std. error", "on df", "F", "p"},
                  {2, 3, 4, 5, 6, 7, 8},
                  {},
                  ""};
  for (const MleResult& result : results) {
    for (const LeastSquares& regression : result.least_squares) {
      table.Add({Escape(AnalysisName(result)), Escape(RegressionName(result, regression)),
                 Number4(regression.n), Escape(Number4(regression.r2)),
                 Escape(Number4(regression.adjusted_r2)), Escape(Number4(regression.sigma)),
                 Number4(regression.df), Escape(Number4(regression.f)),
                 Escape(PValue(regression.f_p_value))});
    }
  }
  return RenderHtmlTable(table);
}

std::string FitComparison(std::span<const MleResult> results) {
  HtmlTable table{
      "Fit of the analyses",
      {"Analysis", "Rows", "Chi-square", "df", "p", "CFI", "RMSEA", "SRMR", "AIC", "BIC"},
      {1, 2, 3, 4, 5, 6, 7, 8, 9},
      {},
      ""};
  for (const MleResult& result : results) {
    const std::string mark = result.fit.converged ? "" : " (did not converge)";
    std::vector<std::string> cells = {Escape(AnalysisName(result) + mark)};
    for (const MeasureName& measure : std::array<MeasureName, 9>{{{"ntotal", "", true},
                                                                  {"chisq", ""},
                                                                  {"df", "", true},
                                                                  {"pvalue", "", false, true},
                                                                  {"cfi", ""},
                                                                  {"rmsea", ""},
                                                                  {"srmr", ""},
                                                                  {"aic", ""},
                                                                  {"bic", ""}}}) {
      const auto found = result.fit.fit_measures.find(measure.name);
      const bool known = found != result.fit.fit_measures.end();
      cells.push_back(known ? Escape(MeasureText(measure, found->second)) : "");
    }
    table.Add(std::move(cells));
  }
  return RenderHtmlTable(table);
}

}  // namespace

std::string AnalysisHtml(const MleResult& result, const RunFacts& facts, size_t index, bool alone) {
  const std::string title = alone ? "Analysis" : "Analysis " + AnalysisName(result);
  // Chi-square and its indices say nothing of a regression, which is saturated.
  const std::string fit =
      ShowsLeastSquares(result, facts) ? "" : Element("h3", "Fit") + "\n" + FitTable(result);
  return report::Section("analysis-" + std::to_string(index + 1), title,
                         WarningsHtml(result) + Model(result, facts) + Diagrams(result, index) +
                             EstimatesHtml(result, facts, index) + fit + TablesHtml(result) +
                             Vcov(result) + ConvergenceHtml(result, facts, index));
}

std::string ComparisonHtml(std::span<const MleResult> results, const RunFacts& facts) {
  const bool regressions =
      std::all_of(results.begin(), results.end(),
                  [&](const MleResult& result) { return ShowsLeastSquares(result, facts); });
  std::string out = regressions ? RegressionComparison(results) : FitComparison(results);
  if (HasComparison(results)) {
    out += Figure({{"plot", "comparison"}},
                  "Parameters that several analyses share, with 95 % intervals; the tables of the "
                  "analyses have the numbers",
                  "The parameters that several analyses share, with 95 % intervals, in the units "
                  "of the model: every parameter has an axis of its own. What has no standard "
                  "error, or stands in one analysis only, is in the tables.");
  }
  return report::Section("comparison", "The analyses side by side", out);
}

}  // namespace partita::methods::mle
