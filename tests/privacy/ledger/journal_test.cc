// The journal of a ledger as a chain of rows.
#include "privacy/ledger/journal.h"

#include <gtest/gtest.h>

#include "tests/privacy/ledger/fixtures.h"

namespace partita::privacy::ledger::journal_test {
namespace {

Receipt Shown(uint8_t owner, uint64_t sequence, uint64_t run = 1) {
  return {{{owner}, sequence, DigestOf(sequence)}, DigestOf(run), DigestOf(run + 1)};
}

struct Example {
  Journal journal;
  std::vector<JournalRow> rows;

  Example() {
    Add(Began{{7}, false});
    Add(AccountMade{"visits", {8}});
    Add(Witnessed{Shown(1, 5), "south"});
    Add(Used{DigestOf(50), 2, DigestOf(1)});
    Add(Witnessed{Shown(1, 9, 2), "south"});
  }
  void Add(JournalBody body) {
    rows.push_back(journal.Next(Now(), std::move(body)));
    journal.Replay(EncodeJournalRow(rows.back()), rows.back().hash);
  }
};

TEST(JournalTest, KnowsWhatItsRowsSay) {
  const Example example;
  const Journal& journal = example.journal;
  EXPECT_EQ(journal.head().pseudonym, Pseudonym{7});
  EXPECT_EQ(journal.head().sequence, 5u);
  EXPECT_EQ(journal.head().hash, example.rows.back().hash);
  EXPECT_EQ(journal.accounts(), (std::map<std::string, Pseudonym>{{"visits", {8}}}));
  EXPECT_EQ(journal.receipts(), 2u);
  EXPECT_EQ(journal.LastReceipt({1}), Shown(1, 9, 2));
  EXPECT_FALSE(journal.LastReceipt({2}).has_value());
  EXPECT_EQ(journal.RunsOf(DigestOf(50)), std::vector<Digest>{DigestOf(1)});
  EXPECT_TRUE(journal.RunsOf(DigestOf(51)).empty());
  for (const JournalRow& row : example.rows) {
    EXPECT_TRUE(journal.Holds({row.number, row.hash}));
    EXPECT_FALSE(journal.Holds({row.number + 1, row.hash}));
  }
  EXPECT_FALSE(journal.Holds({0, {}}));
}

TEST(JournalTest, TellsAPartyOnlyWhatItShowedItself) {
  Example example;
  const auto of = [&](const std::string& party) { return example.journal.NewestShownBy(party); };
  const Head old = Shown(1, 9, 2).head, newer = Shown(1, 12, 3).head;
  EXPECT_EQ(of("south"), (std::vector<ShownHead>{{old, false}}));
  EXPECT_TRUE(of("east").empty());
  example.Add(Witnessed{Shown(1, 9, 2), "east"});
  EXPECT_EQ(of("south"), (std::vector<ShownHead>{{old, false}})) << "the same head";
  example.Add(Witnessed{Shown(1, 12, 3), "south"});
  EXPECT_EQ(of("south"), (std::vector<ShownHead>{{newer, false}}));
  EXPECT_EQ(of("east"), (std::vector<ShownHead>{{old, true}})) << "nothing of the newer one";
  EXPECT_TRUE(example.journal.IsNewestShownBy("south", newer));
  EXPECT_FALSE(example.journal.IsNewestShownBy("east", newer));
  EXPECT_FALSE(example.journal.IsNewestShownBy("west", newer));
}

TEST(JournalTest, KnowsSinceWhenItTells) {
  Journal journal;
  EXPECT_EQ(journal.since(), 0);
  int64_t at = 0;  // of rows from before the first one had a time
  for (JournalBody body : std::vector<JournalBody>{Began{{7}, false}, AccountMade{"visits", {8}},
                                                   AccountMade{"wards", {9}}}) {
    const JournalRow row = journal.Next({"operator", at}, std::move(body));
    journal.Replay(EncodeJournalRow(row), row.hash);
    EXPECT_EQ(journal.since(), at == 0 ? 0 : 100);
    at += 100;
  }
}

TEST(JournalTest, RowsReadBackExactly) {
  for (const JournalRow& row : Example().rows) {
    const Bytes bytes = EncodeJournalRow(row);
    JournalRow back = DecodeJournalRow(bytes);
    EXPECT_EQ(EncodeJournalRow(back), bytes);
    for (size_t size = 0; size < bytes.size(); ++size) {
      ExpectError(ErrorCode::kRefused, [&] { DecodeJournalRow(ByteView(bytes).first(size)); });
    }
    Bytes longer = bytes;
    longer.push_back(0);
    ExpectError(ErrorCode::kRefused, [&] { DecodeJournalRow(longer); });
  }
}

TEST(JournalTest, EveryChangedBitBreaksTheChain) {
  const Example example;
  for (size_t place = 0; place < example.rows.size(); ++place) {
    const Bytes bytes = EncodeJournalRow(example.rows[place]);
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
      Journal journal;
      for (size_t i = 0; i < place; ++i)
        journal.Replay(EncodeJournalRow(example.rows[i]), example.rows[i].hash);
      Bytes bad = bytes;
      bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
      ExpectError(
          ErrorCode::kRefused, [&] { journal.Replay(bad, example.rows[place].hash); },
          "journal is broken");
    }
  }
}

// A row of the past with another content, and a hash that fits it: the next one does not.
TEST(JournalTest, ARewrittenRowBreaksWhatFollows) {
  const Example example;
  Journal journal;
  for (size_t i = 0; i < 2; ++i)
    journal.Replay(EncodeJournalRow(example.rows[i]), example.rows[i].hash);
  const JournalRow forged = journal.Next(Now(), Witnessed{Shown(1, 4), "south"});
  journal.Replay(EncodeJournalRow(forged), forged.hash);
  ExpectError(
      ErrorCode::kRefused,
      [&] { journal.Replay(EncodeJournalRow(example.rows[3]), example.rows[3].hash); },
      "journal is broken");
}

TEST(JournalTest, HeadsGrow) {
  Example example;
  const auto next = [&](const Receipt& receipt) {
    return example.journal.Next(Now(), Witnessed{receipt, "south"});
  };
  ExpectError(
      ErrorCode::kRefused, [&] { next(Shown(1, 8)); }, "ends at entry 8");
  Receipt fork = Shown(1, 9);
  fork.head.hash[0] ^= 1;
  ExpectError(
      ErrorCode::kRefused, [&] { next(fork); }, "is not the one");
  EXPECT_EQ(next(Shown(1, 9)).number, 6u);
  EXPECT_EQ(next(Shown(2, 1)).number, 6u);
}

TEST(JournalTest, AnApprovalIsUsedAsOftenAsItSays) {
  Example example;
  const auto use = [&](uint64_t run, uint64_t runs = 2) {
    example.Add(Used{DigestOf(50), runs, DigestOf(run)});
  };
  ExpectError(
      ErrorCode::kUsage, [&] { use(1); }, "already");
  use(2);
  ExpectError(
      ErrorCode::kRefused, [&] { use(3); }, "used for 2 of 2 runs");
  ExpectError(ErrorCode::kUsage, [&] { use(4, 0); });
  ExpectError(ErrorCode::kUsage, [&] { use(4, kMaxRunsOfApproval + 1); });
  EXPECT_EQ(example.journal.RunsOf(DigestOf(50)).size(), 2u);
}

TEST(JournalTest, BeginsOnceAndNamesATableOnce) {
  Journal empty;
  ExpectError(ErrorCode::kUsage, [&] { empty.Next(Now(), AccountMade{"visits", {8}}); });
  Example example;
  ExpectError(ErrorCode::kUsage, [&] { example.Add(Began{}); });
  ExpectError(
      ErrorCode::kUsage,
      [&] {
        example.Add(AccountMade{"visits", {9}});
      },
      "already");
  ExpectError(ErrorCode::kUsage, [&] {
    example.Add(AccountMade{std::string(kMaxText + 1, 'x'), {9}});
  });
}

}  // namespace
}  // namespace partita::privacy::ledger::journal_test
