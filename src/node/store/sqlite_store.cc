#include "node/store/sqlite_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "node/store/audit_table.h"
#include "node/store/ending_table.h"
#include "node/store/log_tables.h"
#include "node/study/codec.h"

namespace partita::node {
namespace {

// "PNOD", so that no other program's database passes for a node's; and the version of the tables.
constexpr int64_t kApplicationId = 0x504e4f44;
constexpr int64_t kTablesVersion = 5;
// Older ones get what they lack: the table of the audit log, those of days, that of studies that are over.
constexpr char kWithoutAudit[] = "2", kWithoutDays[] = "3", kWithoutEndings[] = "4";

using sqlite::Statement;
using sqlite::Transaction;

// Numbers of messages are counted up from 1 and fit a signed integer.
constexpr char kTables[] = R"(
CREATE TABLE node (
  id INTEGER PRIMARY KEY CHECK (id = 1), incarnation BLOB NOT NULL, next_number INTEGER NOT NULL,
  stopped INTEGER NOT NULL, restored INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE study (id BLOB PRIMARY KEY, is_open INTEGER NOT NULL, state BLOB NOT NULL) STRICT;
CREATE INDEX study_open ON study (is_open) WHERE is_open = 1;
CREATE TABLE outbox (
  number INTEGER PRIMARY KEY, receiver TEXT NOT NULL, study BLOB NOT NULL, useful INTEGER NOT NULL,
  message BLOB NOT NULL) STRICT;
CREATE TABLE received (
  name BLOB PRIMARY KEY, sender TEXT NOT NULL, incarnation BLOB NOT NULL, number BLOB NOT NULL,
  study BLOB NOT NULL, message BLOB NOT NULL, UNIQUE (sender, incarnation, number)) STRICT;
CREATE TABLE taken (
  sender TEXT NOT NULL, day INTEGER NOT NULL, bytes INTEGER NOT NULL,
  PRIMARY KEY (sender, day)) STRICT;
CREATE TABLE body (
  digest BLOB NOT NULL, study BLOB NOT NULL, bytes BLOB NOT NULL,
  PRIMARY KEY (digest, study)) STRICT;
CREATE INDEX body_study ON body (study);
)";

Error StoreFailure(const std::string& /*file*/, int result_code, const std::string& reason) {
  const std::string message = "the state of the node cannot be read or written: " + reason;
  switch (result_code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kStorage, message, "Another process uses this file; stop it."};
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return {ErrorCode::kBadInput, message, "Restore the node from its backup."};
    default:
      return {ErrorCode::kStorage, message,
              "Check the disk and start again; what was answered is in the file."};
  }
}

std::string MadePrivate(const std::filesystem::path& file) {
  const int made = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made >= 0) ::close(made);
  return file.string();
}

void RequirePragma(const sqlite::Database& database, const char* pragma, const char* expected) {
  if (database.Pragma(pragma) == expected) return;
  throw Error(ErrorCode::kStorage,
              std::string("the state of the node does not take the setting ") + pragma,
              "Put it on a local file system.");
}

template <size_t kSize>
std::array<uint8_t, kSize> ReadFixed(Statement& statement, int column) {
  const ByteView blob = statement.Blob(column);
  if (blob.size() != kSize)
    throw Error(ErrorCode::kBadInput, "the state of the node holds a field of a wrong length",
                "Restore the node from its backup.");
  std::array<uint8_t, kSize> out{};
  std::copy(blob.begin(), blob.end(), out.begin());
  return out;
}

// All 64 bits: a peer's number may be any.
std::array<uint8_t, 8> NumberBytes(uint64_t number) {
  std::array<uint8_t, 8> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(number >> (8 * i));
  return bytes;
}

Bytes Owned(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

void MakeNodeTables(sqlite::Database& database, crypto::RandomSource& random) {
  const std::string application = database.Pragma("PRAGMA application_id");
  const std::string version = database.Pragma("PRAGMA user_version");
  if (application == std::to_string(kApplicationId) && version == std::to_string(kTablesVersion))
    return;
  const bool has_no_audit = version == kWithoutAudit;
  const bool has_no_days = has_no_audit || version == kWithoutDays;
  if (application == std::to_string(kApplicationId) &&
      (has_no_days || version == kWithoutEndings)) {
    Transaction transaction(database, Transaction::Kind::kWrite);
    if (has_no_audit) MakeAuditTable(database);
    if (has_no_days) {
      MakeLogTables(database);
      database.Execute("ALTER TABLE node ADD COLUMN restored INTEGER NOT NULL DEFAULT 0");
    }
    MakeEndingTable(database);
    FillEndingTable(database);
    database.Execute(("PRAGMA user_version = " + std::to_string(kTablesVersion)).c_str());
    transaction.Commit();
    return;
  }
  if (application != "0" || version != "0" ||
      database.Pragma("SELECT count(*) FROM sqlite_schema") != "0") {
    throw Error(ErrorCode::kBadInput, "the file is not the state of a node of this version",
                "Name a new file, or the one that this node made.");
  }
  Incarnation incarnation{};
  random.Fill(incarnation);
  Transaction transaction(database, Transaction::Kind::kWrite);
  database.Execute(kTables);
  MakeAuditTable(database);
  MakeLogTables(database);
  MakeEndingTable(database);
  Statement insert(database, "INSERT INTO node VALUES (1, ?, 1, 0, 0)");
  insert.Bind(1, ByteView(incarnation)).Step();
  database.Execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  database.Execute(("PRAGMA user_version = " + std::to_string(kTablesVersion)).c_str());
  transaction.Commit();
}

}  // namespace

SqliteStore::SqliteStore(const std::filesystem::path& file, crypto::RandomSource& random)
    : database_(MadePrivate(file), {.fail = StoreFailure, .create = true}) {
  RequirePragma(database_, "PRAGMA locking_mode = EXCLUSIVE", "exclusive");
  RequirePragma(database_, "PRAGMA journal_mode = DELETE", "delete");
  database_.Execute("PRAGMA synchronous = EXTRA");
  database_.Execute("PRAGMA cell_size_check = ON");
  database_.Execute("PRAGMA trusted_schema = OFF");
  // What is deleted is overwritten.
  database_.Execute("PRAGMA secure_delete = ON");
  RequirePragma(database_, "PRAGMA synchronous", "3");
  MakeNodeTables(database_, random);
  // Reading alone would share the file with another process until the first write.
  database_.Execute("BEGIN EXCLUSIVE");
  database_.Execute("COMMIT");
}

SqliteStore::~SqliteStore() = default;

Opening SqliteStore::Open() {
  Transaction transaction(database_, Transaction::Kind::kRead);
  Opening opening;
  Statement node(database_, "SELECT incarnation, next_number, stopped, restored FROM node");
  if (!node.Step())
    throw Error(ErrorCode::kBadInput, "the state of the node has lost its incarnation",
                "Restore the node from its backup.");
  opening.incarnation = ReadFixed<16>(node, 0);
  opening.next_number = static_cast<uint64_t>(node.Integer(1));
  opening.stopped = node.Integer(2) != 0;
  opening.restored = node.Integer(3) != 0;
  Statement studies(database_, "SELECT id, state FROM study WHERE is_open = 1 ORDER BY id");
  while (studies.Step()) {
    const StudyId id = ReadFixed<32>(studies, 0);
    try {
      opening.open.push_back(DecodeStudy(studies.Blob(1)));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      opening.set_apart.push_back(id);
    }
  }
  Statement outbox(database_,
                   "SELECT number, receiver, study, useful, message FROM outbox ORDER BY number");
  while (outbox.Step()) {
    opening.outbox.push_back({static_cast<uint64_t>(outbox.Integer(0)), outbox.Text(1),
                              ReadFixed<32>(outbox, 2), outbox.Integer(3), Owned(outbox.Blob(4))});
  }
  opening.newest_day = NewestLogDay(database_);
  opening.log_receipts = ReadLogReceipts(database_);
  return opening;
}

void SqliteStore::CopyTo(const std::filesystem::path& file) {
  const std::string name = file.string();
  Statement copy(database_, "VACUUM INTO ?");
  copy.Bind(1, name).Step();
}

void SqliteStore::BeginAnew(crypto::RandomSource& random, const AuditRecord& entry) {
  Incarnation incarnation{};
  random.Fill(incarnation);
  Transaction transaction(database_, Transaction::Kind::kWrite);
  Statement set(database_, "UPDATE node SET incarnation = ?, next_number = 1, restored = 1");
  set.Bind(1, ByteView(incarnation)).Step();
  database_.Execute("DELETE FROM outbox");
  AppendAudit(database_, {entry});
  CloseLogDay(database_, entry.time / 86'400);
  transaction.Commit();
}

void SqliteStore::Commit(const Change& change) {
  Transaction transaction(database_, Transaction::Kind::kWrite);
  if (change.study.has_value()) {
    const Bytes state = EncodeStudy(*change.study);
    Statement put(database_, "INSERT OR REPLACE INTO study VALUES (?, ?, ?)");
    put.Bind(1, ByteView(change.study->id))
        .Bind(2, int64_t{IsOpen(*change.study) ? 1 : 0})
        .Bind(3, ByteView(state))
        .Step();
  }
  for (const Bytes& body : change.bodies) {
    const Digest digest = crypto::Sha256Of(body);
    Statement put(database_, "INSERT OR IGNORE INTO body VALUES (?, ?, ?)");
    put.Bind(1, ByteView(digest))
        .Bind(2, ByteView(change.study.value().id))
        .Bind(3, ByteView(body))
        .Step();
  }
  if (change.study.has_value() && !IsOpen(*change.study)) {
    Statement remove(database_, "DELETE FROM body WHERE study = ?");
    remove.Bind(1, ByteView(change.study->id)).Step();
  }
  for (const OutboxEntry& entry : change.send) {
    Statement put(database_, "INSERT INTO outbox VALUES (?, ?, ?, ?, ?)");
    put.Bind(1, static_cast<int64_t>(entry.number))
        .Bind(2, entry.to)
        .Bind(3, ByteView(entry.study))
        .Bind(4, entry.until)
        .Bind(5, ByteView(entry.message))
        .Step();
  }
  if (change.received.has_value()) {
    const ReceivedMessage& received = *change.received;
    const std::array<uint8_t, 8> number = NumberBytes(received.number);
    Statement put(database_, "INSERT INTO received VALUES (?, ?, ?, ?, ?, ?)");
    put.Bind(1, ByteView(received.name))
        .Bind(2, received.from)
        .Bind(3, ByteView(received.incarnation))
        .Bind(4, ByteView(number))
        .Bind(5, ByteView(received.study))
        .Bind(6, ByteView(received.message))
        .Step();
    Statement count(database_,
                    "INSERT INTO taken VALUES (?, ?, ?) "
                    "ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes");
    count.Bind(1, received.from)
        .Bind(2, received.day)
        .Bind(3, static_cast<int64_t>(received.bytes))
        .Step();
  }
  for (const uint64_t number : change.gone) {
    Statement remove(database_, "DELETE FROM outbox WHERE number = ?");
    remove.Bind(1, static_cast<int64_t>(number)).Step();
  }
  if (change.next_number.has_value()) {
    Statement set(database_, "UPDATE node SET next_number = ?");
    set.Bind(1, static_cast<int64_t>(*change.next_number)).Step();
  }
  if (change.stopped.has_value()) {
    Statement set(database_, "UPDATE node SET stopped = ?");
    set.Bind(1, int64_t{*change.stopped ? 1 : 0}).Step();
  }
  if (change.knows_restored) database_.Execute("UPDATE node SET restored = 0");
  AppendAudit(database_, change.audit);
  if (change.close_day.has_value()) CloseLogDay(database_, *change.close_day);
  if (change.peer_log.has_value()) PutPeerLog(database_, *change.peer_log);
  if (change.log_receipt.has_value()) PutLogReceipt(database_, *change.log_receipt);
  if (change.ended.has_value()) PutEnding(database_, change.study.value().id, *change.ended);
  for (const OverStudy& study : change.keep_less) KeepLess(database_, study.id, study.kept);
  transaction.Commit();
}

std::optional<Study> SqliteStore::FindStudy(const StudyId& id) {
  Statement find(database_, "SELECT state FROM study WHERE id = ?");
  find.Bind(1, ByteView(id));
  if (!find.Step()) return std::nullopt;
  return DecodeStudy(find.Blob(0));
}

// A row that is written again gets a new, higher rowid, and one that is over is never written again: the
// order of rowids is that in which studies ended.
OverPage SqliteStore::FindOver(int64_t before, size_t limit) {
  Statement find(database_,
                 "SELECT rowid, state FROM study WHERE is_open = 0 AND rowid < ? "
                 "ORDER BY rowid DESC LIMIT ?");
  find.Bind(1, before == 0 ? INT64_MAX : before).Bind(2, static_cast<int64_t>(limit) + 1);
  OverPage page;
  size_t seen = 0;
  int64_t last = 0;
  while (find.Step()) {
    if (seen++ == limit) {
      page.next = last;
      break;
    }
    last = find.Integer(0);
    try {
      page.studies.push_back(DecodeStudy(find.Blob(1)));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
    }
  }
  return page;
}

std::vector<OverStudy> SqliteStore::FindEnded() { return ReadEndings(database_); }

std::optional<OverStudy> SqliteStore::FindEnd(const StudyId& id) {
  return ReadEnding(database_, id);
}

bool SqliteStore::HasReceived(const Digest& name) {
  Statement find(database_, "SELECT 1 FROM received WHERE name = ?");
  return find.Bind(1, ByteView(name)).Step();
}

std::optional<Digest> SqliteStore::FindNumber(const std::string& from,
                                              const Incarnation& incarnation, uint64_t number) {
  const std::array<uint8_t, 8> bytes = NumberBytes(number);
  Statement find(database_,
                 "SELECT name FROM received WHERE sender = ? AND incarnation = ? AND number = ?");
  find.Bind(1, from).Bind(2, ByteView(incarnation)).Bind(3, ByteView(bytes));
  if (!find.Step()) return std::nullopt;
  return ReadFixed<32>(find, 0);
}

std::optional<Bytes> SqliteStore::FindBody(const Digest& digest) {
  Statement find(database_, "SELECT bytes FROM body WHERE digest = ?");
  find.Bind(1, ByteView(digest));
  if (!find.Step()) return std::nullopt;
  return Owned(find.Blob(0));
}

uint64_t SqliteStore::BytesTaken(const std::string& from, int64_t day) {
  Statement find(database_, "SELECT bytes FROM taken WHERE sender = ? AND day = ?");
  find.Bind(1, from).Bind(2, day);
  return find.Step() ? static_cast<uint64_t>(find.Integer(0)) : 0;
}

AuditPage SqliteStore::ReadAudit(const AuditFilter& filter, uint64_t before, size_t limit) {
  Transaction transaction(database_, Transaction::Kind::kRead);
  return ReadAuditTable(database_, filter, before, limit);
}

AuditCheck SqliteStore::CheckAudit(uint64_t from, size_t limit) {
  Transaction transaction(database_, Transaction::Kind::kRead);
  AuditCheck check = CheckAuditTable(database_, from, limit);
  if (check.fault) return check;
  // Only whole logs end in a day that nobody can make again.
  if (check.next == 0) check.fault = FaultOfLogDays(database_);
  return check;
}

std::vector<LogDay> SqliteStore::FindLogDays(uint64_t from, size_t limit) {
  return ReadLogDays(database_, from, limit);
}

std::vector<PeerLog> SqliteStore::FindPeerLogs() { return ReadPeerLogs(database_); }

std::optional<PeerDay> SqliteStore::FindPeerDay(const std::string& party, uint64_t number) {
  return ReadPeerDay(database_, party, number);
}

std::vector<LogFault> SqliteStore::FindLogFaults(size_t limit) {
  return ReadLogFaults(database_, limit);
}

}  // namespace partita::node
