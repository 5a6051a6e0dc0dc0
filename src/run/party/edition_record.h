// The files of a table's editions, each mode 0600, written whole and durable:
//
//   RECORD             the salt, the editions with dates and numbers of rows, by how many persons each differs from
//                      those before it, and digests of withdrawn keys. What it does not name is not there: it is
//                      written after the two below, which an interrupted opening leaves behind
//   RECORD-N.frozen    all columns and rows of edition N (data/source/freeze.h); of the newest alone
//   RECORD-N.digests   digests of its cells (data/source/cell_digests.h), of the newest and of those that exact
//                      studies were served of; 8 bytes a cell
//
// All of them are as confidential as the table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "crypto/hash.h"
#include "crypto/random.h"
#include "data/source/cell_digests.h"

namespace partita::run {

struct Edition {
  uint64_t number = 0;  // 1, 2, ...
  int64_t opened = 0;   // UTC
  uint64_t rows = 0;
  crypto::Digest extract{};  // SHA-256 of its file
  bool served = false;       // an exact study was given it
  std::string reason;        // of the steward, for one that the rule did not open
  // From each edition before it that was served, by its number.
  std::vector<std::pair<uint64_t, data::PersonsApart>> apart;
};

struct EditionRecord {
  crypto::Key salt{};
  uint64_t asked = 0;  // the most persons apart that an exact study of it has asked for
  std::vector<Edition> editions;
  std::string key;                  // of `withdrawn`: the column
  std::vector<uint64_t> withdrawn;  // CellDigest of keys whose rows no edition has any more; sorted

  const Edition* Find(uint64_t number) const;
};

// None where there is no file. Throws kBadInput for a damaged one.
std::optional<EditionRecord> ReadEditionRecord(const std::filesystem::path& record);
void WriteEditionRecord(const std::filesystem::path& record, const EditionRecord& content);

std::filesystem::path ExtractPath(const std::filesystem::path& record, uint64_t number);
// Throws kBadInput if the file is not there or not the one that was written with this salt.
data::CellDigests ReadEditionDigests(const std::filesystem::path& record, uint64_t number,
                                     const crypto::Key& salt);
void WriteEditionDigests(const std::filesystem::path& record, uint64_t number,
                         const crypto::Key& salt, const data::CellDigests& digests);
// Removes what no edition of the record needs any more, and what an interrupted opening left.
void RemoveOldFiles(const std::filesystem::path& record, const EditionRecord& content);

}  // namespace partita::run
