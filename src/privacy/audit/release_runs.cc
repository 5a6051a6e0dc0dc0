#include "privacy/audit/release_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace partita::privacy {
namespace {

constexpr uint64_t kChunkValues = uint64_t{1} << 16;

void CheckRelease(const SharedRelease& release, std::span<const size_t> known) {
  if (release.with.empty() || release.with.size() != release.without.size()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("statistics of {} and of {} numbers are no neighbours",
                            release.with.size(), release.without.size()));
  }
  for (const size_t party : known) {
    if (party < release.shares.size() && std::count(known.begin(), known.end(), party) == 1) {
      continue;
    }
    throw Error(ErrorCode::kUsage,
                fmt::format("party {} is not one of {} that add noise, or is listed twice",
                            party + 1, release.shares.size()));
  }
}

}  // namespace

Outputs ObserveRuns(const SharedRelease& release, World world, std::span<const size_t> known,
                    uint64_t runs, crypto::RandomSource& random) {
  CheckRelease(release, known);
  const size_t dimension = release.with.size();
  const std::vector<Int128>& statistic = world == World::kWith ? release.with : release.without;
  Outputs outputs{dimension, {}};
  outputs.values.reserve(runs * dimension);
  const uint64_t chunk = std::max<uint64_t>(1, kChunkValues / dimension);
  std::vector<Int128> published;
  std::vector<Int128> view;
  std::vector<Int128> share;
  for (uint64_t done = 0; done < runs; done += chunk) {
    const auto values = static_cast<size_t>(std::min(chunk, runs - done) * dimension);
    published.resize(values);
    for (size_t i = 0; i < values; ++i) published[i] = statistic[i % dimension];
    view.assign(values, 0);  // what the adversary subtracts
    share.resize(values);
    for (size_t party = 0; party < release.shares.size(); ++party) {
      release.shares[party](random, share);
      const bool is_known = std::find(known.begin(), known.end(), party) != known.end();
      for (size_t i = 0; i < values; ++i) {
        published[i] += share[i];
        if (is_known) view[i] += share[i];
      }
    }
    for (size_t i = 0; i < values; ++i) {
      outputs.values.push_back(
          static_cast<double>(published[i] - view[i] - release.without[i % dimension]));
    }
  }
  return outputs;
}

}  // namespace partita::privacy
