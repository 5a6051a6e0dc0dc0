// The paragraph for a paper.
#include <algorithm>
#include <cmath>
#include <map>

#include "base/text_table.h"
#include "methods/mle/report/estimate_rows.h"
#include "methods/mle/report/least_squares.h"
#include "methods/mle/report/statements.h"
#include "report/numbers.h"
#include "report/plan_statements.h"

namespace partita::methods::mle {
namespace {

using report::Fixed3;

double MeasureOf(const MleResult& result, const char* name) {
  const std::map<std::string, double> measures = ReportedMeasures(result);
  const auto found = measures.find(name);
  return found == measures.end() ? std::nan("") : found->second;
}

std::string Plural(size_t count, const std::string& noun) {
  return FormatCount(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string ModelKind(const MleResult& result) {
  if (!result.family.empty() && result.function != "growth") return "A " + result.family;
  if (result.function == "cfa") return "A confirmatory factor analysis";
  if (result.function == "growth") return "A growth curve model";
  return "A structural equation model";
}

double Rows(const MleResult& result) {
  double rows = 0;
  for (double n : result.group_n) rows += n;
  return rows;
}

std::string ModelSentence(const MleResult& result) {
  if (!result.least_squares.empty()) return LeastSquaresSentence(result);
  std::string text =
      ModelKind(result) + " (" + Plural(result.table.observed.size(), "observed variable");
  const size_t latent = result.table.latent.size();
  if (latent > 0) text += ", " + Plural(latent, "latent variable");
  text += ", " + Plural(static_cast<size_t>(result.table.num_free), "free parameter");
  const double npar = MeasureOf(result, "npar");
  if (npar < result.table.num_free) {
    text += ", " + Plural(static_cast<size_t>(std::llround(result.table.num_free - npar)),
                          "equality constraint");
  }
  text += ") was fitted by maximum likelihood";
  if (result.group_n.size() > 1) {
    text += " in " + FormatCount(result.group_n.size()) + " groups (" +
            report::List(result.group_labels) + ")";
  }
  return text + " to n = " + FormatCount(static_cast<uint64_t>(std::llround(Rows(result)))) +
         " rows.";
}

std::string FitSentence(const MleResult& result) {
  if (!result.least_squares.empty()) return "";
  if (!result.fit.converged) return "The optimiser did not converge.";
  const double df = MeasureOf(result, "df");
  std::string text = "The optimiser converged after " +
                     Plural(static_cast<size_t>(result.fit.iterations), "iteration") + ".";
  if (std::isnan(df) && !IsSaturatedRegression(result)) return text;
  if (!(df > 0)) return text + " The model is saturated, so its fit cannot be tested.";
  const std::string p = report::PValue(MeasureOf(result, "pvalue"));
  text += " Model fit: chi-square(" + std::to_string(std::llround(df)) +
          ") = " + Fixed3(MeasureOf(result, "chisq")) + ", p " + (p[0] == '<' ? p : "= " + p);
  const auto append = [&](const char* name, const std::string& label) {
    if (!std::isnan(MeasureOf(result, name)))
      text += ", " + label + Fixed3(MeasureOf(result, name));
  };
  append("cfi", "CFI = ");
  append("tli", "TLI = ");
  append("rmsea", "RMSEA = ");
  if (!std::isnan(MeasureOf(result, "rmsea.ci.lower"))) {
    text += " (90 % CI " + Fixed3(MeasureOf(result, "rmsea.ci.lower")) + " to " +
            Fixed3(MeasureOf(result, "rmsea.ci.upper")) + ")";
  }
  append("srmr", "SRMR = ");
  if (!std::isnan(MeasureOf(result, "chisq.scaled"))) {
    text += "; scaled (Yuan-Bentler) chi-square = " + Fixed3(MeasureOf(result, "chisq.scaled"));
    append("pvalue.scaled", "p = ");
    append("cfi.robust", "robust CFI = ");
    append("rmsea.robust", "robust RMSEA = ");
  }
  return text + ".";
}

std::string SecuritySentence(const study::Plan& plan, const report::RunFacts& facts) {
  size_t holders = 0;
  for (const study::PlanParty& party : plan.parties) {
    for (const std::string& role : party.roles) holders += role == "holder" ? 1 : 0;
  }
  std::string text = "The data stayed with the " + Plural(holders, "institution") +
                     " that hold it (" + plan.partition +
                     " partition) and was analysed by secure multiparty computation with Partita " +
                     facts.software_version + " (protocol " + plan.protocol + ", engine " +
                     plan.engine + "). ";
  for (const study::PlanRelease& release : plan.releases) {
    text += "Released to " + release.to + " (" + release.mechanism + "): " + release.what + ". ";
  }
  return text;
}

// One clause for each kind that occurs.
std::string StandardErrorsText(std::span<const MleResult> results) {
  std::vector<std::string> kinds;
  for (const MleResult& result : results) {
    const bool expected = result.information == stats::Information::kExpected;
    const std::string kind = !result.least_squares.empty() ? "those of least squares"
                             : result.robust               ? "robust (Huber-White)"
                             : expected ? "based on the expected information matrix"
                                        : "based on the observed information matrix";
    if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
  }
  return "Standard errors are " + report::List(kinds) + ".";
}

std::string IntervalsText(std::span<const MleResult> results) {
  size_t students = 0;
  for (const MleResult& result : results) students += result.least_squares.empty() ? 0 : 1;
  if (students == 0) return " Intervals are 95 % Wald intervals.";
  if (students == results.size()) return " Intervals are 95 % intervals by Student's t.";
  return " Intervals are 95 % intervals, by Student's t for regressions and Wald's for the others.";
}

}  // namespace

std::string MethodsParagraph(std::span<const MleResult> results, const study::Plan& plan,
                             const report::RunFacts& facts) {
  std::string text = SecuritySentence(plan, facts);
  for (const MleResult& result : results) {
    if (results.size() > 1) text += "Analysis " + AnalysisName(result) + ": ";
    text += ModelSentence(result) + " ";
    if (const std::string fit = FitSentence(result); !fit.empty()) text += fit + " ";
  }
  text += StandardErrorsText(results) + IntervalsText(results);
  if (!facts.study_hash.empty())
    text += " Hash of agreement and tables (SHA-256): " + facts.study_hash + ".";
  return text;
}

}  // namespace partita::methods::mle
