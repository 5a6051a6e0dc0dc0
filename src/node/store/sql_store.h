// The store as tables, in whichever database: SqliteStore and PostgresStore say which.
#pragma once

#include <memory>

#include "crypto/random.h"
#include "node/store/sql.h"
#include "node/store/store.h"

namespace partita::node {

class SqlStore : public Store {
 public:
  // Of a copy that was put back: a new incarnation, nothing to send, studies ended at the next start (Opening::restored),
  // `entry` in the log, and the day closed with it.
  void BeginAnew(crypto::RandomSource& random, const AuditRecord& entry);

  void RequireHeld() override { sql().RequireHeld(); }
  Opening Open() override;
  void Commit(const Change& change) override;
  std::optional<Study> FindStudy(const StudyId& id) override;
  OverPage FindOver(int64_t before, size_t limit) override;
  std::vector<OverStudy> FindEnded() override;
  std::optional<OverStudy> FindEnd(const StudyId& id) override;
  bool HasReceived(const Digest& name) override;
  std::optional<Digest> FindNumber(const std::string& from, const Incarnation& incarnation,
                                   uint64_t number) override;
  std::optional<Bytes> FindBody(const Digest& digest) override;
  uint64_t BytesTaken(const std::string& from, int64_t day) override;
  AuditPage ReadAudit(const AuditFilter& filter, uint64_t before, size_t limit) override;
  AuditCheck CheckAudit(uint64_t from, size_t limit) override;
  std::vector<LogDay> FindLogDays(uint64_t from, size_t limit) override;
  std::vector<PeerLog> FindPeerLogs() override;
  std::optional<PeerDay> FindPeerDay(const std::string& party, uint64_t number) override;
  std::vector<LogFault> FindLogFaults(size_t limit) override;

 protected:
  // Its tables are there.
  virtual Sql& sql() = 0;
};

}  // namespace partita::node
