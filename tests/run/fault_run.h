// One run of a study by threads in which one thing fails at one place, and what must hold after it:
// what every ledger says, and what every party had received.
//
// A party stops where a frame of a link begins, to be sent or received: with an error of its own,
// of which the others are told, or as if it was killed, ledger and all; or it loses the link. Or a
// store operation of its ledger fails. Or a frame that it sends becomes another one on its way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "run/party/party.h"
#include "tests/privacy/ledger/crash_vfs.h"

namespace partita::testing {

// A study with its tables, ledgers and stored correlations.
struct FaultStudy {
  std::string name;  // "mle moments, replicated"
  std::shared_ptr<const run::Study> study;
  // Of the tables, PARTY.csv, of stored correlations, PARTY.store, and of what a stopped run
  // leaves.
  std::filesystem::path folder;
  bool goes_on = false;      // whether a stopped run can be gone on with
  bool own_folders = false;  // tables are PARTY/data.csv, with what is matched beside them
};

struct Fault {
  enum class Kind {
    kNone,
    kError,  // the party stops with an error
    kKill,   // it is gone, and so is its disk
    kCut,    // the link is cut
    // What arrives instead of frame `number` that is no sign of life; with a header that fits it.
    kGarbage,     // as many other bytes
    kShort,       // a byte less
    kLong,        // a byte more
    kTwice,       // the frame, and once more
    kReplay,      // the frame of an earlier run
    kStoreIo,     // from here on operations on the ledger's file: this one fails
    kStoreFull,   // for lack of space
    kStoreDone,   // it is carried out, but reported as failed
    kStorePower,  // it and all later ones fail, until the power is back
    kStoreHeld,   // from this request for a write lock on another process holds the file
  };
  Kind kind = Kind::kNone;
  size_t party = 0;
  // Of a link: before frame `number` (from 0) to or from `peer`. Of a store: operation or request
  // `number` (from 1).
  size_t peer = 0;
  bool receives = false;
  uint64_t number = 0;
};
std::string Text(const Fault& fault);

struct ReceivedFrame {
  size_t from = 0;
  bool data = false, abort = false;
  std::string phase;  // of data
  Bytes payload;
};

// A party's account after the run; zeros if it has none.
struct LedgerEnd {
  bool kept = false;
  uint64_t reserved = 0, spent = 0, refunded = 0;  // entries since the run began
};

struct RunEnd {
  std::optional<run::PartyOutcome> outcome;
  std::optional<Error> error;
  std::vector<ReceivedFrame> received;
  uint64_t oks_sent = 0;                               // frames of the phase that were begun
  std::vector<uint64_t> frames_sent, frames_received;  // by peer
  std::vector<uint64_t> altered;                       // frames that could have been, by peer
  uint64_t store_operations = 0, store_locks = 0;
  LedgerEnd ledger;
  uint64_t served_bytes = 0;  // of a holder's record of rows that it served
};

// Of one study, any number of runs, each from the same ledgers.
class FaultRuns {
 public:
  explicit FaultRuns(FaultStudy study);
  ~FaultRuns();

  // All processes, by channel index.
  std::vector<RunEnd> Run(const Fault& fault);
  // Once more, undisturbed, with the ledgers and what else the last Run left.
  std::vector<RunEnd> GoOn();
  // What must hold after a run and does not, one sentence each. went_on: after GoOn.
  std::vector<std::string> Violations(const Fault& fault, const std::vector<RunEnd>& ends,
                                      bool went_on = false) const;

  // Every frame of an undisturbed run at its sender and at its receiver, and every operation and
  // write lock of every ledger.
  std::vector<Fault> EveryFault();

  // Every frame of an undisturbed run that is no sign of life, altered in each way. What is garbage in one
  // that carries nothing is left out.
  std::vector<Fault> EveryAlteration();

  // Whether this party could compute something that the study releases, as cautiously as can be
  // said: all others told it that it may be opened, or it received anything that was sent later, or
  // it received all that an undisturbed run sends it.
  bool CouldOpen(size_t party, const RunEnd& end) const;

  const FaultStudy& study() const { return study_; }
  // A frame of the run before the first alteration.
  std::string PhaseOf(const Fault& fault) const;

 private:
  struct Disk;
  void MakeLedgers();
  std::vector<RunEnd> RunAll(const Fault& fault, bool afresh);
  std::string PhaseOf(ByteView tag) const;
  bool IsNoticed(const Fault& fault) const;
  bool IsAfterOk(const std::string& phase) const;

  FaultStudy study_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Disk>> disks_;              // by party
  std::map<Bytes, std::string> phases_;                   // by tag
  std::vector<std::string> order_;                        // of the plan's phases
  std::vector<std::map<std::string, uint64_t>> planned_;  // messages to a party, by phase
  std::vector<std::string> local_facts_;
  std::vector<RunEnd> undisturbed_;
  std::vector<std::vector<std::vector<Bytes>>> earlier_;  // frames by sender and receiver
  bool keeps_ = false;                                    // in earlier_
};

}  // namespace partita::testing
