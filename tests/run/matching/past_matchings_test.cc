#include "run/matching/past_matchings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/error.h"
#include "tests/run/reference_study.h"

namespace partita::run::past_matchings_test {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNow = 2'000'000'000;

match::KeyList ListOf(const std::vector<std::string>& names) {
  match::KeyList list;
  list.report.rows = names.size();
  list.passes.resize(1);
  for (uint32_t row = 0; row < names.size(); ++row)
    list.passes[0].push_back({row, crypto::Sha256Of(AsBytes(names[row]))});
  return list;
}

class PastMatchingsTest : public ::testing::Test {
 protected:
  ~PastMatchingsTest() override { std::filesystem::remove_all(folder_); }

  PastMatchings Open() { return {PastMatchingsPath(folder_ + "/data.csv"), random_}; }
  void Enter(const std::string& peer, int64_t at, const std::vector<std::string>& names = {"a"}) {
    PastMatching entry;
    random_.Fill(entry.run_id);
    entry.matching = "cohort";
    entry.peer = peer;
    entry.at = at;
    Open().Begin(entry, ListOf(names));
  }
  std::string Refusal(const std::string& peer, int64_t now = kNow) {
    try {
      Open().Require(peer, now);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kRefused);
      return error.message();
    }
    return "";
  }

  const std::string folder_ = testing::MakeTemporaryFolder("past");
  crypto::SystemRandom random_;
};

TEST_F(PastMatchingsTest, FiveInAYearOverAllPartnersUnlessTheStewardSaysOtherwise) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Refusal("b"), "");
    Enter(i % 2 == 0 ? "b" : "c", kNow - i);
  }
  EXPECT_THAT(Refusal("d"), HasSubstr("5 times with anybody"));
  EXPECT_THROW(Enter("d", kNow), Error);
  EXPECT_EQ(Open().all().size(), 5U);
  Open().SetLimit("", 6);
  EXPECT_EQ(Refusal("d"), "");
  Open().SetLimit("b", 3);
  EXPECT_THAT(Refusal("b"), HasSubstr("3 times with b"));
  EXPECT_EQ(Refusal("c"), "");
  Open().SetLimit("c", 0);
  EXPECT_THAT(Refusal("c"), HasSubstr("with c"));
}

TEST_F(PastMatchingsTest, OlderOnesNoLongerCount) {
  Open().SetLimit("", 1);
  Enter("b", kNow - kMatchingYear);
  EXPECT_EQ(Refusal("b"), "");
  EXPECT_THAT(Refusal("b", kNow - 1), HasSubstr("1 times"));
  Enter("b", kNow);
  EXPECT_THAT(Refusal("b"), HasSubstr("1 times"));
  EXPECT_EQ(Open().all().size(), 2U);
}

TEST_F(PastMatchingsTest, TellsInHowManyRowsTheListDiffers) {
  Enter("b", kNow, {"a", "b", "c"});
  const PastMatchings past = Open();
  EXPECT_EQ(past.DigestsOf(ListOf({"c", "a", "b"})), past.all()[0].digests);
  const std::string text = PastMatchingsText(past, "b", ListOf({"a", "b", "d"}), kNow);
  EXPECT_THAT(text, HasSubstr("1 with b (limit 5)"));
  EXPECT_THAT(text, HasSubstr("not known"));
  EXPECT_THAT(text, HasSubstr("  2\n"));
  // Under another secret the same people look otherwise.
  PastMatchings other(folder_ + "/other", random_);
  EXPECT_NE(other.DigestsOf(ListOf({"a", "b", "c"})), past.all()[0].digests);
}

TEST_F(PastMatchingsTest, CountsAreOfTheRunThatWasEntered) {
  Enter("b", kNow);
  PastMatchings past = Open();
  PastMatching entry;
  random_.Fill(entry.run_id);
  entry.peer = "c";
  entry.at = kNow;
  past.Begin(entry, ListOf({"a"}));
  past.AddCount(7);
  past.AddCount(2);
  EXPECT_TRUE(Open().all()[0].counts.empty());
  EXPECT_EQ(Open().all()[1].counts, (std::vector<uint64_t>{7, 2}));
}

TEST_F(PastMatchingsTest, IsItsOwnersAndADamagedOneStops) {
  Enter("b", kNow);
  const std::filesystem::path file = PastMatchingsPath(folder_ + "/data.csv");
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  std::ofstream(file, std::ios::app) << "x";
  EXPECT_THROW(Open(), Error);
}

}  // namespace
}  // namespace partita::run::past_matchings_test
