// Disclosure checks: before an exact result opens, every count that could point at few persons is
// compared with a threshold on shares, and only the answer is opened.
//
// Ideal function   (shared moments) -> for every check one bit to everybody: whether a count of
//                  persons reaches its minimum. A count whose bit is 0 is known to nobody; the
//                  owner of the rows can count them itself.
// Method           The counts are integer combinations of the shared moments, because a column with
//                  the bounds 0 and 1 is z = -1 or 1 on the wire: with s = sum z, 4 n, 2 (n + s),
//                  and n + s_i + s_j + sum z_i z_j are four times the number of rows, of ones, and
//                  of rows with two ones. One secure comparison for all checks.
// Revealed         One bit per check, to every party (release `disclosure`).
// Cost             mpc/compare.h for a row of as many values as there are checks and or_none, and
//                  one opening of the checks.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "methods/mle/moments/pooled_moments.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

inline constexpr char kDisclosureRelease[] = "disclosure";

// Four times a number of rows, as a combination of the moments of cells.
struct CountForm {
  struct Term {
    size_t cell = 0;
    int sign = 1;
    int n = 0;                                                 // times n
    std::vector<std::pair<size_t, int>> sums;                  // times sum z_i
    std::vector<std::pair<std::array<size_t, 2>, int>> cross;  // times sum z_i z_j
  };
  size_t computation = 0;  // whose task the cells and variables belong to
  std::vector<Term> terms;
};

// All of them are in [0, n].
CountForm CountRows(size_t cell);
// Rows where the 0/1 column i is 1 (or 0).
CountForm CountOnes(size_t cell, size_t i);
CountForm CountZeros(size_t cell, size_t i);
// Rows where the 0/1 columns i and j have these values.
CountForm CountBoth(size_t cell, size_t i, bool i_is_one, size_t j, bool j_is_one);
// a + sign * b. The result must again be a number of rows, or the negative of one.
CountForm Combine(CountForm a, const CountForm& b, int sign);

struct DisclosureCheck {
  std::string analysis;
  std::string variable;  // "smoker", or "rows"
  std::string rule;      // "at least 5 rows where smoker is 1"
  CountForm count;
  uint64_t minimum = 0;
  bool warning = false;  // a 0 does not stop the study
  // The check also passes where this count, never below `count`, is zero: of nobody nothing is
  // told.
  std::optional<CountForm> or_none = std::nullopt;
};

// moments: by computation and cell; fraction_bits and max_rows by computation. Opens the answers to
// everybody; returns them in the order of the checks at computing parties (empty elsewhere).
struct ComputationMoments {
  const MomentsTask* task = nullptr;
  const std::vector<SharedMoments>* cells = nullptr;
};
std::vector<bool> RunDisclosureChecks(mpc::Engine& engine,
                                      const std::vector<DisclosureCheck>& checks,
                                      const std::vector<ComputationMoments>& moments);

}  // namespace partita::methods::mle
