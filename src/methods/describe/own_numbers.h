// What a holder counts and adds up of its own rows, in the clear, before it shares anything.
//
// A number x within its bounds is z = (x - centre) / half-width in [-1, 1] on the grid 2^-30, an
// integer; sums and sums of squares of these are exact.
#pragma once

#include <vector>

#include "base/int128.h"
#include "data/scaling.h"
#include "data/table.h"
#include "methods/describe/layout.h"

namespace partita::methods::describe {

inline constexpr int kValueBits = 30;

// Centre and half-width of the bounds of a number.
data::ColumnScale UnitScale(const data::ColumnSchema& schema);
// z, at kValueBits.
int64_t OnUnitGrid(const data::ColumnSchema& schema, double value);

struct OwnNumbers {
  std::vector<Int128> counts;  // rows of the layout x groups
  // Numbers of the layout x groups; at kValueBits and at twice as many.
  std::vector<Int128> sums, squares;
  std::vector<std::vector<Int128>>
      histograms;               // by number: cells x groups; none where nothing needs them
  std::vector<Int128> stratum;  // mantel_haenszel.h OwnStratum, where it is asked for
};

// Of a party without rows.
OwnNumbers NoNumbers(const Spec& spec);

// rows: those that take part, each with a level of the group if there is one. The table has been
// found clean, and has missing cells only if spec.missing. site: the holder, where it is the group.
OwnNumbers CountOwn(const Spec& spec, const data::Table& table, const std::vector<size_t>& rows,
                    size_t site = 0);

// Adds what was counted of other rows.
void AddNumbers(const Spec& spec, const OwnNumbers& more, OwnNumbers& own);

}  // namespace partita::methods::describe
