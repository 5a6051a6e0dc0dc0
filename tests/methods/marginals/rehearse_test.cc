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

// Rows set aside, of blocks that are split and of blocks that are whole; targets; a number of rows
// that is not public; pairs that scores choose.
TEST(MarginalsRehearseTest, EveryOptionAgrees) {
  constexpr const char* kUtility = "[analysis.utility]\ntest_rows = 60\nseed = 7\n";
  for (const Split split : {Split::kColumns, Split::kRows}) {
    Options set_aside;
    set_aside.split = split;
    set_aside.privacy += kUtility;
    Options targets;
    targets.split = split;
    targets.analysis += "targets = [\"sex\"]\n";
    Options scores;
    scores.split = split;
    scores.analysis += "select = \"scores\"\npairs = 3\n";
    Options group;
    group.split = split;
    group.analysis += "select = \"group\"\ngroup = \"visits\"\n";
    Options triples;
    triples.split = split;
    triples.analysis += "triples = [{columns = [\"income\", \"visits\", \"sex\"]}]\n";
    Options both = scores;
    both.privacy += kUtility;
    for (const Options& options : {set_aside, targets, scores, group, triples, both}) {
      SCOPED_TRACE(options.analysis + options.privacy);
      SilentProgress progress;
      const run::Rehearsal rehearsal = run::Rehearse(Prepared(options), {}, progress);
      rehearsals::ExpectPassed(rehearsal);
      const bool scored = options.analysis.find("scores") != std::string::npos;
      ASSERT_EQ(rehearsal.agreement.random.size(), scored ? 2u : 1u);
    }
  }
  for (const char* select : {"", "select = \"scores\"\npairs = 3\n"}) {
    Options hidden;
    hidden.split = Split::kRows;
    hidden.declares_rows = false;
    hidden.privacy = "epsilon = 3\ndelta = 1e-5\nadjacency = \"add-remove\"\n";
    hidden.analysis += "expected_rows = 500\n" + std::string(select);
    SilentProgress progress;
    rehearsals::ExpectPassed(run::Rehearse(Prepared(hidden), {}, progress));
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
