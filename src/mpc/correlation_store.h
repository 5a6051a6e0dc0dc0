// Correlations that were made ahead of the run that uses them, on disk, each used at most once.
//
// A store belongs to one party, one study and one generation: a random name that the parties agreed
// on when they began to make correlations together, and their certificates' fingerprints. It holds
// packages, numbered from 0; what one party has under a number fits what the others have under it
// (ahead.h makes one package for one run). A mark says which are spent: all below it. With a store
// for each study, no study spends what was made for another.
//
// Used once (rule R8). Take makes the mark durable before it reads anything, so whatever happens
// afterwards, the package is never handed out again: a crash wastes packages, it never repeats one.
// A run sends nothing under a package before all parties' marks are durable (TakeTogether): else
// one could crash before its mark, the other's file come back from a backup, and no mark tell.
// Before the first Take of a run the parties tell each other their marks and all go on from the
// largest (AgreeOnPackages): after one party's file was restored from a backup, the others' marks
// win. If all parties restore old files at the same time, no mark tells of it: files with
// correlations belong in no backup. A spent package is overwritten, so that its masks do not
// outlive the run (on media that keep old blocks, as far as those let one overwrite).
//
// Errors: kUsage for files in use or of another kind, and for all that follows a failed write,
// kBadInput for a store of other parties, of another study or of another generation, kRefused for a
// package that is spent or not there. A package that was not written to its end, or does not match
// its checksum, does not count as there.
//
// File: one block with what it is for, two slots for the mark that are written in turn, and the
// packages; all with SHA-256, so that a torn write is noticed. Secret: whoever reads a package
// knows the masks of the run that uses it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crypto/hash.h"
#include "mpc/store_file.h"
#include "net/channel.h"

namespace partita::mpc {

// What a store is for.
struct StoreIdentity {
  crypto::Digest generation{};            // random, agreed
  std::vector<std::string> fingerprints;  // of all who take part in making, in roster order
  uint64_t self = 0;
  std::string study;            // its name, for messages
  crypto::Digest study_hash{};  // of its file
  bool operator==(const StoreIdentity&) const = default;
};

// What is known of a package without reading it.
struct PackageFacts {
  uint64_t number = 0, size = 0;  // bytes
  crypto::Digest label{};
};

class CorrelationStore {
 public:
  // A new, empty store. Throws kUsage if the storage is not empty.
  static CorrelationStore Create(std::unique_ptr<StoreStorage> storage, StoreIdentity identity);
  // An existing one. Throws kUsage if it is none.
  static CorrelationStore Open(std::unique_ptr<StoreStorage> storage);
  // As above; throws kBadInput if it is that of other parties or of another study. The generation
  // does not matter here.
  static CorrelationStore Open(std::unique_ptr<StoreStorage> storage,
                               const StoreIdentity& expected);

  const StoreIdentity& identity() const { return identity_; }
  // Packages below are spent.
  uint64_t mark() const { return mark_; }
  // Of the packages that are there and not spent, ascending.
  std::vector<uint64_t> Numbers() const;
  std::vector<PackageFacts> Packages() const;
  // The lowest number that no package here has or had.
  uint64_t NextNumber() const;

  // Durable when it returns. `number` is at least NextNumber(). label: what it was made for.
  void Append(uint64_t number, const crypto::Digest& label, ByteView package);
  // Makes the mark at least `mark`, durable when it returns.
  void Spend(uint64_t mark);
  // Marks it and all before it spent, then hands it out and overwrites it. Throws kRefused, with
  // the mark as it was, if it is spent or not there, or was made for something else.
  Bytes Take(uint64_t number, const crypto::Digest& label);

 private:
  struct Place {
    uint64_t offset = 0, size = 0;
    crypto::Digest label{}, checksum{};
  };

  CorrelationStore(std::unique_ptr<StoreStorage> storage, StoreIdentity identity);
  void WriteMark(uint64_t mark);
  void CheckWhole() const;
  void ReadMark();
  void ReadPlaces();
  void EraseSpent();

  std::unique_ptr<StoreStorage> storage_;
  StoreIdentity identity_;
  uint64_t mark_ = 0;
  uint64_t sequence_ = 0;  // of the mark's slot
  uint64_t end_ = 0;       // where the next package goes
  uint64_t next_number_ = 0;
  std::map<uint64_t, Place> places_;  // by number
  bool broken_ = false;               // writing failed
};

// The same at everybody.
struct AgreedPackages {
  std::vector<uint64_t> usable;  // numbers that all have, for this label, and that none has spent
  uint64_t next_number = 0;      // for packages that are made next: new to all
};

// What every party sends every other in the two rounds of AgreeOnPackages.
inline constexpr size_t kMarkStatementBytes = 32 + 8 + 8;
inline constexpr size_t kPackageMapBytes = 256;
// And in the round of TakeTogether.
inline constexpr size_t kTakenBytes = 1;

// Makes the largest mark of all parties that of every party, durable before anybody goes on. Two
// rounds with every one of the first `num_parties` parties of the channel: kMarkStatementBytes with
// generation, mark and next number, then, once the own mark is durable, kPackageMapBytes, a bit for
// each of the numbers from the mark on that may be there; what lies behind is not considered.
// Throws kBadInput if a peer's store is of another generation, kPeerFault for numbers that cannot
// be. A peer that lies about its mark can make packages useless, never make one used twice.
// label: only packages that were made for this; empty: any.
AgreedPackages AgreeOnPackages(net::Channel& channel, size_t num_parties, CorrelationStore& store,
                               const std::optional<crypto::Digest>& label = {});

// CorrelationStore::Take at every party, then one round in which each tells the others that its
// mark is durable: kTakenBytes to every other one of the first `num_parties` parties of the
// channel. Throws as Take and the channel; the package is spent here then.
Bytes TakeTogether(net::Channel& channel, size_t num_parties, CorrelationStore& store,
                   uint64_t number, const crypto::Digest& label);

}  // namespace partita::mpc
