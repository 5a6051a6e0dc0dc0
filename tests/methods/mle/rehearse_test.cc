// Rehearsals of method `mle`: everything that a study file can declare is computed alike on both
// sides, and the plain side is independent enough to notice a wrong run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "methods/mle/check/pooled_fit.h"
#include "methods/mle/moments/private_moments.h"
#include "methods/prepare_study.h"
#include "run/simulate/mock_tables.h"
#include "tests/methods/rehearsals.h"
#include "tests/study/study_text.h"

namespace partita::methods::mle::rehearse_test {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;

const std::string kVariables = R"([[variable]]
name = "y"
type = "numeric"
lower = -10
upper = 10

[[variable]]
name = "x"
type = "numeric"
lower = 0
upper = 100

[[variable]]
name = "w"
type = "integer"
lower = 0
upper = 5

[[variable]]
name = "sex"
type = "factor"
levels = ["f", "m"]

[engine]
name = "dealer"
)";
const std::string kRows = study::RowsSplit("rehearsed", {"north", "south"}) + kVariables;
const std::string kCountedRows =
    study::RowsSplit("rehearsed", {"north", "south"}, {120, 110}) + kVariables;
const std::string kManyRows =
    study::RowsSplit("rehearsed", {"north", "south"}, {2000, 1500}) + kVariables;

std::string Analysis(const std::string& more, const std::string& protocol = "pooled-moments",
                     const std::string& release = "\"moments\"") {
  return "\n[[analysis]]\nmethod = \"mle\"\nprotocol = \"" + protocol + "\"\nrelease = [" +
         release + "]\nfunction = \"sem\"\n" + more;
}

MleStudy Study(const std::string& design, const std::string& analyses,
               const std::string& rows = kRows) {
  return PrepareMleStudy(
      ParseStudyFile(rows + "\n[design]\n" + design + "\n" + analyses, "study.toml"));
}

const run::RehearsalOptions kOptions = {.rows_per_block = 120, .seed = 3};

run::Rehearsal RehearseIt(const MleStudy& study) {
  SilentProgress progress;
  return run::Rehearse(study, kOptions, progress);
}

const std::string kPlain = "site = \"ignore\"\nmissing = \"refuse\"\n";
const std::string kPatterns = "patterns = [[], [\"y\"], [\"x\"]]\n";

// Mock rows have the patterns of the study, and the plain side knows nothing of cells.
TEST(RehearseTest, IncompleteRowsAgree) {
  rehearsals::ExpectPassed(
      RehearseIt(Study("site = \"ignore\"\nmissing = \"fiml\"\n" + kPatterns +
                           "weights = \"w\"\nweights_type = \"frequency\"\n",
                       Analysis("name = \"all\"\nmodel = \"y ~ x\"\n") +
                           Analysis("name = \"by-sex\"\nmodel = \"y ~ x\"\ngroup = \"sex\"\n"))));
}

TEST(RehearseTest, SubsetsIncompleteRowsAndSeveralAnalysesAgree) {
  const MleStudy study = Study(
      "site = \"ignore\"\nmissing = \"complete\"\n[population]\nsubset = [{variable = \"x\", "
      "at_least = 20}]",
      Analysis("name = \"crude\"\nmodel = \"y ~ x\"\n") +
          Analysis("name = \"women\"\nmodel = \"y ~ x\"\nsubset = [{variable = \"sex\", is = "
                   "[\"f\"]}]\n") +
          Analysis("name = \"adjusted\"\nmodel = \"y ~ x + sex.m\"\n"));
  const run::Rehearsal rehearsal = RehearseIt(study);
  rehearsals::ExpectPassed(rehearsal);
  // Estimates and standard errors.
  EXPECT_EQ(rehearsal.agreement.exact.size(), 2u * (2 + 2 + 3));
  EXPECT_EQ(rehearsal.costs.plan, run::MessagesPlanned::kExactly);
  // Different rows: different estimates.
  EXPECT_GT(std::abs(rehearsal.agreement.exact[0].plain - rehearsal.agreement.exact[4].plain),
            1e-6);
}

TEST(RehearseTest, WeightsGroupsAndSiteEffectsAgree) {
  rehearsals::ExpectPassed(RehearseIt(Study(
      kPlain + "weights = \"w\"\nweights_type = \"frequency\"", Analysis("model = \"y ~ x\"\n"))));
  rehearsals::ExpectPassed(
      RehearseIt(Study(kPlain, Analysis("model = \"y ~ x\"\ngroup = \"sex\"\n"))));
  rehearsals::ExpectPassed(
      RehearseIt(Study("site = \"fixed\"\nmissing = \"refuse\"", Analysis("model = \"y ~ x\"\n"))));
}

TEST(RehearseTest, RobustStandardErrorsAgree) {
  const std::string release = "\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}";
  for (const std::string cluster : {"", "cluster = \"w\"\n"}) {
    const run::Rehearsal rehearsal = RehearseIt(Study(
        kPlain + cluster, Analysis("model = \"y ~ x\"\nrobust = true\n", "pooled-moments", release),
        kManyRows));
    rehearsals::ExpectPassed(rehearsal);
    EXPECT_THAT(rehearsal.agreement.exact,
                Contains(Field(&run::ExactNumber::name, HasSubstr("robust s.e. of y ~ x"))));
  }
}

TEST(RehearseTest, OtherProtocolsAgree) {
  run::Rehearsal rehearsal =
      RehearseIt(Study(kPlain, Analysis("model = \"y ~ x\"\n", "likelihood", "\"likelihood\"")));
  rehearsals::ExpectPassed(rehearsal);
  EXPECT_EQ(rehearsal.costs.plan, run::MessagesPlanned::kAtMost);
  EXPECT_LT(rehearsal.costs.counted.bytes, rehearsal.costs.planned.bytes);
  rehearsal = RehearseIt(Study(kPlain, Analysis("model = \"y ~ x\"\n", "sealed", "\"estimates\"")));
  rehearsals::ExpectPassed(rehearsal);
  EXPECT_EQ(rehearsal.costs.plan, run::MessagesPlanned::kExactly);
}

// The receiver of a published protocol holds no rows.
TEST(RehearseTest, PublishedProtocolsAgree) {
  const std::string holders =
      study::RowsSplit("rehearsed", {"north", "south", "west"}, {90, 80, 70}) + kVariables;
  const std::string hub = study::Edited(
      study::Edited(holders, "roles = [\"holder\", \"receiver\"]", "roles = [\"holder\"]"),
      "[[party]]", "[[party]]\nname = \"hub\"\nroles = [\"receiver\"]\n[[party]]");
  for (const std::string protocol : {"secure-sum", "plain-passing"}) {
    const MleStudy study = Study(
        kPlain,
        Analysis("model = \"y ~ x\"\nfixed_x = false\nmeanstructure = true\nrows_may_leak = true\n",
                 protocol, "\"rows\""),
        hub);
    SilentProgress progress;
    const run::Rehearsal rehearsal = run::Rehearse(study, kOptions, progress);
    EXPECT_TRUE(rehearsal.passed(3)) << protocol << ": " << rehearsal.lowest_digits();
    EXPECT_EQ(rehearsal.costs.plan, run::MessagesPlanned::kNot);
  }
}

TEST(RehearseTest, ImputedRowsAgreeWithTheirLaw) {
  const run::Rehearsal rehearsal =
      RehearseIt(Study("site = \"ignore\"\nmissing = \"mi\"\nimputations = 20\n" + kPatterns,
                       Analysis("model = \"y ~ x\"\n")));
  rehearsals::ExpectPassed(rehearsal);
  ASSERT_EQ(rehearsal.agreement.random.size(), 2u);
  EXPECT_EQ(rehearsal.agreement.random[0].count, 2u);
  EXPECT_EQ(rehearsal.agreement.exact.size(), 1u) << "numbers of rows";
}

const std::string kPromise =
    "[analysis.privacy]\nepsilon = 2\ndelta = 1e-4\nadjacency = \"replace\"\nnorm = 0.8\n";

TEST(RehearseTest, PrivateMomentsAgreeWithTheirNoise) {
  run::Rehearsal rehearsal =
      RehearseIt(Study(kPlain, Analysis("model = \"y ~ x\"\n") + kPromise, kCountedRows));
  rehearsals::ExpectPassed(rehearsal);
  ASSERT_EQ(rehearsal.agreement.random.size(), 1u);
  EXPECT_EQ(rehearsal.agreement.random[0].count, 5u);
  EXPECT_EQ(rehearsal.agreement.exact.size(), 1u) << "the public number of rows";
  // Groups have noisy counts.
  rehearsal = RehearseIt(
      Study(kPlain, Analysis("model = \"y ~ x\"\ngroup = \"sex\"\n") + kPromise, kCountedRows));
  rehearsals::ExpectPassed(rehearsal);
  EXPECT_EQ(rehearsal.agreement.random[0].count, 12u);
  EXPECT_TRUE(rehearsal.agreement.exact.empty());
}

// What makes the agreement worth something: one row of 240, changed by a thousandth, is noticed.
TEST(RehearseTest, ThePlainFitNoticesOneChangedCell) {
  const MleStudy study = UnroundedTwin(Study(kPlain, Analysis("model = \"y ~ x\"\n")));
  SilentProgress progress;
  run::RehearsedRun run = run::RunOnMockRows(study, kOptions, progress);
  run::Agreement right, changed;
  study.Compare(run, right, progress);
  EXPECT_FALSE(rehearsals::ExactFails(right));
  for (data::Column& column : run.mock.pooled.columns) {
    if (column.schema.name == "x") column.numbers[17] *= 1.001;
  }
  study.Compare(run, changed, progress);
  EXPECT_TRUE(rehearsals::ExactFails(changed));
}

// Parties that draw a third of the noise, or do not shorten rows, are noticed.
TEST(RehearseTest, FaultyPrivateRunsFail) {
  // Nearly all rows are longer than this.
  const MleStudy study = Study(kPlain,
                               Analysis("model = \"y ~ x\"\ngroup = \"sex\"\n") +
                                   study::Edited(kPromise, "norm = 0.8", "norm = 0.1"),
                               kCountedRows);
  EXPECT_FALSE(rehearsals::RandomFails(rehearsals::CompareRunOf(study, study, kOptions)));
  MleStudy quiet = study;
  quiet.privacy->noise.share_variance = privacy::Divide(quiet.privacy->noise.share_variance, 400);
  EXPECT_TRUE(rehearsals::RandomFails(rehearsals::CompareRunOf(quiet, study, kOptions)));
  MleStudy unclipped = quiet;
  unclipped.privacy->promise.norm = 1.4;
  EXPECT_TRUE(rehearsals::RandomFails(rehearsals::CompareRunOf(unclipped, quiet, kOptions)));
}

TEST(RehearseTest, OneMessageByteOrRoundMoreIsNoticed) {
  const MleStudy study = Study(kPlain, Analysis("model = \"y ~ x\"\n"));
  SilentProgress progress;
  run::RehearsedRun run = run::RunOnMockRows(study, kOptions, progress);
  net::PhaseTraffic& last = run.ends[1].outcome->traffic.back();
  // Whether the costs still agree after `spoil` of the second party's last phase.
  const auto agree = [&](const std::function<void(net::PhaseTraffic&)>& spoil) {
    const net::PhaseTraffic counted = last;
    spoil(last);
    const bool agreed = run::CompareCosts(study, run.ends).agree;
    last = counted;
    return agreed;
  };
  EXPECT_TRUE(agree([](net::PhaseTraffic&) {}));
  EXPECT_FALSE(agree([](net::PhaseTraffic& phase) { ++phase.links[0].bytes_sent; }));
  EXPECT_FALSE(agree([](net::PhaseTraffic& phase) { ++phase.links[0].messages_sent; }));
  EXPECT_FALSE(agree([](net::PhaseTraffic& phase) { phase.rounds += 100; }));
  EXPECT_FALSE(agree([](net::PhaseTraffic& phase) { phase.phase = "other"; }));
}

}  // namespace
}  // namespace partita::methods::mle::rehearse_test
