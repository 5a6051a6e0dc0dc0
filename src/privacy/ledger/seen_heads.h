// What this host has seen of a ledger: a text file beside it, FILE.seen, with the newest number and
// hash of its chains after every write.
//
//   PSEUDONYM NUMBER HASH
//
// A ledger file that was put back from a copy lacks a line that is there, and is refused by every
// command, before any peer has to notice. Lines are appended after the commit, and not synced:
// after a power failure the newest may be missing, but none is there that the ledger did not have.
// That is against mistakes: who puts back both files, or removes this one, is found out by the
// peers only (receipts.h).
#pragma once

#include <filesystem>
#include <vector>

#include "privacy/ledger/receipts.h"

namespace partita::privacy::ledger {

class SeenHeads {
 public:
  static std::filesystem::path PathOf(const std::filesystem::path& ledger);

  // Reads nothing yet.
  explicit SeenHeads(const std::filesystem::path& ledger) : file_(PathOf(ledger)) {}

  // All lines, in the order in which they were written; those that a power failure tore are left
  // out. Empty if there is no file. To be asked for before the ledger is read: what is written in
  // between is then in the ledger. Throws kUsage if the file cannot be read.
  std::vector<Head> Read() const;
  // Best effort: the ledger itself holds what was written.
  void Append(const std::vector<Head>& heads) const noexcept;

  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
};

}  // namespace partita::privacy::ledger
