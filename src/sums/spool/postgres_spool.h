// A spool in PostgreSQL: the store of a compute node that is more than one process. Any number of
// upload front ends and summing workers, on any number of machines, share ONE database per compute
// node, which holds any number of rounds.
//
// Durability: every transaction commits with synchronous_commit = on; a server with fsync or
// full_page_writes off is refused.
//
// Once per client, and nothing after the freeze: the primary key (round, client) decides about
// clients. Putting holds the round's advisory lock shared, freezing, closing and publishing hold
// it alone; the state is read after the lock is held, by a statement that sees what was committed
// before it. So a freeze waits for the puts that are under way and every later put sees it.
//
// Lost connections: a transaction whose end is unknown is done again on a new connection until
// reconnect_for has passed; then the call throws kUnreachable. Nothing is reported as stored before
// the server has said that it is committed. All of it can be repeated: a share that had been
// stored is then kIdentical.
//
// Two nodes never share a database: it records the public key of its node and refuses another. It
// also records which server it is on and that server's timeline, so that a copy or a backup that
// was restored by recovery is refused until the operator has looked at it
// (docs/private-sums-operations.md); a server that is put back as a whole from a disk image is not
// noticed here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/postgres_session.h"
#include "crypto/box.h"
#include "sums/spool/spool.h"

namespace partita::sums {

struct PostgresSettings {
  std::string connection;        // postgres::Session; may hold a password, never printed
  crypto::BoxPublicKey node{};   // of this compute node
  unsigned max_connections = 4;  // of one PostgresSpool; more threads wait for one
  std::chrono::milliseconds statement_timeout = std::chrono::seconds(60);
  std::chrono::milliseconds reconnect_for = std::chrono::seconds(15);
};

class PostgresSpool : public Spool, public ChunkBoard {
 public:
  // Makes tables (schema partita_dca) and round if they are missing; the role needs the right to.
  // Throws kUnreachable, kBadInput (connection string, not a spool of this version, missing rights,
  // a server that does not write durably), kRefused (the database of another node, or a restored
  // one).
  PostgresSpool(PostgresSettings settings, const StudyHash& study, uint64_t epoch);
  ~PostgresSpool() override;
  PostgresSpool(const PostgresSpool&) = delete;
  PostgresSpool& operator=(const PostgresSpool&) = delete;

  std::vector<PutResult> Put(std::span<const StoredShare> shares) override;
  void Freeze() override;
  bool frozen() override;
  AcceptedSet Accepted() override;
  std::vector<StoredShare> Shares(const std::optional<ClientId>& after, size_t max_bytes) override;
  void RecordClosing(ByteView closing) override;
  std::optional<Bytes> closing() override;
  Bytes RecordPublication(ByteView publication) override;
  std::optional<Bytes> publication() override;
  ChunkBoard* chunks() override { return this; }

  ChunkPlan CutChunks(uint32_t uploads, uint32_t chunk_uploads) override;
  std::optional<uint32_t> TakeChunk(const std::string& worker, int64_t now_ms,
                                    int64_t until_ms) override;
  bool RecordChunk(uint32_t chunk, ByteView result) override;
  uint32_t OpenChunks() override;
  std::optional<Bytes> ChunkResult(uint32_t chunk) override;

 private:
  using Connection = std::unique_ptr<postgres::Session>;
  class Borrowed;

  // Calls work(connection), again as long as the connection is lost and reconnect_for has not
  // passed.
  template <typename Work>
  auto Run(const Work& work);
  Connection Connect() const;
  std::optional<Bytes> ReadBlob(const char* sql);
  // Statements that take the round's lock.
  std::string LockShared() const;
  std::string LockAlone() const;

  PostgresSettings settings_;
  int32_t round_ = 0;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<Connection> idle_;
  unsigned lent_ = 0;
};

}  // namespace partita::sums
