#include "data/formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include "base/error.h"

namespace partita::data {
namespace {

using Function = FormulaAtom::Function;

constexpr size_t kMostTerms = 200, kMostFactors = 4;

const std::map<std::string, Function, std::less<>>& Functions() {
  static const std::map<std::string, Function, std::less<>> functions = {
      {"log", Function::kLog},
      {"log1p", Function::kLog1p},
      {"sqrt", Function::kSqrt},
      {"factor", Function::kFactor}};
  return functions;
}

// What to write instead of functions of R that are not here.
std::string InsteadOf(const std::string& function) {
  static const std::map<std::string, std::string, std::less<>> instead = {
      {"ns", "make the columns with public knots: [[derived]] with transform = \"ns\""},
      {"bs", "make natural splines with public knots: [[derived]] with transform = \"ns\""},
      {"poly",
       "make the powers with a public centre and scale: [[derived]] with transform = "
       "\"poly\""},
      {"cut", "cut at public points: [[derived]] with transform = \"cut\""},
      {"scale", "scale with a public centre: [[derived]] with transform = \"scale\""},
      {"Surv", "survival times are the outcome of another method: docs/survival.md"},
      {"strata", "strata are not here; write the factor as a term"},
      {"cluster", "clusters are not here"},
      {"cbind", "give one row per trial, with an outcome of 0 or 1"}};
  const auto found = instead.find(function);
  return found == instead.end()
             ? "the functions are log, log1p, sqrt, factor, I and offset; others are made by "
               "[[derived]]"
             : found->second;
}

class Parser {
 public:
  Parser(const std::string& text, bool survival) : text_(text), survival_(survival) {}

  Formula Parse() {
    formula_.outcome = survival_ ? Survival() : Atom();
    Expect('~', "write the outcome and the terms: y ~ age + sex");
    if (Peek() == '-') {
      Signed();
    } else {
      Item(true);
    }
    while (Peek() == '+' || Peek() == '-') Signed();
    if (Peek() != 0) RefuseHere();
    std::stable_sort(
        formula_.terms.begin(), formula_.terms.end(),
        [](const FormulaTerm& a, const FormulaTerm& b) { return a.size() < b.size(); });
    return std::move(formula_);
  }

 private:
  [[noreturn]] void Fail(const std::string& what, const std::string& hint) const {
    throw Error(ErrorCode::kBadInput, fmt::format("the formula at character {}: {}", at_ + 1, what),
                hint);
  }

  char Peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void Expect(char wanted, const std::string& hint) {
    if (Peek() != wanted) Fail(fmt::format("there should be '{}'", wanted), hint);
    ++at_;
  }

  [[noreturn]] void RefuseHere() {
    const char found = Peek();
    if (found == '\0') Fail("it ends too early", "write, for example: y ~ age + sex");
    const std::map<char, std::string> instead = {
        {'^', "write the interactions: a + b + a:b; and squares as I(a^2)"},
        {'/', "write nested terms out: a + a:b"},
        {'|', "there are no random effects"},
        {'%', "write nested terms out: a + a:b"},
        {'(', "write the terms without brackets: a + b + a:c + b:c"},
        {'.', "name the variables"}};
    const auto known = instead.find(found);
    Fail(fmt::format("'{}' is not understood here", found),
         known == instead.end() ? "terms are joined by +, interactions by : or *" : known->second);
  }

  static bool IsFirst(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
  static bool IsNext(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
  }

  std::string Name() {
    if (!IsFirst(Peek())) RefuseHere();
    const size_t first = at_;
    while (at_ < text_.size() && IsNext(text_[at_])) ++at_;
    return text_.substr(first, at_ - first);
  }

  FormulaAtom Atom() {
    const std::string name = Name();
    if (Peek() != '(') return {Function::kNone, name, "", name};
    if (name == "I") return Inhibited();
    const auto function = Functions().find(name);
    if (function == Functions().end()) {
      Fail(fmt::format("the function '{}' is not here", name), InsteadOf(name));
    }
    ++at_;
    const std::string argument = Name();
    Expect(')', fmt::format("{} takes the name of one variable", name));
    return {function->second, argument, "", fmt::format("{}({})", name, argument)};
  }

  FormulaAtom Survival() {
    constexpr char kHint[] =
        "write the outcome as Surv(time, event) or Surv(entry, time, event), with names of columns";
    if (Name() != "Surv") Fail("the outcome is no survival time", kHint);
    Expect('(', kHint);
    FormulaAtom atom{Function::kSurvival, Name(), "", ""};
    Expect(',', kHint);
    atom.with = Name();
    if (Peek() == ',') {
      ++at_;
      atom.entry = std::exchange(atom.name, std::exchange(atom.with, Name()));
    }
    Expect(')', kHint);
    atom.text = fmt::format("Surv({}{}{}, {})", atom.entry, atom.entry.empty() ? "" : ", ",
                            atom.name, atom.with);
    return atom;
  }

  // Of a word before what one variable, or one function of it, stands in.
  bool Takes(std::string_view word) {
    if (text_.compare(at_, word.size(), word) != 0) return false;
    at_ += word.size();
    return true;
  }

  // I(a^2) or I(a * b).
  FormulaAtom Inhibited() {
    constexpr char kHint[] =
        "I takes a square, I(a^2), or a product, I(a * b); other functions are made by "
        "[[derived]]";
    ++at_;
    const std::string name = Name();
    FormulaAtom atom{Function::kProduct, name, name, fmt::format("I({}^2)", name)};
    if (Peek() == '*') {
      ++at_;
      atom.with = Name();
      atom.text = fmt::format("I({} * {})", name, atom.with);
    } else {
      if (Peek() != '^') Fail("I holds something else", kHint);
      ++at_;
      if (Peek() != '2') Fail("this power is not here", kHint);
      ++at_;
    }
    if (Peek() != ')') Fail("I holds something else", kHint);
    ++at_;
    return atom;
  }

  void Signed() {
    const bool plus = Peek() == '+';
    ++at_;
    Item(plus);
  }

  void Item(bool plus) {
    const char first = Peek();
    if (first == '0' || first == '1') {
      ++at_;
      formula_.intercept = (first == '1') == plus;
      return;
    }
    if (!plus) Fail("only 1 can be taken away", "leave the term out");
    if (survival_ && Takes("strata(")) {
      formula_.strata.push_back(Atom());
      Expect(')', "strata takes one factor");
      return;
    }
    if (Takes("offset(")) {
      formula_.offsets.push_back(Atom());
      Expect(')', "offset takes one variable or one function of it");
      return;
    }
    std::vector<FormulaTerm> product = {Interaction()};
    while (Peek() == '*') {
      ++at_;
      const FormulaTerm next = Interaction();
      const std::vector<FormulaTerm> before = product;
      product.push_back(next);
      for (FormulaTerm term : before) {
        term.insert(term.end(), next.begin(), next.end());
        product.push_back(std::move(term));
      }
      if (product.size() > kMostTerms) Fail("there are too many terms", "write fewer");
    }
    for (FormulaTerm& term : product) AddTerm(std::move(term));
  }

  FormulaTerm Interaction() {
    FormulaTerm term = {Atom()};
    while (Peek() == ':') {
      ++at_;
      term.push_back(Atom());
    }
    return term;
  }

  // a:a is a, and a:b is b:a.
  void AddTerm(FormulaTerm term) {
    FormulaTerm distinct;
    for (FormulaAtom& atom : term) {
      if (std::find(distinct.begin(), distinct.end(), atom) == distinct.end())
        distinct.push_back(std::move(atom));
    }
    if (distinct.size() > kMostFactors) {
      Fail(fmt::format("an interaction of {} variables", distinct.size()),
           fmt::format("write interactions of at most {}", kMostFactors));
    }
    const auto same = [&](const FormulaTerm& other) {
      return std::is_permutation(other.begin(), other.end(), distinct.begin(), distinct.end());
    };
    if (std::any_of(formula_.terms.begin(), formula_.terms.end(), same)) return;
    formula_.terms.push_back(std::move(distinct));
    if (formula_.terms.size() > kMostTerms) Fail("there are too many terms", "write fewer");
  }

  const std::string& text_;
  const bool survival_;
  size_t at_ = 0;
  Formula formula_;
};

}  // namespace

Formula ParseFormula(const std::string& text) { return Parser(text, false).Parse(); }

Formula ParseSurvivalFormula(const std::string& text) { return Parser(text, true).Parse(); }

}  // namespace partita::data
