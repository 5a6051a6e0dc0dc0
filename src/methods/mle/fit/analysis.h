// An mle analysis: the model with its variables before the protocol, and the fit on the opened
// moments after it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "data/design.h"
#include "data/schema.h"
#include "methods/mle/fit/result.h"
#include "methods/mle/moments/pooled_moments.h"

namespace partita::methods::mle {

inline constexpr char kMethodName[] = "mle";
inline constexpr uint32_t kMethodVersion =
    4;  // 4: imputations without pivots, shorter ends of sealed fits

struct MleOptions {
  std::string name;  // of the analysis
  // lavaan's wrapper: cfa | sem | growth | lavaan; or a family by name, which is sem and checked:
  // regression | path | mediation | saturated | pca (the same as saturated).
  std::string function;
  std::string model;  // lavaan syntax; of saturated and pca the variables: x1 + x2 + x3
  std::string group;  // grouping factor of the dictionary; empty: one group
  std::vector<std::string> group_equal;
  bool std_lv = false;
  std::optional<bool> meanstructure, fixed_x;
  stats::Information information = stats::Information::kExpected;
  bool robust = false;  // sums of scores follow (robust.h)
  // What follows the fit at the receiver (extras.h).
  std::string nested_in;  // name of an analysis that this one is nested in; empty: none
  bool modification_indices = false;
  size_t bootstrap = 0;  // draws; 0: none
  // Whether the moments are those of complete rows, without noise; and how many intercepts were
  // taken out of the rows before (least_squares.h).
  bool plain_moments = true;
  size_t absorbed_intercepts = 0;
};

// A number that a fit does not have.
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct MleAnalysis {
  MleOptions options;
  stats::ParameterTable table;
  std::vector<data::DesignColumn> variables;  // of the moments, in the order of table.observed
  std::vector<std::string> group_levels;      // empty: one group
  // Of incomplete rows, by pattern of the study: the variables that its rows have, ascending
  // (patterns.h). Empty: every row is complete.
  std::vector<std::vector<size_t>> patterns = {};
  std::vector<std::string> warnings = {};  // whole sentences, for the plan and the report
};

// Parses the model and looks its variables up among the design columns. Throws kBadInput: syntax
// errors with line and column of the model; unknown variables with "did you mean", factors with the
// names of their columns; a group that is not a factor. dictionary: with the derived factors.
MleAnalysis PrepareAnalysis(const MleOptions& options, const data::Schema& dictionary,
                            const std::vector<data::DesignColumn>& columns);

// Means and covariances in original units, by group. Throws kBadInput for a group without rows.
std::vector<stats::GroupMoments> SampleMomentsOf(const MleAnalysis& analysis,
                                                 const std::vector<IntegerMoments>& moments,
                                                 int fraction_bits);

// What a result says before anything is fitted.
MleResult ResultWithoutFit(const MleAnalysis& analysis);

// SampleMomentsOf, then FitReleased; with patterns, FitPatterns. moments: one entry per
// group (and pattern), on the variables of the analysis. Throws kBadInput for moments that cannot
// be fitted. fraction_bits: f_in of the moments.
MleResult FitMoments(const MleAnalysis& analysis, const std::vector<IntegerMoments>& moments,
                     int fraction_bits, Progress& progress);

}  // namespace partita::methods::mle
