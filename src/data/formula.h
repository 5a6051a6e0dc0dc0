// Formulas of regressions, in the part of R's language that asks nothing of the data:
//
//   outcome ~ term + term + ..    terms: a, a:b (interaction), a*b (a + b + a:b), 0, 1, - 1
//   offset(a)                     added to the linear predictor with coefficient 1
//   log(a) log1p(a) sqrt(a)       of a number; also as the outcome
//   factor(a)                     an integer as a factor
//   I(a^2) I(a * b)               a square, a product
//
// and of a survival model
//
//   Surv(time, event) ~ ..        the columns of follow-up time and event
//   Surv(entry, time, event) ~ .. at risk after a time of entry
//   strata(a)                     a baseline for each level
//
// What R would take from the data, and what is not there yet, is refused by name with what to write
// instead.
#pragma once

#include <string>
#include <vector>

namespace partita::data {

struct FormulaAtom {
  enum class Function { kNone, kLog, kLog1p, kSqrt, kFactor, kProduct, kSurvival };
  Function function = Function::kNone;
  std::string name;
  std::string with;        // kProduct: the other one; of a square the same. kSurvival: the event
  std::string text;        // as R would write it: "log(age)", "I(age^2)"
  std::string entry = {};  // kSurvival: empty where everybody is at risk from the start
  bool operator==(const FormulaAtom& other) const { return text == other.text; }
};

// An interaction of its atoms; one: a main effect.
using FormulaTerm = std::vector<FormulaAtom>;

struct Formula {
  FormulaAtom outcome;
  std::vector<FormulaTerm> terms;  // each once; main effects first, as R orders them
  std::vector<FormulaAtom> offsets;
  std::vector<FormulaAtom> strata;  // of a survival model
  bool intercept = true;
};

// Throws kBadInput with the character's place, from 1, and a hint.
Formula ParseFormula(const std::string& text);
// The same with Surv(time, event) as the outcome, and strata.
Formula ParseSurvivalFormula(const std::string& text);

}  // namespace partita::data
