#include "privacy/ledger/policy.h"

#include <fmt/format.h>

#include "base/error.h"
#include "privacy/ledger/decimal.h"

namespace partita::privacy::ledger {
namespace {

bool IsSmallLetterOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

void CheckRange(const std::string& value, const char* low, const char* high,
                const std::string& what) {
  if (!IsDecimal(value) || DecimalLess(value, low) || DecimalLess(high, value)) {
    throw Error(ErrorCode::kUsage, fmt::format("{} is '{}'", what, value.substr(0, 40)),
                fmt::format("write a decimal number from {} to {}", low, high));
  }
}

void CheckBudget(const Budget& budget, const std::string& whose) {
  CheckRange(budget.epsilon, "1e-4", "1e4", "the epsilon of the budget against " + whose);
  CheckRange(budget.delta, "1e-15", "0.1", "the delta of the budget against " + whose);
  if (!IsDecimal(budget.approximate_delta) ||
      !DecimalLess(budget.approximate_delta, budget.delta)) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("the approximate_delta of the budget against {} is '{}', its delta '{}'", whose,
                    budget.approximate_delta.substr(0, 40), budget.delta),
        "write 0, or a decimal number below delta");
  }
}

bool IsWider(const Budget& from, const Budget& to) {
  return from.adjacency != to.adjacency || DecimalLess(from.epsilon, to.epsilon) ||
         DecimalLess(from.delta, to.delta);
}

}  // namespace

std::string_view AdversaryClassName(AdversaryClass adversary_class) {
  return adversary_class == AdversaryClass::kOutside ? "outside" : "insider";
}

void CheckTableName(const std::string& name) {
  bool good = !name.empty() && name.size() <= kMaxTableName && IsSmallLetterOrDigit(name[0]);
  for (const char c : name)
    good = good && (IsSmallLetterOrDigit(c) || c == '-' || c == '_' || c == '.');
  if (!good) {
    throw Error(ErrorCode::kUsage, "this is no name for the account of a table",
                "use 1 to 64 small letters, digits, '-', '_' and '.', a letter or digit first");
  }
}

void CheckPolicy(const Policy& policy) {
  CheckTableName(policy.table);
  CheckBudget(policy.outside, "outsiders");
  if (policy.insider.has_value()) {
    CheckBudget(*policy.insider, "insiders");
    if (policy.insider->adjacency != Adjacency::kReplace) {
      throw Error(ErrorCode::kUsage, "the budget against insiders is for add-remove",
                  "use replace: the parties of a study know how many rows there are");
    }
  }
  if (policy.coalition < 1 || policy.coalition > kMaxCoalition) {
    throw Error(ErrorCode::kUsage, fmt::format("a coalition of {} insiders", policy.coalition),
                fmt::format("use 1 (each for itself) to {}", kMaxCoalition));
  }
  if ((policy.exact == ExactRule::kCounted) != (policy.max_exact > 0)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the rule for exact releases and their maximum of {} do not agree",
                            policy.max_exact),
                "give a maximum of 1 or more with the rule 'counted', and only there");
  }
}

bool IsWider(const Policy& from, const Policy& to) {
  if (IsWider(from.outside, to.outside)) return true;
  if (from.insider.has_value()) {
    if (!to.insider.has_value() || IsWider(*from.insider, *to.insider)) return true;
    if (to.coalition < from.coalition) return true;
  }
  switch (to.exact) {
    case ExactRule::kRefused:
      return false;
    case ExactRule::kAllowed:
      return from.exact != ExactRule::kAllowed;
    case ExactRule::kCounted:
      return from.exact == ExactRule::kRefused ||
             (from.exact == ExactRule::kCounted && to.max_exact > from.max_exact);
  }
  throw Error(ErrorCode::kInternal, "unknown rule for exact releases");
}

const Budget* BudgetOf(const Policy& policy, AdversaryClass adversary_class) {
  if (adversary_class == AdversaryClass::kOutside) return &policy.outside;
  return policy.insider.has_value() ? &*policy.insider : nullptr;
}

}  // namespace partita::privacy::ledger
