// Rehearsals of method `marginals`: what opened beside the counts in the clear, and faulty runs.
#include <gtest/gtest.h>

#include "methods/marginals/study.h"
#include "methods/prepare_study.h"
#include "tests/methods/marginals/marginals_text.h"
#include "tests/methods/rehearsals.h"

namespace partita::methods::marginals::marginals_rehearse_test {
namespace {

using testing::MarginalsText;
using testing::Options;
using testing::Split;

MarginalsStudy Prepared(const Options& options) {
  return PrepareMarginalsStudy(ParseStudyFile(MarginalsText(options), "study.toml"));
}

TEST(MarginalsRehearseTest, EverySplitAgrees) {
  for (const char* engine : {"dealer", "replicated"}) {
    for (const Split split : {Split::kColumns, Split::kRows}) {
      for (const char* missing : {"refuse", "complete"}) {
        SCOPED_TRACE(std::string(engine) + " " + missing);
        Options options;
        options.engine = engine;
        options.split = split;
        options.missing = missing;
        SilentProgress progress;
        const run::Rehearsal rehearsal = run::Rehearse(Prepared(options), {}, progress);
        rehearsals::ExpectPassed(rehearsal);
        ASSERT_EQ(rehearsal.agreement.random.size(), 1u);
      }
    }
  }
}

// One party's noise missing leaves half of the variance, or less: seen with certainty over 66 cells and
// more; so is another number of a level.
TEST(MarginalsRehearseTest, FaultsAreNoticed) {
  Options options;
  options.analysis = "";
  const MarginalsStudy study = Prepared(options);
  SilentProgress progress;
  run::RehearsedRun run = run::RunOnMockRows(study, {}, progress);
  run::Agreement right;
  study.Compare(run, right, progress);
  EXPECT_FALSE(rehearsals::RandomFails(right));
  MarginalsStudy quiet = Prepared(options);
  for (int halved = 0; halved < 1; ++halved) {
    quiet.design.noise.share_variance = privacy::Divide(quiet.design.noise.share_variance, 4);
  }
  EXPECT_TRUE(rehearsals::RandomFails(rehearsals::CompareRunOf(quiet, study)));
  for (data::Column& column : run.mock.pooled.columns) {
    if (column.schema.name == "sex") std::ranges::fill(column.codes, 0);
  }
  run::Agreement changed;
  study.Compare(run, changed, progress);
  EXPECT_TRUE(rehearsals::RandomFails(changed));
}

}  // namespace
}  // namespace partita::methods::marginals::marginals_rehearse_test
