#include "stats/sem/model_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/error.h"

namespace partita::stats {
namespace {

// Far beyond any model that can be fitted; keeps hostile input from eating the memory.
constexpr std::size_t kMaxModelRows = 100000;

// A list without repetitions, in order of arrival.
class NameList {
 public:
  void Add(const std::string& name) {
    if (known_.insert(name).second) names_.push_back(name);
  }
  bool Has(const std::string& name) const { return known_.contains(name); }
  const std::vector<std::string>& names() const { return names_; }

  template <typename Predicate>
  std::vector<std::string> Where(Predicate keep) const {
    std::vector<std::string> kept;
    std::copy_if(names_.begin(), names_.end(), std::back_inserter(kept), keep);
    return kept;
  }

 private:
  std::vector<std::string> names_;
  std::unordered_set<std::string> known_;
};

std::string Show(const ModelRow& row) { return fmt::format("{} {} {}", row.lhs, row.op, row.rhs); }

void CheckRow(std::string_view text, const ModelRow& row,
              std::set<std::tuple<std::string, std::string, std::string>>& seen) {
  if (row.op != "~~" && row.lhs == row.rhs) {
    FailAtModelText(text, row.position,
                    row.op == "=~"
                        ? fmt::format("the latent variable '{}' cannot measure itself", row.lhs)
                        : fmt::format("'{}' cannot be regressed on itself", row.lhs),
                    "remove the term");
  }
  const bool repeated = seen.contains({row.lhs, row.op, row.rhs}) ||
                        (row.op == "~~" && seen.contains({row.rhs, row.op, row.lhs}));
  if (repeated) {
    FailAtModelText(text, row.position, fmt::format("the parameter {} is there twice", Show(row)),
                    "keep one and put all its modifiers there");
  }
  const bool path = row.op == "=~" || row.op == "~";
  if (path && seen.contains({row.rhs, row.op == "~" ? "=~" : "~", row.lhs})) {
    FailAtModelText(
        text, row.position,
        fmt::format("the path {} is there already as {} {} {}", Show(row), row.rhs,
                    row.op == "~" ? "=~" : "~", row.lhs),
        "use =~ for indicators of a latent variable and ~ for regressions, one of the two");
  }
  seen.insert({row.lhs, row.op, row.rhs});
}

// f =~ g with g =~ f, over any number of steps. Iterative depth-first search with colours.
void CheckMeasurementCircles(std::string_view text, const std::vector<ModelRow>& rows) {
  std::unordered_map<std::string, std::vector<std::size_t>> loadings;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].op == "=~") loadings[rows[i].lhs].push_back(i);
  }
  enum class Colour { kNew, kOpen, kDone };
  std::unordered_map<std::string, Colour> colours;
  for (const ModelRow& start : rows) {
    if (start.op != "=~" || colours[start.lhs] != Colour::kNew) continue;
    std::vector<std::pair<std::string, std::size_t>> stack = {{start.lhs, 0}};
    colours[start.lhs] = Colour::kOpen;
    while (!stack.empty()) {
      auto& [factor, next] = stack.back();
      const auto found = loadings.find(factor);
      if (found == loadings.end() || next == found->second.size()) {
        colours[factor] = Colour::kDone;
        stack.pop_back();
        continue;
      }
      const ModelRow& row = rows[found->second[next++]];
      if (colours[row.rhs] == Colour::kOpen) {
        FailAtModelText(
            text, row.position,
            fmt::format("{} closes a circle of factors that measure each other", Show(row)),
            "remove one of these loadings");
      }
      if (colours[row.rhs] == Colour::kNew) {
        colours[row.rhs] = Colour::kOpen;
        stack.emplace_back(row.rhs, 0);
      }
    }
  }
}

}  // namespace

std::vector<ModelRow> FlattenStatements(std::string_view text,
                                        const std::vector<ModelStatement>& statements) {
  std::vector<ModelRow> rows;
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const ModelStatement& statement : statements) {
    for (const ModelName& lhs : statement.lhs) {
      for (const ModelTerm& term : statement.terms) {
        const bool intercept = term.name.empty();
        rows.push_back(
            {lhs.name, intercept ? "~1" : statement.op, term.name, term.modifiers, term.position});
        CheckRow(text, rows.back(), seen);
        if (rows.size() > kMaxModelRows) {
          FailAtModelText(text, term.position,
                          fmt::format("the model has more than {} parameters", kMaxModelRows),
                          "shorten the model");
        }
      }
    }
  }
  CheckMeasurementCircles(text, rows);
  return rows;
}

VariableRoles FindRoles(const std::vector<ModelRow>& rows) {
  NameList latent, indicators, dependent, independent, moments;
  for (const ModelRow& row : rows) {
    if (row.op == "=~") {
      latent.Add(row.lhs);
      indicators.Add(row.rhs);
    } else if (row.op == "~") {
      dependent.Add(row.lhs);
      independent.Add(row.rhs);
    }
  }
  // lavaan lists the left sides of all covariances, then the right sides, then the intercepts.
  for (const ModelRow& row : rows) {
    if (row.op == "~~") moments.Add(row.lhs);
  }
  for (const ModelRow& row : rows) {
    if (row.op == "~~") moments.Add(row.rhs);
  }
  for (const ModelRow& row : rows) {
    if (row.op == "~1") moments.Add(row.lhs);
  }

  NameList observed;
  for (const NameList* list : {&indicators, &dependent, &independent, &moments}) {
    for (const std::string& name : list->names()) {
      if (!latent.Has(name)) observed.Add(name);
    }
  }
  const auto is_outcome = [&](const std::string& name) {
    return dependent.Has(name) && !indicators.Has(name) && !independent.Has(name);
  };
  VariableRoles roles;
  roles.latent = latent.names();
  roles.observed = observed.names();
  roles.exogenous = independent.Where([&](const std::string& name) {
    return !latent.Has(name) && !indicators.Has(name) && !dependent.Has(name) && !moments.Has(name);
  });
  roles.latent_exogenous = latent.Where(
      [&](const std::string& name) { return !indicators.Has(name) && !dependent.Has(name); });
  roles.latent_outcomes = latent.Where(is_outcome);
  roles.observed_outcomes = observed.Where(
      [&](const std::string& name) { return is_outcome(name) && !latent.Has(name); });
  return roles;
}

void OrderCovariances(const VariableRoles& roles, std::vector<ModelRow>& rows) {
  std::unordered_map<std::string, std::size_t> order;
  for (const auto* names : {&roles.latent, &roles.observed}) {
    for (const std::string& name : *names) order.try_emplace(name, order.size());
  }
  for (ModelRow& row : rows) {
    if (row.op == "~~" && order.at(row.lhs) > order.at(row.rhs)) std::swap(row.lhs, row.rhs);
  }
}

}  // namespace partita::stats
