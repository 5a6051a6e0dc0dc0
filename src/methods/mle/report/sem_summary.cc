#include "methods/mle/report/sem_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/text_table.h"
#include "methods/mle/report/estimate_rows.h"
#include "methods/mle/report/least_squares.h"
#include "report/cell_tables.h"
#include "report/numbers.h"
#include "report/run_summary.h"

namespace partita::methods::mle {
namespace {

using report::Fixed3;
using stats::Parameter;
using stats::ParameterEstimate;

constexpr size_t kLineWidth = 54;   // of the upper part, as in lavaan
constexpr size_t kNameWidth = 18;   // of a parameter with its label, at least
constexpr size_t kNumberWidth = 9;  // of one number with its leading blank, at least
constexpr size_t kShownRows = 20;   // of a table of the family
constexpr std::array<const char*, 8> kColumns = {"Estimate", "Std.Err",  "z-value", "P(>|z|)",
                                                 "ci.lower", "ci.upper", "Std.lv",  "Std.all"};

std::string SummaryLine(const std::string& label, const std::string& value, size_t indent = 2) {
  const size_t used = indent + TextWidth(label) + TextWidth(value);
  const size_t gap = used + 1 < kLineWidth ? kLineWidth - used : 1;
  return std::string(indent, ' ') + label + std::string(gap, ' ') + value + "\n";
}

// "Label    0.931"; nothing if the fit does not have the measure, "NA" if it is not defined.
std::string MeasureLine(const stats::SemFit& fit, const char* name, const std::string& label) {
  const auto found = fit.fit_measures.find(name);
  if (found == fit.fit_measures.end()) return {};
  const bool is_count = std::string(name).ends_with("df") && !std::isnan(found->second);
  return SummaryLine(
      label, is_count ? std::to_string(std::llround(found->second)) : Fixed3(found->second));
}

// A heading with its lines; nothing without lines.
std::string Block(const std::string& heading, const std::string& lines) {
  return lines.empty() ? "" : "\n" + heading + "\n\n" + lines;
}

std::string ConvergenceText(const stats::SemFit& fit) {
  const std::string iterations =
      std::to_string(fit.iterations) + (fit.iterations == 1 ? " iteration" : " iterations");
  std::string out;
  if (fit.converged) {
    out = "Partita ended normally after " + iterations + "\n";
  } else {
    out = WrapText("Partita did NOT converge after " + iterations +
                       ": the numbers below are where it stopped, not estimates",
                   0);
  }
  for (const std::string& warning : fit.warnings) out += WrapText("Warning: " + warning, 2);
  return out;
}

std::string SizesBlock(const MleResult& result) {
  std::string out = result.family.empty() ? "" : SummaryLine("Model", result.family);
  out += SummaryLine("Estimator", "ML") + SummaryLine("Optimization method", result.fit.optimizer) +
         SummaryLine("Number of model parameters", std::to_string(result.table.num_free));
  const auto npar = result.fit.fit_measures.find("npar");
  if (npar != result.fit.fit_measures.end() && npar->second < result.table.num_free) {
    const auto constraints = std::llround(result.table.num_free - npar->second);
    out += SummaryLine("Number of equality constraints", std::to_string(constraints));
  }
  out += "\n";
  if (result.group_n.size() == 1) {
    return out +
           SummaryLine("Number of observations", std::to_string(std::llround(result.group_n[0])));
  }
  out += "  Number of observations per group:\n";
  for (size_t i = 0; i < result.group_n.size(); ++i) {
    out +=
        SummaryLine(result.group_labels.at(i), std::to_string(std::llround(result.group_n[i])), 4);
  }
  return out;
}

std::string Tests(const MleResult& result) {
  stats::SemFit fit;
  fit.fit_measures = ReportedMeasures(result);
  const auto measure = [&](const char* name, const char* label) {
    return MeasureLine(fit, name, label);
  };
  std::string test = measure("chisq", "Test statistic") + measure("df", "Degrees of freedom");
  // Without degrees of freedom there is nothing to test.
  const auto df = fit.fit_measures.find("df");
  if (df == fit.fit_measures.end() || df->second != 0) {
    test += measure("pvalue", "P-value (Chi-square)");
  }
  std::string out = Block("Model Test User Model:", test);
  out += Block("Model Test Baseline Model:", measure("baseline.chisq", "Test statistic") +
                                                 measure("baseline.df", "Degrees of freedom") +
                                                 measure("baseline.pvalue", "P-value"));
  out += Block("User Model versus Baseline Model:", measure("cfi", "Comparative Fit Index (CFI)") +
                                                        measure("tli", "Tucker-Lewis Index (TLI)"));
  const std::string likelihoods =
      measure("logl", "Loglikelihood user model (H0)") +
      measure("unrestricted.logl", "Loglikelihood unrestricted model (H1)");
  const std::string criteria = measure("aic", "Akaike (AIC)") + measure("bic", "Bayesian (BIC)") +
                               measure("bic2", "Sample-size adjusted Bayesian (SABIC)");
  out += Block("Loglikelihood and Information Criteria:",
               likelihoods + (criteria.empty() ? "" : "\n" + criteria));
  out += Block("Root Mean Square Error of Approximation:",
               measure("rmsea", "RMSEA") +
                   measure("rmsea.ci.lower", "90 Percent confidence interval - lower") +
                   measure("rmsea.ci.upper", "90 Percent confidence interval - upper") +
                   measure("rmsea.pvalue", "P-value H_0: RMSEA <= 0.050") +
                   measure("rmsea.notclose.pvalue", "P-value H_0: RMSEA >= 0.080"));
  return out + Block("Standardized Root Mean Square Residual:", measure("srmr", "SRMR"));
}

// A line of the parameter tables: a heading such as "  visual =~", or a parameter with its cells.
struct TableLine {
  std::string name;
  std::string label;  // "(a)" or empty
  std::array<std::string, kColumns.size()> cells;
};

// lavaan marks the residual variances, residual covariances and intercepts of dependent variables
// with a dot. Dependent: explained by a regression or measured by a latent variable.
std::set<std::string> DependentVariables(const stats::ParameterTable& table) {
  std::set<std::string> names;
  for (const Parameter& row : table.rows) {
    if (row.op == "~") names.insert(row.lhs);
    if (row.op == "=~") names.insert(row.rhs);
  }
  return names;
}

TableLine ParameterLine(const Parameter& row, const ParameterEstimate& estimate,
                        const std::string& name) {
  TableLine line{name, row.label.empty() ? "" : "(" + row.label + ")", {}};
  line.cells[0] = Fixed3(estimate.estimate);
  if (row.free > 0 || row.op == ":=") {
    line.cells[1] = Fixed3(estimate.standard_error);
    line.cells[2] = Fixed3(estimate.z);
    line.cells[3] = Fixed3(estimate.p_value);
  }
  const bool estimated = !line.cells[1].empty();
  line.cells[4] = Fixed3(estimated ? estimate.ci_lower : estimate.estimate);
  line.cells[5] = Fixed3(estimated ? estimate.ci_upper : estimate.estimate);
  line.cells[6] = Fixed3(estimate.std_lv);
  line.cells[7] = Fixed3(estimate.std_all);
  return line;
}

struct ParameterSection {
  const char* title;
  const char* op;
  bool is_variance;  // of the rows with ~~, those with equal sides
  bool by_left;      // rows stand under their left side: "visual =~"
};
constexpr std::array<ParameterSection, 5> kGroupSections = {
    {{"Latent Variables", "=~", false, true},
     {"Regressions", "~", false, true},
     {"Covariances", "~~", false, true},
     {"Intercepts", "~1", false, false},
     {"Variances", "~~", true, false}}};

bool Belongs(const Parameter& row, const ParameterSection& section) {
  if (row.op != section.op || row.exogenous) return false;
  return row.op != "~~" || (row.lhs == row.rhs) == section.is_variance;
}

std::vector<TableLine> SectionLines(const MleResult& result, const ParameterSection& section,
                                    int group) {
  const std::set<std::string> dependent = DependentVariables(result.table);
  const bool dotted = section.op[0] == '~' && section.op[1] != '\0';  // ~~ and ~1
  const auto marked = [&](const std::string& name, size_t indent) {
    const bool dot = dotted && dependent.contains(name);
    return std::string(indent - 1, ' ') + (dot ? "." : " ") + name;
  };
  std::vector<TableLine> lines;
  std::string left;
  for (size_t i = 0; i < result.table.rows.size(); ++i) {
    const Parameter& row = result.table.rows[i];
    if (row.group != group || !Belongs(row, section)) continue;
    if (section.by_left && row.lhs != left) {
      lines.push_back({marked(row.lhs, 2) + " " + row.op, "", {}});
      left = row.lhs;
    }
    const std::string& name = section.by_left ? row.rhs : row.lhs;
    lines.push_back(ParameterLine(row, ReportedEstimates(result).at(i), marked(name, 4)));
  }
  return lines;
}

std::vector<TableLine> DefinedLines(const MleResult& result) {
  std::vector<TableLine> lines;
  for (size_t i = 0; i < result.table.rows.size(); ++i) {
    Parameter row = result.table.rows[i];
    if (row.op != ":=") continue;
    row.label.clear();  // it is the name
    lines.push_back(ParameterLine(row, ReportedEstimates(result).at(i), "    " + row.lhs));
  }
  return lines;
}

struct TitledLines {
  std::string title;
  std::vector<TableLine> lines;
};

// One width per column for all tables, so that they stand below one another.
struct Widths {
  size_t name = kNameWidth;
  std::array<size_t, kColumns.size()> cells{};
};

Widths MeasureWidths(const std::vector<TitledLines>& tables) {
  Widths widths;
  widths.cells.fill(kNumberWidth);
  for (const TitledLines& table : tables) {
    for (const TableLine& line : table.lines) {
      const size_t label = line.label.empty() ? 0 : 1 + TextWidth(line.label);
      widths.name = std::max(widths.name, TextWidth(line.name) + label);
      for (size_t i = 0; i < line.cells.size(); ++i) {
        widths.cells[i] = std::max(widths.cells[i], line.cells[i].size() + 1);
      }
    }
  }
  return widths;
}

std::string RenderLine(const TableLine& line, const Widths& widths) {
  const size_t used = TextWidth(line.name) + TextWidth(line.label);
  std::string out = line.name + std::string(widths.name - used, ' ') + line.label;
  for (size_t i = 0; i < line.cells.size(); ++i) {
    out += std::string(widths.cells[i] - line.cells[i].size(), ' ') + line.cells[i];
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string RenderTables(const std::vector<TitledLines>& tables) {
  const Widths widths = MeasureWidths(tables);
  TableLine header;
  for (size_t i = 0; i < kColumns.size(); ++i) header.cells[i] = kColumns[i];
  std::string out;
  for (const TitledLines& table : tables) {
    out += "\n" + table.title + "\n";
    if (table.lines.empty()) continue;  // the heading of a group
    out += RenderLine(header, widths);
    for (const TableLine& line : table.lines) out += RenderLine(line, widths);
  }
  return out;
}

std::string Parameters(const MleResult& result) {
  const bool expected = result.information == stats::Information::kExpected;
  std::string out =
      Block("Parameter Estimates:",
            SummaryLine("Standard errors", result.robust ? "Robust (Huber-White)" : "Standard") +
                SummaryLine("Information", expected && !result.robust ? "Expected" : "Observed"));
  std::vector<TitledLines> tables;
  for (size_t group = 0; group < result.group_n.size(); ++group) {
    if (result.group_n.size() > 1) {
      tables.push_back(
          {"\nGroup " + std::to_string(group + 1) + " [" + result.group_labels.at(group) + "]:",
           {}});
    }
    for (const ParameterSection& section : kGroupSections) {
      auto lines = SectionLines(result, section, static_cast<int>(group) + 1);
      if (!lines.empty()) tables.push_back({std::string(section.title) + ":", std::move(lines)});
    }
  }
  auto defined = DefinedLines(result);
  if (!defined.empty()) tables.push_back({"Defined Parameters:", std::move(defined)});
  return out + RenderTables(tables);
}

std::string Constraints(const MleResult& result) {
  std::string out;
  for (const Parameter& row : result.table.rows) {
    if (row.op == "==") out += "    " + row.lhs + " == " + row.rhs + "\n";
  }
  return out.empty() ? "" : "\nConstraints:\n" + out;
}

// What robust standard errors come with, under lavaan's names.
std::string ScaledTests(const MleResult& result) {
  if (!result.robust) return {};
  stats::SemFit scaled;
  scaled.fit_measures = ReportedMeasures(result);
  const auto measure = [&](const char* name, const char* label) {
    return MeasureLine(scaled, name, label);
  };
  std::string out =
      Block("Scaled Test User Model (Yuan-Bentler):",
            measure("chisq.scaled", "Test statistic") + measure("df.scaled", "Degrees of freedom") +
                measure("pvalue.scaled", "P-value (Chi-square)") +
                measure("chisq.scaling.factor", "Scaling correction factor") +
                measure("cfi.robust", "Robust Comparative Fit Index (CFI)") +
                measure("tli.robust", "Robust Tucker-Lewis Index (TLI)") +
                measure("rmsea.robust", "Robust RMSEA"));
  for (const std::string& warning : result.robust->warnings) {
    out += WrapText("Warning: " + warning, 2);
  }
  return out;
}

std::string TablesText(const MleResult& result) {
  std::string out;
  for (const CellTable& table : result.tables) {
    CellTable shown = table;
    const size_t left_out = shown.rows.size() - std::min(shown.rows.size(), kShownRows);
    shown.rows.resize(shown.rows.size() - left_out);
    out += report::CellTableText(shown);
    if (left_out > 0) out += WrapText("(" + std::to_string(left_out) + " more in result.json)", 2);
  }
  return out;
}

std::string NotesBlock(const MleResult& result) {
  std::string out;
  for (const std::string& note : result.notes) out += WrapText(note, 2);
  return Block("Notes:", out);
}

// As R's summary(lm), with what the fit has beside.
std::string RegressionSummary(const MleResult& result) {
  std::string warnings;
  for (const std::string& warning : result.fit.warnings)
    warnings += WrapText("Warning: " + warning, 2);
  std::vector<TitledLines> tables;
  if (result.least_squares.size() > result.group_n.size()) {
    for (size_t group = 0; group < result.group_n.size(); ++group) {
      auto lines = SectionLines(result, kGroupSections[2], static_cast<int>(group) + 1);
      if (!lines.empty()) tables.push_back({"Covariances of residuals:", std::move(lines)});
    }
  }
  auto defined = DefinedLines(result);
  if (!defined.empty()) tables.push_back({"Defined Parameters:", std::move(defined)});
  return "Least squares\n" + warnings + LeastSquaresText(result) +
         (tables.empty() ? "" : RenderTables(tables)) + TablesText(result) + NotesBlock(result) +
         "\n" +
         WrapText(
             "The same fit by maximum likelihood (divisor n, z tests) is in the report and the "
             "CSV.",
             0);
}

std::string AnalysisHeading(const std::string& name) {
  const std::string heading = "Analysis " + name;
  return "\n" + heading + "\n" + std::string(TextWidth(heading), '=') + "\n";
}

}  // namespace

std::string SemSummary(const MleResult& result) {
  CheckEstimates(result);
  if (!result.least_squares.empty()) return RegressionSummary(result);
  return ConvergenceText(result.fit) + "\n" + SizesBlock(result) + Tests(result) +
         ScaledTests(result) + Parameters(result) + Constraints(result) + TablesText(result) +
         NotesBlock(result);
}

std::string TerminalSummary(std::span<const MleResult> results, const study::Plan& plan,
                            const report::RunFacts& facts) {
  const std::string heading =
      plan.title == plan.study || plan.title.empty() ? plan.study : plan.study + ": " + plan.title;
  std::string out = WrapText("Study " + heading, 0);
  for (const MleResult& result : results) {
    if (results.size() > 1) out += AnalysisHeading(result.name);
    out += "\n" + SemSummary(result);
  }
  return out + report::RunSummary(plan, facts);
}

}  // namespace partita::methods::mle
