// What an auditor works on: outputs of a mechanism, run many times with a person's data (world P)
// and as often without, or with another person's in its place (world Q).
//
// Runs must be independent of each other, with fresh randomness. Any function of an output is an
// output too: rounding, or leaving coordinates out, weakens an audit and never makes it wrong.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace partita::privacy {

// Run by run, `dimension` numbers each. A run with a number that is not finite has "no output": it
// failed or was refused, which is an event like any other.
struct Outputs {
  size_t dimension = 1;
  std::vector<double> values;

  size_t runs() const { return values.size() / dimension; }
  std::span<const double> Run(size_t index) const {
    return std::span(values).subspan(index * dimension, dimension);
  }
};

struct AuditOptions {
  // Probability that correct code is flagged, over the whole call.
  double alpha = 1e-6;
  // Share of the runs on which the event is chosen; it is counted on the others, because counting
  // on the runs that chose it would break the bound.
  double training_share = 0.1;
};

// The two parts of the runs.
struct Split {
  size_t training = 0;  // runs [0, training) choose, the others count
};

// Throws kUsage for options out of range; kBadInput for samples of unlike dimension, or of fewer
// than 100 runs.
Split SplitRuns(const Outputs& sample, const AuditOptions& options);
void CheckWorlds(const Outputs& with, const Outputs& without, const AuditOptions& options);

}  // namespace partita::privacy
