// What a node keeps, durable: its studies, what it still has to send, what it has received, its audit log.
//
// One transaction per change: a study moves together with the messages that say so, and nothing is
// sent or started before that is durable. So a node that is killed at any moment goes on from the
// last change as if nothing had happened since. Reading never changes anything. One process at a time
// has a store; after kStorage it is not certain what is durable, and only a new store knows.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "node/audit/audit.h"
#include "node/audit/log_days.h"
#include "node/study/retention.h"
#include "node/study/step.h"
#include "node/study/study.h"

namespace partita::node {

// A message that left the sender's hand only when its receiver has it durably, too.
struct OutboxEntry {
  uint64_t number = 0;  // of the message
  std::string to;
  StudyId study{};
  int64_t until = 0;  // then it is dropped
  Bytes message;      // whole
};

// A message that was taken: kept as evidence, and so that it has no effect again.
struct ReceivedMessage {
  Digest name{};
  std::string from;
  Incarnation incarnation{};
  uint64_t number = 0;
  StudyId study{};
  Bytes message;
  int64_t day = 0;     // since 1970, when it was taken
  uint64_t bytes = 0;  // of it and of its body
};

// What another site told of its log.
struct PeerLogNews {
  PeerLog log;                    // the newest
  uint64_t departs = 0;           // not 0: days from here on are forgotten first
  std::vector<PeerDay> days;      // new ones
  std::optional<LogFault> fault;  // kept for good
};

struct Change {
  std::optional<Study> study;  // its new state, or a new study
  std::vector<OutboxEntry> send;
  // Of messages of `study`, to be fetched here or fetched: by their digest, until it is over.
  std::vector<Bytes> bodies;
  std::optional<ReceivedMessage> received;
  std::vector<uint64_t> gone;           // entries of the outbox that leave it
  std::optional<uint64_t> next_number;  // of messages
  std::optional<bool> stopped;          // emergency stop
  bool knows_restored = false;          // what a restore asks for is done
  std::vector<AuditRecord> audit;       // in the order in which they are to be numbered
  std::optional<int64_t> close_day;     // of the own log, after `audit`: this date
  std::optional<PeerLogNews> peer_log;
  std::optional<KeptReceipt> log_receipt;
  std::optional<int64_t> ended;      // when `study`, which is over, ended
  std::vector<OverStudy> keep_less;  // of these nothing but what is said is kept from now on
};

// What a node needs in memory when it starts: nothing of the studies that are over.
struct Opening {
  Incarnation incarnation{};
  uint64_t next_number = 1;
  bool stopped = false;
  bool restored = false;  // an older copy, at its first start
  std::vector<Study> open;
  std::vector<OutboxEntry> outbox;
  // Open, and their state cannot be read: they rest until a person looks at them.
  std::vector<StudyId> set_apart;
  LogDay newest_day;  // of the own log; number 0: none is closed
  std::vector<KeptReceipt> log_receipts;
};

// Studies that are over, those that ended last first.
struct OverPage {
  std::vector<Study> studies;
  int64_t next = 0;  // `before` of the next page; 0: there is none
};

class Store {
 public:
  virtual ~Store() = default;

  // Throws kStorage unless this store is still the only one that writes, as far as it can be known. What is durable may
  // leave after it.
  virtual void RequireHeld() = 0;
  virtual Opening Open() = 0;
  // A copy of all of it as it is now, to a file that is not there yet. Throws kStorage.
  virtual void CopyTo(const std::filesystem::path& file) = 0;
  // All of it or nothing, and durable when it returns. Throws kStorage.
  virtual void Commit(const Change& change) = 0;
  virtual std::optional<Study> FindStudy(const StudyId& id) = 0;
  // At most `limit`, from `before` on: 0 is the first page. Those whose state cannot be read are left out.
  virtual OverPage FindOver(int64_t before, size_t limit) = 0;
  // Studies that are over, those that ended first, first; of those that are kept by their number alone, too.
  virtual std::vector<OverStudy> FindEnded() = 0;
  virtual std::optional<OverStudy> FindEnd(const StudyId& id) = 0;
  virtual bool HasReceived(const Digest& name) = 0;
  // The name of the message with this number that was taken.
  virtual std::optional<Digest> FindNumber(const std::string& from, const Incarnation& incarnation,
                                           uint64_t number) = 0;
  virtual std::optional<Bytes> FindBody(const Digest& digest) = 0;
  // Of the messages of this sender that were taken that day.
  virtual uint64_t BytesTaken(const std::string& from, int64_t day) = 0;
  // At most `limit` entries of the audit log below number `before`; 0: from the newest on. Each is compared with
  // the one after it.
  virtual AuditPage ReadAudit(const AuditFilter& filter, uint64_t before, size_t limit) = 0;
  // Looks whether `limit` entries from number `from` on, counted from 1, follow each other, and at the end
  // whether the last one is the newest that was written.
  virtual AuditCheck CheckAudit(uint64_t from, size_t limit) = 0;
  // Closed days of the own log, from number `from` on; fewer where there are no more.
  virtual std::vector<LogDay> FindLogDays(uint64_t from, size_t limit) = 0;
  // By name of the site.
  virtual std::vector<PeerLog> FindPeerLogs() = 0;
  virtual std::optional<PeerDay> FindPeerDay(const std::string& party, uint64_t number) = 0;
  // The newest first.
  virtual std::vector<LogFault> FindLogFaults(size_t limit) = 0;
};

}  // namespace partita::node
