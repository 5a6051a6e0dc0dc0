#include "methods/glm/lasso_document.h"

#include <fmt/format.h>

#include <cmath>

#include "data/csv_writer.h"
#include "methods/glm/document.h"
#include "methods/glm/read_errors.h"

namespace partita::methods::glm {
namespace {

study::DocumentTable EstimateTable(const Spec& spec, const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"term", "estimate"};
  if (HasRatios(spec.law)) table.columns.emplace_back(RatioName(spec.law));
  for (const Coefficient& row : regression.coefficients) {
    std::vector<study::DocumentCell> cells = {row.term, row.estimate};
    if (HasRatios(spec.law)) {
      if (ShowsRatio(spec, row)) {
        cells.emplace_back(std::exp(row.estimate));
      } else {
        cells.emplace_back("");
      }
    }
    table.rows.push_back(std::move(cells));
  }
  return table;
}

study::DocumentTable PenaltyTable(const Regression& regression) {
  study::DocumentTable table;
  table.columns = {"penalty", "coefficients that are not 0", "BIC", ""};
  for (size_t c = 0; c < regression.lasso.size(); ++c) {
    const LassoCandidate& candidate = regression.lasso[c];
    table.rows.push_back({candidate.penalty, static_cast<double>(candidate.selected), candidate.bic,
                          !candidate.converged     ? "not converged"
                          : c == regression.chosen ? "taken"
                                                   : ""});
  }
  return table;
}

std::string LassoCsv(const Spec& spec, const Regression& regression) {
  std::string csv =
      "term,estimate,std.error,statistic,p.value,conf.low,conf.high,ratio,ratio.low,ratio.high\n";
  for (const Coefficient& row : regression.coefficients) {
    csv += fmt::format("{},{},,,,,,", data::QuotedField(row.term, ','), row.estimate);
    if (ShowsRatio(spec, row)) csv += fmt::format("{}", std::exp(row.estimate));
    csv += ",,\n";
  }
  return csv;
}

}  // namespace

void AddLasso(const Spec& spec, const Regression& regression, study::Document& document) {
  study::DocumentSection coefficients;
  coefficients.heading = "Coefficients";
  coefficients.paragraphs.push_back(fmt::format(
      "{}, family {}, link {}{}; lasso with penalty {:g}.", spec.formula, FamilyName(spec.law),
      LinkName(spec.law.link),
      spec.weights.empty() ? ""
                           : fmt::format("; {} {}", WeightsName(spec.weights_kind), spec.weights),
      regression.lasso[regression.chosen].penalty));
  coefficients.tables.push_back(EstimateTable(spec, regression));
  coefficients.paragraphs.emplace_back(
      "Estimates have all their digits, and tell more than rounded ones. There are no standard "
      "errors, "
      "intervals and tests: estimates are drawn towards 0, and which are 0 was chosen by the data. "
      "A fit of the chosen columns to the same rows has errors that do not know of the choice.");
  for (const std::string& warning : regression.warnings) coefficients.paragraphs.push_back(warning);
  study::DocumentSection penalties;
  penalties.heading = "Penalties";
  penalties.paragraphs.emplace_back(
      "Taken is the penalty with the least BIC of those that converged: the deviance (of a linear "
      "model n "
      "times the logarithm of the mean square) and log(n) for each coefficient that is not 0.");
  penalties.tables.push_back(PenaltyTable(regression));
  study::DocumentSection fit;
  fit.heading = "Fit";
  study::DocumentTable table;
  table.columns = {"fit", "value"};
  table.rows.push_back({"rows", static_cast<double>(regression.rows)});
  if (spec.law.binary) table.rows.push_back({"events", static_cast<double>(regression.events)});
  if (regression.fit->null_deviance)
    table.rows.push_back({"null deviance", *regression.fit->null_deviance});
  table.rows.push_back({"deviance", regression.fit->deviance});
  table.rows.push_back({"degrees of freedom", regression.df_residual});
  fit.tables.push_back(std::move(table));
  document.files.push_back({kCoefficientsFile, LassoCsv(spec, regression)});
  document.sections = {std::move(coefficients), std::move(penalties), std::move(fit)};
}

}  // namespace partita::methods::glm
