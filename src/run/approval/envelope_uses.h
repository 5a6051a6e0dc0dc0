// How many runs an envelope has paid for: a text file beside it with one line for each.
//
//   partita envelope uses 1 DIGEST_OF_THE_ENVELOPE
//   2026-09-01T12:00:00Z STUDY_FILE_HASH
//
// A run is counted before its first message leaves: the line is appended under an exclusive lock
// and synced to disk. A crash can waste a use, never forget one; a torn line counts as a use. Runs
// at the same time cannot overspend. Without the file the envelope is worth nothing.
#pragma once

#include <cstdint>
#include <filesystem>

#include "crypto/hash.h"

namespace partita::run {

// An empty record, in place of an earlier one. Throws kUsage if it cannot be written.
void StartEnvelopeUses(const std::filesystem::path& file, const crypto::Digest& envelope);

// Counts one run at the time `now` (base/utc_time.h) and returns how many there are now. Throws
// kRefused, and counts nothing, if `max_results` are counted already, if the file is missing or
// belongs to another envelope; kRefused as well if the count cannot be made durable.
uint64_t CountEnvelopeUse(const std::filesystem::path& file, const crypto::Digest& envelope,
                          uint64_t max_results, const crypto::Digest& agreement_hash, int64_t now);

// For people. Throws as above.
uint64_t EnvelopeUses(const std::filesystem::path& file, const crypto::Digest& envelope);

}  // namespace partita::run
