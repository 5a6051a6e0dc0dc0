#include "methods/mle/report/estimates_csv.h"

#include <array>
#include <charconv>
#include <cmath>

#include "methods/mle/report/estimate_rows.h"
#include "methods/mle/report/statements.h"

namespace partita::methods::mle {
namespace {

constexpr const char* kHeader =
    "analysis,group,group.label,group.n,lhs,op,rhs,label,free,user,exo,est,se,z,pvalue,ci.lower,"
    "ci.upper,std.lv,std.all,se.robust,z.robust,pvalue.robust,ci.lower.robust,ci.upper.robust,"
    "se.lm,t.lm,df.lm,pvalue.lm,ci.lower.lm,ci.upper.lm\r\n";

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

// Text that no spreadsheet evaluates.
std::string CsvText(const std::string& text) {
  if (text.empty()) return text;
  const bool formula = std::string_view("=+-@").find(text[0]) != std::string_view::npos ||
                       static_cast<unsigned char>(text[0]) < 0x20;
  return Quoted(formula ? "'" + text : text);
}

std::string CsvNumber(double value) {
  if (!std::isfinite(value)) return {};
  std::array<char, 40> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

std::string RobustCells(const MleResult& result, size_t i) {
  if (!result.robust) return ",,,,,";
  const stats::ParameterEstimate& robust = result.robust->estimates[i];
  std::string cells;
  for (double value :
       {robust.standard_error, robust.z, robust.p_value, robust.ci_lower, robust.ci_upper}) {
    cells += "," + CsvNumber(value);
  }
  return cells;
}

std::string LeastSquaresCells(const MleResult& result, size_t i) {
  for (const LeastSquares& regression : result.least_squares) {
    for (const LeastSquaresTerm& term : regression.terms) {
      if (term.row != i) continue;
      std::string cells;
      for (double value : {term.standard_error, term.t, regression.df, term.p_value, term.ci_lower,
                           term.ci_upper}) {
        cells += "," + CsvNumber(value);
      }
      return cells;
    }
  }
  return ",,,,,,";
}

std::string CsvLine(const MleResult& result, size_t i) {
  const stats::Parameter& row = result.table.rows[i];
  const stats::ParameterEstimate& estimate = result.fit.estimates[i];
  const size_t group = row.group < 1 ? result.group_n.size() : static_cast<size_t>(row.group) - 1;
  const bool in_group = group < result.group_n.size() && group < result.group_labels.size();
  std::string line = CsvText(AnalysisName(result)) + "," + std::to_string(row.group) + "," +
                     (in_group ? CsvText(result.group_labels[group]) : "") + "," +
                     (in_group ? CsvNumber(result.group_n[group]) : "");
  line += "," + CsvText(row.lhs) + "," + Quoted(row.op) + "," + CsvText(row.rhs) + "," +
          CsvText(row.label);
  line += "," + std::to_string(row.free) + (row.user ? ",1" : ",0") + (row.exogenous ? ",1" : ",0");
  for (double value : {estimate.estimate, estimate.standard_error, estimate.z, estimate.p_value,
                       estimate.ci_lower, estimate.ci_upper, estimate.std_lv, estimate.std_all}) {
    line += "," + CsvNumber(value);
  }
  return line + RobustCells(result, i) + LeastSquaresCells(result, i) + "\r\n";
}

// Not what has no number here: moments of fixed covariates, which are the sample's
// (result_json.h), and constraints.
bool HasCsvLine(const stats::Parameter& row) { return !row.exogenous && row.op != "=="; }

}  // namespace

std::string EstimatesCsv(std::span<const MleResult> results) {
  std::string out = kHeader;
  for (const MleResult& result : results) {
    CheckEstimates(result);
    for (size_t i = 0; i < result.table.rows.size(); ++i) {
      if (HasCsvLine(result.table.rows[i])) out += CsvLine(result, i);
    }
  }
  return out;
}

}  // namespace partita::methods::mle
