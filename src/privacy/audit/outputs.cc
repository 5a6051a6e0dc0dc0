#include "privacy/audit/outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace partita::privacy {
namespace {

constexpr size_t kFewestRuns = 100;

void CheckSample(const Outputs& sample) {
  if (sample.dimension == 0 || sample.values.size() % sample.dimension != 0) {
    throw Error(ErrorCode::kBadInput, fmt::format("{} numbers are not outputs of {} numbers each",
                                                  sample.values.size(), sample.dimension));
  }
  if (sample.runs() < kFewestRuns) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("{} runs are too few to audit anything", sample.runs()),
                "use at least 100 runs in each world; 100000 are usual");
  }
}

}  // namespace

Split SplitRuns(const Outputs& sample, const AuditOptions& options) {
  const auto runs = static_cast<double>(sample.runs());
  return {static_cast<size_t>(std::floor(runs * options.training_share))};
}

void CheckWorlds(const Outputs& with, const Outputs& without, const AuditOptions& options) {
  if (!(options.alpha > 0 && options.alpha < 1)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the error rate {} is not between 0 and 1", options.alpha));
  }
  if (!(options.training_share >= 0.01 && options.training_share <= 0.9)) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("a share of {} of the runs cannot choose the event", options.training_share),
        "use a share from 0.01 to 0.9");
  }
  CheckSample(with);
  CheckSample(without);
  if (with.dimension != without.dimension) {
    throw Error(ErrorCode::kBadInput, fmt::format("outputs of {} and of {} numbers do not compare",
                                                  with.dimension, without.dimension));
  }
}

}  // namespace partita::privacy
