#include "run/approval/envelope_uses.h"

#include <fmt/format.h>

#include <string>

#include "base/utc_time.h"
#include "run/approval/uses_record.h"

namespace partita::run {
namespace {

constexpr CountedDocument kEnvelope = {
    "envelope",
    "Sign the envelope again: partita study approve --envelope ENVELOPE.toml --party PARTY."};

}  // namespace

void StartEnvelopeUses(const std::filesystem::path& file, const crypto::Digest& envelope) {
  UsesRecord::Start(file, kEnvelope, envelope);
}

uint64_t CountEnvelopeUse(const std::filesystem::path& file, const crypto::Digest& envelope,
                          uint64_t max_results, const crypto::Digest& agreement_hash, int64_t now) {
  UsesRecord record(file, kEnvelope, envelope, UsesRecord::Access::kCount);
  if (record.lines().size() >= max_results) {
    record.Refuse(fmt::format("all {} runs that the envelope allows are used up", max_results),
                  "Approve the study by itself, or sign a new envelope.");
  }
  record.Append(fmt::format("{} {}", FormatUtc(now), ToHex(agreement_hash)));
  return record.lines().size();
}

uint64_t EnvelopeUses(const std::filesystem::path& file, const crypto::Digest& envelope) {
  return UsesRecord(file, kEnvelope, envelope, UsesRecord::Access::kRead).lines().size();
}

}  // namespace partita::run
