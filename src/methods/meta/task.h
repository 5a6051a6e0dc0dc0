// What the protocol is given; a site's own estimate; the public candidates of tau^2.
//
// Units    Estimates and errors are divided by Spec::unit, so that they are at most 1.
// Ladder   tau^2 is searched twice among kRungs - 1 candidates, on a logarithmic scale: first from
//          1/4096 of the smallest squared error to 4, then between two neighbours. What is below the
//          first candidate less one more such distance counts as 0. So tau^2 opens within a factor of
//          TauPrecision, which the second pass determines.
#pragma once

#include <vector>

#include "methods/meta/spec.h"
#include "run/method/row_holder.h"

namespace partita::methods::meta {

struct SiteEstimate {
  bool usable = false;
  double estimate = 0, standard_error = 0;  // as the variables are
};

struct Task {
  Spec spec;
  std::vector<run::RowHolder> holders;  // each party once, with one row
  int grid_bits = 0;
  mpc::PartyIndex to = 0;  // the receiver, or mpc::kEverybody

  uint64_t min_sites() const { return spec.min_sites.value_or(holders.size()); }
};

inline constexpr int kRungBits = 6, kPasses = 2;
inline constexpr size_t kRungs = size_t{1} << kRungBits;

// An interval of tau^2 in units; what a pass leaves of it.
struct Ladder {
  double lower = 0, upper = 0;

  // Increasing, kRungs - 1 of them, inside.
  std::vector<double> Candidates() const;
  // Where so many candidates are below the estimate.
  Ladder Between(size_t below) const;
};
// Of the first pass.
Ladder WholeLadder(const Spec& spec);
// In units: of the last interval the middle, on the logarithmic scale. 0 where no candidate of any pass
// was below.
double TauSquaredOf(const Ladder& last, bool any_below);
// By which factor that is at most off.
double TauPrecision(const Spec& spec);

}  // namespace partita::methods::meta
