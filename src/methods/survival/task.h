// What the protocol is given. All of it is public.
#pragma once

#include <vector>

#include "methods/survival/spec.h"
#include "run/method/row_holder.h"

namespace partita::methods::survival {

struct Task {
  Spec spec;
  std::vector<run::RowHolder> holders;  // at least one, each party once
  int grid_bits = 0;                    // numbers open on 2^-grid_bits of their standard errors
  mpc::PartyIndex to = 0;               // the receiver, or mpc::kEverybody

  double max_rows() const { return static_cast<double>(run::MostRows(holders)); }
};

// The number of a party among holders, where these are strata.
inline size_t SiteOf(const std::vector<run::RowHolder>& holders, size_t party) {
  size_t site = 0;
  while (site < holders.size() && holders[site].party != party) ++site;
  return site;
}

}  // namespace partita::methods::survival
