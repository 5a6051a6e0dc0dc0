// Rehearsals of method `mixture`: every kind of batches beside the same in the clear, and faulty
// runs.
#include <gtest/gtest.h>

#include "tests/methods/mixture/mixture_study.h"
#include "tests/methods/rehearsals.h"

namespace partita::methods::mixture::mixture_rehearse_test {
namespace {

using mixture_studies::AsMixture;
using mixture_studies::Options;
using mixture_studies::Prepare;

run::Rehearsal RehearseIt(const Options& options, uint64_t max_steps = 200) {
  SilentProgress progress;
  run::RehearsalOptions of;
  of.max_steps = max_steps;
  return run::Rehearse(*Prepare(options), of, progress);
}

TEST(MixtureRehearseTest, EveryKindOfBatchesAgrees) {
  for (const std::string batch : {"mode = \"poisson\"\nsize = 12\n",
                                  "mode = \"disjoint\"\nsize = 20\n", "mode = \"full\"\n"}) {
    SCOPED_TRACE(batch);
    Options options;
    options.batch = batch;
    const run::Rehearsal rehearsal = RehearseIt(options);
    rehearsals::ExpectPassed(rehearsal);
    EXPECT_TRUE(rehearsal.shortened.empty());
    ASSERT_EQ(rehearsal.agreement.random.size(), 1u);
    EXPECT_EQ(rehearsal.agreement.random[0].count % (12 * 3), 0u) << "12 sums of 3 components";
  }
}

TEST(MixtureRehearseTest, MoreHoldersAndRowsSetAsideAgree) {
  Options options;
  options.engine = "replicated";
  options.holders = 3;
  rehearsals::ExpectPassed(RehearseIt(options));
  options.engine = "dealer";
  options.holders = 2;
  options.utility = "[analysis.utility]\ntest_rows = 15\nseed = 4\n";
  rehearsals::ExpectPassed(RehearseIt(options));
}

TEST(MixtureRehearseTest, LongRunsAreShortened) {
  const run::Rehearsal rehearsal = RehearseIt({}, 5);
  rehearsals::ExpectPassed(rehearsal);
  EXPECT_EQ(rehearsal.shortened,
            std::vector<std::string>{
                "5 of the 12 iterations are rehearsed, with the noise of the whole run."});
}

// Parties that draw a ninth of the noise, put every row into every batch, or learn at another rate.
TEST(MixtureRehearseTest, FaultyRunsFail) {
  const auto prepared = Prepare({});
  const MixtureStudy& study = AsMixture(*prepared);
  EXPECT_FALSE(rehearsals::RandomFails(rehearsals::CompareRunOf(study, study)));
  MixtureStudy quiet = study;
  quiet.plan.noise.share_variance = privacy::Divide(quiet.plan.noise.share_variance, 81);
  EXPECT_TRUE(rehearsals::RandomFails(rehearsals::CompareRunOf(quiet, study)));
  Options all;
  all.batch = "mode = \"full\"\n";
  EXPECT_TRUE(rehearsals::RandomFails(rehearsals::CompareRunOf(*Prepare(all), study)));
  MixtureStudy fast = study;
  fast.plan.request.variational.learning_rate *= 1.01;
  EXPECT_TRUE(rehearsals::ExactFails(rehearsals::CompareRunOf(fast, study)));
}

}  // namespace
}  // namespace partita::methods::mixture::mixture_rehearse_test
