// The file of a record of served rows (row_sets.h): a key and sets of digests under it, each sorted. It is read
// block by block, so that memory does not grow with what was served.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "crypto/random.h"

namespace partita::run {

// Sorted, each once.
using RowDigests = std::vector<uint64_t>;

struct RowSetRecord {
  crypto::Key key;
  uint64_t num_sets = 0;
};

// As messages call it.
const std::string& RowSetRecordName();

// Of a file that is another one than was read before: digests under two keys say nothing of each other.
Error ReplacedRecord(const std::filesystem::path& file);

// Takes the next digests of a set, at least once for each.
using TakeDigests = std::function<void(uint64_t set, std::span<const uint64_t> digests)>;
// None where there is no file. Throws kBadInput for one that is damaged; what `take` was given is to be believed
// only if it does not throw.
std::optional<RowSetRecord> ReadRowSets(const std::filesystem::path& file, const TakeDigests& take);

// Writes the record, as it was read, with more sets behind its own; without sets there need be no file before.
// Durable on return. Throws as ReadRowSets, kStorage or kUsage, and ReplacedRecord.
void WriteRowSets(const std::filesystem::path& file, const RowSetRecord& record,
                  std::span<const RowDigests> more);

}  // namespace partita::run
