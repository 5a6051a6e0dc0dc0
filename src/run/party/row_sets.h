// Which rows of its table a holder has served with exact releases, in any study, so that no two
// sets differ by few: whoever has the exact results of both has those of the difference, and one
// person's values are in them.
//
// Record    A file beside the table, mode 0600: a random key, and of every set that was served the
//           sorted digests of its rows under that key. 8 bytes for a row of a set. Whoever has the
//           table can link its rows to the digests; it is as confidential as the table.
// Memory    8 bytes for a row of a set that is asked for; what was served passes (row_set_record.h).
// A row     is its key, where the study names a key column that the table has, else all its cells: a
//           corrected cell makes another row then. One of a matched block is also what it was matched
//           by: the canonical texts of all columns of the matching's keys. Studies that name rows in
//           different ways are not compared, nor matchings by other columns, headers or codes for
//           missing cells if all rows have changed in between.
// Rule      A set that differs from a served one by 1 to `least` - 1 rows, in any way to name them, is
//           refused, to the eyes of its owner only; the same set, in any of them, is served again.
//           Others learn that this party does not allow the run. Of rows of which nobody knows which
//           match the holder's own at positions are kept, and every cell of them as if it were a key:
//           any other set with one in common is refused, also of the same matching, and with the
//           same people and another cell, since nobody can see in how few people the two differ.
// Recorded  Before the first message of the protocol: a run that ends early has been served. Only
//           the owner can know that nothing opened, and may delete the file then. Of runs that
//           begin at once the later one to record is held to what the earlier one serves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "run/method/study.h"
#include "run/party/local_data.h"
#include "run/party/row_set_record.h"
#include "run/party/rows_apart.h"

namespace partita::run {

// DATA.row-sets, of a source file that names a file beside that. Throws as data::FileOfRows.
std::filesystem::path RowSetsPath(const std::filesystem::path& data);

class RowSets {
 public:
  // Reads the record, or starts one. Throws kBadInput for a file that is none.
  RowSets(std::filesystem::path file, crypto::RandomSource& random);

  // Takes in what the study would serve of the table at `data`, as it was loaded. Throws kRefused,
  // naming the number of rows, by the rule; kBadData if the table has changed in between.
  void Require(const Study& study, size_t party, const LocalData& local,
               const std::filesystem::path& data);
  // Writes the sets of the last Require, durably. Throws kRefused by the rule for what another run
  // has served since then, or if the record was replaced by one of another key, kStorage or kUsage
  // if the file cannot be written.
  void Record();

 private:
  // A set that was served, beside every one that is asked for, in the order of asked_.
  struct Served {
    std::vector<std::vector<BesideServed>> asked;
    bool hidden = false, cells_as_keys = false, of_matching = false;
  };

  // Throws kRefused if the record was replaced by one of another key.
  std::vector<Served> CompareWithServed() const;
  void RequireApart(const std::vector<Served>& served) const;
  static bool WasServed(const std::vector<Served>& served, size_t asked, size_t way);
  [[noreturn]] void ThrowApart(uint64_t rows) const;
  void RequireComparable(const RowDigests& set, const Served& served,
                         const BesideServed& apart) const;

  std::filesystem::path file_;
  crypto::Key key_;
  bool kept_ = false;  // the file is there, with the key
  std::string party_;
  uint64_t least_ = 0;
  uint64_t matching_ = 0;  // of the rows asked for, if which of them match is hidden
  std::vector<std::vector<RowDigests>> asked_;  // of every set, by the ways to name its rows
};

// As a run of the study would, without recording anything: for an approval. record: the file; nothing where
// it is not there, for then nothing was served of the table at `data` yet.
void RequireServable(const Study& study, size_t party, const std::filesystem::path& data,
                     const std::filesystem::path& record, crypto::RandomSource& random,
                     Progress& progress);

}  // namespace partita::run
