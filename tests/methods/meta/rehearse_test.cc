// Rehearsals of method `meta`: what opened beside the same in the clear, and one changed estimate.
#include <gtest/gtest.h>

#include "methods/meta/study.h"
#include "methods/prepare_study.h"
#include "tests/methods/meta/meta_text.h"
#include "tests/methods/rehearsals.h"

namespace partita::methods::meta::meta_rehearse_test {
namespace {

MetaStudy Prepared(const std::string& text) {
  return PrepareMetaStudy(ParseStudyFile(text, "study.toml"));
}

TEST(MetaRehearseTest, PoolsAgree) {
  SilentProgress progress;
  for (const char* keys : {"", "estimator = \"dersimonian-laird\"\n", "estimator = \"fixed\"\n",
                           "interval = \"normal\"\n", "protocol = \"site-estimates\"\n"}) {
    SCOPED_TRACE(keys);
    const run::Rehearsal rehearsal =
        run::Rehearse(Prepared(testing::MetaText(5, "dealer", keys)), {}, progress);
    rehearsals::ExpectPassed(rehearsal);
    EXPECT_GE(rehearsal.agreement.exact.size(), 2u);
  }
}

TEST(MetaRehearseTest, FitsAgree) {
  SilentProgress progress;
  rehearsals::ExpectPassed(
      run::Rehearse(Prepared(testing::FormulaText(5, "dealer")), {}, progress));
}

TEST(MetaRehearseTest, OneChangedEstimateIsNoticed) {
  const MetaStudy study = Prepared(testing::MetaText(5, "dealer"));
  SilentProgress progress;
  run::RehearsedRun run = run::RunOnMockRows(study, {}, progress);
  run::Agreement right;
  study.Compare(run, right, progress);
  EXPECT_FALSE(rehearsals::ExactFails(right));
  for (data::Column& column : run.mock.pooled.columns) {
    if (column.schema.name == "b") column.numbers[3] = -column.numbers[3];
  }
  run::Agreement changed;
  study.Compare(run, changed, progress);
  EXPECT_TRUE(rehearsals::ExactFails(changed));
}

}  // namespace
}  // namespace partita::methods::meta::meta_rehearse_test
