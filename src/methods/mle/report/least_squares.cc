#include "methods/mle/report/least_squares.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text_table.h"
#include "methods/mle/report/estimate_rows.h"
#include "report/html_text.h"
#include "report/numbers.h"

namespace partita::methods::mle {
namespace {

using report::Number3;
using report::Number4;
using report::NumberAt;

constexpr char kNoIntercept[] = "The intercept is not among what was released.";

std::string WholeText(double count) {
  return FormatCount(static_cast<uint64_t>(std::llround(count)));
}

std::vector<std::string> TermCells(const LeastSquaresTerm& term) {
  const double error = term.standard_error;
  return {term.name,
          NumberAt(term.estimate, error),
          NumberAt(error, error),
          Number3(term.t),
          report::PValue(term.p_value),
          NumberAt(term.ci_lower, error),
          NumberAt(term.ci_upper, error)};
}

bool HasIntercept(const LeastSquares& regression) {
  return regression.terms.front().name == "(Intercept)";
}

std::string EqualsP(double p_value) {
  const std::string text = report::PValue(p_value);
  return "p " + (text[0] == '<' ? text : "= " + text);
}

std::string FText(const LeastSquares& regression) {
  return Number4(regression.f) + " on " + WholeText(regression.f_df) + " and " +
         WholeText(regression.df) + " degrees of freedom";
}

// Of the whole result: with the intercept and the residual variance counted, as R does.
std::vector<std::pair<std::string, double>> Criteria(const MleResult& result) {
  std::vector<std::pair<std::string, double>> criteria;
  for (const auto& [name, label] :
       {std::pair{"logl", "Log-likelihood"}, std::pair{"aic", "AIC"}, std::pair{"bic", "BIC"}}) {
    const auto found = result.fit.fit_measures.find(name);
    if (found != result.fit.fit_measures.end()) criteria.emplace_back(label, found->second);
  }
  return criteria;
}

}  // namespace

std::string RegressionName(const MleResult& result, const LeastSquares& regression) {
  const bool several = result.group_n.size() > 1;
  return regression.outcome +
         (several ? ", group " + result.group_labels.at(regression.group) : "");
}

std::string LeastSquaresText(const MleResult& result) {
  std::string out;
  for (const LeastSquares& regression : result.least_squares) {
    TextTable table{{"", "Estimate", "Std.Err", "t value", "P(>|t|)", "ci.lower", "ci.upper"},
                    {1, 2, 3, 4, 5, 6},
                    {}};
    for (const LeastSquaresTerm& term : regression.terms) table.rows.push_back(TermCells(term));
    out += "\nRegression of " + RegressionName(result, regression) + ":\n" + RenderTable(table, 2);
    if (!HasIntercept(regression)) out += WrapText(kNoIntercept, 2);
    out += "\n  Rows                       " + WholeText(regression.n) +
           "\n  Residual standard error    " + Number4(regression.sigma) + " on " +
           WholeText(regression.df) + " degrees of freedom\n  R-squared                  " +
           Number4(regression.r2) + ", adjusted " + Number4(regression.adjusted_r2) +
           "\n  F-statistic                " + FText(regression) + ", " +
           EqualsP(regression.f_p_value) + "\n";
  }
  std::string criteria;
  for (const auto& [label, value] : Criteria(result))
    criteria += (criteria.empty() ? "" : ", ") + label + " " + report::Fixed3(value);
  return criteria.empty() ? out : out + "\n  " + criteria + "\n";
}

std::string LeastSquaresHtml(const MleResult& result) {
  std::string out;
  for (const LeastSquares& regression : result.least_squares) {
    report::HtmlTable table{"Regression of " + RegressionName(result, regression) +
                                ", by least squares: Student's t and 95 % intervals on " +
                                WholeText(regression.df) + " degrees of freedom",
                            {"", "Estimate", "Std. error", "t", "p", "95 % lower", "95 % upper"},
                            {1, 2, 3, 4, 5, 6},
                            {},
                            "estimates"};
    for (const LeastSquaresTerm& term : regression.terms) {
      std::vector<std::string> cells = TermCells(term);
      for (std::string& cell : cells) cell = report::Escape(cell);
      table.Add(std::move(cells));
    }
    out += report::RenderHtmlTable(table);
    if (!HasIntercept(regression)) out += report::Paragraph(kNoIntercept, "note");
    out += report::Definitions(
        {{"Residual standard error",
          Number4(regression.sigma) + " on " + WholeText(regression.df) + " degrees of freedom"},
         {"R-squared", Number4(regression.r2)},
         {"Adjusted R-squared", Number4(regression.adjusted_r2)},
         {"F", FText(regression) + ", " + EqualsP(regression.f_p_value)}});
  }
  std::vector<std::pair<std::string, std::string>> criteria;
  for (const auto& [label, value] : Criteria(result))
    criteria.emplace_back(label, report::Fixed3(value));
  return criteria.empty() ? out : out + report::Definitions(criteria);
}

std::string LeastSquaresSentence(const MleResult& result) {
  std::string text;
  for (const LeastSquares& regression : result.least_squares) {
    text += (text.empty() ? "" : " ") + RegressionName(result, regression) +
            " was regressed by least squares on " + WholeText(regression.f_df) +
            (regression.f_df == 1 ? " predictor" : " predictors") +
            " (n = " + WholeText(regression.n) + "): R-squared = " + Number3(regression.r2) +
            ", adjusted " + Number3(regression.adjusted_r2) + ", F(" + WholeText(regression.f_df) +
            ", " + WholeText(regression.df) + ") = " + Number3(regression.f) + ", " +
            EqualsP(regression.f_p_value) + ".";
  }
  return text;
}

}  // namespace partita::methods::mle
