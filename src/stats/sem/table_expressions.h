// The := and == rows of a parameter table, ready to be evaluated and differentiated.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stats/sem/expression.h"
#include "stats/sem/parameter_table.h"

namespace partita::stats {

// One := or == row. A := row is worth its right side, an == row left side minus right side (which
// must become zero).
struct TableExpression {
  int row = 0;             // index in ParameterTable::rows
  bool definition = true;  // := , otherwise ==
  bool affine = false;     // in the labels, after substitution of the definitions used
  double value = 0;
  std::vector<double> gradient;  // with respect to TableExpressions::labels()
};

// Definitions may use other definitions, in any order; the gradients are with respect to the labels
// of model parameters only (chain rule).
class TableExpressions {
 public:
  // Throws kBadInput for an unknown label or definitions that refer to each other in a circle;
  // with the model's text the message shows the line.
  explicit TableExpressions(const ParameterTable& table, std::string_view model_text = {});

  // Labels of the model parameters that the expressions use, in order of first use.
  const std::vector<std::string>& labels() const { return labels_; }
  // label_rows()[i]: the rows of the table that carry labels()[i], in order (never empty).
  const std::vector<std::vector<int>>& label_rows() const { return label_rows_; }

  std::size_t size() const { return entries_.size(); }

  // label_values[i] belongs to labels()[i]. Results in the order of the table's rows.
  std::vector<TableExpression> Evaluate(std::span<const double> label_values) const;

 private:
  struct Side {
    Expression expression;
    // Per name of the expression: index in labels_ if >= 0, else -1 - index in entries_.
    std::vector<int> sources;
  };
  struct Entry {
    int row = 0;
    bool definition = true;
    bool affine = false;
    std::vector<Side> sides;  // := one, == two
  };

  void Order(const ParameterTable& table, std::string_view model_text);
  void Finish(std::size_t index);
  static void AddSide(const Side& side, double sign, std::span<const double> label_values,
                      const std::vector<TableExpression>& results, TableExpression& result);

  std::vector<std::string> labels_;
  std::vector<std::vector<int>> label_rows_;
  std::vector<Entry> entries_;      // in the order of the table's rows
  std::vector<std::size_t> order_;  // indices of entries_, definitions before their users
};

}  // namespace partita::stats
