// Rehearsals of method `mixed`: what opened beside the same in the clear, and one changed outcome.
#include <gtest/gtest.h>

#include "methods/mixed/study.h"
#include "methods/prepare_study.h"
#include "tests/methods/mixed/mixed_text.h"
#include "tests/methods/rehearsals.h"
#include "tests/study/edited.h"

namespace partita::methods::mixed::mixed_rehearse_test {
namespace {

using study::Edited;
using testing::kMixedStudy;

MixedStudy Prepared(const std::string& text) {
  return PrepareMixedStudy(ParseStudyFile(text, "study.toml"));
}

TEST(MixedRehearseTest, FitsAgree) {
  SilentProgress progress;
  for (const std::string& text :
       {kMixedStudy, testing::Logistic(), testing::Counts(), testing::Sloped(),
        Edited(kMixedStudy, "release =", "criterion = \"ML\"\nrelease ="), testing::FiveSites()}) {
    const run::Rehearsal rehearsal = run::Rehearse(Prepared(text), {}, progress);
    rehearsals::ExpectPassed(rehearsal);
    EXPECT_GE(rehearsal.agreement.exact.size(), 10u);
  }
}

TEST(MixedRehearseTest, CovariancesAgree) {
  SilentProgress progress;
  for (const std::string& text :
       {kMixedStudy, testing::Logistic(), testing::Counts(), testing::Sloped()}) {
    const run::Rehearsal rehearsal = run::Rehearse(
        Prepared(Edited(text, "method = \"mixed\"\n", "method = \"mixed\"\ncovariance = true\n")),
        {}, progress);
    rehearsals::ExpectPassed(rehearsal);
    size_t covariances = 0;
    for (const run::ExactNumber& number : rehearsal.agreement.exact)
      covariances += number.name.ends_with(", covariance") ? 1 : 0;
    // Made-up groups do not differ in slopes, so that there is no such fit.
    EXPECT_EQ(covariances, text == testing::Sloped() ? 0u : 6u);
  }
}

TEST(MixedRehearseTest, ChangedOutcomesAreNoticed) {
  const MixedStudy study = Prepared(kMixedStudy);
  SilentProgress progress;
  run::RehearsedRun run = run::RunOnMockRows(study, {}, progress);
  run::Agreement right;
  study.Compare(run, right, progress);
  EXPECT_FALSE(rehearsals::ExactFails(right));
  for (data::Column& column : run.mock.pooled.columns) {
    if (column.schema.name != "score") continue;
    for (size_t row = 0; row < 10; ++row) column.numbers[row] = 100 - column.numbers[row];
  }
  run::Agreement changed;
  study.Compare(run, changed, progress);
  EXPECT_TRUE(rehearsals::ExactFails(changed));
}

}  // namespace
}  // namespace partita::methods::mixed::mixed_rehearse_test
