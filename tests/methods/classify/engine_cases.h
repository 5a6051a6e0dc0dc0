// The engines that sums of classifiers are tested on, and a table in parts.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mpc/replicated_engine.h"
#include "tests/mpc/harness.h"
#include "tests/stats/erm/reference.h"

namespace partita::methods::classify {

struct EngineCase {
  const char* kind;
  size_t parties;
};
inline constexpr EngineCase kEngines[] = {{"dealer", 2}, {"dealer", 3}, {"replicated", 3}};

inline mpc::testing::RunOptions OptionsFor(const EngineCase& engine_case, mpc::Release release) {
  mpc::testing::RunOptions options;
  options.kind = engine_case.kind;
  options.num_parties = engine_case.parties;
  options.releases = {std::move(release)};
  if (options.kind == "replicated") options.make = mpc::MakeReplicatedEngine;
  return options;
}

// The table of 24 rows in as many parts.
inline std::vector<stats::erm::LabelledRows> Tables(size_t parties) {
  return stats::erm::testing::Parts(
      stats::erm::testing::SmallTable(),
      parties == 2 ? std::vector<int>{7, 17} : std::vector<int>{7, 16, 1});
}

}  // namespace partita::methods::classify
