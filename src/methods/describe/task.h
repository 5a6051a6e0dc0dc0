// What the protocol is given: the table, and who holds what of its rows. All of it is public.
//
// Rows      Those that the same parties hold: one party, or several of whom each has columns of all
//           of them, in one order. Every party has rows of one kind only.
// Selects   Which group a row is of, and whether it takes part, is known to one part, which
//           `selects`; without a group and conditions to none.
// Crossed   A variable of which some rows have it and the group at two parties.
#pragma once

#include <cstdint>
#include <vector>

#include "methods/describe/spec.h"
#include "mpc/engine.h"
#include "run/method/row_holder.h"

namespace partita::methods::describe {

struct Part {
  mpc::PartyIndex party = 0;
  std::vector<size_t> variables;  // of the table, increasing
};

struct Rows : run::RowHolder {   // its first party, or its only one
  std::vector<Part> parts = {};  // none: that party has whole rows
  size_t selecting = 0;          // of the parts
  bool selects = false;
};

struct Task {
  Spec spec;
  std::vector<Rows> holders;  // at least one, each party once
  int grid_bits = 0;          // means open on 2^-grid_bits of their standard errors
  mpc::PartyIndex to = 0;     // the receiver, or mpc::kEverybody
  bool named = false;  // whether some rows are of several parties, who know whose rows they are

  uint64_t max_rows() const;
  // By variable, 1 or 0: of these rows, and of any.
  std::vector<uint8_t> Crossed(const Rows& rows) const;
  std::vector<uint8_t> Crossed() const;
};

// What a part of rows describes: its variables, with the group only where it has that, and nothing
// that compares holders.
Spec PartSpec(const Spec& spec, const Part& part, bool has_group);

}  // namespace partita::methods::describe
