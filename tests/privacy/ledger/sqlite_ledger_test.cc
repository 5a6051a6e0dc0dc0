// The ledger file: lifecycle, several objects at once, damage, old copies.
#include "privacy/ledger/sqlite_ledger.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>

#include "crypto/signature.h"
#include "privacy/ledger/audit.h"
#include "privacy/ledger/seen_heads.h"
#include "tests/privacy/ledger/fixtures.h"

namespace partita::privacy::ledger::sqlite_ledger_test {
namespace {

constexpr double kRho = 0.001;

LedgerOptions In(const Folder& folder, const char* name = "ledger") {
  return {folder / name, std::chrono::milliseconds(200), ""};
}

SqliteLedger MakeLedger(const LedgerOptions& options) {
  SqliteLedger::Create(options);
  SqliteLedger ledger(options);
  crypto::SystemRandom random;
  ledger.OpenAccount(PolicyOf("visits"), random, Now());
  return ledger;
}

// What no call of the ledger does.
void Execute(const LedgerOptions& options, const std::string& sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(options.file.c_str(), &connection), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK)
      << (message != nullptr ? message : "");
  sqlite3_free(message);
  sqlite3_close(connection);
}

Bytes ReadAll(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(in), {});
}

void WriteAll(const std::filesystem::path& file, const Bytes& bytes) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

TEST(SqliteLedgerTest, KeepsWhatItAcknowledged) {
  const Folder folder;
  const LedgerOptions options = In(folder);
  Head head;
  {
    SqliteLedger ledger = MakeLedger(options);
    const Reservation first = ledger.Reserve(RequestOf("visits", 1, kRho), Now());
    EXPECT_EQ(first.number, 2u);
    EXPECT_EQ(first.head, ledger.HeadOf("visits"));
    ledger.Spend("visits", first.number, Now());
    const Reservation second = ledger.Reserve(RequestOf("visits", 2, kRho), Now());
    ledger.Refund("visits", second.number, NothingSent("north went away"), Now());
    ledger.Reserve(RequestOf("visits", 3, kRho), Now());
    head = ledger.HeadOf("visits");
  }
  SqliteLedger ledger(options);
  ledger.Verify();
  EXPECT_EQ(ledger.Tables(), std::vector<std::string>{"visits"});
  EXPECT_EQ(ledger.HeadOf("visits"), head);
  const Standing standing = ledger.StandingOf("visits");
  const Cost cost = CostOf(ZeroConcentrated{kRho}, 1, standing.outside.order);
  EXPECT_EQ(standing.spent.outside, cost);
  EXPECT_EQ(standing.reserved.outside, cost);
  EXPECT_EQ(standing.studies_spent, 1u);
  ASSERT_EQ(standing.reservations.size(), 1u);
  EXPECT_EQ(standing.reservations.begin()->second.run_id, DigestOf(3));
  // A run that died before it sent anything.
  ledger.Refund("visits", standing.reservations.begin()->first, NothingSent("the host failed"),
                Now());
  EXPECT_EQ(ledger.StandingOf("visits").reserved, Totals{});
}

TEST(SqliteLedgerTest, ARefusalLeavesNoTrace) {
  const Folder folder;
  SqliteLedger ledger = MakeLedger(In(folder));
  const Head before = ledger.HeadOf("visits");
  ExpectError(
      ErrorCode::kBudget, [&] { ledger.Reserve(RequestOf("visits", 1, 10), Now()); },
      "table visits");
  ExpectError(
      ErrorCode::kUsage, [&] { ledger.Reserve(RequestOf("patients", 1, kRho), Now()); },
      "patients");
  ExpectError(ErrorCode::kRefused, [&] { ledger.Spend("visits", 1, Now()); });
  crypto::SystemRandom random;
  ExpectError(
      ErrorCode::kUsage, [&] { ledger.OpenAccount(PolicyOf("visits"), random, Now()); }, "already");
  ReservationRequest request = RequestOf("visits", 1, kRho);
  request.study = std::string(1000, 'x');
  ExpectError(ErrorCode::kUsage, [&] { ledger.Reserve(request, Now()); });
  EXPECT_EQ(ledger.HeadOf("visits"), before);
  EXPECT_EQ(ledger.Price(RequestOf("visits", 1, kRho)).outside,
            CostOf(ZeroConcentrated{kRho}, 1, ledger.StandingOf("visits").outside.order));
  EXPECT_EQ(ledger.HeadOf("visits"), before);
  ledger.Verify();
}

TEST(SqliteLedgerTest, AccountsOfDifferentTablesDoNotMix) {
  const Folder folder;
  SqliteLedger ledger = MakeLedger(In(folder));
  crypto::SystemRandom random;
  const Head other = ledger.OpenAccount(PolicyOf("patients", "3"), random, Now());
  EXPECT_NE(other.pseudonym, ledger.HeadOf("visits").pseudonym);
  const Reservation reservation = ledger.Reserve(RequestOf("patients", 1, kRho), Now());
  ExpectError(ErrorCode::kRefused, [&] { ledger.Spend("visits", reservation.number, Now()); });
  EXPECT_EQ(ledger.StandingOf("visits").reserved, Totals{});
  EXPECT_EQ(ledger.HeadOf("patients"), reservation.head);
  EXPECT_EQ(ledger.Tables(), (std::vector<std::string>{"patients", "visits"}));
  EXPECT_FALSE(ledger.HasAccount("staff"));
  ledger.Verify();
}

TEST(SqliteLedgerTest, TwoObjectsSeeEachOther) {
  const Folder folder;
  SqliteLedger one = MakeLedger(In(folder));
  SqliteLedger two(In(folder));
  const Reservation reservation = one.Reserve(RequestOf("visits", 1, kRho), Now());
  EXPECT_EQ(two.HeadOf("visits"), reservation.head);
  ExpectError(
      ErrorCode::kRefused, [&] { two.Reserve(RequestOf("visits", 1, kRho), Now()); },
      "has a reservation");
  two.Spend("visits", reservation.number, Now());
  ExpectError(ErrorCode::kRefused,
              [&] { one.Refund("visits", reservation.number, NothingSent("no"), Now()); });
  crypto::SystemRandom random;
  two.OpenAccount(PolicyOf("patients"), random, Now());
  EXPECT_TRUE(one.HasAccount("patients"));
  one.ChangePolicy(PolicyOf("visits", "4"), "the board said so", Now());
  EXPECT_EQ(two.StandingOf("visits").policy.outside.epsilon, "4");
  two.Verify();
}

TEST(SqliteLedgerTest, AFileInUseIsATimeoutAndNothingElse) {
  const Folder folder;
  SqliteLedger ledger = MakeLedger(In(folder));
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(In(folder).file.c_str(), &other), SQLITE_OK);
  for (const char* lock : {"BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"}) {
    ASSERT_EQ(sqlite3_exec(other, lock, nullptr, nullptr, nullptr), SQLITE_OK);
    ExpectError(ErrorCode::kTimeout, [&] { ledger.Reserve(RequestOf("visits", 1, kRho), Now()); });
    ASSERT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  // A reader in the middle keeps a commit from finishing: nothing is written, and the object goes
  // on.
  ASSERT_EQ(sqlite3_exec(other, "BEGIN; SELECT * FROM heads", nullptr, nullptr, nullptr),
            SQLITE_OK);
  ExpectError(ErrorCode::kTimeout, [&] { ledger.Reserve(RequestOf("visits", 1, kRho), Now()); });
  EXPECT_EQ(ledger.HeadOf("visits").sequence, 1u);
  ASSERT_EQ(sqlite3_exec(other, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  ledger.Reserve(RequestOf("visits", 1, kRho), Now());
  sqlite3_close(other);
}

// --- R35 and what is no ledger
// ---------------------------------------------------------------------

TEST(SqliteLedgerTest, OnlyItsOwnerMayReadIt) {
  const Folder folder;
  SqliteLedger::Create(In(folder));
  struct stat status {};
  ASSERT_EQ(stat(In(folder).file.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  ExpectError(
      ErrorCode::kUsage, [&] { SqliteLedger::Create(In(folder)); }, "ledger");
}

TEST(SqliteLedgerTest, RefusesWhatIsNoLedger) {
  const Folder folder;
  ExpectError(
      ErrorCode::kUsage, [&] { SqliteLedger ledger(In(folder, "missing")); }, "missing");
  ExpectError(ErrorCode::kUsage, [&] { SqliteLedger::Create(In(folder, "no/folder")); });
  WriteAll(folder / "text", Bytes(5000, 'x'));
  ExpectError(
      ErrorCode::kRefused, [&] { SqliteLedger ledger(In(folder, "text")); }, "text");
  WriteAll(folder / "empty", {});
  ExpectError(ErrorCode::kRefused, [&] { SqliteLedger ledger(In(folder, "empty")); });
  Execute(In(folder, "other"), "CREATE TABLE accounts(id INTEGER)");
  ExpectError(ErrorCode::kRefused, [&] { SqliteLedger ledger(In(folder, "other")); });
}

TEST(SqliteLedgerTest, RefusesAWriteAheadLogAndOtherTables) {
  for (const char* change :
       {"PRAGMA journal_mode=WAL", "CREATE TABLE more(id INTEGER)",
        "CREATE INDEX quick ON entries(hash)", "DROP TABLE journal", "PRAGMA user_version=3",
        "CREATE TRIGGER free AFTER INSERT ON entries BEGIN DELETE FROM entries; END"}) {
    const Folder folder;
    MakeLedger(In(folder));
    Execute(In(folder), change);
    ExpectError(
        ErrorCode::kRefused, [&] { SqliteLedger ledger(In(folder)); }, "ledger");
  }
}

// --- R37
// -------------------------------------------------------------------------------------------

std::vector<size_t> OffsetsOfContent(const Bytes& file, const std::vector<Entry>& entries) {
  std::vector<size_t> offsets;
  for (const Entry& entry : entries) {
    const Bytes body = EncodeEntry(entry);
    for (const Bytes& blob : {body, Bytes(entry.hash.begin(), entry.hash.end())}) {
      const auto found = std::search(file.begin(), file.end(), blob.begin(), blob.end());
      EXPECT_NE(found, file.end()) << "an entry is not in one piece in the file";
      for (size_t i = 0; i < blob.size(); ++i)
        offsets.push_back(static_cast<size_t>(found - file.begin()) + i);
    }
  }
  return offsets;
}

LedgerOptions LongLedger(const Folder& folder) {
  const LedgerOptions options = In(folder);
  SqliteLedger ledger = MakeLedger(options);
  for (uint64_t run = 1; run <= 25; ++run) {
    const uint64_t number = ledger.Reserve(RequestOf("visits", run, kRho), Now()).number;
    if (run % 5 == 0)
      ledger.Refund("visits", number, NothingSent("the peer went away"), Now());
    else
      ledger.Spend("visits", number, Now());
  }
  return options;
}

TEST(SqliteLedgerTest, EveryFlippedBitOfAnEntryIsNoticedWhenTheFileIsOpened) {
  const Folder folder;
  const LedgerOptions options = LongLedger(folder);
  const Bytes good = ReadAll(options.file);
  const std::vector<size_t> content =
      OffsetsOfContent(good, SqliteLedger(options).Entries("visits"));
  ASSERT_GT(content.size(), 5000u);
  std::mt19937_64 random(37);
  for (int flip = 0; flip < 1000; ++flip) {
    Bytes bad = good;
    bad[content[random() % content.size()]] ^= static_cast<uint8_t>(1 << random() % 8);
    WriteAll(options.file, bad);
    ExpectError(ErrorCode::kRefused, [&] { SqliteLedger ledger(options); });
  }
}

TEST(SqliteLedgerTest, AFlippedBitAnywhereIsNoticedOrChangesNothing) {
  const Folder folder;
  const LedgerOptions options = LongLedger(folder);
  const Bytes good = ReadAll(options.file);
  const Head head = SqliteLedger(options).HeadOf("visits");
  std::mt19937_64 random(38);
  int noticed = 0;
  for (int flip = 0; flip < 1000; ++flip) {
    Bytes bad = good;
    bad[random() % bad.size()] ^= static_cast<uint8_t>(1 << random() % 8);
    WriteAll(options.file, bad);
    try {
      SqliteLedger ledger(options);
      ASSERT_EQ(ledger.HeadOf("visits"), head);
      ASSERT_EQ(ledger.Entries("visits").size(), head.sequence);
    } catch (const Error& error) {
      ASSERT_NE(error.code(), ErrorCode::kInternal) << error.what();
      ++noticed;
    }
  }
  EXPECT_GT(noticed, 300);
}

TEST(SqliteLedgerTest, MissingAndExchangedRowsAreNoticed) {
  const Folder folder;
  const LedgerOptions options = LongLedger(folder);
  const Bytes good = ReadAll(options.file);
  for (const char* change :
       {"DELETE FROM entries WHERE sequence = 51", "DELETE FROM entries WHERE sequence = 7",
        "UPDATE entries SET sequence = 99 WHERE sequence = 51", "UPDATE heads SET sequence = 50",
        "DELETE FROM heads", "UPDATE accounts SET name = 'patients'",
        "UPDATE accounts SET pseudonym = randomblob(32)", "DELETE FROM entries",
        "INSERT INTO accounts VALUES(2, 'visits', randomblob(32))"}) {
    WriteAll(options.file, good);
    Execute(options, change);
    ExpectError(ErrorCode::kRefused, [&] { SqliteLedger ledger(options); });
  }
}

TEST(SqliteLedgerTest, AnOpenLedgerNoticesThatItsEndIsGone) {
  const Folder folder;
  const LedgerOptions options = LongLedger(folder);
  SqliteLedger ledger(options);
  Execute(options,
          "DELETE FROM entries WHERE sequence = 51; "
          "UPDATE heads SET (sequence, hash) = (SELECT sequence, hash FROM entries WHERE sequence "
          "= 50)");
  ExpectError(
      ErrorCode::kRefused, [&] { ledger.HeadOf("visits"); }, "visits");
  // By itself the shorter chain is whole: that is what this host's and the peers' memory is for.
  ExpectError(
      ErrorCode::kRefused, [&] { SqliteLedger reopened(options); }, "old copy");
  std::filesystem::remove(SeenHeads::PathOf(options.file));
  EXPECT_EQ(SqliteLedger(options).HeadOf("visits").sequence, 50u);
}

// A chain computed anew with charges that are too small: opening cannot know, verifying does.
TEST(SqliteLedgerTest, VerifyingComputesTheCostsAgain) {
  const Folder folder;
  const LedgerOptions options = In(folder);
  SqliteLedger ledger = MakeLedger(options);
  AccountState state(ledger.HeadOf("visits").pseudonym);
  for (const Entry& entry : ledger.Entries("visits")) state.Replay(EncodeEntry(entry), entry.hash);
  Reserved cheap = state.Price(DigestOf(1), DigestOf(2), "growth", Charges(kRho), {});
  cheap.outside.rdp -= 1;
  const Entry entry = state.Append(Now(), cheap);
  Execute(options, "INSERT INTO entries VALUES(1, 2, x'" + ToHex(EncodeEntry(entry)) + "', x'" +
                       ToHex(entry.hash) + "'); UPDATE heads SET sequence = 2, hash = x'" +
                       ToHex(entry.hash) + "'");
  SqliteLedger reopened(options);
  ExpectError(
      ErrorCode::kRefused, [&] { reopened.Verify(); }, "entry 2");
}

// --- R36: old copies, seen by a peer
// ---------------------------------------------------------------

struct Pair {
  Folder folder;
  SqliteLedger owner = MakeLedger(In(folder, "owner"));
  SqliteLedger peer = [this] {
    SqliteLedger::Create(In(folder, "peer"));
    return SqliteLedger(In(folder, "peer"));
  }();

  void Run(uint64_t run) {
    const ReservationRequest request = RequestOf("visits", run, kRho);
    const Reservation reservation = owner.Reserve(request, Now());
    peer.Witness({owner.HeadOf("visits"), request.run_id, request.agreement_hash}, "south", Now());
    owner.Spend("visits", reservation.number, Now());
  }
};

TEST(BackupTest, AnOldCopyOfALedgerIsRefusedByThePeers) {
  Pair pair;
  pair.Run(1);
  const std::filesystem::path file = In(pair.folder, "owner").file;
  const Bytes backup = ReadAll(file);
  pair.Run(2);
  pair.Run(3);
  WriteAll(file, backup);
  std::filesystem::remove(SeenHeads::PathOf(file));  // as on another host
  pair.owner = SqliteLedger(In(pair.folder, "owner"));
  pair.owner.Verify();  // by itself it looks well
  ExpectError(
      ErrorCode::kRefused, [&] { pair.Run(4); }, "south");
  EXPECT_EQ(pair.owner.StandingOf("visits").studies_spent, 1u);
  // Still after the peer was started again.
  pair.peer = SqliteLedger(In(pair.folder, "peer"));
  ExpectError(
      ErrorCode::kRefused, [&] { pair.Run(5); }, "south");
}

TEST(BackupTest, AForkOfEqualLengthIsRefusedByThePeers) {
  Pair pair;
  pair.Run(1);
  const std::filesystem::path file = In(pair.folder, "owner").file;
  const Bytes backup = ReadAll(file);
  const Reservation shown = pair.owner.Reserve(RequestOf("visits", 2, kRho), Now());
  pair.peer.Witness({shown.head, DigestOf(2), DigestOf(3)}, "south", Now());
  WriteAll(file, backup);
  std::filesystem::remove(SeenHeads::PathOf(file));
  pair.owner = SqliteLedger(In(pair.folder, "owner"));
  const Reservation fork = pair.owner.Reserve(RequestOf("visits", 3, kRho), Now());
  ASSERT_EQ(fork.head.sequence, shown.head.sequence);
  ExpectError(
      ErrorCode::kRefused,
      [&] {
        pair.peer.Witness({fork.head, DigestOf(3), DigestOf(3)}, "south", Now());
      },
      "is not the one");
}

TEST(BackupTest, APeerKnowsNewAccountsAndForgetsNone) {
  Pair pair;
  const Head head = pair.owner.HeadOf("visits");
  const Receipt receipt{head, DigestOf(1), DigestOf(2)};
  EXPECT_TRUE(pair.peer.Witness(receipt, "south", Now()));
  EXPECT_FALSE(pair.peer.Witness(receipt, "south", Now()));
  EXPECT_FALSE(pair.peer.Witness({head, DigestOf(3), DigestOf(2)}, "south", Now()));
  Head other = head;
  other.pseudonym[0] ^= 1;
  other.sequence = 1;
  EXPECT_TRUE(pair.peer.Witness({other, DigestOf(1), DigestOf(2)}, "south", Now()));
  pair.peer.Verify();
  for (const char* change : {"UPDATE journal SET number = 3 WHERE number = 2",
                             "UPDATE journal SET hash = randomblob(32) WHERE number = 2",
                             "UPDATE journal SET body = randomblob(200) WHERE number = 2",
                             "DELETE FROM journal WHERE number = 2"}) {
    const Folder folder;
    const LedgerOptions options = In(folder);
    SqliteLedger::Create(options);
    SqliteLedger ledger(options);
    ledger.Witness(receipt, "south", Now());
    Execute(options, change);
    ExpectError(ErrorCode::kRefused, [&] { SqliteLedger reopened(options); });
    // One that is open goes by what it read, and finds it out when it verifies.
    ExpectError(ErrorCode::kRefused, [&] { ledger.Verify(); });
  }
}

TEST(CountersignTest, KeepsGoodReceiptsAndRefusesOthers) {
  const Folder folder;
  SqliteLedger ledger = MakeLedger(In(folder));
  const crypto::Identity north = crypto::MakeIdentity({.name = "north"});
  const ReservationRequest request = RequestOf("visits", 1, kRho);
  const Reservation reservation = ledger.Reserve(request, Now());
  const Receipt receipt{reservation.head, request.run_id, request.agreement_hash};
  const Countersignature good{"north", reservation.head,
                              crypto::EncodeCertificate(*north.certificate),
                              SignReceipt(north, receipt)};
  const auto refused = [&](auto change) {
    Countersignature bad = good;
    change(bad);
    ExpectError(
        ErrorCode::kRefused, [&] { ledger.Countersign("visits", reservation.number, bad, Now()); },
        "north");
  };
  refused([](Countersignature& c) { c.signature[3] ^= 1; });
  refused([](Countersignature& c) { c.certificate.clear(); });
  refused([](Countersignature& c) { c.head.hash[0] ^= 1; });
  refused([](Countersignature& c) { c.head.sequence = 1; });
  refused([](Countersignature& c) { c.head.sequence = 77; });
  refused([&](Countersignature& c) {
    c.signature = SignReceipt(north, {reservation.head, DigestOf(9), request.agreement_hash});
  });
  refused([&](Countersignature& c) {
    c.certificate = crypto::EncodeCertificate(*crypto::MakeIdentity({.name = "north"}).certificate);
  });
  ledger.Countersign("visits", reservation.number, good, Now());
  // Of a later head, and for a reservation that is not open any more.
  const Head later = ledger.HeadOf("visits");
  Countersignature second = good;
  second.head = later;
  second.signature = SignReceipt(north, {later, request.run_id, request.agreement_hash});
  ledger.Countersign("visits", reservation.number, second, Now());
  ledger.Spend("visits", reservation.number, Now());
  ExpectError(ErrorCode::kRefused,
              [&] { ledger.Countersign("visits", reservation.number, good, Now()); });
  ledger.Verify();
}

}  // namespace
}  // namespace partita::privacy::ledger::sqlite_ledger_test
