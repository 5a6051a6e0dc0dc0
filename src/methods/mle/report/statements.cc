#include "methods/mle/report/statements.h"

#include "report/plan_statements.h"

namespace partita::methods::mle {
namespace {

using report::List;
using report::Statement;

Statement Agreement(const report::RunFacts& facts) {
  if (!facts.digits_of_agreement) {
    return {"agreement",
            "Agreement with the pooled fit was not measured for this study; a rehearsal on mock "
            "data (partita study rehearse) measures it, in digits."};
  }
  const int digits = *facts.digits_of_agreement;
  return {"agreement", "Equal to the pooled fit to " + std::to_string(digits) +
                           (digits == 1 ? " digit" : " digits") +
                           ", measured in a rehearsal of this study file on mock data."};
}

Statement StandardErrorsStatement(std::span<const MleResult> results, const study::Plan& plan) {
  std::vector<std::string> standard, robust, squares;
  for (const MleResult& result : results) {
    (!result.least_squares.empty() ? squares
     : result.robust               ? robust
                                   : standard)
        .push_back(AnalysisName(result));
  }
  std::string text;
  if (!squares.empty()) {
    const std::string where = squares.size() == results.size() ? "" : " of " + List(squares);
    text = "Standard errors, t and F tests and intervals" + where +
           " are those of least squares. They assume residuals that are independent, normally "
           "distributed and equally spread, which was not checked.";
  }
  if (!standard.empty()) {
    const std::string where = standard.size() == results.size() ? "" : " of " + List(standard);
    text += (text.empty() ? "" : " ") +
            ("Standard errors, intervals and chi-square tests" + where) +
            " are the standard ones of maximum likelihood. They assume multivariate normal data, "
            "and normality was not checked.";
  }
  if (!robust.empty()) {
    const std::string where = robust.size() == results.size() ? "" : " of " + List(robust);
    text += (text.empty() ? "" : " ") + ("Standard errors" + where) +
            " are robust (Huber-White) and the chi-square is scaled: they do not need normal data, "
            "but large samples.";
  }
  if (report::AllNoisy(plan)) {
    text +=
        " They contain the variance of the privacy noise, to first order; chi-square and the fit "
        "indices do not.";
  }
  return {"standard-errors", text};
}

}  // namespace

std::string AnalysisName(const MleResult& result) {
  return result.name.empty() ? "main" : result.name;
}

std::vector<Statement> Statements(std::span<const MleResult> results, const study::Plan& plan,
                                  const report::RunFacts& facts) {
  std::vector<Statement> statements;
  std::vector<std::string> failed;
  for (const MleResult& result : results) {
    if (!result.fit.converged) failed.push_back(AnalysisName(result));
  }
  if (!failed.empty()) {
    statements.push_back({"convergence", "Did NOT converge: " + List(failed) +
                                             ". Those numbers are where the optimiser stopped, "
                                             "not estimates."});
  }
  statements.push_back(Agreement(facts));
  for (Statement& statement : report::PlanStatements(plan))
    statements.push_back(std::move(statement));
  statements.push_back(StandardErrorsStatement(results, plan));
  statements.push_back({"not-done",
                        "Not done: residual plots, leverage and influence of single rows, and "
                        "checks of distributions. They need the rows in one place, where they "
                        "never are."});
  return statements;
}

}  // namespace partita::methods::mle
