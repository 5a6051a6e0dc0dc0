#include "stats/sem/parameter_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "stats/sem/model_rows.h"
#include "stats/sem/syntax.h"
#include "stats/sem/table_expressions.h"

namespace partita::stats {
namespace {

constexpr std::size_t kMaxTableRows = 200000;

using NameSet = std::unordered_set<std::string>;

NameSet ToSet(const std::vector<std::string>& names) { return {names.begin(), names.end()}; }

bool Contains(const std::vector<std::string>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool IsVariance(const Parameter& row) { return row.op == "~~" && row.lhs == row.rhs; }
bool IsCovariance(const Parameter& row) { return row.op == "~~" && row.lhs != row.rhs; }

// While the table grows, free is 1 (free) or 0 (fixed); the numbers come last.
void Fix(Parameter& row, double value) {
  row.free = 0;
  row.value = value;
}

void Release(Parameter& row) {
  row.free = 1;
  row.value = 0;
}

class TableBuilder {
 public:
  TableBuilder(const std::string& text, const SemModelOptions& options)
      : text_(text), options_(options) {}

  ParameterTable Run() {
    CheckOptions();
    const std::vector<ModelStatement> statements = ParseModelSyntax(text_);
    user_rows_ = FlattenStatements(text_, statements);
    roles_ = FindRoles(user_rows_);
    OrderCovariances(roles_, user_rows_);
    Describe();

    std::vector<Parameter> group = UserParameters();
    AddDefaultRows(group);
    FixByDefault(group);
    RepeatPerGroup(group);
    ApplyModifiers();
    EquateByLabel();
    AddConstraints(statements);
    Number();
    CheckConstraints(statements);
    return std::move(table_);
  }

 private:
  int num_groups() const { return static_cast<int>(table_.groups.size()); }
  bool automatic() const { return options_.family != SemFamily::kLavaan; }
  bool equal(std::string_view what) const { return Contains(options_.group_equal, what); }

  void CheckOptions() {
    static constexpr std::array<std::string_view, 8> kWords = {
        "loadings",  "intercepts",           "means",        "regressions",
        "residuals", "residual.covariances", "lv.variances", "lv.covariances"};
    for (const std::string& word : options_.group_equal) {
      if (std::find(kWords.begin(), kWords.end(), word) == kWords.end()) {
        throw Error(ErrorCode::kBadInput, fmt::format("group.equal does not know '{}'", word),
                    fmt::format("use some of {}", fmt::join(kWords, ", ")));
      }
    }
    if (ToSet(options_.groups).size() != options_.groups.size()) {
      throw Error(ErrorCode::kBadInput, "two groups of the model have the same label",
                  "give every group its own label");
    }
    if (!options_.group_equal.empty() && options_.groups.size() < 2) {
      throw Error(ErrorCode::kBadInput, "group.equal is given but the model has one group only",
                  "remove group.equal or name the grouping column");
    }
  }

  // Everything of the table but its rows.
  void Describe() {
    const bool intercepts = std::any_of(user_rows_.begin(), user_rows_.end(),
                                        [](const ModelRow& row) { return row.op == "~1"; });
    table_.groups = options_.groups.empty() ? std::vector<std::string>{""} : options_.groups;
    const bool growth = options_.family == SemFamily::kGrowth;
    const bool means_equal = equal("intercepts") || equal("means");
    table_.meanstructure =
        intercepts || growth || means_equal || options_.meanstructure.value_or(num_groups() > 1);
    table_.fixed_x = options_.fixed_x.value_or(true);
    table_.observed = roles_.observed;
    table_.latent = roles_.latent;
    if (table_.fixed_x) table_.exogenous_covariates = roles_.exogenous;
    latent_ = ToSet(roles_.latent);
    exogenous_ = ToSet(roles_.exogenous);
    // So that the quadratic number of default covariances stays within bounds.
    const auto pairs = [](const std::vector<std::string>& names) {
      return names.size() * (names.size() + 1) / 2;
    };
    const std::size_t per_group = user_rows_.size() + pairs(roles_.exogenous) +
                                  pairs(roles_.latent_exogenous) + pairs(roles_.latent_outcomes) +
                                  pairs(roles_.observed_outcomes) +
                                  roles_.latent_outcomes.size() * roles_.observed_outcomes.size() +
                                  2 * (roles_.latent.size() + roles_.observed.size());
    if (per_group > kMaxTableRows / table_.groups.size()) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("the model has more than {} parameters in all groups", kMaxTableRows),
                  "use fewer variables");
    }
  }

  std::vector<Parameter> UserParameters() const {
    std::vector<Parameter> rows;
    for (const ModelRow& row : user_rows_) {
      rows.push_back({.lhs = row.lhs,
                      .op = row.op,
                      .rhs = row.rhs,
                      .group = 1,
                      .label = {},
                      .free = 1,
                      .value = 0,
                      .user_start = false,
                      .user = true,
                      .exogenous = false,
                      .line = row.position.line,
                      .column = row.position.column});
    }
    return rows;
  }

  // lavaan's order: residual variances, latent variances, covariances of exogenous latent
  // variables, of outcomes, of exogenous covariates; intercepts. Rows that the user wrote stay
  // where they are.
  void AddDefaultRows(std::vector<Parameter>& rows) const {
    std::set<std::vector<std::string>> written;
    for (const Parameter& row : rows) written.insert({row.lhs, row.op, row.rhs});
    const auto add = [&](const std::string& lhs, const char* op, const std::string& rhs) {
      if (written.contains({lhs, op, rhs})) return;
      Parameter row;
      row.lhs = lhs;
      row.op = op;
      row.rhs = rhs;
      row.free = 1;
      rows.push_back(std::move(row));
    };
    const auto add_pairs = [&](const std::vector<std::string>& names, bool variances) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        for (std::size_t j = variances ? i : i + 1; j < names.size(); ++j) {
          add(names[i], "~~", names[j]);
        }
      }
    };
    for (const std::string& name : roles_.observed) {
      if (!exogenous_.contains(name)) add(name, "~~", name);
    }
    for (const std::string& name : roles_.latent) add(name, "~~", name);
    if (automatic()) {
      add_pairs(roles_.latent_exogenous, false);
      std::vector<std::string> outcomes = roles_.latent_outcomes;
      outcomes.insert(outcomes.end(), roles_.observed_outcomes.begin(),
                      roles_.observed_outcomes.end());
      add_pairs(outcomes, false);
    }
    add_pairs(roles_.exogenous, true);
    if (table_.meanstructure) {
      for (const std::string& name : roles_.observed) add(name, "~1", "");
      for (const std::string& name : roles_.latent) add(name, "~1", "");
    }
  }

  void FixByDefault(std::vector<Parameter>& rows) const {
    const bool growth = options_.family == SemFamily::kGrowth;
    const bool free_observed_means = automatic() && !growth;
    NameSet with_loading;
    const NameSet single = SingleIndicators(rows);
    for (Parameter& row : rows) {
      const bool latent_row = latent_.contains(row.lhs);
      if (IsVariance(row)) {
        if (!row.user && !automatic()) Fix(row, 0);
        if (options_.std_lv && latent_row) Fix(row, 1);
        if (!row.user && automatic() && single.contains(row.lhs)) Fix(row, 0);
      }
      const bool first_loading = row.op == "=~" && with_loading.insert(row.lhs).second;
      if (first_loading && automatic() && !options_.std_lv) Fix(row, 1);
      if (row.user) continue;
      if (IsCovariance(row) && options_.orthogonal && latent_row && latent_.contains(row.rhs)) {
        Fix(row, 0);
      }
      if (row.op == "~1" && (latent_row ? !growth : !free_observed_means)) Fix(row, 0);
      const bool covariate = exogenous_.contains(row.lhs) &&
                             (row.op == "~1" || (row.op == "~~" && exogenous_.contains(row.rhs)));
      if (table_.fixed_x && covariate) {
        Fix(row, 0);
        row.exogenous = true;
      }
    }
  }

  // The only indicator of a factor, unless it measures other factors too: its residual variance is
  // not identified.
  static NameSet SingleIndicators(const std::vector<Parameter>& rows) {
    std::unordered_map<std::string, int> per_factor, per_indicator;
    for (const Parameter& row : rows) {
      if (row.op != "=~") continue;
      ++per_factor[row.lhs];
      ++per_indicator[row.rhs];
    }
    NameSet single;
    for (const Parameter& row : rows) {
      if (row.op == "=~" && per_factor[row.lhs] == 1 && per_indicator[row.rhs] == 1) {
        single.insert(row.rhs);
      }
    }
    return single;
  }

  // Equality of loadings or intercepts over groups identifies what one group alone must fix.
  void RepeatPerGroup(const std::vector<Parameter>& group) {
    for (int g = 1; g <= num_groups(); ++g) {
      for (Parameter row : group) {
        row.group = g;
        const bool default_latent = g > 1 && !row.user && latent_.contains(row.lhs);
        if (default_latent && row.op == "~1" && equal("intercepts") && !equal("means") &&
            options_.family != SemFamily::kGrowth) {
          Release(row);
        }
        if (default_latent && IsVariance(row) && options_.std_lv && equal("loadings") &&
            !equal("lv.variances")) {
          Release(row);
        }
        table_.rows.push_back(std::move(row));
      }
    }
    rows_per_group_ = group.size();
  }

  void ApplyModifiers() {
    for (std::size_t i = 0; i < user_rows_.size(); ++i) {
      for (const Modifier& modifier : user_rows_[i].modifiers) {
        const std::size_t count = modifier.values.size();
        if (count != 1 && count != table_.groups.size()) {
          FailAtModelText(text_, modifier.position,
                          fmt::format("this modifier has {} values but the model has {} group{}",
                                      count, num_groups(), num_groups() == 1 ? "" : "s"),
                          "give one value for all groups or one per group");
        }
      }
      // start() after fixed values, which it overrides only where the row is free or a marker.
      for (const auto kind :
           {Modifier::Kind::kFixed, Modifier::Kind::kStart, Modifier::Kind::kLabel}) {
        for (const Modifier& modifier : user_rows_[i].modifiers) {
          if (modifier.kind == kind) ApplyModifier(i, modifier);
        }
      }
    }
  }

  void ApplyModifier(std::size_t row_in_group, const Modifier& modifier) {
    for (std::size_t g = 0; g < table_.groups.size(); ++g) {
      Parameter& row = table_.rows[g * rows_per_group_ + row_in_group];
      const ModifierValue& value = modifier.values[modifier.values.size() == 1 ? 0 : g];
      const bool available = value.kind != ModifierValue::Kind::kNotAvailable;
      switch (modifier.kind) {
        case Modifier::Kind::kFixed:
          if (available) {
            Fix(row, value.number);
            fixed_by_user_.insert(&row);
          } else {
            Release(row);
          }
          break;
        case Modifier::Kind::kStart:
          if (!available) break;
          if (fixed_by_user_.contains(&row)) {
            FailAtModelText(text_, modifier.position,
                            fmt::format("{} {} {} has a fixed value and a start value", row.lhs,
                                        row.op, row.rhs),
                            "keep one of the two");
          }
          // On a marker loading lavaan takes the start value as the value it is fixed at.
          row.value = value.number;
          row.user_start = row.free > 0;
          break;
        case Modifier::Kind::kLabel:
          row.label = value.text;
          break;
      }
    }
  }

  // The name of a parameter for group.partial and equal(): "f=~x2", from the second group on
  // "f=~x2.g2".
  std::string DefaultName(const Parameter& row) const {
    const std::string suffix = row.group > 1 ? fmt::format(".g{}", row.group) : "";
    return row.lhs + row.op + row.rhs + suffix;
  }

  bool EqualOverGroups(const Parameter& row) const {
    const bool latent = latent_.contains(row.lhs);
    const bool observed = !latent && !exogenous_.contains(row.lhs);
    if (row.op == "=~") return equal("loadings");
    if (row.op == "~") return equal("regressions");
    if (row.op == "~1") return (observed && equal("intercepts")) || (latent && equal("means"));
    if (IsVariance(row)) {
      return (observed && equal("residuals")) || (latent && equal("lv.variances"));
    }
    return (observed && equal("residual.covariances")) || (latent && equal("lv.covariances"));
  }

  std::vector<std::string> EqualityNames() const {
    std::set<std::string> partial;
    for (std::string name : options_.group_partial) {
      std::erase(name, ' ');
      partial.insert(name);
    }
    std::vector<std::string> names;
    std::set<std::string> used;
    for (std::size_t i = 0; i < table_.rows.size(); ++i) {
      const Parameter& row = table_.rows[i];
      const Parameter& reference = table_.rows[i % rows_per_group_];
      const std::string reference_name = DefaultName(reference);
      const bool excepted = partial.contains(reference_name);
      if (excepted) used.insert(reference_name);
      const bool shared = EqualOverGroups(reference) && !excepted;
      const std::string name = shared ? reference_name : DefaultName(row);
      names.push_back(row.label.empty() ? name : row.label);
    }
    for (const std::string& name : partial) {
      if (!used.contains(name)) {
        throw Error(ErrorCode::kBadInput,
                    fmt::format("group.partial names '{}', which is no parameter", name),
                    "write it like f=~x2, x1~1 or x1~~x1");
      }
    }
    return names;
  }

  // Rows with equal names are one parameter; if one of them is fixed all are.
  void EquateByLabel() {
    const std::vector<std::string> names = EqualityNames();
    std::unordered_map<std::string, std::vector<std::size_t>> sets;
    for (std::size_t i = 0; i < names.size(); ++i) sets[names[i]].push_back(i);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::vector<std::size_t>& set = sets[names[i]];
      if (set.size() > 1 && set.front() == i) Equate(set);
    }
    CheckEqualTexts(sets);
  }

  void Equate(const std::vector<std::size_t>& set) {
    const auto fixed = std::find_if(set.begin(), set.end(),
                                    [&](std::size_t i) { return table_.rows[i].free == 0; });
    for (const std::size_t i : set) {
      Parameter& row = table_.rows[i];
      if (row.exogenous) {
        throw Error(ErrorCode::kBadInput,
                    fmt::format("equal() names {}, a moment of the fixed covariate {}",
                                DefaultName(row), row.lhs),
                    "set fixed.x to false to make it a parameter");
      }
      if (fixed != set.end()) {
        Fix(row, table_.rows[*fixed].value);
        row.user_start = false;
      } else if (row.label.empty()) {
        row.label = fmt::format(".p{}.", set.front() + 1);
      }
    }
  }

  // equal("...") that matches nothing is a slip of the pen, not a new label.
  void CheckEqualTexts(
      const std::unordered_map<std::string, std::vector<std::size_t>>& sets) const {
    for (const ModelRow& row : user_rows_) {
      for (const Modifier& modifier : row.modifiers) {
        if (!modifier.equal) continue;
        for (const ModifierValue& value : modifier.values) {
          const auto found = sets.find(value.text);
          if (value.text.empty() || (found != sets.end() && found->second.size() > 1)) continue;
          FailAtModelText(text_, modifier.position,
                          fmt::format("equal(\"{}\") names no other parameter", value.text),
                          "name it by its label or like equal(\"f=~x2\")");
        }
      }
    }
  }

  void AddConstraints(const std::vector<ModelStatement>& statements) {
    for (const ModelStatement& statement : statements) {
      if (statement.op != ":=" && statement.op != "==") continue;
      Parameter row;
      row.lhs = statement.lhs_text;
      row.op = statement.op;
      row.rhs = statement.rhs_text;
      row.group = 0;
      row.label = statement.op == ":=" ? statement.lhs_text : "";
      row.user = true;
      row.line = statement.position.line;
      row.column = statement.position.column;
      table_.rows.push_back(std::move(row));
    }
  }

  void Number() {
    for (Parameter& row : table_.rows) {
      if (row.free > 0) row.free = ++table_.num_free;
    }
  }

  // The messages of TableExpressions with the place in the text.
  void CheckConstraints(const std::vector<ModelStatement>& statements) const {
    std::map<std::string, bool> labels;  // does any free parameter carry it?
    for (const Parameter& row : table_.rows) {
      if (row.op != ":=" && !row.label.empty()) labels[row.label] |= row.free > 0;
    }
    NameSet defined;
    for (const ModelStatement& statement : statements) {
      if (statement.op != ":=") continue;
      if (labels.contains(statement.lhs_text)) {
        FailAtModelText(text_, statement.position,
                        fmt::format("'{}' is the label of a parameter already", statement.lhs_text),
                        "choose another name for the definition");
      }
      if (!defined.insert(statement.lhs_text).second) {
        FailAtModelText(text_, statement.position,
                        fmt::format("'{}' is defined twice", statement.lhs_text),
                        "choose another name for one of the definitions");
      }
    }
    for (const ModelStatement& statement : statements) {
      bool adjustable = statement.op != "==";
      for (const Expression& side : statement.sides) {
        for (std::size_t i = 0; i < side.names().size(); ++i) {
          const std::string& name = side.names()[i];
          const auto label = labels.find(name);
          adjustable |= defined.contains(name) || (label != labels.end() && label->second);
          if (label == labels.end() && !defined.contains(name))
            FailUnknown(name, side.positions()[i]);
        }
      }
      if (!adjustable) {
        FailAtModelText(text_, statement.position, "this constraint involves no free parameter",
                        "label a free parameter (a*x) and use the label here");
      }
    }
    static_cast<void>(TableExpressions(table_, text_));
  }

  [[noreturn]] void FailUnknown(const std::string& name, TextPosition at) const {
    const bool variable = latent_.contains(name) || Contains(roles_.observed, name);
    FailAtModelText(text_, at, fmt::format("no parameter has the label '{}'", name),
                    variable ? fmt::format("'{}' is a variable; label the parameter you mean, like "
                                           "y ~ a*{}, and use the label",
                                           name, name)
                             : fmt::format("label a parameter with it, like y ~ {}*x", name));
  }

  const std::string& text_;
  const SemModelOptions& options_;
  std::vector<ModelRow> user_rows_;
  VariableRoles roles_;
  NameSet latent_, exogenous_;
  std::size_t rows_per_group_ = 0;
  std::unordered_set<const Parameter*> fixed_by_user_;
  ParameterTable table_;
};

}  // namespace

ParameterTable BuildParameterTable(const std::string& model_syntax,
                                   const SemModelOptions& options) {
  return TableBuilder(model_syntax, options).Run();
}

}  // namespace partita::stats
