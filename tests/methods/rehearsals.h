// Rehearsals for tests: of a study, and of a study whose parties run something else.
#pragma once

#include <gtest/gtest.h>

#include "base/progress.h"
#include "run/rehearse/rehearsal.h"

namespace partita::methods::rehearsals {

inline void ExpectPassed(const run::Rehearsal& rehearsal) {
  EXPECT_TRUE(rehearsal.passed(6));
  EXPECT_GT(rehearsal.rows, 0u);
  EXPECT_TRUE(rehearsal.costs.agree);
  EXPECT_GT(rehearsal.costs.counted.bytes, 0u);
  for (const run::ExactNumber& number : rehearsal.agreement.exact)
    EXPECT_GE(number.digits, 6) << number.name << ": " << number.run << ", " << number.plain;
  for (const run::RandomNumbers& numbers : rehearsal.agreement.random) {
    EXPECT_GT(numbers.count, 0u) << numbers.name;
    EXPECT_GE(numbers.p_value, run::kFalseAlarm)
        << numbers.name << ": mean " << numbers.mean << ", deviation " << numbers.deviation;
  }
}

// What `study` says of the run of `faulty`, a study of the same parties and rows.
inline run::Agreement CompareRunOf(const run::Study& faulty, const run::Study& study,
                                   const run::RehearsalOptions& options = {}) {
  SilentProgress progress;
  const run::RehearsedRun run = run::RunOnMockRows(faulty, options, progress);
  run::Agreement agreement;
  study.Compare(run, agreement, progress);
  return agreement;
}

// Whether a rehearsal with these comparisons fails for what is random, or for what is exact.
inline bool RandomFails(const run::Agreement& agreement) {
  run::Rehearsal rehearsal;
  rehearsal.agreement.random = agreement.random;
  return rehearsal.p_value() < run::kFalseAlarm;
}
inline bool ExactFails(const run::Agreement& agreement) {
  run::Rehearsal rehearsal;
  rehearsal.agreement.exact = agreement.exact;
  return rehearsal.lowest_digits() < 6;
}

}  // namespace partita::methods::rehearsals
