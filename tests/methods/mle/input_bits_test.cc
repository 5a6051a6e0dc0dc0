// [engine] input_bits: all holders round values to the grid that the study file says, whole rows and split
// columns alike, and what has grids of its own refuses it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "methods/mle/moments/own_moments.h"
#include "methods/mle/study/protocol.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "run/party/local_data.h"
#include "tests/methods/mle/design_study.h"
#include "tests/paths.h"
#include "tests/study/edited.h"

namespace partita::methods::mle::input_bits_test {
namespace {

using testing::Design;
using ::testing::HasSubstr;
using testing::MakeRows;
using testing::Row;
using testing::Splits;

std::string TextOf(const std::string& engine_line, const Design& design, size_t split = 0) {
  return study::Edited(
      testing::StudyText(Splits()[split], design, "dealer", MakeRows(100, 1, false)), "[engine]\n",
      "[engine]\n" + engine_line);
}

Design Regression() {
  Design design;
  design.analyses = {"model = \"y ~ x1 + x2\"\n"};
  return design;
}

int BitsOf(const std::string& engine_line, size_t split) {
  const MleStudy study =
      PrepareMleStudy(methods::ParseStudyFile(TextOf(engine_line, Regression(), split), "s.toml"));
  return study.computations.at(0).task.fraction_bits;
}

TEST(InputBitsTest, TheGridIsTheOneThatTheStudyFileSays) {
  for (const size_t split : {0, 1, 2}) {
    const int finest = BitsOf("", split);
    EXPECT_GT(finest, 30);
    EXPECT_EQ(BitsOf("input_bits = 30\n", split), 30);
    EXPECT_EQ(BitsOf("input_bits = 20\n", split), 20);
    EXPECT_EQ(BitsOf("input_bits = 50\n", split), finest) << "sums must stay exact";
  }
}

TEST(InputBitsTest, SumsAreOfValuesOnThatGrid) {
  const auto rows = MakeRows(100, 7, false);
  const std::string folder = partita::testing::MakeTemporaryFolder("input_bits");
  testing::WriteTables(Splits()[0], rows, folder);
  const MleStudy study =
      PrepareMleStudy(methods::ParseStudyFile(TextOf("input_bits = 30\n", Regression()), "s.toml"));
  const size_t party = run::PartyByName(study, "q");
  SilentProgress progress;
  const run::LocalData local =
      run::LoadLocalData(study, party, folder + "/q/data.csv", {}, progress);
  std::filesystem::remove_all(folder);
  const Computation& computation = study.computations.at(0);
  const OwnMoments own =
      AddOwnMoments(computation.task, party, static_cast<LocalRows&>(*local.method).blocks.at(0));
  std::map<std::string, Int128> sums, squares;
  for (const Row& row : rows) {
    if (row.block != 1) continue;
    const std::pair<const char*, double> values[] = {{"y", row.y}, {"x1", row.x1}, {"x2", row.x2}};
    for (const auto& [name, x] : values) {
      const Int128 k = std::llround(x / 20 * 0x1p30);  // half away from zero
      sums[name] += k;
      squares[name] += k * k;
    }
  }
  const size_t p = computation.variables.size();
  for (size_t v = 0; v < p; ++v) {
    const std::string& name = computation.variables[v].schema.name;
    EXPECT_TRUE(own.sums[v] == sums.at(name)) << name;
    EXPECT_TRUE(own.cross[v * p + v] == squares.at(name)) << name;
  }
}

TEST(InputBitsTest, ThePlanSaysIt) {
  const auto study = methods::PrepareStudy(
      methods::ParseStudyFile(TextOf("input_bits = 30\n", Regression()), "s"));
  EXPECT_THAT(run::BuildPlan(*study).notes, ::testing::Contains(HasSubstr("rounded to 2^-30;")));
}

TEST(InputBitsTest, WhatHasAGridOfItsOwnRefusesIt) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      methods::PrepareStudy(methods::ParseStudyFile(text, "s.toml"));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.message();
    }
    return "accepted";
  };
  const std::string line = "input_bits = 30\n", said = "'input_bits' is for exact moments";
  Design sealed = Regression();
  sealed.protocol = "sealed";
  sealed.release = "[{what = \"estimates\", to = \"all\"}]";
  EXPECT_EQ(refusal(TextOf("", sealed)), "accepted");
  EXPECT_THAT(refusal(TextOf(line, sealed)), HasSubstr(said));
  Design noisy = Regression();
  noisy.analyses[0] +=
      "[analysis.privacy]\nepsilon = 100\ndelta = 1e-6\nadjacency = \"replace\"\nnorm = 1.8\n"
      "planning_rows = 100\n";
  noisy.rule = "";
  EXPECT_EQ(refusal(TextOf("", noisy)), "accepted");
  EXPECT_THAT(refusal(TextOf(line, noisy)), HasSubstr(said));
  const std::string survival =
      ReadFile(SourcePath("examples/trial_survival/study.toml"), 1 << 20, "it");
  EXPECT_EQ(refusal(survival), "accepted");
  EXPECT_THAT(refusal(study::Edited(survival, "[engine]\n", "[engine]\n" + line)), HasSubstr(said));
}

}  // namespace
}  // namespace partita::methods::mle::input_bits_test
