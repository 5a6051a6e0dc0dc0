#include "methods/glm/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error.h"
#include "data/suggest.h"

namespace partita::methods::glm {
namespace {

using data::ColumnSchema;
using data::DesignColumn;
using stats::glm::Family;
using stats::glm::FormulaAtom;
using stats::glm::FormulaTerm;
using Function = FormulaAtom::Function;

constexpr double kMostLevelsOfInteger = 50;
// Of a column's bounds: their middle, in half-widths. Beyond, it is collinear with the intercept.
constexpr double kFarthestMiddle = 64;
constexpr double kMostOutcome = 1e6;

[[noreturn]] void RefuseModel(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kBadInput, what, hint);
}

// The columns that an atom stands for, and the factor behind them.
struct AtomColumns {
  std::vector<DesignColumn> columns;
  const ColumnSchema* levels = nullptr;
};

bool IsZeroOne(const DesignColumn& column) {
  return column.schema.type == data::ColumnType::kInteger && column.schema.lower == 0 &&
         column.schema.upper == 1;
}

struct Interval {
  double lower = 1, upper = 1;
};
Interval Times(const Interval& a, double lower, double upper) {
  const double ends[] = {a.lower * lower, a.lower * upper, a.upper * lower, a.upper * upper};
  const auto [low, high] = std::minmax_element(std::begin(ends), std::end(ends));
  return {*low, *high};
}

class Builder {
 public:
  Builder(const stats::glm::Law& law, const std::string& text, const data::Schema& dictionary,
          std::span<const data::DerivedVariable> derived)
      : dictionary_(dictionary),
        derived_(derived),
        factors_(data::WithDerivedFactors(dictionary, derived)) {
    spec_.law = law;
    spec_.formula = text;
  }

  Spec Build() {
    const stats::glm::Formula formula = stats::glm::ParseFormula(spec_.formula);
    spec_.intercept = formula.intercept;
    SetOutcome(formula.outcome);
    if (formula.intercept) spec_.columns.push_back({"(Intercept)", {}, 1, true});
    for (const FormulaTerm& term : formula.terms) AddTerm(term, formula);
    for (const FormulaAtom& atom : formula.offsets) AddOffset(atom);
    if (spec_.columns.empty()) RefuseModel("the model has no column", "write a term, or keep 1");
    if (spec_.law.binary && spec_.law.link == stats::glm::Link::kLog && !spec_.intercept &&
        spec_.law.family == Family::kBinomial) {
      RefuseModel(
          "a binomial model with the link log has no intercept",
          "keep the intercept: probabilities are at most 1, and the fit starts at their mean");
    }
    if (spec_.columns.size() > kMostColumns) {
      RefuseModel(fmt::format("the model has {} columns", spec_.columns.size()),
                  fmt::format("take at most {}", kMostColumns));
    }
    SetVariables();
    return std::move(spec_);
  }

 private:
  const ColumnSchema& InDictionary(const std::string& name, const std::string& text) const {
    const ColumnSchema* found = dictionary_.Find(name);
    if (found != nullptr) return *found;
    std::vector<std::string> names;
    for (const ColumnSchema& column : dictionary_.columns) names.push_back(column.name);
    RefuseModel(fmt::format("{} is of '{}', which is not in the dictionary", text, name),
                data::SuggestionHint(name, names));
  }

  AtomColumns Named(const std::string& name) const {
    AtomColumns atom;
    if (const ColumnSchema* variable = dictionary_.Find(name)) {
      if (variable->type == data::ColumnType::kSurvival ||
          variable->type == data::ColumnType::kKey) {
        RefuseModel(fmt::format("'{}' is of type {}, which is no column of a regression", name,
                                data::ColumnTypeName(variable->type)),
                    "name numbers, dates and factors");
      }
      atom.columns = data::ColumnsOf(*variable);
      if (data::HasLevels(variable->type)) atom.levels = factors_.Find(name);
      return atom;
    }
    for (const data::DerivedVariable& derived : derived_) {
      if (derived.name != name) continue;
      atom.columns = data::ColumnsOf(derived, dictionary_);
      atom.levels = factors_.Find(name);
      return atom;
    }
    std::vector<std::string> names;
    for (const ColumnSchema& column : dictionary_.columns) names.push_back(column.name);
    for (const data::DerivedVariable& derived : derived_) names.push_back(derived.name);
    RefuseModel(fmt::format("there is no variable '{}'", name), data::SuggestionHint(name, names));
  }

  AtomColumns Made(data::DerivedVariable made) {
    const auto same = [&](const data::DerivedVariable& other) { return other.name == made.name; };
    if (std::none_of(spec_.made.begin(), spec_.made.end(), same)) spec_.made.push_back(made);
    AtomColumns atom;
    atom.columns = data::ColumnsOf(made, dictionary_);
    return atom;
  }

  AtomColumns IntegerLevels(const FormulaAtom& atom, const ColumnSchema& variable) {
    if (data::HasLevels(variable.type)) return Named(atom.name);
    const double values = variable.upper - variable.lower + 1;
    if (variable.type != data::ColumnType::kInteger || values > kMostLevelsOfInteger) {
      RefuseModel(
          fmt::format("{} would have a level for every value of '{}'", atom.text, atom.name),
          fmt::format("factor takes integers with at most {} values within their bounds; "
                      "others are cut at public points: [[derived]] with transform = "
                      "\"cut\"",
                      kMostLevelsOfInteger));
    }
    data::DerivedVariable made;
    made.name = atom.text;
    made.from = atom.name;
    made.kind = data::TransformKind::kCut;
    for (double value = variable.lower; value <= variable.upper; ++value) {
      if (value < variable.upper) made.points.push_back(value);
      made.labels.push_back(fmt::format("{}", value));
    }
    AtomColumns columns = Made(made);
    const std::vector<data::DerivedVariable> one = {made};
    made_factors_.push_back(
        std::make_unique<ColumnSchema>(data::WithDerivedFactors({}, one).columns.front()));
    columns.levels = made_factors_.back().get();
    return columns;
  }

  AtomColumns ColumnsOf(const FormulaAtom& atom) {
    if (atom.function == Function::kNone) return Named(atom.name);
    const ColumnSchema& variable = InDictionary(atom.name, atom.text);
    if (atom.function == Function::kFactor) return IntegerLevels(atom, variable);
    data::DerivedVariable made;
    made.name = atom.text;
    made.from = atom.name;
    switch (atom.function) {
      case Function::kLog:
        made.kind = data::TransformKind::kLog;
        break;
      case Function::kLog1p:
        made.kind = data::TransformKind::kLog1p;
        break;
      case Function::kSqrt:
        made.kind = data::TransformKind::kSqrt;
        break;
      default:
        made.kind = data::TransformKind::kProduct;
        made.with = InDictionary(atom.with, atom.text).name;
    }
    return Made(made);
  }

  void SetOutcome(const FormulaAtom& atom) {
    const AtomColumns columns = ColumnsOf(atom);
    Outcome& outcome = spec_.outcome;
    outcome_sources_ = columns.columns;
    const std::string family(FamilyName(spec_.law));
    if (spec_.law.binary) {
      const bool two = columns.levels != nullptr && columns.levels->levels.size() == 2;
      const bool binary = columns.levels == nullptr && columns.columns.size() == 1 &&
                          IsZeroOne(columns.columns.front());
      if (!two && !binary) {
        RefuseModel(fmt::format("the outcome {} of family {} is neither an integer from 0 to "
                                "1 nor a factor with two levels",
                                atom.text, family),
                    "the second level of a factor is the event; others are cut into two levels by "
                    "[[derived]]");
      }
      outcome.levels = two;
      outcome.name = two ? columns.levels->name : columns.columns.front().schema.name;
      return;
    }
    if (columns.levels != nullptr || columns.columns.size() != 1) {
      RefuseModel(fmt::format("the outcome {} is not one number", atom.text),
                  fmt::format("family {} has a number as its outcome", family));
    }
    const ColumnSchema& schema = columns.columns.front().schema;
    outcome.name = schema.name;
    if (spec_.law.family == Family::kGaussian) {
      outcome.centre = spec_.intercept ? schema.lower + (schema.upper - schema.lower) / 2 : 0;
      outcome.scale = std::max(std::abs(schema.lower - outcome.centre),
                               std::abs(schema.upper - outcome.centre));
    }
    outcome.lower = (schema.lower - outcome.centre) / outcome.scale;
    outcome.upper = (schema.upper - outcome.centre) / outcome.scale;
    const bool counts = schema.type == data::ColumnType::kInteger && schema.lower >= 0;
    if (spec_.law.family == Family::kPoisson && !counts) {
      RefuseModel(fmt::format("the outcome {} of family poisson is no count", atom.text),
                  "it is an integer with a lower bound of at least 0");
    }
    if (spec_.law.family == Family::kGamma && schema.lower <= 0) {
      RefuseModel(fmt::format("the outcome {} of family gamma can be as low as {}", atom.text,
                              schema.lower),
                  "give it a lower bound above 0");
    }
    if (spec_.law.family != Family::kGaussian && schema.upper > kMostOutcome) {
      RefuseModel(fmt::format("the outcome {} can be as high as {}", atom.text, schema.upper),
                  fmt::format("give it an upper bound of at most {}", kMostOutcome));
    }
  }

  void RequireMargins(const FormulaTerm& term, const stats::glm::Formula& formula) const {
    for (const FormulaAtom& left_out : term) {
      FormulaTerm margin;
      for (const FormulaAtom& atom : term) {
        if (!(atom == left_out)) margin.push_back(atom);
      }
      const auto same = [&](const FormulaTerm& other) {
        return std::is_permutation(other.begin(), other.end(), margin.begin(), margin.end());
      };
      if (margin.empty() || std::any_of(formula.terms.begin(), formula.terms.end(), same)) continue;
      RefuseModel(
          fmt::format("the interaction {} is there without {}", TextOf(term), TextOf(margin)),
          "write a * b, or a + b + a:b: without main effects R takes other columns");
    }
  }

  static std::string TextOf(const FormulaTerm& term) {
    std::string text;
    for (const FormulaAtom& atom : term) text += (text.empty() ? "" : ":") + atom.text;
    return text;
  }

  void NoteLevels(const AtomColumns& atom) {
    if (atom.levels != nullptr) {
      if (!spec_.intercept) {
        RefuseModel(
            fmt::format("the factor '{}' is in a model without an intercept", atom.levels->name),
            "keep the intercept: without it R takes other columns for the factor");
      }
      AddOnce(spec_.factors, atom.levels->name);
      return;
    }
    for (const DesignColumn& column : atom.columns) {
      if (IsZeroOne(column)) AddOnce(spec_.binaries, column.schema.name);
    }
  }

  static void AddOnce(std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }

  void Cover(const DesignColumn& column) {
    const auto same = [&](const DesignColumn& other) {
      return other.schema.name == column.schema.name;
    };
    if (same(outcome_sources_.front())) {
      RefuseModel(fmt::format("the outcome {} is a covariate, too", column.schema.name),
                  "remove it from the right side");
    }
    if (std::none_of(spec_.covariates.begin(), spec_.covariates.end(), same))
      spec_.covariates.push_back(column);
  }

  void AddTerm(const FormulaTerm& term, const stats::glm::Formula& formula) {
    RequireMargins(term, formula);
    // As R: the first factor's columns vary fastest.
    std::vector<std::vector<DesignColumn>> products = {{}};
    for (const FormulaAtom& atom : term) {
      const AtomColumns columns = ColumnsOf(atom);
      NoteLevels(columns);
      for (const DesignColumn& column : columns.columns) Cover(column);
      std::vector<std::vector<DesignColumn>> next;
      for (const DesignColumn& column : columns.columns) {
        for (std::vector<DesignColumn> product : products) {
          product.push_back(column);
          next.push_back(std::move(product));
        }
      }
      products = std::move(next);
    }
    ModelTerm made{TextOf(term), {}};
    for (const std::vector<DesignColumn>& product : products) {
      made.columns.push_back(spec_.columns.size());
      AddColumn(product);
    }
    if (made.columns.size() > 1) spec_.terms.push_back(std::move(made));
  }

  void AddColumn(const std::vector<DesignColumn>& product) {
    ModelColumn column;
    column.zero_one = true;
    Interval bounds;
    for (const DesignColumn& part : product) {
      column.name += (column.name.empty() ? "" : ":") + part.schema.name;
      column.parts.push_back(part.schema.name);
      column.zero_one = column.zero_one && IsZeroOne(part);
      bounds = Times(bounds, part.schema.lower, part.schema.upper);
    }
    column.scale = std::max(std::abs(bounds.lower), std::abs(bounds.upper));
    const double middle = std::abs(bounds.lower + bounds.upper),
                 width = bounds.upper - bounds.lower;
    if (spec_.intercept && middle > kFarthestMiddle * width) {
      RefuseModel(fmt::format("the bounds [{}, {}] of {} are so far from 0 that it is all but "
                              "constant",
                              bounds.lower, bounds.upper, column.name),
                  "take away a public centre: [[derived]] with transform = \"scale\"");
    }
    if (column.zero_one && product.size() > 1) spec_.products.push_back(spec_.columns.size());
    spec_.columns.push_back(std::move(column));
  }

  void AddOffset(const FormulaAtom& atom) {
    const AtomColumns columns = ColumnsOf(atom);
    if (columns.levels != nullptr || columns.columns.size() != 1) {
      RefuseModel(fmt::format("the offset {} is not one number", atom.text),
                  "an offset is a number or a function of one");
    }
    const DesignColumn& column = columns.columns.front();
    Cover(column);
    spec_.offsets.push_back(column.schema.name);
    spec_.offset_lower += column.schema.lower / spec_.outcome.scale;
    spec_.offset_upper += column.schema.upper / spec_.outcome.scale;
  }

  void SetVariables() {
    std::vector<std::string> wanted;
    const auto add = [&](const DesignColumn& column) {
      for (const std::string& source : data::SourcesOf(column)) AddOnce(wanted, source);
    };
    for (const DesignColumn& column : outcome_sources_) add(column);
    for (const DesignColumn& column : spec_.covariates) add(column);
    for (const ColumnSchema& column : dictionary_.columns) {
      if (std::find(wanted.begin(), wanted.end(), column.name) != wanted.end())
        spec_.variables.push_back(column.name);
    }
  }

  const data::Schema& dictionary_;
  std::span<const data::DerivedVariable> derived_;
  const data::Schema factors_;
  std::vector<std::unique_ptr<ColumnSchema>> made_factors_;
  std::vector<DesignColumn> outcome_sources_;
  Spec spec_;
};

}  // namespace

Spec ModelOf(const stats::glm::Law& law, const std::string& formula, const data::Schema& dictionary,
             std::span<const data::DerivedVariable> derived) {
  return Builder(law, formula, dictionary, derived).Build();
}

void TakeSiteEffects(Spec& spec, uint64_t sites) {
  if (!spec.intercept || spec.columns.size() < 2) {
    RefuseModel(
        "effects of sites need a model with an intercept, and a term",
        "leave out \"- 1\" and \"0 +\": each site has an intercept of its own in its place");
  }
  spec.columns.erase(spec.columns.begin());
  for (size_t& column : spec.products) --column;
  for (ModelTerm& term : spec.terms) {
    for (size_t& column : term.columns) --column;
  }
  spec.sites = sites;
}

}  // namespace partita::methods::glm
