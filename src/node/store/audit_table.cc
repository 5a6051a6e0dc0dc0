#include "node/store/audit_table.h"

#include <algorithm>

#include "base/error.h"

namespace partita::node {
namespace {

// `study` and `actor` of a row repeat what the entry says, to find it by.
constexpr char kOfNumber[] = "SELECT number, study, actor, entry FROM audit WHERE number = $1";

// A row as it is there: the entry, or what is wrong with the row by itself.
struct Row {
  AuditEntry entry;
  std::optional<AuditFault> fault;
};

// Columns: number, study, actor, entry.
Row ReadRow(SqlRows& rows) {
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
std::optional<AuditFault> FaultOfShown(Sql& sql, const AuditEntry& entry, const AuditHead& newest) {
  const AuditHead own = HeadOf(entry);
  if (own.number == newest.number) {
    if (own == newest) return std::nullopt;
    return AuditFault{own.number, "the entry is not the one that was written"};
  }
  const auto next = sql.Query(kOfNumber, {static_cast<int64_t>(own.number + 1)});
  if (!next->Step()) return AuditFault{own.number + 1, "the entry is not there"};
  const Row after = ReadRow(*next);
  return after.fault ? after.fault : FaultOf(own, after.entry);
}

}  // namespace

AuditHead NewestAudit(Sql& sql) {
  const auto find = sql.Query("SELECT number, digest FROM audit_head");
  AuditHead head;
  if (!find->Step()) return head;
  head.number = static_cast<uint64_t>(find->Integer(0));
  const ByteView digest = find->Blob(1);
  std::copy_n(digest.begin(), std::min(digest.size(), head.digest.size()), head.digest.begin());
  return head;
}

std::optional<AuditEntry> FindAuditEntry(Sql& sql, uint64_t number) {
  const auto find = sql.Query(kOfNumber, {static_cast<int64_t>(number)});
  if (!find->Step()) return std::nullopt;
  const Row row = ReadRow(*find);
  if (row.fault) return std::nullopt;
  return row.entry;
}

void AppendAudit(Sql& sql, const std::vector<AuditRecord>& records) {
  if (records.empty()) return;
  AuditHead head = NewestAudit(sql);
  for (const AuditRecord& record : records) {
    const AuditEntry entry = EntryAfter(head, record);
    const Bytes bytes = Encode(entry);
    sql.Do("INSERT INTO audit VALUES ($1, $2, $3, $4)",
           {static_cast<int64_t>(entry.number), ByteView(entry.record.study),
            ActorText(entry.record.actor), ByteView(bytes)});
    head = HeadOf(entry);
  }
  sql.Do("UPDATE audit_head SET number = $1, digest = $2",
         {static_cast<int64_t>(head.number), ByteView(head.digest)});
}

AuditPage ReadAuditTable(Sql& sql, const AuditFilter& filter, uint64_t before, size_t limit) {
  std::string text = "SELECT number, study, actor, entry FROM audit WHERE number < $1";
  std::vector<SqlValue> values = {
      before == 0 ? INT64_MAX : static_cast<int64_t>(std::min<uint64_t>(before, INT64_MAX))};
  const auto add = [&](const std::string& condition, SqlValue value) {
    values.push_back(std::move(value));
    text += condition + std::to_string(values.size());
  };
  if (filter.study) add(" AND study = $", ByteView(*filter.study));
  if (!filter.actor.empty()) add(" AND actor = $", filter.actor);
  add(" ORDER BY number DESC LIMIT $", static_cast<int64_t>(limit) + 1);
  const auto find = sql.Query(text, values);
  AuditPage page;
  page.head = NewestAudit(sql);
  uint64_t last = 0;
  for (size_t seen = 0; find->Step(); ++seen) {
    if (seen == limit) {
      page.next = last;
      break;
    }
    last = static_cast<uint64_t>(find->Integer(0));
    const Row row = ReadRow(*find);
    std::optional<AuditFault> fault =
        row.fault ? row.fault : FaultOfShown(sql, row.entry, page.head);
    // The first one in the log.
    if (fault) page.fault = std::move(fault);
    if (!row.fault) page.entries.push_back(row.entry);
  }
  return page;
}

AuditCheck CheckAuditTable(Sql& sql, uint64_t from, size_t limit) {
  AuditCheck check;
  AuditHead head;
  const auto rows = sql.Query(
      "SELECT number, study, actor, entry FROM audit WHERE number >= $1 ORDER BY number LIMIT $2",
      {static_cast<int64_t>(from) - 1, static_cast<int64_t>(limit) + 1});
  bool more = rows->Step();
  if (from > 1) {
    // Looked at before: what the next one has to follow.
    const Row before = more ? ReadRow(*rows) : Row();
    if (!more || before.fault || before.entry.number != from - 1) {
      check.fault = before.fault ? before.fault : AuditFault{from - 1, "the entry is not there"};
      return check;
    }
    head = HeadOf(before.entry);
    more = rows->Step();
  }
  for (size_t seen = 0; more && seen < limit; ++seen, more = rows->Step()) {
    const Row row = ReadRow(*rows);
    check.fault = row.fault ? row.fault : FaultOf(head, row.entry);
    if (check.fault) return check;
    head = HeadOf(row.entry);
  }
  const AuditHead newest = NewestAudit(sql);
  const auto last = sql.Query("SELECT max(number) FROM audit");
  const bool is_last =
      last->Step() && (last->IsNull(0) || static_cast<uint64_t>(last->Integer(0)) == head.number);
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
