// Parties of a mixture study that stop, and runs that go on.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "methods/mixture/model_file.h"
#include "tests/methods/mixture/mixture_study.h"

namespace partita::methods::mixture::mixture_studies::mixture_stops_test {
namespace {

namespace fs = std::filesystem;
using testing::ExpectAllDone;
using ::testing::HasSubstr;

using MixtureStopsTest = MixtureStudyTest;

// South stops in the second block. The run goes on behind it, without another charge and with
// nothing lost, and a run that is over gives its result again.
TEST_F(MixtureStopsTest, StopsAndGoesOn) {
  Options options;
  WriteTables(options);
  for (const std::string party : {"north", "south"}) OpenLedger(party, "1000");
  const auto study = Prepare(options);
  auto ends = Run(*study, true, "south", 6);
  for (const std::string party : {"north", "south", "helper"})
    EXPECT_TRUE(ends.at(party).error) << party;
  EXPECT_EQ(StudiesSpent("north"), 1u);
  EXPECT_EQ(StudiesSpent("south"), 1u);

  ends = Run(*study, true);
  ExpectAllDone(ends);
  ASSERT_FALSE(HasFailure());
  const nlohmann::json result = ResultOf(ends.at("north"));
  EXPECT_EQ(result["openings"], 12);
  EXPECT_EQ(result["iterations"], 12);
  EXPECT_EQ(result["lost_openings"], 0);
  EXPECT_EQ(testing::DocumentOf(*ends.at("north").outcome).ending, study::Ending::kConverged);
  EXPECT_FALSE(ends.at("helper").outcome->not_trained);
  EXPECT_EQ(ends.at("north").outcome->releases.at(0).opened, 6u);
  EXPECT_EQ(StudiesSpent("north"), 1u);
  EXPECT_EQ(StudiesSpent("south"), 1u);
  EXPECT_TRUE(ends.at("north").outcome->ledger.spent);

  const auto again = Run(*study, true);
  ExpectAllDone(again);
  ASSERT_FALSE(HasFailure());
  EXPECT_EQ(again.at("north").outcome->releases.at(0).opened, 0u);
  EXPECT_EQ(ResultOf(again.at("north"))["weights"], result["weights"]);
  EXPECT_EQ(StudiesSpent("south"), 1u);

  // Without what it left, a party cannot go on, and nothing opens.
  fs::remove_all(State("south"));
  const auto without = Run(*study, true);
  ASSERT_TRUE(without.at("north").error);
  EXPECT_EQ(without.at("north").error->code(), ErrorCode::kRefused);
  EXPECT_EQ(StudiesSpent("south"), 1u);
}

// What stopped before its first block was over: the charge is the same, and nothing is lost.
TEST_F(MixtureStopsTest, TheFirstBlockIsNotChargedAgain) {
  WriteTables({});
  for (const std::string party : {"north", "south"}) OpenLedger(party, "10000");
  const auto study = Prepare({});
  Run(*study, true, "south", 2);
  EXPECT_EQ(StudiesSpent("north"), 1u);
  const auto ends = Run(*study, true);
  ExpectAllDone(ends);
  EXPECT_EQ(StudiesSpent("north"), 1u);
  EXPECT_EQ(ResultOf(ends.at("north"))["openings"], 12);
  EXPECT_EQ(ResultOf(ends.at("north"))["iterations"], 12);
}

// Openings that were marked and that nobody kept, as after a failure of all machines before their
// first checkpoint: announced, no synthetic tables, and a status of its own at every process.
TEST_F(MixtureStopsTest, LostOpeningsAreAnnounced) {
  struct Case {
    uint64_t lost, reserve;
    bool accept_useless;
  };
  uint64_t studies = 0;
  for (const Case& c :
       {Case{12, 0, false}, {2, 0, false}, {2, 0, true}, {2, 2, false}, {4, 1, false}}) {
    SCOPED_TRACE(fmt::format("{} lost, {} in reserve", c.lost, c.reserve));
    Options options;
    options.analysis += fmt::format("reserve = {}\n", c.reserve);
    WriteTables(options);
    for (const std::string party : {"north", "south"}) {
      fs::remove_all(State(party));
      if (studies == 0) OpenLedger(party, "10000");
    }
    ++studies;
    const auto study = Prepare(options);
    Run(*study, true, "south", 2);
    for (const std::string party : {"north", "south"}) {
      ASSERT_TRUE(fs::exists(State(party) / "openings")) << party;
      fs::remove(State(party) / "checkpoint");
    }
    std::ofstream(State("south") / "openings", std::ios::binary | std::ios::app)
        << std::string(c.lost - 2, '+');
    accept_useless_ = c.accept_useless;
    const auto ends = Run(*study, true);
    ExpectAllDone(ends);
    ASSERT_FALSE(HasFailure());
    const uint64_t made = std::min<uint64_t>(12, 12 + c.reserve - c.lost);
    const bool trained = made == 12;
    for (const std::string party : {"north", "south"}) {
      const nlohmann::json result = ResultOf(ends.at(party));
      EXPECT_EQ(result["iterations"], made);
      EXPECT_EQ(result["planned_iterations"], 12);
      EXPECT_EQ(result["openings"], made + c.lost);
      EXPECT_EQ(result["lost_openings"], c.lost);
      EXPECT_EQ(result["reserve"], c.reserve);
      EXPECT_EQ(testing::DocumentOf(*ends.at(party).outcome).ending,
                trained ? study::Ending::kConverged : study::Ending::kNotTrained);
      const study::DocumentSection* model = SectionOf(ends.at(party), "Model");
      ASSERT_NE(model, nullptr);
      EXPECT_THAT(model->paragraphs.at(1), HasSubstr(fmt::format("Lost: {} of", c.lost)));
      EXPECT_EQ(ParseModelJson(FileOf(ends.at(party), "model.json").contents).trained(), trained);
      EXPECT_EQ(StudiesSpent(party), studies);
    }
    EXPECT_EQ(ends.at("helper").outcome->not_trained, !trained);
    EXPECT_EQ(testing::DocumentOf(*ends.at("north").outcome).files.size(),
              trained || c.accept_useless ? 3u : 1u);
    EXPECT_EQ(ResultOf(ends.at("north"))["synthetic"].size(),
              trained || c.accept_useless ? 2u : 0u);
  }
}

// A table that changed between the attempts.
TEST_F(MixtureStopsTest, AnotherTableDoesNotGoOn) {
  WriteTables({});
  const auto study = Prepare({});
  Run(*study, true, "south", 6);
  std::string csv;
  {
    std::ifstream in(Data("south"));
    csv.assign(std::istreambuf_iterator<char>(in), {});
  }
  const size_t at = csv.find(",m,");
  ASSERT_NE(at, std::string::npos);
  csv[at + 1] = 'f';
  std::ofstream(Data("south")) << csv;
  const auto ends = Run(*study, true);
  ASSERT_TRUE(ends.at("south").error);
  EXPECT_EQ(ends.at("south").error->code(), ErrorCode::kRefused);
  EXPECT_THAT(ends.at("south").error->message(), HasSubstr("another study, plan or table"));
}

}  // namespace
}  // namespace partita::methods::mixture::mixture_studies::mixture_stops_test
