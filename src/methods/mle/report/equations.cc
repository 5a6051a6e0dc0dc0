#include "methods/mle/report/equations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "report/html_text.h"

namespace partita::methods::mle {
namespace {

using report::Element;
using report::Escape;
using stats::Parameter;
using stats::ParameterTable;

// Names are upright, symbols italic.
std::string Name(const std::string& text) { return Escape(text); }
std::string Symbol(const std::string& text) { return Element("var", Escape(text)); }
std::string Sub(const std::string& base, const std::string& index) {
  return base + Element("sub", index);
}
std::string Sup(const std::string& base, const std::string& exponent) {
  return base + Element("sup", exponent);
}

bool IsModelRow(const Parameter& row) { return row.op != ":=" && row.op != "==" && !row.exogenous; }

bool HasName(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const char* Letter(const ParameterTable& table, const Parameter& row) {
  const bool latent = HasName(table.latent, row.lhs);
  if (row.op == "=~") return "\u03BB";
  if (row.op == "~") return "\u03B2";
  if (row.op == "~1") return latent ? "\u03B1" : "\u03BD";
  return latent ? "\u03C8" : "\u03B8";
}

using Key = std::array<std::string, 3>;
Key KeyOf(const Parameter& row) { return {row.lhs, row.op, row.rhs}; }

struct Occurrences {
  bool free = false;  // in some group
  std::set<std::string> labels;
};

std::map<Key, Occurrences> Collect(const ParameterTable& table) {
  std::map<Key, Occurrences> found;
  for (const Parameter& row : table.rows) {
    if (!IsModelRow(row)) continue;
    Occurrences& occurrences = found[KeyOf(row)];
    occurrences.free = occurrences.free || row.free > 0;
    // ".p5." is the program's way to say "equal to row 5".
    occurrences.labels.insert(row.label.starts_with(".") ? "" : row.label);
  }
  return found;
}

// A shortest number: fixed values are written by people.
std::string Plain(double value) {
  std::array<char, 40> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.6g", value);
  return buffer.data();
}

// The equations of the first group; the others have the same form.
class Writer {
 public:
  explicit Writer(const MleResult& result)
      : result_(result), symbols_(ParameterSymbols(result.table)) {}

  std::string Equations() const {
    std::string out;
    for (const std::string& name : Explained())
      out += Element("p", Equation(name), "equation") + "\n";
    return out;
  }

  std::string Moments() const {
    std::string variances, covariances;
    for (size_t i = 0; i < rows().size(); ++i) {
      const Parameter& row = rows()[i];
      if (!InFirstGroup(row) || row.op != "~~" || Zero(i)) continue;
      (row.lhs == row.rhs ? variances : covariances) += Element("span", Moment(i), "term") + "\n";
    }
    for (size_t i = 0; i < rows().size(); ++i) {
      const Parameter& row = rows()[i];
      if (!InFirstGroup(row) || row.op != "~1" || Zero(i) || IsExplained(row.lhs)) continue;
      variances += Element("span", "E(" + Name(row.lhs) + ") = " + Value(i), "term") + "\n";
    }
    std::string out;
    if (!variances.empty()) out += Element("p", variances, "terms") + "\n";
    if (!covariances.empty()) out += Element("p", covariances, "terms") + "\n";
    return out;
  }

 private:
  const std::vector<Parameter>& rows() const { return result_.table.rows; }
  static bool InFirstGroup(const Parameter& row) { return row.group == 1 && IsModelRow(row); }

  bool Zero(size_t i) const {
    return symbols_[i].empty() && result_.fit.estimates[i].estimate == 0;
  }

  std::string Value(size_t i) const {
    return symbols_[i].empty() ? Plain(result_.fit.estimates[i].estimate) : symbols_[i];
  }

  // Measured by a latent variable or regressed on something, in the order of the table.
  std::vector<std::string> Explained() const {
    std::vector<std::string> names;
    for (const Parameter& row : rows()) {
      if (!InFirstGroup(row) || (row.op != "=~" && row.op != "~")) continue;
      const std::string& name = row.op == "=~" ? row.rhs : row.lhs;
      if (!HasName(names, name)) names.push_back(name);
    }
    return names;
  }
  bool IsExplained(const std::string& name) const { return HasName(Explained(), name); }

  std::string Residual(const std::string& name) const {
    const bool latent = HasName(result_.table.latent, name);
    return Sub(Symbol(latent ? "\u03B6" : "\u03B5"), Name(name));
  }

  // "lambda_2 visual"; "visual" for a fixed 1.
  std::string Term(size_t i, const std::string& variable) const {
    const bool one = symbols_[i].empty() && result_.fit.estimates[i].estimate == 1;
    return one ? Name(variable) : Value(i) + "\u00A0" + Name(variable);
  }

  std::string Equation(const std::string& name) const {
    std::vector<std::string> terms;
    for (size_t i = 0; i < rows().size(); ++i) {
      if (InFirstGroup(rows()[i]) && rows()[i].op == "~1" && rows()[i].lhs == name && !Zero(i)) {
        terms.push_back(Value(i));
      }
    }
    for (size_t i = 0; i < rows().size(); ++i) {
      const Parameter& row = rows()[i];
      if (!InFirstGroup(row) || Zero(i)) continue;
      if (row.op == "=~" && row.rhs == name) terms.push_back(Term(i, row.lhs));
      if (row.op == "~" && row.lhs == name) terms.push_back(Term(i, row.rhs));
    }
    for (size_t i = 0; i < rows().size(); ++i) {
      const Parameter& row = rows()[i];
      const bool own = row.op == "~~" && row.lhs == name && row.rhs == name;
      if (InFirstGroup(row) && own && !Zero(i)) terms.push_back(Residual(name));
    }
    std::string sum;
    for (const std::string& term : terms) sum += (sum.empty() ? "" : " + ") + term;
    return Name(name) + " = " + (sum.empty() ? "0" : sum);
  }

  std::string Moment(size_t i) const {
    const Parameter& row = rows()[i];
    const auto side = [&](const std::string& name) {
      return IsExplained(name) ? Residual(name) : Name(name);
    };
    const bool variance = row.lhs == row.rhs;
    if (variance) return "var(" + side(row.lhs) + ") = " + Value(i);
    return "cov(" + side(row.lhs) + ", " + side(row.rhs) + ") = " + Value(i);
  }

  const MleResult& result_;
  std::vector<std::string> symbols_;
};

std::string Texts(const ParameterTable& table, const char* op, const char* title) {
  std::string items;
  for (const Parameter& row : table.rows) {
    if (row.op != op) continue;
    items += Element("span", report::Code(row.lhs + " " + row.op + " " + row.rhs), "term") + "\n";
  }
  return items.empty() ? "" : Element("p", Escape(title) + " " + items, "terms") + "\n";
}

// Sigma = F (I - A)^-1 S (I - A)^-T F^T, mu = F (I - A)^-1 m (methods.md, 1.1).
std::string General(bool means) {
  const std::string inverse = "(" + Symbol("I") + " \u2212 " + Symbol("A") + ")";
  const std::string theta = "(" + Symbol("\u03B8") + ") = ", f = Symbol("F");
  const std::string sigma = Symbol("\u03A3") + theta + f + Sup(inverse, "\u22121") + Symbol("S") +
                            Sup(inverse, "\u2212T") + Sup(f, "T");
  const std::string mu = Symbol("\u03BC") + theta + f + Sup(inverse, "\u22121") + Symbol("m");
  const std::string where = ", where " + Symbol("A") + " holds the coefficients above, " +
                            Symbol("S") + " the variances and covariances, " +
                            (means ? Symbol("m") + " the intercepts, " : "") + "and " + f +
                            " picks the observed variables.";
  return Element("p", "The rows are taken as independent draws from a normal distribution with " +
                          (means ? "mean " + Element("span", mu, "formula") : "free means") +
                          " and covariance " + Element("span", sigma, "formula") + where) +
         "\n";
}

}  // namespace

std::vector<std::string> ParameterSymbols(const ParameterTable& table) {
  const std::map<Key, Occurrences> found = Collect(table);
  std::map<Key, std::string> symbols;
  std::map<std::string, int> numbers;
  std::vector<std::string> out;
  for (const Parameter& row : table.rows) {
    std::string& symbol = out.emplace_back();
    if (!IsModelRow(row)) continue;
    const Occurrences& occurrences = found.at(KeyOf(row));
    if (!occurrences.free) continue;
    const auto [known, is_new] = symbols.emplace(KeyOf(row), "");
    if (is_new) {
      const std::string& label = *occurrences.labels.begin();
      const std::string letter = Letter(table, row);
      known->second = occurrences.labels.size() == 1 && !label.empty()
                          ? Name(label)
                          : Sub(Symbol(letter), std::to_string(++numbers[letter]));
    }
    symbol = known->second;
  }
  return out;
}

std::string ModelEquations(const MleResult& result) {
  const Writer writer(result);
  std::string out = Element("div", writer.Equations() + writer.Moments(), "equations") + "\n";
  out += Texts(result.table, ":=", "Defined:") + Texts(result.table, "==", "Constraints:");
  if (result.group_n.size() > 1) {
    out += report::Paragraph(
        "The equations hold in each group with parameters of its own, but for those with equal "
        "labels or fixed values in the table below.");
  }
  return out + General(result.table.meanstructure);
}

}  // namespace partita::methods::mle
