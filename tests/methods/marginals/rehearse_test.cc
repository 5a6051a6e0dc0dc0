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

// One of two parties' noise missing leaves half of the variance: over 576 cells it passes for all of it
// with a probability of 5e-12 (over 66, in 97 of 100 runs). A wrong column is seen as well.
TEST(MarginalsRehearseTest, FaultsAreNoticed) {
  Options options;
  options.analysis =
      "columns = [{variable = \"income\", bins = 40}, \"visits\", \"sex\", \"job\"]\n";
  const MarginalsStudy study = Prepared(options);
  SilentProgress progress;
  run::RehearsedRun run = run::RunOnMockRows(study, {}, progress);
  run::Agreement right;
  study.Compare(run, right, progress);
  EXPECT_FALSE(rehearsals::RandomFails(right));
  ASSERT_EQ(right.random[0].count, 576u);
  MarginalsStudy quiet = Prepared(options);
  quiet.design.noise.share_variance = privacy::Divide(quiet.design.noise.share_variance, 2);
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
