// A spool in one SQLite file: the embedded store, for one process.
//
// Durability: rollback journal, synchronous = EXTRA, both read back; a second process that opens
// the file is refused (exclusive lock). An upload costs one row and a share of one transaction's
// syncs: pass many shares to one Put.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>

#include "base/sqlite.h"
#include "sums/spool/spool.h"

namespace partita::sums {

class SqliteSpool : public Spool {
 public:
  // Opens the file, makes it if it is missing, and makes the round if it is missing. Throws
  // kUnreachable (locked by another process, not writable), kBadInput (not a spool of this
  // version).
  SqliteSpool(const std::filesystem::path& file, const StudyHash& study, uint64_t epoch);
  ~SqliteSpool() override;
  SqliteSpool(const SqliteSpool&) = delete;
  SqliteSpool& operator=(const SqliteSpool&) = delete;

  std::vector<PutResult> Put(std::span<const StoredShare> shares) override;
  void Freeze() override;
  bool frozen() override;
  AcceptedSet Accepted() override;
  std::vector<StoredShare> Shares(const std::optional<ClientId>& after, size_t max_bytes) override;
  void RecordClosing(ByteView closing) override;
  std::optional<Bytes> closing() override;
  Bytes RecordPublication(ByteView publication) override;
  std::optional<Bytes> publication() override;

 private:
  class Statements;

  std::mutex mutex_;
  sqlite::Database database_;
  int64_t round_ = 0;
  std::unique_ptr<Statements> statements_;
};

}  // namespace partita::sums
