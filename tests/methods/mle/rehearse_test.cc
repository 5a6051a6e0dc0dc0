// The rehearsal: that the plain fit is independent enough to notice a wrong secure one, and that
// everything a study file can declare is computed alike on both sides.
#include "methods/mle/check/rehearse.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "methods/prepare_study.h"
#include "run/simulate/mock_tables.h"
#include "tests/paths.h"
#include "tests/study/study_text.h"

namespace partita::methods::mle::rehearse_test {
namespace {

const std::string kHead = study::RowsSplit("rehearsed", {"north", "south"}) + R"([[variable]]
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

std::string Analysis(const std::string& more) {
  return R"(
[[analysis]]
method = "mle"
protocol = "pooled-moments"
release = ["moments"]
function = "sem"
)" + more;
}

MleStudy Study(const std::string& design, const std::string& analyses) {
  return PrepareMleStudy(
      ParseStudyFile(kHead + "\n[design]\n" + design + "\n" + analyses, "study.toml"));
}

Rehearsal RehearseIt(const MleStudy& study) {
  SilentProgress progress;
  return Rehearse(study, {.rows_per_block = 120, .seed = 3, .min_digits = 6}, progress);
}

void ExpectAgreement(const Rehearsal& rehearsal) {
  EXPECT_TRUE(rehearsal.passed(6)) << rehearsal.lowest_digits << " digits";
  EXPECT_EQ(rehearsal.planned.bytes, rehearsal.counted.bytes);
  EXPECT_GT(rehearsal.counted.bytes, 0u);
  EXPECT_GT(rehearsal.counted.rounds, 0u);
  EXPECT_LE(rehearsal.lowest_digits, rehearsal.median_digits);
}

TEST(RehearseTest, DigitsAreRelativeToTheScaleOnWhichAParameterIsKnown) {
  EXPECT_EQ(DigitsOfAgreement(2, 2, 0.1), kAllDigits);
  // 2.002 - 2 is exact to 13 digits.
  EXPECT_NEAR(DigitsOfAgreement(2.002, 2, 0.1), 3, 1e-12);
  // An estimate near 0 is compared with its standard error.
  EXPECT_DOUBLE_EQ(DigitsOfAgreement(1e-7, 0, 0.1), 6);
  EXPECT_EQ(DigitsOfAgreement(-2, 2, 0), 0);
  EXPECT_EQ(DigitsOfAgreement(1, 0, 0), 0);
  EXPECT_EQ(DigitsOfAgreement(std::numeric_limits<double>::quiet_NaN(), 1, 1), 0);
  EXPECT_EQ(DigitsOfAgreement(1, std::numeric_limits<double>::infinity(), 1), 0);
}

// Mock rows have the patterns of the study, and the plain side knows nothing of cells.
TEST(RehearseTest, IncompleteRowsAgree) {
  ExpectAgreement(
      RehearseIt(Study("site = \"ignore\"\nmissing = \"fiml\"\npatterns = [[], [\"y\"], [\"x\"]]\n"
                       "weights = \"w\"\nweights_type = \"frequency\"\n",
                       Analysis("name = \"all\"\nmodel = \"y ~ x\"\n") +
                           Analysis("name = \"by-sex\"\nmodel = \"y ~ x\"\ngroup = \"sex\"\n"))));
}

TEST(RehearseTest, TheExamplesAgree) {
  for (const char* kind : {"horizontal", "complex"}) {
    const MleStudy study =
        PrepareMleStudy(LoadStudyFile(SourcePath("examples/three_factor/") + kind + "/study.toml"));
    const Rehearsal rehearsal = RehearseIt(study);
    ExpectAgreement(rehearsal);
    EXPECT_EQ(rehearsal.parameters.size(), 21u);
    EXPECT_EQ(rehearsal.rows, std::string(kind) == "complex" ? 301u : 360u);
  }
}

TEST(RehearseTest, SubsetsIncompleteRowsAndSeveralAnalysesAgree) {
  const MleStudy study = Study(
      "site = \"ignore\"\nmissing = \"complete\"\n[population]\nsubset = [{variable = \"x\", "
      "at_least = 20}]",
      Analysis("name = \"crude\"\nmodel = \"y ~ x\"\n") +
          Analysis("name = \"women\"\nmodel = \"y ~ x\"\nsubset = [{variable = \"sex\", is = "
                   "[\"f\"]}]\n") +
          Analysis("name = \"adjusted\"\nmodel = \"y ~ x + sex.m\"\n"));
  const Rehearsal rehearsal = RehearseIt(study);
  ExpectAgreement(rehearsal);
  EXPECT_EQ(rehearsal.parameters.size(), 2u + 2u + 3u);
  // Different rows: different estimates.
  EXPECT_GT(std::abs(rehearsal.parameters[0].plain - rehearsal.parameters[2].plain), 1e-6);
}

TEST(RehearseTest, WeightsGroupsAndSiteEffectsAgree) {
  ExpectAgreement(RehearseIt(Study(
      "site = \"ignore\"\nmissing = \"refuse\"\nweights = \"w\"\nweights_type = \"frequency\"",
      Analysis("model = \"y ~ x\"\n"))));
  ExpectAgreement(RehearseIt(Study("site = \"ignore\"\nmissing = \"refuse\"",
                                   Analysis("model = \"y ~ x\"\ngroup = \"sex\"\n"))));
  ExpectAgreement(
      RehearseIt(Study("site = \"fixed\"\nmissing = \"refuse\"", Analysis("model = \"y ~ x\"\n"))));
}

// What makes the agreement worth something: one row of 240, changed by a thousandth, is noticed.
TEST(RehearseTest, ThePlainFitNoticesOneChangedCell) {
  const MleStudy study =
      Study("site = \"ignore\"\nmissing = \"refuse\"", Analysis("model = \"y ~ x\"\n"));
  data::MockStudy mock = run::MakeMockTables(study, 120, 3);
  SilentProgress progress;
  const MleResult before = FitPooled(study, mock.pooled, mock.row_blocks, progress).at(0);
  for (data::Column& column : mock.pooled.columns) {
    if (column.schema.name == "x") column.numbers[17] *= 1.001;
  }
  const MleResult after = FitPooled(study, mock.pooled, mock.row_blocks, progress).at(0);
  EXPECT_LT(DigitsOfAgreement(after.fit.estimates[0].estimate, before.fit.estimates[0].estimate,
                              before.fit.estimates[0].standard_error),
            6);
}

TEST(RehearseTest, OneMessageByteOrRoundMoreIsNoticed) {
  const MleStudy study =
      Study("site = \"ignore\"\nmissing = \"refuse\"", Analysis("model = \"y ~ x\"\n"));
  const std::string folder = ::testing::TempDir() + "/partita-costs";
  std::filesystem::remove_all(folder);
  const std::vector<std::filesystem::path> tables =
      run::WriteMockTables(study, run::MakeMockTables(study, 120, 3), folder);
  SilentProgress progress;
  std::vector<run::PartyEnd> ends = run::SimulateInProcess(study, tables, {}, progress);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(run::RootCause(ends), nullptr);
  net::PhaseTraffic& last = ends[1].outcome->traffic.back();
  // Whether the costs still agree after `spoil` of the second party's last phase.
  const auto agree = [&](const std::function<void(net::PhaseTraffic&)>& spoil) {
    const net::PhaseTraffic counted = last;
    spoil(last);
    Rehearsal rehearsal;
    CompareCosts(ends, rehearsal);
    last = counted;
    return rehearsal.costs_agree;
  };
  EXPECT_TRUE(agree([](net::PhaseTraffic&) {}));
  EXPECT_FALSE(agree([](net::PhaseTraffic& phase) { ++phase.links[0].bytes_sent; }));
  EXPECT_FALSE(agree([](net::PhaseTraffic& phase) { ++phase.links[0].messages_sent; }));
  EXPECT_FALSE(agree([](net::PhaseTraffic& phase) { phase.rounds += 100; }));
  EXPECT_FALSE(agree([](net::PhaseTraffic& phase) { phase.phase = "other"; }));
}

TEST(RehearseTest, ARehearsalFailsForAnyReason) {
  Rehearsal rehearsal;
  rehearsal.costs_agree = true;
  rehearsal.lowest_digits = 7;
  EXPECT_TRUE(rehearsal.passed(6));
  EXPECT_FALSE(rehearsal.passed(8));
  rehearsal.costs_agree = false;
  EXPECT_FALSE(rehearsal.passed(6));
  rehearsal.costs_agree = true;
  rehearsal.secure_converged = false;
  EXPECT_FALSE(rehearsal.passed(6));
  rehearsal.secure_converged = true;
  rehearsal.plain_converged = false;
  EXPECT_FALSE(rehearsal.passed(6));
}

}  // namespace
}  // namespace partita::methods::mle::rehearse_test
