#include "run/matching/past_matchings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "crypto/state_file.h"
#include "run/party/row_sets.h"
#include "tests/run/reference_study.h"

namespace partita::run::past_matchings_test {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kNow = 2'000'000'000;

match::KeyList ListOf(const std::vector<std::string>& names) {
  match::KeyList list;
  list.report.rows = names.size();
  list.passes.resize(1);
  for (const std::string& name : names) list.texts.push_back(crypto::Sha256Of(AsBytes(name)));
  for (uint32_t row = 0; row < names.size(); ++row)
    list.passes[0].push_back({row, list.texts[row]});
  return list;
}

class PastMatchingsTest : public ::testing::Test {
 protected:
  ~PastMatchingsTest() override { std::filesystem::remove_all(folder_); }

  PastMatchings Open() { return {PastMatchingsPath(folder_ + "/key.pem"), random_}; }
  void Enter(const std::string& peer, int64_t at, const std::vector<std::string>& names = {"a"},
             const std::string& fingerprint = "", const crypto::Digest& columns = {}) {
    PastMatchings past = Open();
    PastMatching entry;
    random_.Fill(entry.run_id);
    entry.matching = "cohort";
    entry.table = "export.csv";
    entry.partners = {{peer, fingerprint, 9}};
    entry.at = at;
    entry.list = past.MarkOf(ListOf(names), columns, {});
    past.Begin(std::move(entry));
  }
  std::string Refusal(const std::string& peer, int64_t now = kNow,
                      const std::string& fingerprint = "",
                      const std::vector<std::string>& names = {"a"},
                      const crypto::Digest& columns = {}) {
    const PastMatchings past = Open();
    try {
      past.Require({{peer, fingerprint, 9}}, past.MarkOf(ListOf(names), columns, {}), now);
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
  EXPECT_EQ(past.MarkOf(ListOf({"c", "a", "b"}), {}, {}).digests, past.all()[0].list.digests);
  const std::string text =
      PastMatchingsText(past, {{"b", "", 0}}, past.MarkOf(ListOf({"a", "b", "d"}), {}, {}), kNow);
  EXPECT_THAT(text, HasSubstr("1 with b (limit 5)"));
  EXPECT_THAT(text, HasSubstr("not known"));
  EXPECT_THAT(text, HasSubstr("  2\n"));
  // Under another secret the same people look otherwise.
  PastMatchings other(folder_ + "/other", random_);
  EXPECT_NE(other.MarkOf(ListOf({"a", "b", "c"}), {}, {}).digests, past.all()[0].list.digests);
}

TEST_F(PastMatchingsTest, CountsAreOfTheRunThatWasEntered) {
  Enter("b", kNow);
  PastMatchings past = Open();
  PastMatching entry;
  random_.Fill(entry.run_id);
  entry.partners = {{"c", "", 9}};
  entry.at = kNow;
  entry.list = past.MarkOf(ListOf({"a"}), {}, {});
  past.Begin(entry);
  past.AddCount(7);
  past.AddCount(2);
  EXPECT_TRUE(Open().all()[0].counts.empty());
  EXPECT_EQ(Open().all()[1].counts, (std::vector<uint64_t>{7, 2}));
}

TEST_F(PastMatchingsTest, SaysWhichNumbersHaveNoise) {
  Enter("b", kNow);
  PastMatchings past = Open();
  past.AddCount(0);
  PastMatching entry;
  random_.Fill(entry.run_id);
  entry.at = kNow;
  entry.noisy = true;
  past.Begin(entry);
  past.AddCount(1234);
  const PastMatchings read = Open();
  EXPECT_FALSE(read.all()[0].noisy);
  EXPECT_EQ(CountsText(read.all()[0]), "not known");
  EXPECT_EQ(CountsText(read.all()[1]), "1,234, with noise");
  EXPECT_THAT(PastMatchingsText(read, {}, read.MarkOf(ListOf({"a"}), {}, {}), kNow),
              HasSubstr("1,234, with noise"));
}

// A record of an earlier version does not say of any number whether it has noise.
TEST_F(PastMatchingsTest, ReadsARecordWithoutNoise) {
  Enter("b", kNow);
  Enter("c", kNow);
  const std::filesystem::path file = PastMatchingsPath(folder_ + "/key.pem");
  const std::string now = ReadFile(file, 1 << 20, "the record", "");
  // Before the digest stands a byte for each entry.
  Bytes before(now.begin(), now.end() - 32 - 2);
  const crypto::Digest digest = crypto::Sha256Of(before);
  before.insert(before.end(), digest.begin(), digest.end());
  crypto::WriteState(file, before);
  const PastMatchings read = Open();
  ASSERT_EQ(read.all().size(), 2U);
  EXPECT_FALSE(read.all()[1].noisy);
}

// Other passes, or another version of Unicode, make other keys of the same texts.
TEST_F(PastMatchingsTest, AnIdenticalListIsNoNewOneUnderOtherPasses) {
  match::KeySpec spec, other;
  spec.columns = {{"a", {}}, {"b", {}}};
  spec.passes = {{0, 1}};
  other.columns = {{"b", {}}, {"a", {}}};
  other.passes = {{1}, {0}};
  match::KeyCells cells, swapped;
  cells.columns = {{"ada", "bo"}, {"x", "y"}};
  swapped.columns = {{"x", "y"}, {"ada", "bo"}};
  cells.lines = swapped.lines = {2, 3};
  const PastMatchings past = Open();
  const match::KeyList list = MakeKeyList(spec, cells), again = MakeKeyList(other, swapped);
  EXPECT_NE(list.passes[0][0].key, again.passes[0][0].key);
  EXPECT_EQ(past.MarkOf(list, {}, {}).digests, past.MarkOf(again, {}, {}).digests);
  const std::vector<std::string> headers = {"a", "b"}, turned = {"b", "a"};
  EXPECT_EQ(match::ColumnsDigest(spec, headers), match::ColumnsDigest(other, turned));
  EXPECT_NE(match::PassesDigest(spec), match::PassesDigest(other));
  other.columns[0].rule.drop_marks = true;
  EXPECT_NE(match::ColumnsDigest(spec, headers), match::ColumnsDigest(other, turned));
}

// What a table calls a column, how it writes dates and which cells it takes for missing change every
// digest of a row, so they are part of what makes digests comparable.
TEST_F(PastMatchingsTest, AnotherHeaderFormatOrCodeForMissingIsNoOtherSource) {
  match::KeySpec spec;
  spec.columns = {{"nid", {}}, {"tag", {}}};
  spec.passes = {{0}, {1}};
  const std::vector<std::string> headers = {"nid", "id_a"};
  const crypto::Digest columns = match::ColumnsDigest(spec, headers);
  std::vector<crypto::Digest> others = {
      match::ColumnsDigest(spec, std::vector<std::string>{"nid", "id_b"})};
  match::KeySpec coded = spec, dated = spec;
  coded.columns[0].rule.missing_codes = {"7", "8"};
  dated.columns[1].rule.format = "DD.MM.YYYY";
  others.push_back(match::ColumnsDigest(coded, headers));
  others.push_back(match::ColumnsDigest(dated, headers));
  Open().SetLimit("", 1);
  Enter("b", kNow, {"x", "y"}, "", columns);
  EXPECT_EQ(Refusal("b", kNow, "", {"a", "b"}, columns), "");
  for (const crypto::Digest& other : others) {
    EXPECT_NE(other, columns);
    EXPECT_THAT(Refusal("b", kNow, "", {"a", "b"}, other), HasSubstr("1 times"));
  }
}

// One column of the key that changes with every export does not make other people of them.
TEST_F(PastMatchingsTest, AKeyOfAnyPassInCommonIsOfTheSameSource) {
  match::KeySpec spec;
  spec.columns = {{"nid", {}}, {"tag", {}}};
  spec.passes = {{0}, {1}};
  const auto list_of = [&](const std::string& tag) {
    match::KeyCells cells;
    cells.columns = {{"1", "2"}, {tag + "1", tag + "2"}};
    cells.lines = {2, 3};
    return MakeKeyList(spec, cells);
  };
  PastMatchings past = Open();
  past.SetLimit("", 1);
  PastMatching entry;
  entry.at = kNow;
  entry.list = past.MarkOf(list_of("may"), {}, {});
  past.Begin(entry);
  const ListMark mark = past.MarkOf(list_of("june"), {}, {});
  EXPECT_EQ(RowsApart(mark.digests, entry.list.digests), 4U);
  EXPECT_EQ(past.NumSince(kNow, &mark), 1U);
}

TEST_F(PastMatchingsTest, DigestsOfMatchingsThatNoLongerCountGo) {
  Enter("b", kNow - kMatchingYear, {"a", "b"});
  Enter("b", kNow, {"a", "c"});
  EXPECT_TRUE(Open().all()[0].list.digests.empty());
  EXPECT_TRUE(Open().all()[0].list.keys.empty());
  EXPECT_EQ(Open().all()[1].list.digests.size(), 2U);
  const PastMatchings past = Open();
  EXPECT_THAT(PastMatchingsText(past, {{"b", "", 0}}, past.MarkOf(ListOf({"a"}), {}, {}), kNow),
              HasSubstr("no longer known"));
}

TEST_F(PastMatchingsTest, ListsOfOtherColumnsAreNotCompared) {
  Enter("b", kNow, {"a", "b", "c"});
  const PastMatchings past = Open();
  const ListMark mark =
      past.MarkOf(ListOf({"a", "b", "c"}), crypto::Sha256Of(AsBytes("other")), {});
  const std::string text = PastMatchingsText(past, {{"b", "", 0}}, mark, kNow);
  EXPECT_THAT(text, HasSubstr("other keys, not comparable"));
}

// A partner that comes under another name with its certificate, or with another under its name.
TEST_F(PastMatchingsTest, LimitsAreOfNamesAndOfCertificates) {
  Open().SetLimit("b", 1);
  Enter("b", kNow, {"a"}, "finger");
  EXPECT_THAT(Refusal("c", kNow, "finger"), HasSubstr("1 times with c"));
  EXPECT_THAT(Refusal("b", kNow, "other"), HasSubstr("1 times with b"));
  EXPECT_EQ(Refusal("c", kNow, "other"), "");
}

// Whatever the export is called: a list that has a person of an earlier one is of its source.
TEST_F(PastMatchingsTest, AnExportUnderAnotherNameIsOfTheSameSource) {
  Open().SetLimit("", 2);
  Enter("b", kNow, {"a", "b", "c"});
  Enter("b", kNow, {"c", "d"});
  EXPECT_THAT(Refusal("b", kNow, "", {"c", "e", "f"}), HasSubstr("2 times"));
  EXPECT_EQ(Refusal("b", kNow, "", {"b", "e"}), "");
  // Other people are another source, unless other columns keep one from knowing.
  EXPECT_EQ(Refusal("b", kNow, "", {"x", "y"}), "");
  EXPECT_THAT(Refusal("b", kNow, "", {"x", "y"}, crypto::Sha256Of(AsBytes("other"))),
              HasSubstr("2 times"));
  // Nor can one know of a list without any key.
  EXPECT_THAT(Refusal("b", kNow, "", {}), HasSubstr("2 times"));
}

TEST_F(PastMatchingsTest, AMatchingOfSeveralCountsForEach) {
  Open().SetLimit("c", 1);
  PastMatchings past = Open();
  PastMatching entry;
  random_.Fill(entry.run_id);
  entry.partners = {{"b", "", 9}, {"c", "", 9}};
  entry.linker = "trust";
  entry.at = kNow;
  entry.list = past.MarkOf(ListOf({"a"}), {}, {});
  past.Begin(entry);
  EXPECT_EQ(Refusal("b"), "");
  EXPECT_THAT(Refusal("c"), HasSubstr("1 times with c"));
  EXPECT_EQ(PartnerNames(Open().all()[0]), "b, c (by trust)");
}

TEST_F(PastMatchingsTest, ASymbolicLinkHasTheRecordOfItsKey) {
  std::ofstream(folder_ + "/key.pem") << "key\n";
  std::filesystem::create_symlink("key.pem", folder_ + "/current.pem");
  EXPECT_EQ(PastMatchingsPath(folder_ + "/current.pem"), PastMatchingsPath(folder_ + "/key.pem"));
}

// Digests under the secret of a record that is gone say nothing of the one that is there.
TEST_F(PastMatchingsTest, ARecordThatWasReplacedMeanwhileStops) {
  Enter("b", kNow);
  PastMatchings past = Open();
  PastMatching entry;
  entry.at = kNow;
  entry.list = past.MarkOf(ListOf({"a"}), {}, {});
  std::filesystem::remove(PastMatchingsPath(folder_ + "/key.pem"));
  Enter("b", kNow);
  EXPECT_THROW(past.Begin(entry), Error);
  EXPECT_EQ(Open().all().size(), 1U);
}

TEST_F(PastMatchingsTest, ARecordThatOthersMayReadIsRefused) {
  Enter("b", kNow);
  const std::filesystem::path file = PastMatchingsPath(folder_ + "/key.pem");
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  EXPECT_THROW(Open(), Error);
}

TEST_F(PastMatchingsTest, IsItsOwnersAndADamagedOneStops) {
  Enter("b", kNow);
  const std::filesystem::path file = PastMatchingsPath(folder_ + "/key.pem");
  struct stat status {};
  ASSERT_EQ(::stat(file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  std::ofstream(file, std::ios::app) << "x";
  EXPECT_THROW(Open(), Error);
}

}  // namespace
}  // namespace partita::run::past_matchings_test
