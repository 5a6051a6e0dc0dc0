#include "node/store/log_tables.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "node/store/audit_table.h"

namespace partita::node {
namespace {

using sqlite::Database;
using sqlite::Statement;

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

template <size_t kSize>
void ReadInto(Statement& row, int column, std::array<uint8_t, kSize>& out) {
  const ByteView blob = row.Blob(column);
  if (blob.size() != kSize)
    throw Error(ErrorCode::kBadInput, "the state of the node holds a digest of a wrong length",
                "Restore the node from its backup.");
  std::copy(blob.begin(), blob.end(), out.begin());
}

uint64_t Unsigned(Statement& row, int column) { return static_cast<uint64_t>(row.Integer(column)); }
int64_t Signed(uint64_t number) { return static_cast<int64_t>(number); }

// Columns: number, day, entry, digest.
LogDay ReadLogDay(Statement& row) {
  LogDay day;
  day.number = Unsigned(row, 0);
  day.day = row.Integer(1);
  day.entry = Unsigned(row, 2);
  ReadInto(row, 3, day.digest);
  return day;
}

constexpr size_t kDaysAtOnce = 1000;

}  // namespace

void MakeLogTables(Database& database) { database.Execute(kLogTables); }

void CloseLogDay(Database& database, int64_t day) {
  const LogDay next = DayAfter(NewestLogDay(database), day, NewestAudit(database));
  Statement put(database, "INSERT INTO audit_day VALUES (?, ?, ?, ?)");
  put.Bind(1, Signed(next.number))
      .Bind(2, next.day)
      .Bind(3, Signed(next.entry))
      .Bind(4, ByteView(next.digest))
      .Step();
}

void PutPeerLog(Database& database, const PeerLogNews& news) {
  const PeerLog& log = news.log;
  if (news.departs != 0) {
    Statement cut(database, "DELETE FROM peer_day WHERE party = ? AND number >= ?");
    cut.Bind(1, log.party).Bind(2, Signed(news.departs)).Step();
  }
  for (const PeerDay& day : news.days) {
    Statement put(database, "INSERT OR REPLACE INTO peer_day VALUES (?, ?, ?, ?)");
    put.Bind(1, log.party)
        .Bind(2, Signed(day.number))
        .Bind(3, ByteView(day.digest))
        .Bind(4, ByteView(day.message))
        .Step();
  }
  Statement put(database, "INSERT OR REPLACE INTO peer_log VALUES (?, ?, ?, ?, ?, ?, ?)");
  put.Bind(1, log.party)
      .Bind(2, Signed(log.number))
      .Bind(3, log.day)
      .Bind(4, ByteView(log.digest))
      .Bind(5, ByteView(log.incarnation))
      .Bind(6, Signed(log.message_number))
      .Bind(7, log.departed_day)
      .Step();
  if (!news.fault.has_value()) return;
  const LogFault& fault = *news.fault;
  Statement keep(database,
                 "INSERT INTO log_fault (party, departs, had, time, before, message) "
                 "VALUES (?, ?, ?, ?, ?, ?)");
  keep.Bind(1, fault.party)
      .Bind(2, Signed(fault.departs))
      .Bind(3, Signed(fault.had))
      .Bind(4, fault.time)
      .Bind(5, ByteView(fault.before))
      .Bind(6, ByteView(fault.message))
      .Step();
}

void PutLogReceipt(Database& database, const KeptReceipt& kept) {
  const LogReceipt& receipt = kept.receipt;
  Statement put(database,
                "INSERT OR REPLACE INTO log_receipt VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  put.Bind(1, kept.party)
      .Bind(2, ByteView(receipt.head))
      .Bind(3, Signed(receipt.number))
      .Bind(4, ByteView(receipt.digest))
      .Bind(5, Signed(receipt.departs))
      .Bind(6, Signed(receipt.had))
      .Bind(7, ByteView(kept.incarnation))
      .Bind(8, Signed(kept.message_number))
      .Bind(9, ByteView(kept.message))
      .Bind(10, kept.time)
      .Bind(11, kept.fault_day)
      .Step();
}

LogDay NewestLogDay(const Database& database) {
  Statement find(database,
                 "SELECT number, day, entry, digest FROM audit_day ORDER BY number DESC LIMIT 1");
  return find.Step() ? ReadLogDay(find) : LogDay();
}

std::vector<LogDay> ReadLogDays(const Database& database, uint64_t from, size_t limit) {
  Statement find(database,
                 "SELECT number, day, entry, digest FROM audit_day WHERE number >= ? "
                 "ORDER BY number LIMIT ?");
  find.Bind(1, Signed(from)).Bind(2, static_cast<int64_t>(limit));
  std::vector<LogDay> days;
  while (find.Step()) days.push_back(ReadLogDay(find));
  return days;
}

std::vector<PeerLog> ReadPeerLogs(const Database& database) {
  Statement find(database,
                 "SELECT party, number, day, digest, incarnation, message_number, departed_day "
                 "FROM peer_log ORDER BY party");
  std::vector<PeerLog> logs;
  while (find.Step()) {
    PeerLog& log = logs.emplace_back();
    log.party = find.Text(0);
    log.number = Unsigned(find, 1);
    log.day = find.Integer(2);
    ReadInto(find, 3, log.digest);
    ReadInto(find, 4, log.incarnation);
    log.message_number = Unsigned(find, 5);
    log.departed_day = find.Integer(6);
  }
  return logs;
}

std::optional<PeerDay> ReadPeerDay(const Database& database, const std::string& party,
                                   uint64_t number) {
  Statement find(database, "SELECT digest, message FROM peer_day WHERE party = ? AND number = ?");
  find.Bind(1, party).Bind(2, Signed(number));
  if (!find.Step()) return std::nullopt;
  PeerDay day;
  day.number = number;
  ReadInto(find, 0, day.digest);
  ReadInto(find, 1, day.message);
  return day;
}

std::vector<LogFault> ReadLogFaults(const Database& database, size_t limit) {
  Statement find(database,
                 "SELECT party, departs, had, time, before, message FROM log_fault "
                 "ORDER BY id DESC LIMIT ?");
  find.Bind(1, static_cast<int64_t>(limit));
  std::vector<LogFault> faults;
  while (find.Step()) {
    LogFault& fault = faults.emplace_back();
    fault.party = find.Text(0);
    fault.departs = Unsigned(find, 1);
    fault.had = Unsigned(find, 2);
    fault.time = find.Integer(3);
    ReadInto(find, 4, fault.before);
    ReadInto(find, 5, fault.message);
  }
  return faults;
}

std::vector<KeptReceipt> ReadLogReceipts(const Database& database) {
  Statement find(database,
                 "SELECT party, head, number, digest, departs, had, incarnation, message_number, "
                 "message, time, fault_day FROM log_receipt ORDER BY party");
  std::vector<KeptReceipt> all;
  while (find.Step()) {
    KeptReceipt& kept = all.emplace_back();
    kept.party = find.Text(0);
    ReadInto(find, 1, kept.receipt.head);
    kept.receipt.number = Unsigned(find, 2);
    ReadInto(find, 3, kept.receipt.digest);
    kept.receipt.departs = Unsigned(find, 4);
    kept.receipt.had = Unsigned(find, 5);
    ReadInto(find, 6, kept.incarnation);
    kept.message_number = Unsigned(find, 7);
    ReadInto(find, 8, kept.message);
    kept.time = find.Integer(9);
    kept.fault_day = find.Integer(10);
  }
  return all;
}

std::optional<AuditFault> FaultOfLogDays(const Database& database) {
  LogDay before;
  while (true) {
    const std::vector<LogDay> days = ReadLogDays(database, before.number + 1, kDaysAtOnce);
    for (const LogDay& day : days) {
      const std::optional<AuditEntry> entry = FindAuditEntry(database, day.entry);
      if (!entry || DayAfter(before, day.day, HeadOf(*entry)) != day)
        return AuditFault{day.entry,
                          "the day that ends with the entry was closed with another one"};
      before = day;
    }
    if (days.size() < kDaysAtOnce) break;
  }
  for (const KeptReceipt& kept : ReadLogReceipts(database)) {
    // What a site says that never fitted stands in the log.
    if (kept.receipt.number == 0 || kept.fault_day != 0) continue;
    const std::vector<LogDay> days = ReadLogDays(database, kept.receipt.number, 1);
    if (!days.empty() && days[0].digest == kept.receipt.digest) continue;
    return AuditFault{before.entry + 1, kept.party + " signed for another log than this one"};
  }
  return std::nullopt;
}

}  // namespace partita::node
