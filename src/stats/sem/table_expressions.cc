#include "stats/sem/table_expressions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "stats/sem/syntax.h"

namespace partita::stats {
namespace {

constexpr int kNotLabel = -1;

[[noreturn]] void Fail(std::string_view text, const Parameter& row, const std::string& message,
                       const std::string& hint) {
  if (!text.empty()) FailAtModelText(text, {row.line, row.column}, message, hint);
  throw Error(ErrorCode::kBadInput,
              fmt::format("model line {}, column {}: {} {} {}: {}", row.line, row.column, row.lhs,
                          row.op, row.rhs, message),
              hint);
}

}  // namespace

TableExpressions::TableExpressions(const ParameterTable& table, std::string_view model_text) {
  std::map<std::string, std::vector<int>> carriers;
  std::map<std::string, int> definitions;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Parameter& row = table.rows[i];
    const int index = static_cast<int>(i);
    if (row.op == ":=" || row.op == "==") {
      if (row.op == ":=") definitions[row.lhs] = static_cast<int>(entries_.size());
      Entry entry;
      entry.row = index;
      entry.definition = row.op == ":=";
      entries_.push_back(std::move(entry));
    } else if (!row.label.empty()) {
      carriers[row.label].push_back(index);
    }
  }
  std::map<std::string, int> label_index;
  for (Entry& entry : entries_) {
    const Parameter& row = table.rows[static_cast<std::size_t>(entry.row)];
    const TextPosition at{std::max(1, row.line), std::max(1, row.column)};
    if (!entry.definition) entry.sides.push_back({ParseExpression(row.lhs, at), {}});
    entry.sides.push_back({ParseExpression(row.rhs, at), {}});
    for (Side& side : entry.sides) {
      for (const std::string& name : side.expression.names()) {
        if (const auto definition = definitions.find(name); definition != definitions.end()) {
          side.sources.push_back(kNotLabel - definition->second);
          continue;
        }
        const auto carrier = carriers.find(name);
        if (carrier == carriers.end()) {
          Fail(model_text, row, fmt::format("no parameter has the label '{}'", name),
               "label a parameter with it, like y ~ a*x");
        }
        const auto [label, added] = label_index.try_emplace(name, static_cast<int>(labels_.size()));
        if (added) {
          labels_.push_back(name);
          label_rows_.push_back(carrier->second);
        }
        side.sources.push_back(label->second);
      }
    }
  }
  Order(table, model_text);
}

// Depth-first: definitions before those that use them.
void TableExpressions::Order(const ParameterTable& table, std::string_view model_text) {
  enum class State { kNew, kOpen, kDone };
  std::vector<State> states(entries_.size(), State::kNew);
  for (std::size_t start = 0; start < entries_.size(); ++start) {
    std::vector<std::size_t> stack = {start};
    while (!stack.empty()) {
      const std::size_t at = stack.back();
      if (states[at] == State::kDone) {
        stack.pop_back();
        continue;
      }
      states[at] = State::kOpen;
      bool ready = true;
      for (const Side& side : entries_[at].sides) {
        for (const int source : side.sources) {
          if (source >= 0) continue;
          const auto used = static_cast<std::size_t>(kNotLabel - source);
          if (states[used] == State::kOpen) {
            Fail(model_text, table.rows[static_cast<std::size_t>(entries_[at].row)],
                 "this definition depends on itself", "break the circle of definitions");
          }
          if (states[used] == State::kNew) {
            stack.push_back(used);
            ready = false;
          }
        }
      }
      if (!ready) continue;
      Finish(at);
      states[at] = State::kDone;
      stack.pop_back();
    }
  }
}

// An entry whose definitions are done: its place in the order, and whether it is affine.
void TableExpressions::Finish(std::size_t index) {
  Entry& entry = entries_[index];
  entry.affine = true;
  for (const Side& side : entry.sides) {
    entry.affine &= side.expression.IsAffine();
    for (const int source : side.sources) {
      if (source < 0) entry.affine &= entries_[static_cast<std::size_t>(kNotLabel - source)].affine;
    }
  }
  order_.push_back(index);
}

std::vector<TableExpression> TableExpressions::Evaluate(
    std::span<const double> label_values) const {
  if (label_values.size() != labels_.size()) {
    throw Error(ErrorCode::kInternal,
                fmt::format("{} labels were given {} values", labels_.size(), label_values.size()));
  }
  std::vector<TableExpression> results(entries_.size());
  for (const std::size_t index : order_) {
    const Entry& entry = entries_[index];
    TableExpression& result = results[index];
    result.row = entry.row;
    result.definition = entry.definition;
    result.affine = entry.affine;
    result.gradient.assign(labels_.size(), 0.0);
    double sign = 1;
    for (const Side& side : entry.sides) {
      AddSide(side, sign, label_values, results, result);
      sign = -1;
    }
  }
  return results;
}

// result += sign * side, with the chain rule through the definitions that the side uses.
void TableExpressions::AddSide(const Side& side, double sign, std::span<const double> label_values,
                               const std::vector<TableExpression>& results,
                               TableExpression& result) {
  const std::size_t count = side.sources.size();
  std::vector<double> values(count);
  std::vector<double> slopes(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int source = side.sources[i];
    values[i] = source >= 0 ? label_values[static_cast<std::size_t>(source)]
                            : results[static_cast<std::size_t>(kNotLabel - source)].value;
  }
  result.value += sign * side.expression.EvaluateWithGradient(values, slopes);
  for (std::size_t i = 0; i < count; ++i) {
    const int source = side.sources[i];
    if (source >= 0) {
      result.gradient[static_cast<std::size_t>(source)] += sign * slopes[i];
      continue;
    }
    const auto& inner = results[static_cast<std::size_t>(kNotLabel - source)].gradient;
    for (std::size_t k = 0; k < inner.size(); ++k)
      result.gradient[k] += sign * slopes[i] * inner[k];
  }
}

}  // namespace partita::stats
