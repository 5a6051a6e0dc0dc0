// Ledgers of version 1, whose receipts were in no chain, are taken over once.
#include <gtest/gtest.h>

#include "privacy/ledger/audit.h"
#include "privacy/ledger/seen_heads.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "tests/privacy/ledger/fixtures.h"
#include "tests/privacy/ledger/raw_tables.h"

namespace partita::privacy::ledger::upgrade_test {
namespace {

// The tables as version 1 made them.
constexpr char kVersion1[] =
    "CREATE TABLE accounts(id INTEGER PRIMARY KEY, name TEXT NOT NULL, pseudonym BLOB NOT NULL) "
    "STRICT;"
    "CREATE TABLE entries(account INTEGER NOT NULL REFERENCES accounts(id), sequence INTEGER NOT "
    "NULL, body BLOB NOT NULL, hash BLOB NOT NULL, PRIMARY KEY(account, sequence)) STRICT, WITHOUT "
    "ROWID;"
    "CREATE TABLE heads(account INTEGER PRIMARY KEY REFERENCES accounts(id), sequence INTEGER NOT "
    "NULL, hash BLOB NOT NULL) STRICT;"
    "CREATE TABLE receipts(pseudonym BLOB NOT NULL, sequence INTEGER NOT NULL, run BLOB NOT NULL, "
    "study BLOB NOT NULL, hash BLOB NOT NULL, owner TEXT NOT NULL, made_by TEXT NOT NULL, made_at "
    "INTEGER NOT NULL, digest BLOB NOT NULL, PRIMARY KEY(pseudonym, sequence, run)) STRICT, "
    "WITHOUT "
    "ROWID;"
    "PRAGMA application_id=1348563572; PRAGMA user_version=1";

const Pseudonym kOwn = {11}, kPeer = {12};

std::string Blob(ByteView bytes) { return "x'" + ToHex(bytes) + "'"; }

class UpgradeTest : public ::testing::Test {
 protected:
  UpgradeTest() : state_(kOwn) {
    RawLedger raw(options_.file);
    raw.Execute(kVersion1);
    raw.Execute("INSERT INTO accounts VALUES(1, 'visits', " + Blob(kOwn) + ")");
    Opened opened;
    opened.policy = PolicyOf("visits");
    opened.outside = DesignFilter(opened.policy.outside);
    opened.insider = DesignFilter(*opened.policy.insider);
    Add(raw, opened);
    Add(raw, state_.Price(DigestOf(1), DigestOf(2), "growth", Charges(0.001), {}));
    Add(raw, Spent{2});
    for (const uint64_t sequence : {3, 7}) {
      const Receipt receipt{{kPeer, sequence, DigestOf(sequence)}, DigestOf(1), DigestOf(2)};
      const Digest digest = crypto::Sha256()
                                .Field("partita ledger witness")
                                .Field(EncodeHead(receipt.head))
                                .Field(receipt.run_id)
                                .Field(receipt.agreement_hash)
                                .Field("south")
                                .Field("party north")
                                .U64(5)
                                .Finish();
      raw.Execute("INSERT INTO receipts VALUES(" + Blob(kPeer) + ", " + std::to_string(sequence) +
                  ", " + Blob(receipt.run_id) + ", " + Blob(receipt.agreement_hash) + ", " +
                  Blob(receipt.head.hash) + ", 'south', 'party north', 5, " + Blob(digest) + ")");
    }
  }
  void Add(RawLedger& raw, EntryBody body) {
    const Entry entry = state_.Append(Now(), std::move(body));
    const std::string number = std::to_string(entry.sequence);
    raw.Execute("INSERT INTO entries VALUES(1, " + number + ", " + Blob(EncodeEntry(entry)) + ", " +
                Blob(entry.hash) + "); INSERT OR REPLACE INTO heads VALUES(1, " + number + ", " +
                Blob(entry.hash) + ")");
  }

  Folder folder_;
  LedgerOptions options_{folder_ / "ledger", std::chrono::milliseconds(200), ""};
  AccountState state_;
};

TEST_F(UpgradeTest, AnOldLedgerIsRefusedWithAHint) {
  try {
    SqliteLedger ledger(options_);
    FAIL() << "it was opened";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    EXPECT_NE(error.hint().find("partita ledger upgrade"), std::string::npos) << error.hint();
  }
}

TEST_F(UpgradeTest, TakesEverythingOverOnce) {
  const Head before = state_.head();
  SqliteLedger::Upgrade(options_, Now());
  {
    SqliteLedger ledger(options_);
    ledger.Verify();
    EXPECT_EQ(ledger.HeadOf("visits"), before);
    EXPECT_EQ(ledger.StandingOf("visits").studies_spent, 1u);
    EXPECT_TRUE(ledger.Summary().taken_over);
    EXPECT_EQ(ledger.Summary().receipts, 2u);
    // An old copy of the peer's ledger is still known.
    ExpectError(
        ErrorCode::kRefused,
        [&] {
          ledger.Witness({{kPeer, 6, DigestOf(6)}, DigestOf(3), DigestOf(4)}, "south", Now());
        },
        "south");
    ledger.Spend("visits", ledger.Reserve(RequestOf("visits", 5, 0.001), Now()).number, Now());
    const std::vector<Entry> entries = ledger.Entries("visits");
    EXPECT_FALSE(entries[2].mark.has_value());
    EXPECT_TRUE(entries[3].mark.has_value());
    ledger.Verify();
  }
  ExpectError(
      ErrorCode::kUsage, [&] { SqliteLedger::Upgrade(options_, Now()); }, "already");
  SqliteLedger(options_).Verify();
}

TEST_F(UpgradeTest, WhatDoesNotVerifyStaysAsItIs) {
  for (const char* change :
       {"UPDATE receipts SET owner = 'east'", "UPDATE entries SET body = randomblob(60)",
        "DELETE FROM heads", "CREATE TABLE more(id INTEGER)"}) {
    const std::filesystem::path copy = folder_ / "copy";
    std::filesystem::copy_file(options_.file, copy,
                               std::filesystem::copy_options::overwrite_existing);
    const LedgerOptions damaged{copy, options_.patience, ""};
    RawLedger(copy).Execute(change);
    ExpectError(ErrorCode::kRefused, [&] { SqliteLedger::Upgrade(damaged, Now()); });
    RawLedger raw(copy);
    EXPECT_EQ(raw.Rows({"receipts", {"pseudonym"}, 1}).size(), 2u) << change;
  }
}

// Entries that name no row of the journal are older than it; one after those that do is forged.
TEST_F(UpgradeTest, AnUnmarkedEntryAfterMarkedOnesIsDistrusted) {
  SqliteLedger::Upgrade(options_, Now());
  SqliteLedger ledger(options_);
  ledger.Reserve(RequestOf("visits", 5, 0.001), Now());
  AccountState state(kOwn);
  for (const Entry& entry : ledger.Entries("visits")) state.Replay(EncodeEntry(entry), entry.hash);
  const Entry forged = state.Append(Now(), Spent{4});
  RawLedger(options_.file)
      .Execute("INSERT INTO entries VALUES(1, 5, " + Blob(EncodeEntry(forged)) + ", " +
               Blob(forged.hash) + "); UPDATE heads SET sequence = 5, hash = " + Blob(forged.hash));
  ExpectError(
      ErrorCode::kRefused, [&] { SqliteLedger(options_).Verify(); }, "entry 5");
}

}  // namespace
}  // namespace partita::privacy::ledger::upgrade_test
