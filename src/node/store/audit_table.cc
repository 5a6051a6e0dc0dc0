#include "node/store/audit_table.h"

#include <algorithm>

#include "base/error.h"

namespace partita::node {
namespace {

using sqlite::Database;
using sqlite::Statement;

// `study` and `actor` repeat what the entry says, to find it by.
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

// A row as it is there: the entry, or what is wrong with the row by itself.
struct Row {
  AuditEntry entry;
  std::optional<AuditFault> fault;
};

// Columns: number, study, actor, entry.
Row ReadRow(Statement& rows) {
  Row row;
  const auto number = static_cast<uint64_t>(rows.Integer(0));
  try {
    row.entry = DecodeAuditEntry(rows.Blob(3));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kBadInput) throw;
    row.fault = AuditFault{number, error.message()};
    return row;
  }
  const AuditRecord& record = row.entry.record;
  const ByteView study = rows.Blob(1);
  if (row.entry.number != number || rows.Text(2) != ActorText(record.actor) ||
      !std::equal(study.begin(), study.end(), record.study.begin(), record.study.end()))
    row.fault = AuditFault{number, "it is kept under another number, study or actor"};
  return row;
}

// What the log says of an entry after it was written: the entry that follows, or which one is the newest.
std::optional<AuditFault> FaultOfShown(const Database& database, const AuditEntry& entry,
                                       const AuditHead& newest) {
  const AuditHead own = HeadOf(entry);
  if (own.number == newest.number) {
    if (own == newest) return std::nullopt;
    return AuditFault{own.number, "the entry is not the one that was written"};
  }
  Statement next(database, "SELECT number, study, actor, entry FROM audit WHERE number = ?");
  if (!next.Bind(1, static_cast<int64_t>(own.number + 1)).Step())
    return AuditFault{own.number + 1, "the entry is not there"};
  const Row after = ReadRow(next);
  return after.fault ? after.fault : FaultOf(own, after.entry);
}

}  // namespace

AuditHead NewestAudit(const Database& database) {
  Statement find(database, "SELECT number, digest FROM audit_head");
  AuditHead head;
  if (!find.Step()) return head;
  head.number = static_cast<uint64_t>(find.Integer(0));
  const ByteView digest = find.Blob(1);
  std::copy_n(digest.begin(), std::min(digest.size(), head.digest.size()), head.digest.begin());
  return head;
}

std::optional<AuditEntry> FindAuditEntry(const Database& database, uint64_t number) {
  Statement find(database, "SELECT number, study, actor, entry FROM audit WHERE number = ?");
  if (!find.Bind(1, static_cast<int64_t>(number)).Step()) return std::nullopt;
  const Row row = ReadRow(find);
  if (row.fault) return std::nullopt;
  return row.entry;
}

void MakeAuditTable(Database& database) { database.Execute(kAuditTables); }

void AppendAudit(Database& database, const std::vector<AuditRecord>& records) {
  if (records.empty()) return;
  AuditHead head = NewestAudit(database);
  for (const AuditRecord& record : records) {
    const AuditEntry entry = EntryAfter(head, record);
    const Bytes bytes = Encode(entry);
    const std::string actor = ActorText(entry.record.actor);
    Statement put(database, "INSERT INTO audit VALUES (?, ?, ?, ?)");
    put.Bind(1, static_cast<int64_t>(entry.number))
        .Bind(2, ByteView(entry.record.study))
        .Bind(3, actor)
        .Bind(4, ByteView(bytes))
        .Step();
    head = HeadOf(entry);
  }
  Statement set(database, "UPDATE audit_head SET number = ?, digest = ?");
  set.Bind(1, static_cast<int64_t>(head.number)).Bind(2, ByteView(head.digest)).Step();
}

AuditPage ReadAuditTable(const Database& database, const AuditFilter& filter, uint64_t before,
                         size_t limit) {
  std::string sql = "SELECT number, study, actor, entry FROM audit WHERE number < ?1";
  if (filter.study) sql += " AND study = ?2";
  if (!filter.actor.empty()) sql += " AND actor = ?3";
  sql += " ORDER BY number DESC LIMIT ?4";
  Statement find(database, sql.c_str());
  find.Bind(1,
            before == 0 ? INT64_MAX : static_cast<int64_t>(std::min<uint64_t>(before, INT64_MAX)));
  if (filter.study) find.Bind(2, ByteView(*filter.study));
  if (!filter.actor.empty()) find.Bind(3, filter.actor);
  find.Bind(4, static_cast<int64_t>(limit) + 1);
  AuditPage page;
  page.head = NewestAudit(database);
  uint64_t last = 0;
  for (size_t seen = 0; find.Step(); ++seen) {
    if (seen == limit) {
      page.next = last;
      break;
    }
    last = static_cast<uint64_t>(find.Integer(0));
    const Row row = ReadRow(find);
    std::optional<AuditFault> fault =
        row.fault ? row.fault : FaultOfShown(database, row.entry, page.head);
    // The first one in the log.
    if (fault) page.fault = std::move(fault);
    if (!row.fault) page.entries.push_back(row.entry);
  }
  return page;
}

AuditCheck CheckAuditTable(const Database& database, uint64_t from, size_t limit) {
  AuditCheck check;
  AuditHead head;
  Statement rows(database,
                 "SELECT number, study, actor, entry FROM audit WHERE number >= ? ORDER BY number "
                 "LIMIT ?");
  rows.Bind(1, static_cast<int64_t>(from) - 1).Bind(2, static_cast<int64_t>(limit) + 1);
  bool more = rows.Step();
  if (from > 1) {
    // Looked at before: what the next one has to follow.
    const Row before = more ? ReadRow(rows) : Row();
    if (!more || before.fault || before.entry.number != from - 1) {
      check.fault = before.fault ? before.fault : AuditFault{from - 1, "the entry is not there"};
      return check;
    }
    head = HeadOf(before.entry);
    more = rows.Step();
  }
  for (size_t seen = 0; more && seen < limit; ++seen, more = rows.Step()) {
    const Row row = ReadRow(rows);
    check.fault = row.fault ? row.fault : FaultOf(head, row.entry);
    if (check.fault) return check;
    head = HeadOf(row.entry);
  }
  const AuditHead newest = NewestAudit(database);
  Statement last(database, "SELECT max(number) FROM audit");
  const bool is_last =
      last.Step() && (last.IsNull(0) || static_cast<uint64_t>(last.Integer(0)) == head.number);
  if (!is_last) {
    check.next = head.number + 1;
  } else if (head.number < newest.number) {
    check.fault = AuditFault{head.number + 1, "the entry is not there: the log was cut"};
  } else if (head != newest) {
    check.fault = AuditFault{head.number, "the entry is not the one that was written"};
  }
  return check;
}

}  // namespace partita::node
