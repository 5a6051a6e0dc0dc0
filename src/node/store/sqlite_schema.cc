#include "node/store/sqlite_schema.h"

#include <string>

#include "base/error.h"
#include "node/store/store.h"
#include "node/study/codec.h"

namespace partita::node {
namespace {

using sqlite::Statement;
using sqlite::Transaction;

// "PNOD", so that no other program's database passes for a node's.
constexpr int64_t kApplicationId = 0x504e4f44;
// Older ones get what they lack: the table of the audit log, those of days, that of studies that are over.
constexpr char kWithoutAudit[] = "2", kWithoutDays[] = "3", kWithoutEndings[] = "4";

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

constexpr char kAuditTables[] = R"(
CREATE TABLE audit (
  number INTEGER PRIMARY KEY, study BLOB NOT NULL, actor TEXT NOT NULL, entry BLOB NOT NULL) STRICT;
CREATE INDEX audit_study ON audit (study, number);
CREATE INDEX audit_actor ON audit (actor, number);
CREATE TABLE audit_head (
  id INTEGER PRIMARY KEY CHECK (id = 1), number INTEGER NOT NULL, digest BLOB NOT NULL) STRICT;
INSERT INTO audit_head VALUES (1, 0, zeroblob(32));
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
  BEGIN SELECT RAISE(ABORT, 'entries of the audit log are not changed'); END;
CREATE TRIGGER audit_is_not_cut BEFORE DELETE ON audit
  BEGIN SELECT RAISE(ABORT, 'entries of the audit log are not deleted'); END;
)";

// Numbers of messages may be any of 64 bits: they are kept as signed ones with the same bits.
constexpr char kLogTables[] = R"(
CREATE TABLE audit_day (
  number INTEGER PRIMARY KEY, day INTEGER NOT NULL, entry INTEGER NOT NULL, digest BLOB NOT NULL)
  STRICT;
CREATE TRIGGER audit_day_is_not_changed BEFORE UPDATE ON audit_day
  BEGIN SELECT RAISE(ABORT, 'days of the audit log are not changed'); END;
CREATE TRIGGER audit_day_is_not_cut BEFORE DELETE ON audit_day
  BEGIN SELECT RAISE(ABORT, 'days of the audit log are not deleted'); END;
CREATE TABLE peer_log (
  party TEXT PRIMARY KEY, number INTEGER NOT NULL, day INTEGER NOT NULL, digest BLOB NOT NULL,
  incarnation BLOB NOT NULL, message_number INTEGER NOT NULL, departed_day INTEGER NOT NULL) STRICT;
CREATE TABLE peer_day (
  party TEXT NOT NULL, number INTEGER NOT NULL, digest BLOB NOT NULL, message BLOB NOT NULL,
  PRIMARY KEY (party, number)) STRICT;
CREATE TABLE log_fault (
  id INTEGER PRIMARY KEY, party TEXT NOT NULL, departs INTEGER NOT NULL, had INTEGER NOT NULL,
  time INTEGER NOT NULL, before BLOB NOT NULL, message BLOB NOT NULL) STRICT;
CREATE TRIGGER log_fault_is_not_changed BEFORE UPDATE ON log_fault
  BEGIN SELECT RAISE(ABORT, 'faults of logs are not changed'); END;
CREATE TRIGGER log_fault_is_not_forgotten BEFORE DELETE ON log_fault
  BEGIN SELECT RAISE(ABORT, 'faults of logs are not deleted'); END;
CREATE TABLE log_receipt (
  party TEXT PRIMARY KEY, head BLOB NOT NULL, number INTEGER NOT NULL, digest BLOB NOT NULL,
  departs INTEGER NOT NULL, had INTEGER NOT NULL, incarnation BLOB NOT NULL,
  message_number INTEGER NOT NULL, message BLOB NOT NULL, time INTEGER NOT NULL,
  fault_day INTEGER NOT NULL) STRICT;
)";

constexpr char kEndingTables[] = R"(
CREATE TABLE ending (
  study BLOB PRIMARY KEY, ended INTEGER NOT NULL, kept INTEGER NOT NULL) STRICT;
CREATE INDEX received_study ON received (study);
)";

// Of a file that was made before: of studies that are over, which then end for it at their expiry, or what may come
// after. One that cannot be read is left out, and is kept for good.
void FillEndingTable(sqlite::Database& database) {
  Statement over(database, "SELECT id, state FROM study WHERE is_open = 0");
  while (over.Step()) {
    int64_t expires = 0;
    try {
      expires = DecodeStudy(over.Blob(1)).expires;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      continue;
    }
    Statement put(database, "INSERT OR IGNORE INTO ending SELECT id, ?, 0 FROM study WHERE id = ?");
    put.Bind(1, expires + kClosingSeconds).Bind(2, over.Blob(0)).Step();
  }
}

}  // namespace

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
    if (has_no_audit) database.Execute(kAuditTables);
    if (has_no_days) {
      database.Execute(kLogTables);
      database.Execute("ALTER TABLE node ADD COLUMN restored INTEGER NOT NULL DEFAULT 0");
    }
    database.Execute(kEndingTables);
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
  database.Execute(kAuditTables);
  database.Execute(kLogTables);
  database.Execute(kEndingTables);
  Statement insert(database, "INSERT INTO node VALUES (1, ?, 1, 0, 0)");
  insert.Bind(1, ByteView(incarnation)).Step();
  database.Execute(("PRAGMA application_id = " + std::to_string(kApplicationId)).c_str());
  database.Execute(("PRAGMA user_version = " + std::to_string(kTablesVersion)).c_str());
  transaction.Commit();
}

}  // namespace partita::node
