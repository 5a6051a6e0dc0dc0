// A party with whole rows, as a protocol needs it: public.
#pragma once

#include <cstdint>

#include "mpc/engine.h"

namespace partita::run {

struct RowHolder {
  mpc::PartyIndex party = 0;
  uint64_t max_rows = 0;  // of its blocks together, as declared or assumed
};

}  // namespace partita::run
