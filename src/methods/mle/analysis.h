// An mle analysis: the model with its variables before the protocol, and the fit on the opened
// moments after it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "data/schema.h"
#include "methods/mle/pooled_moments.h"
#include "methods/mle/result.h"

namespace partita::methods::mle {

inline constexpr char kMethodName[] = "mle";
inline constexpr uint32_t kMethodVersion = 1;

struct MleOptions {
  std::string function;  // lavaan's wrapper: cfa | sem | growth | lavaan
  std::string model;     // lavaan syntax
  std::string group;     // grouping factor of the dictionary; empty: one group
  std::vector<std::string> group_equal;
  bool std_lv = false;
  std::optional<bool> meanstructure, fixed_x;
  stats::Information information = stats::Information::kExpected;
};

struct MleAnalysis {
  MleOptions options;
  stats::ParameterTable table;
  std::vector<data::ColumnSchema> variables;  // of the moments, in the order of table.observed
  std::vector<std::string> group_levels;      // empty: one group
};

// Parses the model and looks its variables up in the dictionary. Throws kBadInput: syntax errors
// with line and column of the model; unknown or non-numeric variables with "did you mean"; a group
// that is not a factor.
MleAnalysis PrepareAnalysis(const MleOptions& options, const data::Schema& dictionary);

// Means and covariances in original units, then maximum likelihood. Throws kBadInput for moments
// that cannot be fitted. fraction_bits: f_in of the moments.
MleResult FitMoments(const MleAnalysis& analysis, const std::vector<IntegerMoments>& moments,
                     int fraction_bits, Progress& progress);

}  // namespace partita::methods::mle
