#include "node/store/log_tables.h"

#include <string>

#include "node/store/audit_table.h"
#include "node/store/fields.h"

namespace partita::node {
namespace {

// Columns: number, day, entry, digest.
LogDay ReadLogDay(SqlRows& row) {
  LogDay day;
  day.number = UnsignedIn(row, 0);
  day.day = row.Integer(1);
  day.entry = UnsignedIn(row, 2);
  day.digest = FixedIn<32>(row, 3);
  return day;
}

constexpr size_t kDaysAtOnce = 1000;

}  // namespace

void CloseLogDay(Sql& sql, int64_t day) {
  const LogDay next = DayAfter(NewestLogDay(sql), day, NewestAudit(sql));
  sql.Do("INSERT INTO audit_day VALUES ($1, $2, $3, $4)",
         {Signed(next.number), next.day, Signed(next.entry), ByteView(next.digest)});
}

void PutPeerLog(Sql& sql, const PeerLogNews& news) {
  const PeerLog& log = news.log;
  if (news.departs != 0) {
    sql.Do("DELETE FROM peer_day WHERE party = $1 AND number >= $2",
           {log.party, Signed(news.departs)});
  }
  for (const PeerDay& day : news.days) {
    sql.Do("DELETE FROM peer_day WHERE party = $1 AND number = $2",
           {log.party, Signed(day.number)});
    sql.Do("INSERT INTO peer_day VALUES ($1, $2, $3, $4)",
           {log.party, Signed(day.number), ByteView(day.digest), ByteView(day.message)});
  }
  sql.Do("DELETE FROM peer_log WHERE party = $1", {log.party});
  sql.Do("INSERT INTO peer_log VALUES ($1, $2, $3, $4, $5, $6, $7)",
         {log.party, Signed(log.number), log.day, ByteView(log.digest), ByteView(log.incarnation),
          Signed(log.message_number), log.departed_day});
  if (!news.fault.has_value()) return;
  const LogFault& fault = *news.fault;
  sql.Do(
      "INSERT INTO log_fault (party, departs, had, time, before, message) "
      "VALUES ($1, $2, $3, $4, $5, $6)",
      {fault.party, Signed(fault.departs), Signed(fault.had), fault.time, ByteView(fault.before),
       ByteView(fault.message)});
}

void PutLogReceipt(Sql& sql, const KeptReceipt& kept) {
  const LogReceipt& receipt = kept.receipt;
  sql.Do("DELETE FROM log_receipt WHERE party = $1", {kept.party});
  sql.Do("INSERT INTO log_receipt VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
         {kept.party, ByteView(receipt.head), Signed(receipt.number), ByteView(receipt.digest),
          Signed(receipt.departs), Signed(receipt.had), ByteView(kept.incarnation),
          Signed(kept.message_number), ByteView(kept.message), kept.time, kept.fault_day});
}

LogDay NewestLogDay(Sql& sql) {
  const auto find =
      sql.Query("SELECT number, day, entry, digest FROM audit_day ORDER BY number DESC LIMIT 1");
  return find->Step() ? ReadLogDay(*find) : LogDay();
}

std::vector<LogDay> ReadLogDays(Sql& sql, uint64_t from, size_t limit) {
  const auto find = sql.Query(
      "SELECT number, day, entry, digest FROM audit_day WHERE number >= $1 "
      "ORDER BY number LIMIT $2",
      {Signed(from), static_cast<int64_t>(limit)});
  std::vector<LogDay> days;
  while (find->Step()) days.push_back(ReadLogDay(*find));
  return days;
}

std::vector<PeerLog> ReadPeerLogs(Sql& sql) {
  const auto find = sql.Query(
      "SELECT party, number, day, digest, incarnation, message_number, departed_day "
      "FROM peer_log ORDER BY party");
  std::vector<PeerLog> logs;
  while (find->Step()) {
    PeerLog& log = logs.emplace_back();
    log.party = find->Text(0);
    log.number = UnsignedIn(*find, 1);
    log.day = find->Integer(2);
    log.digest = FixedIn<32>(*find, 3);
    log.incarnation = FixedIn<16>(*find, 4);
    log.message_number = UnsignedIn(*find, 5);
    log.departed_day = find->Integer(6);
  }
  return logs;
}

std::optional<PeerDay> ReadPeerDay(Sql& sql, const std::string& party, uint64_t number) {
  const auto find =
      sql.Query("SELECT digest, message FROM peer_day WHERE party = $1 AND number = $2",
                {party, Signed(number)});
  if (!find->Step()) return std::nullopt;
  PeerDay day;
  day.number = number;
  day.digest = FixedIn<32>(*find, 0);
  day.message = FixedIn<32>(*find, 1);
  return day;
}

std::vector<LogFault> ReadLogFaults(Sql& sql, size_t limit) {
  const auto find = sql.Query(
      "SELECT party, departs, had, time, before, message FROM log_fault ORDER BY id DESC LIMIT $1",
      {static_cast<int64_t>(limit)});
  std::vector<LogFault> faults;
  while (find->Step()) {
    LogFault& fault = faults.emplace_back();
    fault.party = find->Text(0);
    fault.departs = UnsignedIn(*find, 1);
    fault.had = UnsignedIn(*find, 2);
    fault.time = find->Integer(3);
    fault.before = FixedIn<32>(*find, 4);
    fault.message = FixedIn<32>(*find, 5);
  }
  return faults;
}

std::vector<KeptReceipt> ReadLogReceipts(Sql& sql) {
  const auto find = sql.Query(
      "SELECT party, head, number, digest, departs, had, incarnation, message_number, "
      "message, time, fault_day FROM log_receipt ORDER BY party");
  std::vector<KeptReceipt> all;
  while (find->Step()) {
    KeptReceipt& kept = all.emplace_back();
    kept.party = find->Text(0);
    kept.receipt.head = FixedIn<32>(*find, 1);
    kept.receipt.number = UnsignedIn(*find, 2);
    kept.receipt.digest = FixedIn<32>(*find, 3);
    kept.receipt.departs = UnsignedIn(*find, 4);
    kept.receipt.had = UnsignedIn(*find, 5);
    kept.incarnation = FixedIn<16>(*find, 6);
    kept.message_number = UnsignedIn(*find, 7);
    kept.message = FixedIn<32>(*find, 8);
    kept.time = find->Integer(9);
    kept.fault_day = find->Integer(10);
  }
  return all;
}

std::optional<AuditFault> FaultOfLogDays(Sql& sql) {
  LogDay before;
  while (true) {
    const std::vector<LogDay> days = ReadLogDays(sql, before.number + 1, kDaysAtOnce);
    for (const LogDay& day : days) {
      const std::optional<AuditEntry> entry = FindAuditEntry(sql, day.entry);
      if (!entry || DayAfter(before, day.day, HeadOf(*entry)) != day)
        return AuditFault{day.entry,
                          "the day that ends with the entry was closed with another one"};
      before = day;
    }
    if (days.size() < kDaysAtOnce) break;
  }
  for (const KeptReceipt& kept : ReadLogReceipts(sql)) {
    // What a site says that never fitted stands in the log.
    if (kept.receipt.number == 0 || kept.fault_day != 0) continue;
    const std::vector<LogDay> days = ReadLogDays(sql, kept.receipt.number, 1);
    if (!days.empty() && days[0].digest == kept.receipt.digest) continue;
    return AuditFault{before.entry + 1, kept.party + " signed for another log than this one"};
  }
  return std::nullopt;
}

}  // namespace partita::node
