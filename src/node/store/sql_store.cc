#include "node/store/sql_store.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "node/store/audit_table.h"
#include "node/store/ending_table.h"
#include "node/store/fields.h"
#include "node/store/log_tables.h"
#include "node/study/codec.h"

namespace partita::node {
namespace {

// All 64 bits: a peer's number may be any.
std::array<uint8_t, 8> NumberBytes(uint64_t number) {
  std::array<uint8_t, 8> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(number >> (8 * i));
  return bytes;
}

Bytes Owned(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

// Written anew, so that it gets a new, higher rowid.
void PutStudy(Sql& sql, const Study& study) {
  const Bytes state = EncodeStudy(study);
  sql.Do("DELETE FROM study WHERE id = $1", {ByteView(study.id)});
  sql.Do("INSERT INTO study (id, is_open, state) VALUES ($1, $2, $3)",
         {ByteView(study.id), int64_t{IsOpen(study) ? 1 : 0}, ByteView(state)});
}

void PutReceived(Sql& sql, const ReceivedMessage& received) {
  const std::array<uint8_t, 8> number = NumberBytes(received.number);
  sql.Do("INSERT INTO received VALUES ($1, $2, $3, $4, $5, $6)",
         {ByteView(received.name), received.from, ByteView(received.incarnation), ByteView(number),
          ByteView(received.study), ByteView(received.message)});
  sql.Do(
      "INSERT INTO taken VALUES ($1, $2, $3) "
      "ON CONFLICT (sender, day) DO UPDATE SET bytes = taken.bytes + excluded.bytes",
      {received.from, received.day, static_cast<int64_t>(received.bytes)});
}

}  // namespace

Opening SqlStore::Open() {
  SqlTransaction transaction(sql(), Sql::Kind::kRead);
  Opening opening;
  const auto node = sql().Query("SELECT incarnation, next_number, stopped, restored FROM node");
  if (!node->Step())
    throw Error(ErrorCode::kBadInput, "the state of the node has lost its incarnation",
                "Restore the node from its backup.");
  opening.incarnation = FixedIn<16>(*node, 0);
  opening.next_number = UnsignedIn(*node, 1);
  opening.stopped = node->Integer(2) != 0;
  opening.restored = node->Integer(3) != 0;
  const auto studies = sql().Query("SELECT id, state FROM study WHERE is_open = 1 ORDER BY id");
  while (studies->Step()) {
    const StudyId id = FixedIn<32>(*studies, 0);
    try {
      opening.open.push_back(DecodeStudy(studies->Blob(1)));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
      opening.set_apart.push_back(id);
    }
  }
  const auto outbox =
      sql().Query("SELECT number, receiver, study, useful, message FROM outbox ORDER BY number");
  while (outbox->Step()) {
    opening.outbox.push_back({UnsignedIn(*outbox, 0), outbox->Text(1), FixedIn<32>(*outbox, 2),
                              outbox->Integer(3), Owned(outbox->Blob(4))});
  }
  opening.newest_day = NewestLogDay(sql());
  opening.log_receipts = ReadLogReceipts(sql());
  return opening;
}

void SqlStore::BeginAnew(crypto::RandomSource& random, const AuditRecord& entry) {
  Incarnation incarnation{};
  random.Fill(incarnation);
  SqlTransaction transaction(sql(), Sql::Kind::kWrite);
  sql().Do("UPDATE node SET incarnation = $1, next_number = 1, restored = 1",
           {ByteView(incarnation)});
  sql().Do("DELETE FROM outbox");
  AppendAudit(sql(), {entry});
  CloseLogDay(sql(), entry.time / 86'400);
  transaction.Commit();
}

void SqlStore::Commit(const Change& change) {
  SqlTransaction transaction(sql(), Sql::Kind::kWrite);
  if (change.study.has_value()) PutStudy(sql(), *change.study);
  for (const Bytes& body : change.bodies) {
    const Digest digest = crypto::Sha256Of(body);
    sql().Do("INSERT INTO body VALUES ($1, $2, $3) ON CONFLICT (digest, study) DO NOTHING",
             {ByteView(digest), ByteView(change.study.value().id), ByteView(body)});
  }
  if (change.study.has_value() && !IsOpen(*change.study))
    sql().Do("DELETE FROM body WHERE study = $1", {ByteView(change.study->id)});
  for (const OutboxEntry& entry : change.send) {
    sql().Do("INSERT INTO outbox VALUES ($1, $2, $3, $4, $5)",
             {static_cast<int64_t>(entry.number), entry.to, ByteView(entry.study), entry.until,
              ByteView(entry.message)});
  }
  if (change.received.has_value()) PutReceived(sql(), *change.received);
  for (const uint64_t number : change.gone)
    sql().Do("DELETE FROM outbox WHERE number = $1", {static_cast<int64_t>(number)});
  if (change.next_number.has_value())
    sql().Do("UPDATE node SET next_number = $1", {static_cast<int64_t>(*change.next_number)});
  if (change.stopped.has_value())
    sql().Do("UPDATE node SET stopped = $1", {int64_t{*change.stopped ? 1 : 0}});
  if (change.knows_restored) sql().Do("UPDATE node SET restored = 0");
  AppendAudit(sql(), change.audit);
  if (change.close_day.has_value()) CloseLogDay(sql(), *change.close_day);
  if (change.peer_log.has_value()) PutPeerLog(sql(), *change.peer_log);
  if (change.log_receipt.has_value()) PutLogReceipt(sql(), *change.log_receipt);
  if (change.ended.has_value()) PutEnding(sql(), change.study.value().id, *change.ended);
  for (const OverStudy& study : change.keep_less) KeepLess(sql(), study.id, study.kept);
  transaction.Commit();
}

std::optional<Study> SqlStore::FindStudy(const StudyId& id) {
  const auto find = sql().Query("SELECT state FROM study WHERE id = $1", {ByteView(id)});
  if (!find->Step()) return std::nullopt;
  return DecodeStudy(find->Blob(0));
}

// A study that is over is never written again: the order of rowids is that in which studies ended.
OverPage SqlStore::FindOver(int64_t before, size_t limit) {
  const auto find = sql().Query(
      "SELECT rowid, state FROM study WHERE is_open = 0 AND rowid < $1 "
      "ORDER BY rowid DESC LIMIT $2",
      {before == 0 ? INT64_MAX : before, static_cast<int64_t>(limit) + 1});
  OverPage page;
  size_t seen = 0;
  int64_t last = 0;
  while (find->Step()) {
    if (seen++ == limit) {
      page.next = last;
      break;
    }
    last = find->Integer(0);
    try {
      page.studies.push_back(DecodeStudy(find->Blob(1)));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kBadInput) throw;
    }
  }
  return page;
}

std::vector<OverStudy> SqlStore::FindEnded() { return ReadEndings(sql()); }

std::optional<OverStudy> SqlStore::FindEnd(const StudyId& id) { return ReadEnding(sql(), id); }

bool SqlStore::HasReceived(const Digest& name) {
  return sql().Query("SELECT 1 FROM received WHERE name = $1", {ByteView(name)})->Step();
}

std::optional<Digest> SqlStore::FindNumber(const std::string& from, const Incarnation& incarnation,
                                           uint64_t number) {
  const std::array<uint8_t, 8> bytes = NumberBytes(number);
  const auto find = sql().Query(
      "SELECT name FROM received WHERE sender = $1 AND incarnation = $2 AND number = $3",
      {from, ByteView(incarnation), ByteView(bytes)});
  if (!find->Step()) return std::nullopt;
  return FixedIn<32>(*find, 0);
}

std::optional<Bytes> SqlStore::FindBody(const Digest& digest) {
  const auto find =
      sql().Query("SELECT bytes FROM body WHERE digest = $1 LIMIT 1", {ByteView(digest)});
  if (!find->Step()) return std::nullopt;
  return Owned(find->Blob(0));
}

uint64_t SqlStore::BytesTaken(const std::string& from, int64_t day) {
  const auto find =
      sql().Query("SELECT bytes FROM taken WHERE sender = $1 AND day = $2", {from, day});
  return find->Step() ? UnsignedIn(*find, 0) : 0;
}

AuditPage SqlStore::ReadAudit(const AuditFilter& filter, uint64_t before, size_t limit) {
  SqlTransaction transaction(sql(), Sql::Kind::kRead);
  return ReadAuditTable(sql(), filter, before, limit);
}

AuditCheck SqlStore::CheckAudit(uint64_t from, size_t limit) {
  SqlTransaction transaction(sql(), Sql::Kind::kRead);
  AuditCheck check = CheckAuditTable(sql(), from, limit);
  if (check.fault) return check;
  // Only whole logs end in a day that nobody can make again.
  if (check.next == 0) check.fault = FaultOfLogDays(sql());
  return check;
}

std::vector<LogDay> SqlStore::FindLogDays(uint64_t from, size_t limit) {
  return ReadLogDays(sql(), from, limit);
}

std::vector<PeerLog> SqlStore::FindPeerLogs() { return ReadPeerLogs(sql()); }

std::optional<PeerDay> SqlStore::FindPeerDay(const std::string& party, uint64_t number) {
  return ReadPeerDay(sql(), party, number);
}

std::vector<LogFault> SqlStore::FindLogFaults(size_t limit) { return ReadLogFaults(sql(), limit); }

}  // namespace partita::node
