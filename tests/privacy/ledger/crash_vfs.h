// A disk in memory that loses power: an SQLite file system whose un-synced writes, truncations,
// creations and deletions survive a crash in part, in any combination, torn at sectors or pages.
//
// The model is that of POSIX: a sync makes one file's content durable; a new file's name is durable
// after the first sync of the file (as SQLite's own Unix file system does by syncing the folder
// too), a deletion after a sync of the folder. Until then anything may have happened.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace partita::privacy::ledger {

class CrashDisk {
 public:
  // Registers itself as an SQLite file system with this name, until destroyed.
  explicit CrashDisk(std::string name);
  ~CrashDisk();
  CrashDisk(const CrashDisk&) = delete;
  CrashDisk& operator=(const CrashDisk&) = delete;

  enum class Failure {
    kNone,
    kPower,    // from the operation on everything fails until Crash
    kIo,       // the operation fails with an input/output error, once
    kNoSpace,  // the operation fails for lack of space, once
    kIoDone,   // the operation is carried out, but reported as failed, once
  };
  // The `operation`-th write, truncation, sync, creation or deletion from now (the first is 1).
  void FailAt(uint64_t operation, Failure failure);
  uint64_t operations() const { return operations_; }
  bool failed() const { return fired_; }

  enum class Survivors { kNothing, kEverything, kPart };
  // Another process holds every file from the `request`-th request for a write lock from now on
  // (the first is 1); 0: never. Waiting for it takes no time here.
  void HoldAt(uint64_t request);
  uint64_t lock_requests() const { return lock_requests_; }
  // For the SQLite callbacks.
  bool LockIsFree();

  // What is on the disk after power is back. kPart: each un-synced operation whole, torn at 512
  // bytes, torn at 4096 bytes, or not at all; in lost parts of a grown file there is garbage.
  void Crash(Survivors survivors, uint64_t seed);

  // A copy of everything, and back: all of it durable.
  using Image = std::map<std::string, std::vector<uint8_t>>;
  Image Save() const;
  void Load(const Image& image);

  // A lying disk: syncs of the folder do nothing. What SQLite's synchronous=FULL leaves out.
  void IgnoreDirectorySyncs(bool ignore) { ignore_directory_syncs_ = ignore; }

  struct Change {
    bool truncation = false;
    uint64_t offset = 0;  // of a truncation: the new size
    std::vector<uint8_t> bytes;
  };
  struct File {
    std::vector<uint8_t> now, durable;
    std::vector<Change> pending;
    bool name_durable = false;  // there after a crash
    bool deleted = false;       // gone now, maybe back after a crash
  };

  // For the SQLite callbacks. Whether this operation may go on; if not, the result code.
  int Operation();
  bool report_failure_after() const { return report_failure_after_; }
  void clear_report() { report_failure_after_ = false; }
  bool dead() const { return dead_; }
  bool ignore_directory_syncs() const { return ignore_directory_syncs_; }
  std::map<std::string, std::shared_ptr<File>>& files() { return files_; }
  std::map<std::string, std::shared_ptr<File>>& removed() { return removed_; }

 private:
  std::map<std::string, std::shared_ptr<File>> files_;
  std::map<std::string, std::shared_ptr<File>> removed_;  // deleted, but not durably
  uint64_t operations_ = 0, fail_at_ = 0;
  uint64_t lock_requests_ = 0, hold_at_ = 0;
  Failure failure_ = Failure::kNone;
  bool fired_ = false, dead_ = false, report_failure_after_ = false;
  bool ignore_directory_syncs_ = false;
  struct Registration;
  std::unique_ptr<Registration> registration_;
};

}  // namespace partita::privacy::ledger
