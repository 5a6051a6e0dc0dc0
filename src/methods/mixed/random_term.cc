#include "methods/mixed/random_term.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/error.h"

namespace partita::methods::mixed {
namespace {

constexpr char kExample[] = "write, for example: formula = \"score ~ age + (1 | ward)\"";

[[noreturn]] void Refuse(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kBadInput, what, hint);
}

std::string WithoutSpaces(std::string text) {
  std::erase_if(text, [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  return text;
}

// Where the parenthesis at `open` ends; npos: it does not.
size_t EndOf(const std::string& text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return std::string::npos;
}

struct Term {
  size_t first = 0, last = 0;  // of the parentheses
  std::string left, group;
};

std::vector<Term> RandomTerms(const std::string& formula) {
  std::vector<Term> terms;
  for (size_t open = formula.find('('); open != std::string::npos;
       open = formula.find('(', open + 1)) {
    const size_t end = EndOf(formula, open);
    if (end == std::string::npos) break;
    const std::string inside = formula.substr(open + 1, end - open - 1);
    const size_t bar = inside.find('|');
    if (bar == std::string::npos || inside.find('(') < bar) continue;
    terms.push_back(
        {open, end, WithoutSpaces(inside.substr(0, bar)), WithoutSpaces(inside.substr(bar + 1))});
    open = end;
  }
  return terms;
}

std::vector<std::string> Summands(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '+') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The slope of (1 + slope | group), which lme4 also takes as (slope | group); empty: none.
std::string SlopeOf(const Term& term) {
  if (term.left.empty() || term.group.empty())
    Refuse("a random term is (1 | group), and one side of it is empty", kExample);
  const bool apart = term.group.front() == '|';
  const std::string group = term.group.substr(apart ? 1 : 0);
  if (apart) {
    Refuse(fmt::format("({} || {}) has an intercept and a slope that are not correlated", term.left,
                       group),
           fmt::format("write (1 + x | {}), whose correlation is estimated", group));
  }
  std::string slope;
  size_t intercepts = 0, slopes = 0;
  for (const std::string& part : Summands(term.left)) {
    if (part == "1") {
      ++intercepts;
    } else {
      slope = part;
      ++slopes;
    }
  }
  if (slope == "0" || slope.find('-') != std::string::npos ||
      (slopes > 1 && term.left.starts_with("0+"))) {
    Refuse(fmt::format("({} | {}) has a random slope without an intercept", term.left, group),
           fmt::format("write (1 + x | {}) or (1 | {})", group, group));
  }
  if (slopes > 1 || intercepts > 1) {
    Refuse(fmt::format("({} | {}) has {} random slopes", term.left, group, slopes),
           fmt::format("keep one: (1 + x | {}); others may be fixed effects alone", group));
  }
  return slope;
}

}  // namespace

SplitFormula SplitRandomTerm(const std::string& formula) {
  const std::vector<Term> terms = RandomTerms(formula);
  if (terms.empty()) {
    if (formula.find('|') != std::string::npos)
      Refuse("a random term stands in parentheses", kExample);
    Refuse(
        "the formula has no random term",
        std::string(kExample) + "; without one take method = \"glm\" with family = \"gaussian\"");
  }
  std::string slope;
  for (const Term& term : terms) slope = SlopeOf(term);
  if (terms.size() > 1) {
    Refuse(fmt::format("the formula has {} random terms", terms.size()),
           "keep one; other groups may be fixed effects, if they are few");
  }
  const Term& term = terms.front();
  if (term.group.find_first_of("/:*+") != std::string::npos) {
    Refuse(fmt::format("groups within groups, as in (1 | {}), are not here", term.group),
           "name one variable whose values are the groups: groups of two holders are two anyway");
  }
  // Else what follows would be read as a part of the term before.
  const size_t follows = formula.find_first_not_of(" \t", term.last + 1);
  if (follows != std::string::npos && formula[follows] != '+' && formula[follows] != '-') {
    Refuse(fmt::format("after the random term comes '{}'", formula.substr(follows)),
           "after (1 | group) a formula ends, or goes on with + or -; write one pair of "
           "parentheses around it");
  }
  // With the sign before it.
  std::string before = formula.substr(0, term.first), after = formula.substr(term.last + 1);
  const auto ends = [](std::string& text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
      text.pop_back();
    return text.empty() ? '\0' : text.back();
  };
  const char sign = ends(before);
  if (sign == '+') {
    before.pop_back();
  } else if (sign == '~') {
    const size_t next = after.find_first_not_of(" \t");
    before += next == std::string::npos ? " 1" : " ";
    if (next != std::string::npos && after[next] == '+') after = after.substr(next + 1);
  } else {
    Refuse("a random term is added, by + before it", kExample);
  }
  return {before + after, term.group, slope};
}

}  // namespace partita::methods::mixed
