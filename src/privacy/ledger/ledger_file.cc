#include "privacy/ledger/ledger_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/utc_time.h"
#include "privacy/ledger/seen_heads.h"

namespace partita::privacy::ledger {
namespace {

// "Part" in ASCII, and the version of the tables below.
constexpr char kApplicationId[] = "1348563572";
constexpr char kSchemaVersion[] = "2";
constexpr char kVersionBefore[] = "1";

// In the order of their names, as sqlite_schema keeps them.
constexpr const char* kTables[] = {
    "CREATE TABLE accounts(id INTEGER PRIMARY KEY, name TEXT NOT NULL, pseudonym BLOB NOT NULL) "
    "STRICT",
    "CREATE TABLE entries(account INTEGER NOT NULL REFERENCES accounts(id), sequence INTEGER NOT "
    "NULL, body BLOB NOT NULL, hash BLOB NOT NULL, PRIMARY KEY(account, sequence)) STRICT, WITHOUT "
    "ROWID",
    "CREATE TABLE heads(account INTEGER PRIMARY KEY REFERENCES accounts(id), sequence INTEGER NOT "
    "NULL, hash BLOB NOT NULL) STRICT",
    "CREATE TABLE journal(number INTEGER PRIMARY KEY, body BLOB NOT NULL, hash BLOB NOT NULL) "
    "STRICT",
    "CREATE TABLE journal_head(id INTEGER PRIMARY KEY, number INTEGER NOT NULL, hash BLOB NOT "
    "NULL) STRICT"};
// The first of kTables that version 1 did not have.
constexpr size_t kFirstNewTable = 3;
// What it had instead.
constexpr char kReceiptsTable[] =
    "CREATE TABLE receipts(pseudonym BLOB NOT NULL, sequence INTEGER NOT NULL, run BLOB NOT NULL, "
    "study BLOB NOT NULL, hash BLOB NOT NULL, owner TEXT NOT NULL, made_by TEXT NOT NULL, made_at "
    "INTEGER NOT NULL, digest BLOB NOT NULL, PRIMARY KEY(pseudonym, sequence, run)) STRICT, "
    "WITHOUT "
    "ROWID";

Error LedgerFailure(const std::string& file, int result_code, const std::string& reason) {
  switch (result_code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Error(
          ErrorCode::kTimeout,
          fmt::format("the privacy ledger {} is in use by other processes ({})", file, reason),
          "try again when they are done");
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_FORMAT:
    case SQLITE_TOOBIG:
      return Error(ErrorCode::kRefused,
                   fmt::format("the privacy ledger {} is damaged ({})", file, reason),
                   "let nobody use it, keep the file, and find the newest intact copy");
    case SQLITE_NOMEM:
      return Error(ErrorCode::kInternal, "no memory for the privacy ledger");
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return Error(
          ErrorCode::kStorage,
          fmt::format("the privacy ledger {} cannot be read or written ({})", file, reason),
          "make room or repair the disk, then open the ledger again; what was acknowledged is in "
          "it");
    default:
      return Error(
          ErrorCode::kUsage,
          fmt::format("the privacy ledger {} cannot be read or written ({})", file, reason),
          "repair the file system, then open the ledger again; what was acknowledged is in it");
  }
}

[[noreturn]] void ThrowNotMade(const std::filesystem::path& file) {
  throw Error(
      ErrorCode::kUsage,
      fmt::format("the privacy ledger {} cannot be made: {}", file.string(), std::strerror(errno)),
      "name a new file in a folder that you may write to");
}

// An empty file that only its owner may read.
void MakeEmptyFile(const std::filesystem::path& file) {
  const int made = ::open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (made < 0) ThrowNotMade(file);
  ::close(made);
}

// Whatever has a name in the folder keeps it when the power fails.
void SyncFolderOf(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path().empty() ? "." : file.parent_path();
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) ThrowNotMade(file);
  const int synced = ::fsync(directory);
  ::close(directory);
  if (synced != 0) ThrowNotMade(file);
}

std::string VersionPragma() {
  return fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId,
                     kSchemaVersion);
}

Began NewJournal(bool taken_over) {
  Began began;
  began.taken_over = taken_over;
  crypto::SystemRandom random;
  random.Fill(began.pseudonym);
  return began;
}

void FillEmptyFile(const std::filesystem::path& file, const LedgerOptions& options) {
  sqlite::Database database(file.string(), OpenOptions(options, !options.vfs.empty()));
  Configure(database);
  sqlite::Transaction transaction(database, sqlite::Transaction::Kind::kWrite);
  for (const char* table : kTables) database.Execute(table);
  InsertJournalRow(database, Journal().Next({"", NowUtc()}, NewJournal(false)));
  database.Execute(VersionPragma().c_str());
  transaction.Commit();
}

void RequireTables(sqlite::Database& database, const std::vector<const char*>& tables) {
  sqlite::Statement found = database.Prepare("SELECT sql FROM sqlite_schema ORDER BY name");
  for (const char* table : tables) {
    if (!found.Step() || found.Text(0) != table)
      ThrowDamaged(database.file(), "its tables are not those of a ledger");
  }
  if (found.Step()) ThrowDamaged(database.file(), "it has tables that a ledger does not have");
}

// --- version 1
// ------------------------------------------------------------------------------------

struct StoredReceipt {
  Witnessed witnessed;
  Stamp stamp;
};

Digest DigestOf(const StoredReceipt& stored) {
  const Receipt& receipt = stored.witnessed.receipt;
  return crypto::Sha256()
      .Field("partita ledger witness")
      .Field(EncodeHead(receipt.head))
      .Field(receipt.run_id)
      .Field(receipt.agreement_hash)
      .Field(stored.witnessed.owner)
      .Field(stored.stamp.by)
      .U64(static_cast<uint64_t>(stored.stamp.at))
      .Finish();
}

StoredReceipt ReadReceipt(sqlite::Statement& row, const std::string& file) {
  StoredReceipt stored;
  Receipt& receipt = stored.witnessed.receipt;
  receipt.head.pseudonym = DigestFrom(row.Blob(0), file);
  receipt.head.sequence = static_cast<uint64_t>(row.Integer(1));
  receipt.run_id = DigestFrom(row.Blob(2), file);
  receipt.agreement_hash = DigestFrom(row.Blob(3), file);
  receipt.head.hash = DigestFrom(row.Blob(4), file);
  stored.witnessed.owner = row.Text(5);
  stored.stamp = {row.Text(6), row.Integer(7)};
  if (DigestFrom(row.Blob(8), file) != DigestOf(stored))
    ThrowDamaged(file, "a receipt that was given has changed");
  return stored;
}

// In an order in which every account's heads grow.
std::vector<StoredReceipt> ReadReceipts(sqlite::Database& database) {
  std::vector<StoredReceipt> receipts;
  sqlite::Statement row = database.Prepare(
      "SELECT pseudonym, sequence, run, study, hash, owner, made_by, made_at, digest FROM receipts "
      "ORDER BY pseudonym, sequence, run");
  while (row.Step()) receipts.push_back(ReadReceipt(row, database.file()));
  return receipts;
}

std::vector<AccountMade> ReadAccounts(sqlite::Database& database) {
  std::vector<AccountMade> accounts;
  sqlite::Statement row = database.Prepare("SELECT name, pseudonym FROM accounts ORDER BY id");
  while (row.Step()) accounts.push_back({row.Text(0), DigestFrom(row.Blob(1), database.file())});
  return accounts;
}

void RequireVersionBefore(sqlite::Database& database) {
  RequireSetting(database, "PRAGMA application_id", kApplicationId);
  if (database.Pragma("PRAGMA user_version") == kSchemaVersion) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the privacy ledger {} is of this version already", database.file()),
                "nothing is to be done");
  }
  RequireSetting(database, "PRAGMA user_version", kVersionBefore);
  std::vector<const char*> tables(kTables, kTables + kFirstNewTable);
  tables.push_back(kReceiptsTable);
  RequireTables(database, tables);
}

}  // namespace

void ThrowDamaged(const std::string& file, const std::string& what) {
  throw Error(ErrorCode::kRefused, fmt::format("the privacy ledger {} is damaged: {}", file, what),
              "let nobody use it, keep the file, and find the newest intact copy");
}

Digest DigestFrom(ByteView bytes, const std::string& file) {
  Digest digest{};
  if (bytes.size() != digest.size()) ThrowDamaged(file, "a hash has the wrong length");
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

sqlite::Database::Options OpenOptions(const LedgerOptions& options, bool create) {
  return {LedgerFailure, options.vfs, create, options.patience};
}

void RequireSetting(sqlite::Database& database, const char* pragma, const char* expected) {
  const std::string found = database.Pragma(pragma);
  if (found == expected) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("the privacy ledger {}: {} is '{}' instead of '{}'", database.file(),
                          pragma, found, expected),
              "use a file of this version of Partita, on a local disk");
}

bool MakeLedgerFile(const LedgerOptions& options) {
  if (!options.vfs.empty()) {
    FillEmptyFile(options.file, options);
    return true;
  }
  // Asked for first: it appears after the ledger.
  const std::filesystem::path seen = SeenHeads::PathOf(options.file);
  const bool was_here = std::filesystem::exists(seen);
  if (std::filesystem::exists(options.file)) return false;
  if (was_here) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the privacy ledger {} was here and is missing", options.file.string()),
                fmt::format("find its newest copy; if it is lost, count what was spent, remove {}, "
                            "and start a new account",
                            seen.string()));
  }
  // Two processes that make the same ledger at once: one of them gives its file the name.
  crypto::SystemRandom random;
  std::array<uint8_t, 8> suffix{};
  random.Fill(suffix);
  const std::filesystem::path whole = options.file.string() + ".new-" + ToHex(suffix);
  MakeEmptyFile(whole);
  try {
    FillEmptyFile(whole, options);
  } catch (const Error&) {
    ::unlink(whole.c_str());
    throw;
  }
  const bool named = ::link(whole.c_str(), options.file.c_str()) == 0;
  const int reason = errno;
  ::unlink(whole.c_str());
  if (!named && reason == EEXIST) return false;
  errno = reason;
  if (!named) ThrowNotMade(options.file);
  SyncFolderOf(options.file);
  return true;
}

void Configure(sqlite::Database& database) {
  if (database.Pragma("PRAGMA journal_mode") == "wal") {
    throw Error(ErrorCode::kRefused,
                fmt::format("the privacy ledger {} has a write-ahead log", database.file()),
                "something else changed the file: use a ledger that only Partita writes");
  }
  RequireSetting(database, "PRAGMA journal_mode=DELETE", "delete");
  database.Execute(
      "PRAGMA synchronous=EXTRA; PRAGMA foreign_keys=ON; PRAGMA mmap_size=0; "
      "PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF;");
  RequireSetting(database, "PRAGMA synchronous", "3");
  RequireSetting(database, "PRAGMA foreign_keys", "1");
}

void RequireSchema(sqlite::Database& database) {
  RequireSetting(database, "PRAGMA application_id", kApplicationId);
  if (database.Pragma("PRAGMA user_version") == kVersionBefore) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the privacy ledger {} is of an earlier version of Partita, which kept "
                            "its receipts in no chain",
                            database.file()),
                "take it over, once, with everything that is in it: partita ledger upgrade LEDGER");
  }
  RequireSetting(database, "PRAGMA user_version", kSchemaVersion);
  RequireTables(database, {std::begin(kTables), std::end(kTables)});
}

void InsertEntry(sqlite::Database& database, int64_t account, const Entry& entry) {
  const Bytes body = EncodeEntry(entry);
  database.Prepare("INSERT INTO entries VALUES(?, ?, ?, ?)")
      .Bind(1, account)
      .Bind(2, static_cast<int64_t>(entry.sequence))
      .Bind(3, ByteView(body))
      .Bind(4, ByteView(entry.hash))
      .Step();
  database.Prepare("INSERT OR REPLACE INTO heads VALUES(?, ?, ?)")
      .Bind(1, account)
      .Bind(2, static_cast<int64_t>(entry.sequence))
      .Bind(3, ByteView(entry.hash))
      .Step();
}

void InsertJournalRow(sqlite::Database& database, const JournalRow& row) {
  const Bytes body = EncodeJournalRow(row);
  database.Prepare("INSERT INTO journal VALUES(?, ?, ?)")
      .Bind(1, static_cast<int64_t>(row.number))
      .Bind(2, ByteView(body))
      .Bind(3, ByteView(row.hash))
      .Step();
  database.Prepare("INSERT OR REPLACE INTO journal_head VALUES(1, ?, ?)")
      .Bind(1, static_cast<int64_t>(row.number))
      .Bind(2, ByteView(row.hash))
      .Step();
}

void TakeOver(sqlite::Database& database, const Stamp& stamp) {
  RequireVersionBefore(database);
  const std::vector<StoredReceipt> receipts = ReadReceipts(database);
  const std::vector<AccountMade> accounts = ReadAccounts(database);
  for (size_t i = kFirstNewTable; i < std::size(kTables); ++i) database.Execute(kTables[i]);
  Journal journal;
  const auto add = [&](const Stamp& made, JournalBody body) {
    const JournalRow row = journal.Next(made, std::move(body));
    InsertJournalRow(database, row);
    journal.Replay(EncodeJournalRow(row), row.hash);
  };
  add(stamp, NewJournal(true));
  for (const AccountMade& account : accounts) add(stamp, account);
  for (const StoredReceipt& receipt : receipts) add(receipt.stamp, receipt.witnessed);
  database.Execute("DROP TABLE receipts");
  database.Execute(VersionPragma().c_str());
}

}  // namespace partita::privacy::ledger
