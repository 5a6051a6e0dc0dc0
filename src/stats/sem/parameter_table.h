// The parameter table of a structural equation model: lavaan's, one row per parameter and group.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace partita::stats {

// lavaan's four wrappers differ only in what they add automatically.
enum class SemFamily { kLavaan, kCfa, kSem, kGrowth };

struct SemModelOptions {
  SemFamily family = SemFamily::kSem;
  bool std_lv = false;                     // latent variances 1 instead of first loadings 1
  std::optional<bool> meanstructure;       // default: on with groups, growth or any ~1, else off
  std::optional<bool> fixed_x;             // default: lavaan's (on for cfa, sem, growth)
  std::vector<std::string> groups;         // labels of the groups, in order; empty: one group
  std::vector<std::string> group_equal;    // "loadings", "intercepts", "residuals", "means", ...
  std::vector<std::string> group_partial;  // "f=~x2", "x1~1": exceptions to group_equal
  bool orthogonal = false;                 // exogenous latent covariances 0 (bifactor models)
};

struct Parameter {
  std::string lhs, op, rhs;  // op: =~ ~ ~~ ~1 := == (rhs empty for ~1)
  int group = 1;             // 1-based; 0 for := and ==
  std::string label;         // as the user wrote it; equal labels are equal parameters
  int free =
      0;  // 1-based index of the free parameter before equality constraints; 0: fixed or defined
  double value = 0;         // fixed value (free == 0), else the start value
  bool user_start = false;  // start(...) was given
  bool user = false;        // written by the user, as opposed to added by default
  bool exogenous = false;   // moment of a fixed.x covariate: taken from the sample, not a parameter
  int line = 0, column = 0;  // where the user wrote it; 0 for rows added by default
};

// := rows: the new name in lhs and label, the expression's text in rhs. == rows: the texts of both
// sides. See table_expressions.h for their values and gradients.

struct ParameterTable {
  std::vector<Parameter> rows;
  std::vector<std::string> observed;  // order of the moments
  std::vector<std::string> latent;
  std::vector<std::string> groups;  // one empty label for a single group
  bool meanstructure = false;
  bool fixed_x = false;
  std::vector<std::string> exogenous_covariates;  // the fixed.x variables, if fixed_x
  int num_free = 0;                               // largest Parameter::free
};

// Rows, their order, numbers, labels and fixed values are those of lavaan 0.6-14's parTable(), but
// for its rows "==" that repeat what equal labels say. Rows made equal without a label
// (group_equal, equal()) get lavaan's label ".p5.", 5 being the first such row. Stricter than
// lavaan, which drops or guesses: repeated parameters, c(a, NA), a fixed value beside a start
// value, labels nobody has.
//
// Parses lavaan syntax and applies the defaults of the family. Observed variables are those used in
// the model that are not latent, in lavaan's order. Errors (kBadInput) name line and column of the
// model text and say what to write instead.
ParameterTable BuildParameterTable(const std::string& model_syntax, const SemModelOptions& options);

}  // namespace partita::stats
