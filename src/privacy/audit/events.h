// Events that tell two worlds apart, chosen on the first part of the runs.
//
// Tried are, for every coordinate and for one linear classifier over all of them: {x >= t},
// {x <= t}, {x = v}; and {no output}. The classifier is the likelihood ratio of two normal laws of
// equal covariance (Fisher's discriminant, with a ridge of 1e-9): the best one for Gaussian noise,
// and it finds noise that was used twice, because then a direction without noise exists.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "privacy/audit/confidence.h"
#include "privacy/audit/outputs.h"

namespace partita::privacy {

enum class Comparison { kAtLeast, kAtMost, kEqual, kNoOutput };

// {direction . output COMPARISON value}.
struct OutputEvent {
  std::vector<double> direction;
  Comparison comparison = Comparison::kAtLeast;
  double value = 0;
};

// "x >= 3.25", "x[2] = 7", "classifier >= 0.31", "no output".
std::string EventText(const OutputEvent& event);

// How often it happened in runs [first, end).
Count CountEvent(const Outputs& sample, const OutputEvent& event, size_t first);

// How much an event with these counts would show; larger is better. `exchanged` says that the
// first count is of world Q.
using Merit = std::function<double(const Count& first, const Count& second)>;

struct ChosenEvent {
  OutputEvent event;
  bool exchanged = false;  // the event is more likely in world Q
};

// The event of most merit on the training runs, in both directions. Time O(d n log n).
ChosenEvent ChooseEvent(const Outputs& with, const Outputs& without, const AuditOptions& options,
                        const Merit& merit);

// Direction of the linear classifier from world Q to world P, of length 1, from the training runs.
std::vector<double> LinearClassifier(const Outputs& with, const Outputs& without,
                                     const AuditOptions& options);

}  // namespace partita::privacy
