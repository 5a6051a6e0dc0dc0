#include "mpc/release_gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/hash.h"

namespace partita::mpc {

void CountingReleaseGate::Reserve(const std::vector<Release>& releases) {
  if (reserved_) {
    throw Error(ErrorCode::kRefused, "the releases of this run were already reserved",
                "use one release gate per run");
  }
  for (const Release& release : releases) {
    bool known = std::any_of(counts_.begin(), counts_.end(),
                             [&](const Count& count) { return count.release.id == release.id; });
    if (known) {
      throw Error(ErrorCode::kRefused,
                  fmt::format("release '{}' is declared twice in the plan", release.id),
                  "declare it once, with the number of times it may be opened");
    }
    counts_.push_back({release, 0});
  }
  reserved_ = true;
}

void CountingReleaseGate::Opening(std::string_view release_id, size_t to_party,
                                  uint64_t num_values) {
  if (!reserved_ || finished_) {
    throw Error(ErrorCode::kRefused,
                fmt::format("release '{}' was asked for {}", release_id,
                            finished_ ? "after the run had finished" : "before any was reserved"),
                "reserve the plan's releases before the run and finish it after the last opening");
  }
  auto count = std::find_if(counts_.begin(), counts_.end(), [&](const Count& candidate) {
    return candidate.release.id == release_id;
  });
  if (count == counts_.end()) {
    throw Error(ErrorCode::kRefused,
                fmt::format("release '{}' is not declared in the plan", release_id),
                "nothing may be opened that the plan does not list");
  }
  if (count->opened >= count->release.max_count) {
    throw Error(ErrorCode::kRefused,
                fmt::format("release '{}' was already opened {} times, as often as the plan allows",
                            release_id, count->opened),
                "state a larger maximum count in the study and have it approved");
  }
  if (count->release.to_party.value_or(to_party) != to_party ||
      count->release.num_values.value_or(num_values) != num_values) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("release '{}' was about to be opened to another recipient, or with another "
                    "number of values, than the plan says",
                    release_id),
        "this is a defect of the method: please report it");
  }
  ++count->opened;
}

void CountingReleaseGate::Finish() { finished_ = true; }

Bytes AgreedReleaseGate::Commit() {
  if (!reserved() || committed_) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the parties were to agree to open {}",
                            committed_ ? "a second time" : "before anything was reserved"),
                "this is a defect of the method: please report it");
  }
  committed_ = true;
  crypto::Sha256 hash;
  hash.Field("partita release ok").Field(run_id_).U64(counts().size());
  for (const Count& count : counts()) {
    const Release& release = count.release;
    hash.Field(release.id).Field(release.what).Field(release.to).Field(release.mechanism);
    hash.U64(release.max_count);
    hash.U64(release.to_party.value_or(UINT64_MAX)).U64(release.num_values.value_or(UINT64_MAX));
  }
  const crypto::Digest digest = hash.Finish();
  static_assert(std::tuple_size_v<crypto::Digest> == kOkBytes);
  return {digest.begin(), digest.end()};
}

void AgreedReleaseGate::Opening(std::string_view release_id, size_t to_party, uint64_t num_values) {
  if (!agreed_) {
    throw Error(ErrorCode::kRefused,
                fmt::format("release '{}' was about to be opened before all parties agreed to it",
                            release_id),
                "this is a defect of the method: please report it");
  }
  CountingReleaseGate::Opening(release_id, to_party, num_values);
}

}  // namespace partita::mpc
