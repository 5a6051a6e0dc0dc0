// What the protocol is given: the table, and who holds what of its rows. All of it is public.
//
// Rows      Those that the same parties hold: one party, or several of whom each has columns of all
//           of them, in one order. Every party has rows of one kind only.
// Selects   Which group a row is of, and whether it takes part, is known to one part, which
//           `selects`; without a group and conditions to none.
// Crossed   A variable of which some rows have it and the group at two parties.
// Hidden    Rows of which nobody knows which match (hidden_groups.h): positions, at which every party
//           says whether it has a row that takes part.
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
  size_t selecting = 0;          // of the parts; of hidden rows the one with the group
  bool selects = false;          // of hidden rows: whether there is a group
  bool hidden = false;  // then all parties of the rows are parts, with variables or without

  // Whether what a part describes is counted by products, else in the clear.
  bool ByProduct(size_t part) const { return hidden || (selects && part != selecting); }
};

struct Task {
  Spec spec;
  std::vector<Rows> holders;  // at least one, each party once
  int grid_bits = 0;          // means open on 2^-grid_bits of their standard errors
  mpc::PartyIndex to = 0;     // the receiver, or mpc::kEverybody
  bool named = false;  // whether some rows are of several parties, who know whose rows they are

  uint64_t max_rows() const;
  bool hidden() const;  // whether nobody knows which rows match; then they are one entry of holders
  // Whether rows that do not take part count as one more group of what is compared.
  bool compares_left_out() const { return named && !hidden(); }
  // By variable, 1 or 0: of these rows, and of any.
  std::vector<uint8_t> Crossed(const Rows& rows) const;
  std::vector<uint8_t> Crossed() const;
};

// What a part of rows describes: its variables, with the group only where it has that, and nothing
// that compares holders.
Spec PartSpec(const Spec& spec, const Part& part, bool has_group);

}  // namespace partita::methods::describe
