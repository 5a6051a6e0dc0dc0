// Ledgers that somebody changed or put back from a copy: what is refused by every command, what is
// left to the peers, and that nothing else means anything else. The slow test flips every bit.
#include <gtest/gtest.h>

#include <iostream>

#include "tests/privacy/ledger/tamper_cases.h"

namespace partita::privacy::ledger::tamper_test {
namespace {

constexpr uint64_t kRuns = 3;

void PlayRuns(Institutions& institutions) {
  for (uint64_t run = 1; run <= kRuns; ++run) institutions.Run(run);
}

void ExpectNoneAccepted(const std::string& what, const TamperCount& count) {
  std::cout << "[ COUNTED  ] " << what << ": " << count.refused << " refused, " << count.unchanged
            << " without meaning, " << count.impossible << " impossible\n";
  EXPECT_GT(count.refused, 0u) << what;
  EXPECT_EQ(count.accepted, 0u) << what << ": " << count.first_accepted;
}

// Rows of receipts included, which nothing bound together once.
TEST(TamperTest, EveryDeletedRowIsNoticed) {
  Institutions institutions;
  PlayRuns(institutions);
  for (const std::string& name : institutions.names()) {
    const TamperCount count = DeleteEveryRow(institutions, name);
    ExpectNoneAccepted(name + ", rows deleted", count);
    EXPECT_EQ(count.unchanged, 0u);
  }
}

TEST(TamperTest, EveryReplacedOrExchangedRowIsNoticed) {
  Institutions institutions;
  institutions.Run(1);
  for (const std::string& name : institutions.names()) {
    const TamperCount count = MoveEveryRow(institutions, name);
    ExpectNoneAccepted(name + ", rows moved", count);
    EXPECT_EQ(count.unchanged, 0u);
  }
}

TEST(TamperTest, EveryFlippedByteIsNoticed) {
  Institutions institutions;
  institutions.Run(1);
  for (const std::string& name : institutions.names())
    ExpectNoneAccepted(name + ", bytes flipped", FlipEveryByte(institutions, name, {0x10}));
}

void CutJournal(RawLedger& raw, uint64_t rows) {
  const std::string number = std::to_string(rows);
  raw.Execute("DELETE FROM journal WHERE number > " + number +
              "; UPDATE journal_head SET (number, hash) = (SELECT number, hash FROM journal WHERE "
              "number = " +
              number + ")");
}

// Rows cut off at the end, and the end mended so that the chain is whole by itself: the entries of
// the account name what is missing.
TEST(TamperTest, ACutJournalIsMissedByTheAccount) {
  Institutions institutions;
  PlayRuns(institutions);
  for (const std::string name : {"north", "south"}) {
    const uint64_t rows = SqliteLedger(institutions.Of(name)).Summary().rows;
    ASSERT_EQ(rows, 2 + kRuns * 3);  // begun, account made; each run: two receipts and a use
    Tampering tampering(institutions, name);
    TamperCount count;
    for (uint64_t left = 1; left < rows; ++left) {
      tampering.Try(
          std::to_string(left) + " rows left",
          [&](RawLedger& raw) {
            CutJournal(raw, left);
            return true;
          },
          count);
    }
    ExpectNoneAccepted(name + ", journal cut", count);
    EXPECT_EQ(count.refused, rows - 1);
  }
}

// A ledger without a table has no entries that could miss anything: its peers do, and what the host
// has seen.
TEST(TamperTest, ACutJournalWithoutAccountsIsMissedByThePeers) {
  Institutions institutions;
  PlayRuns(institutions);
  const LedgerOptions dealer = institutions.Of("dealer");
  const LedgerFiles good = institutions.Save("dealer");
  const uint64_t rows = SqliteLedger(dealer).Summary().rows;
  for (uint64_t left = 1; left < rows; ++left) {
    institutions.PutBack("dealer", good);
    {
      RawLedger raw(dealer.file);
      CutJournal(raw, left);
    }
    ExpectError(
        ErrorCode::kRefused, [&] { SqliteLedger ledger(dealer); }, "old copy");
    institutions.ForgetSeen("dealer");
    SqliteLedger cut(dealer);
    cut.Verify();
    // What it showed last in run 3 is the head before that run's rows: its own two receipts and
    // the use are the peers' to miss in the run after the next.
    const Receipt shown{cut.JournalHead(), DigestOf(9), DigestOf(10)};
    if (left < rows - 3) {
      ExpectError(
          ErrorCode::kRefused,
          [&] { SqliteLedger(institutions.Of("north")).Witness(shown, "dealer", Now()); },
          "dealer shows a privacy ledger that ends at");
    }
  }
  institutions.PutBack("dealer", good);
}

// Copies of every age, put back one by one. The ledger alone is refused by whatever opens it.
// Together with what the host had seen, as with a whole host that is set back, the peers refuse it
// if it is older than what it showed them last; if it is not, everything is still charged.
TEST(TamperTest, CopiesOfEveryAgeAreRefusedOrMeanTheSame) {
  Institutions institutions;
  std::map<std::string, std::vector<LedgerFiles>> ages;
  for (const std::string& name : institutions.names()) ages[name] = {institutions.Save(name)};
  for (uint64_t run = 1; run <= kRuns; ++run) {
    institutions.Run(
        run, [&](const std::string& name) { ages[name].push_back(institutions.Save(name)); });
  }
  std::map<std::string, LedgerFiles> newest;
  for (const std::string& name : institutions.names()) newest[name] = institutions.Save(name);
  uint64_t alone_refused = 0, host_refused = 0, newest_accepted = 0, still_charged = 0,
           uses_lost = 0;
  for (const std::string& name : institutions.names()) {
    const std::string meaning = institutions.Meaning(name);
    const bool table = Institutions::HasTable(name);
    const Cost charged = table ? institutions.Charged(name) : Cost{};
    for (const LedgerFiles& age : ages[name]) {
      for (const auto& [other, files] : newest) institutions.PutBack(other, files);
      institutions.PutBackLedger(name, age);
      if (age.ledger == newest[name].ledger) {
        EXPECT_EQ(institutions.Meaning(name), meaning);
        ++newest_accepted;
        continue;
      }
      ExpectError(
          ErrorCode::kRefused, [&] { SqliteLedger ledger(institutions.Of(name)); }, "old copy");
      ++alone_refused;

      institutions.PutBack(name, age);
      SqliteLedger(institutions.Of(name)).Verify();  // by itself it looks well
      const Cost restored = table ? institutions.Charged(name) : Cost{};
      const bool use_lost =
          SqliteLedger(institutions.Of(name)).RunsOf(Institutions::Approval(name)).size() < kRuns;
      try {
        institutions.Run(100);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kRefused) << error.what();
        EXPECT_NE(std::string(error.what()).find(name + " shows a privacy ledger"),
                  std::string::npos)
            << error.what();
        ++host_refused;
        continue;
      }
      EXPECT_EQ(restored, charged) << name << ": a charge is forgotten";
      ++still_charged;
      uses_lost += use_lost ? 1 : 0;
    }
  }
  std::cout << "[ COUNTED  ] copies: " << alone_refused
            << " ledgers put back alone refused by every "
            << "command, " << newest_accepted << " the newest; with their hosts " << host_refused
            << " refused by peers, " << still_charged
            << " not older than what peers were shown, with "
            << "every charge in them (" << uses_lost << " without the use of an approval)\n";
  EXPECT_EQ(alone_refused, host_refused + still_charged);
  EXPECT_GT(alone_refused, 40u);
  EXPECT_GT(host_refused, still_charged);
}

TEST(TamperTest, ALedgerThatIsGoneIsNotBegunAgain) {
  Institutions institutions;
  std::filesystem::remove(institutions.Of("north").file);
  ExpectError(
      ErrorCode::kRefused, [&] { SqliteLedger::CreateUnlessThere(institutions.Of("north")); },
      "was here and is missing");
  institutions.ForgetSeen("north");
  EXPECT_TRUE(SqliteLedger::CreateUnlessThere(institutions.Of("north")));
}

TEST(TamperTest, SaysWhetherTheHostHasSeenTheNewest) {
  Institutions institutions;
  institutions.Run(1);
  for (const std::string& name : institutions.names()) {
    EXPECT_TRUE(SqliteLedger(institutions.Of(name)).Summary().seen) << name;
    institutions.ForgetSeen(name);
    EXPECT_FALSE(SqliteLedger(institutions.Of(name)).Summary().seen) << name;
  }
}

TEST(TamperTest, ATornLineOfWhatTheHostHasSeenSpoilsNoOther) {
  Institutions institutions;
  const std::filesystem::path seen = SeenHeads::PathOf(institutions.Of("north").file);
  const LedgerFiles before = institutions.Save("north");
  std::ofstream(seen, std::ios::app) << "\n0123 tor";  // a power failure in the middle of a line
  institutions.Run(1);
  EXPECT_TRUE(SqliteLedger(institutions.Of("north")).Summary().seen);
  institutions.PutBackLedger("north", before);
  ExpectError(
      ErrorCode::kRefused, [&] { SqliteLedger ledger(institutions.Of("north")); }, "old copy");
}

}  // namespace
}  // namespace partita::privacy::ledger::tamper_test
