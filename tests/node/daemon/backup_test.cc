// A node in one file and made again from it: what it is then, what it does not do any more, and what is no backup.
#include "node/daemon/backup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/files.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "node/job/closed.h"
#include "node/job/kept_budgets.h"
#include "node/store/sqlite_store.h"
#include "privacy/ledger/seen_heads.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "run/simulate/temporary_folder.h"
#include "tests/node/scene.h"

namespace partita::node::backup_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kPassphrase[] = "a long passphrase";
constexpr int64_t kNow = 1'790'000'000;

Bytes BytesAt(const fs::path& file) {
  const std::string text = ReadFile(file, 64 << 20, "a file");
  return {text.begin(), text.end()};
}

class BackupTest : public ::testing::Test {
 protected:
  run::TemporaryFolder scratch_;
  NodeFolder west{scratch_.path() / "west"}, again{scratch_.path() / "again"};

  void SetUp() override {
    InitNodeFolder(west, "west", "west.example:7400");
    Put(west.config(), ReadFile(west.config(), 1 << 20, "node.toml") + "\n");
    Scene scene;
    study_ = scene.At(0);
    SqliteStore store(west.state() / "node.sqlite", random_);
    incarnation_ = store.Open().incarnation;
    Change change;
    change.study = study_;
    change.send = {{7, "south", study_.id, 2'000'000'000, BytesOf("message")}};
    change.next_number = 8;
    change.audit.resize(3);
    change.close_day = 20'000;
    store.Commit(change);
    Put(west.state() / "parties", "the list");
    Put(west.run() / "folder", "of a study");
  }
  static void Put(const fs::path& file, const std::string& text) {
    fs::create_directories(file.parent_path());
    WriteFileAtomically(file.string(), text);
  }
  // With an account each of these tables.
  void KeepLedger(const NodeFolder& folder, const std::vector<std::string>& tables) {
    std::string text = ReadFile(folder.config(), 1 << 20, "node.toml");
    if (text.find("\nledger = ") == std::string::npos) {
      text.replace(text.find("# ledger = "), 2, "");
      Put(folder.config(), text);
    }
    privacy::ledger::LedgerOptions options;
    options.file = folder.path() / "ledger.sqlite";
    privacy::ledger::SqliteLedger::CreateUnlessThere(options);
    privacy::ledger::SqliteLedger book(options);
    for (const std::string& table : tables) {
      privacy::ledger::Policy policy;
      policy.table = table;
      policy.outside = {privacy::Adjacency::kReplace, "1", "1e-6", "0"};
      crypto::SystemRandom random;
      book.OpenAccount(policy, random, {"operator", kNow});
    }
  }
  Bytes Backup(const NodeFolder& folder) {
    const fs::path copy = scratch_.path() / "copy.sqlite";
    SqliteStore(folder.state() / "node.sqlite", random_).CopyTo(copy);
    const Bytes state = BytesAt(copy);
    fs::remove(copy);
    return MakeBackup(folder, state, kPassphrase, kNow);
  }
  RestoreNews Restore(const Bytes& backup, const NodeFolder& folder,
                      const std::string& passphrase = kPassphrase) {
    return RestoreBackup(backup, folder, passphrase, kNow + 100, random_);
  }
  // The sentence with which it is refused; nothing is written.
  std::string Refused(const Bytes& backup, ErrorCode code,
                      const std::string& passphrase = kPassphrase) {
    try {
      Restore(backup, again, passphrase);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.message();
      EXPECT_FALSE(fs::exists(again.path()));
      return error.message();
    }
    ADD_FAILURE() << "it was restored";
    return "";
  }

  crypto::SystemRandom random_;
  Study study_;
  Incarnation incarnation_{};
};

TEST_F(BackupTest, ANodeIsMadeAgainAndBeginsAnew) {
  const Bytes backup = Backup(west);
  const RestoreNews news = Restore(backup, again);
  EXPECT_EQ(news.name, "west");
  EXPECT_EQ(news.made_at, kNow);
  EXPECT_FALSE(news.has_ledger);
  EXPECT_EQ(BytesAt(again.certificate()), BytesAt(west.certificate()));
  EXPECT_EQ(LoadNodeConfig(again).name, "west");
  // Keys are whole, their owner's alone, and in the backup under the passphrase.
  crypto::LoadIdentity(again.certificate(), again.key());
  crypto::LoadIdentity(again.job_certificate(), again.job_key());
  EXPECT_EQ(BytesAt(again.key()), BytesAt(west.key()));
  const Bytes key = BytesAt(west.key());
  EXPECT_EQ(std::search(backup.begin(), backup.end(), key.begin() + 30, key.begin() + 70),
            backup.end());
  struct stat status {};
  for (const fs::path& path : {again.key(), again.restored(), again.state() / "node.sqlite"}) {
    ASSERT_EQ(::stat(path.c_str(), &status), 0) << path;
    EXPECT_EQ(status.st_mode & 077, 0U) << path;
  }
  EXPECT_EQ(BytesAt(again.state() / "parties"), BytesOf("the list"));
  EXPECT_TRUE(fs::is_empty(again.run())) << "folders of studies are not restored";

  SqliteStore store(again.state() / "node.sqlite", random_);
  const Opening opening = store.Open();
  EXPECT_NE(opening.incarnation, incarnation_);
  EXPECT_EQ(opening.next_number, 1U);
  EXPECT_TRUE(opening.restored);
  EXPECT_THAT(opening.outbox, IsEmpty());
  EXPECT_EQ(store.FindStudy(study_.id), study_);
  const AuditPage log = store.ReadAudit({}, 0, 10);
  ASSERT_THAT(log.entries, SizeIs(4));
  EXPECT_EQ(log.entries[0].record.action, AuditAction::kRestored);
  EXPECT_EQ(opening.newest_day.entry, 4U) << "other sites are told a day with the restore";
  EXPECT_EQ(store.CheckAudit(1, 100).fault, std::nullopt);

  const auto mark = ReadRestoredMark(again.restored());
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->time, kNow + 100);
}

// Else a restored node would offer what was hidden.
TEST_F(BackupTest, DictionariesComeBack) {
  Put(west.dictionaries() / "pupils.toml", "hidden");
  Put(west.dictionaries() / "wards-2.toml", "older");
  Put(west.dictionaries() / "Not a name.toml", "of nobody");
  Put(west.dictionaries() / "pupils.toml.tmp", "cut");
  const Bytes backup = Backup(west);
  Put(again.dictionaries() / "wards-2.toml", "newer");
  Restore(backup, again);
  EXPECT_EQ(ReadFile(again.dictionaries() / "pupils.toml", 100, "a file"), "hidden");
  EXPECT_EQ(ReadFile(again.dictionaries() / "wards-2.toml", 100, "a file"), "newer");
  EXPECT_FALSE(fs::exists(again.dictionaries() / "Not a name.toml"));
  EXPECT_FALSE(fs::exists(again.dictionaries() / "pupils.toml.tmp"));
}

TEST_F(BackupTest, WhatIsNoWholeBackupOfANodeIsRefused) {
  const Bytes backup = Backup(west);
  for (size_t size = 0; size < backup.size(); size += 1 + backup.size() / 60) {
    EXPECT_THAT(Refused({backup.begin(), backup.begin() + static_cast<std::ptrdiff_t>(size)},
                        ErrorCode::kBadInput),
                HasSubstr("no backup of a node"));
  }
  for (size_t place = 0; place < backup.size(); place += 1 + backup.size() / 60) {
    Bytes other = backup;
    other[place] ^= 1;
    EXPECT_THAT(Refused(other, ErrorCode::kBadInput), HasSubstr("no backup of a node"));
  }
  Bytes longer = backup;
  longer.push_back(0);
  Refused(longer, ErrorCode::kBadInput);
  Refused(BytesOf("SQLite format 3"), ErrorCode::kBadInput);
}

// Whoever has the file cannot change it: the key that signs it is in it, but closed.
TEST_F(BackupTest, ABackupThatAnotherKeySignedIsRefused) {
  const Bytes backup = Backup(west);
  NodeFolder other(scratch_.path() / "other");
  InitNodeFolder(other, "west", "west.example:7400");
  const crypto::Identity identity = crypto::LoadIdentity(other.certificate(), other.key());
  const crypto::Identity own = crypto::LoadIdentity(west.certificate(), west.key());
  // The fields as they are, another certificate and signature.
  const Bytes empty = WithSignature({}, SignFields(own, kBackupDomain, {}));
  const Bytes fields(backup.begin(), backup.end() - static_cast<std::ptrdiff_t>(empty.size()));
  ASSERT_EQ(WithSignature(fields, SignFields(own, kBackupDomain, fields)).size(), backup.size());
  EXPECT_THAT(Refused(WithSignature(fields, SignFields(identity, kBackupDomain, fields)),
                      ErrorCode::kBadInput),
              HasSubstr("another key signed it"));
}

TEST_F(BackupTest, AWrongPassphraseOpensNothing) {
  const Bytes backup = Backup(west);
  Refused(backup, ErrorCode::kRefused, "another passphrase");
  EXPECT_THROW(MakeBackup(west, BytesOf("state"), "short", kNow), Error);
}

TEST_F(BackupTest, WhatIsThereStays) {
  const Bytes backup = Backup(west);
  EXPECT_THROW(Restore(backup, west), Error);
  EXPECT_FALSE(fs::exists(west.restored()));
  NodeFolder other(scratch_.path() / "other");
  InitNodeFolder(other, "west", "west.example:7400");
  EXPECT_THROW(Restore(backup, other), Error);
  EXPECT_FALSE(fs::exists(other.restored()));
  // The state is lost, the folders of studies are not.
  fs::remove(west.state() / "node.sqlite");
  Put(west.state() / "parties", "a newer list");
  Restore(backup, west);
  EXPECT_TRUE(fs::exists(west.run() / "folder"));
  EXPECT_EQ(BytesAt(west.state() / "parties"), BytesOf("a newer list"));
}

TEST_F(BackupTest, AccountsOfTheLedgerCountAsSpentForGood) {
  KeepLedger(west, {"pupils"});
  const Bytes backup = Backup(west);
  KeepLedger(west, {"teachers"});
  RestoreNews news = Restore(backup, again);
  EXPECT_TRUE(news.ledger_restored);
  EXPECT_EQ(news.accounts, 1U);
  const RestoredMark first = *ReadRestoredMark(again.restored());
  EXPECT_THAT(first.accounts, SizeIs(1));
  const crypto::Identity steward = crypto::MakeIdentity({.name = "west"});
  const std::vector<Digest> keys = {
      crypto::Sha256Of(crypto::EncodeCertificate(*steward.certificate))};
  const Digest digest = DigestOf(first);
  const Bytes word = EncodeReopened(
      digest, SignFields(steward, kReopenDomain, Bytes(digest.begin(), digest.end())));
  Put(again.reopened(), {reinterpret_cast<const char*>(word.data()), word.size()});
  EXPECT_TRUE(IsReopened(again.reopened(), first, keys));

  // A new account; then the same backup once more, in the same place: the ledger that is there stays.
  KeepLedger(again, {"pupils-2"});
  fs::remove(again.state() / "node.sqlite");
  news = Restore(backup, again);
  EXPECT_TRUE(news.has_ledger);
  EXPECT_FALSE(news.ledger_restored);
  const RestoredMark second = *ReadRestoredMark(again.restored());
  EXPECT_THAT(second.accounts, SizeIs(2));
  EXPECT_FALSE(IsReopened(again.reopened(), second, keys)) << "the steward signed for another mark";

  // A backup of the restored node has the mark, too.
  const NodeFolder third(scratch_.path() / "third");
  Restore(Backup(again), third);
  EXPECT_THAT(ReadRestoredMark(third.restored())->accounts, SizeIs(2));
}

// What the steward kept after one restore may be kept after the next one; all else is spent, with a word or without.
TEST_F(BackupTest, OnlyWhatAWordKeptIsAskedForAfterTheNextRestore) {
  KeepLedger(west, {"pupils", "teachers"});
  const crypto::Identity steward = crypto::MakeIdentity({.name = "west"});
  RegisterSteward(west, *steward.certificate);
  Restore(Backup(west), again);
  const RestoredMark first = *ReadRestoredMark(again.restored());
  EXPECT_THAT(first.accounts, SizeIs(2));
  EXPECT_THAT(first.spent, IsEmpty());
  const NodeFolder unopened(scratch_.path() / "unopened"), kept(scratch_.path() / "kept");
  Restore(Backup(again), unopened);
  EXPECT_EQ(ReadRestoredMark(unopened.restored())->spent, first.accounts);

  privacy::ledger::SqliteLedger book({.file = again.path() / "ledger.sqlite"});
  const Digest teachers = book.HeadOf("teachers").pseudonym;
  KeptBudgets word;
  word.owner = "west";
  word.mark = DigestOf(first);
  word.accounts = {{"pupils", book.HeadOf("pupils"), 1, {}, "", ""},
                   {"teachers", book.HeadOf("teachers"), 1, {}, "", "south has not answered"}};
  const Bytes document = Encode(SignKept(word, kKeptDomain, steward));
  Put(again.kept(), {reinterpret_cast<const char*>(document.data()), document.size()});
  Restore(Backup(again), kept);
  EXPECT_EQ(ReadRestoredMark(kept.restored())->spent, std::set<Digest>{teachers});
  // In the same place.
  const Bytes backup = Backup(west);
  fs::remove(again.state() / "node.sqlite");
  Restore(backup, again);
  EXPECT_EQ(ReadRestoredMark(again.restored())->spent, std::set<Digest>{teachers});
}

TEST_F(BackupTest, AnOlderLedgerIsNotPutBesideWhatWasSeen) {
  KeepLedger(west, {"pupils"});
  const Bytes backup = Backup(west);
  fs::remove(west.path() / "ledger.sqlite");
  fs::remove(west.state() / "node.sqlite");
  ASSERT_TRUE(fs::exists(privacy::ledger::SeenHeads::PathOf(west.path() / "ledger.sqlite")));
  const RestoreNews news = Restore(backup, west);
  EXPECT_FALSE(news.has_ledger);
  EXPECT_FALSE(fs::exists(west.path() / "ledger.sqlite"));
  EXPECT_THAT(ReadRestoredMark(west.restored())->accounts, SizeIs(1));
}

TEST(RestoredMarkTest, IsReadBackAndNothingElseIs) {
  RestoredMark mark{"west", kNow, Digest{1}, {Digest{2}, Digest{3}}, {Digest{3}}};
  const Bytes bytes = Encode(mark);
  EXPECT_EQ(DecodeRestoredMark(bytes), mark);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(DecodeRestoredMark(ByteView(bytes).first(size)), Error) << size;
  Bytes longer = bytes;
  longer.push_back(0);
  EXPECT_THROW(DecodeRestoredMark(longer), Error);
  RestoredMark other = mark;
  other.spent.clear();
  EXPECT_NE(DigestOf(other), DigestOf(mark));
  other.accounts.erase(Digest{3});
  EXPECT_NE(DigestOf(other), DigestOf(mark));
  other.spent = {Digest{3}};
  EXPECT_THROW(DecodeRestoredMark(Encode(other)), Error) << "what is spent is none of the accounts";
}

}  // namespace
}  // namespace partita::node::backup_test
