// Which run the charge of a party's ledger is for, over any number of restarts.
//
// A party's state folder keeps the id of the attempt whose reservation pays for the run: written
// before that reservation is made, and replaced only when another one is made. A restart finds its
// reservation by it: still open, nothing of it can have opened, and it is taken up; spent, it
// covers the restart if the method keeps what prevents a second opening (Study::GoesOn).
//
// The folder is locked from construction to destruction, so that two processes never share one
// charge.
#pragma once

#include <filesystem>
#include <optional>

#include "crypto/hash.h"

namespace partita::run {

class ChargedRun {
 public:
  // Makes the folder if need be. A file of another study is as none. Throws kRefused while another
  // process runs a study in this folder, kBadInput for a damaged file.
  ChargedRun(const std::filesystem::path& folder, const crypto::Digest& agreement_hash);
  ChargedRun(const ChargedRun&) = delete;
  ChargedRun& operator=(const ChargedRun&) = delete;
  ~ChargedRun();

  const std::optional<crypto::Digest>& run_id() const { return run_id_; }
  // Durable on return.
  void Begin(const crypto::Digest& run_id);

 private:
  std::filesystem::path file_;
  crypto::Digest agreement_hash_;
  std::optional<crypto::Digest> run_id_;
  int lock_ = -1;
};

}  // namespace partita::run
