// Robust standard errors of Cox's model where rows of a cluster may depend on each other, or enter late:
// the meat, sums of uu' over units, which are clusters or rows, on shares.
//
// Method    A unit adds to the score, with what robust.h writes, over its rows
//
//             u = sum of d (x - M) - w x (L - L0) + w (A - A0)
//
//           L0 and A0 those of the cell of entry. Of two rows, or of entry and exit of one, the product
//           uu' pairs any two cells, so that no sums by cell are enough. Each holder puts of every unit
//           into matrices of units x cells, as inputs, the events, and w and w x of who leaves in the
//           cell less those of who enters, by Efron apart with the event and without; their products with
//           M, A and L are the u, which stay on shares, and so is the sum of their squares.
// Bounds    Over the rows at risk the w of a term add up to its S0, so that the sums of w (L - L0) over
//           all rows are at most the events.
// Error     u: 2^-39, of more than 2^16 rows 2^(unit_bits - 55); the meat 2^-56 in units of 2^unit_bits.
// Cost      An input of units x (p + cells x (p + 2)) numbers for each holder, by Efron units x cells x
//           (p + 1) more; hazards.h; matrix products of these with cuts of units x 3 p numbers, by
//           Efron 5 p; a Gram product of the units.
// Revealed  Nothing.
// Timing    constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include "methods/survival/cox/robust.h"

namespace partita::methods::survival {

// Of a holder, at a public point. Row by row, below one another a matrix of units x cells for each.
struct UnitSums {
  std::vector<Int128> scores;  // sums of x over the events: units x p, at ScoreBits
  std::vector<Int128> events;  // one matrix
  std::vector<Int128>
      weighted;  // w, then w x of each column, at kRiskBits: of who leaves less who enters
  std::vector<Int128> tied;  // apart: of who leaves with the event, who is not among the others
};
// units: as many as a holder may have.
UnitSums UnitSumsAt(const CoxRows& rows, const CoxCells& cells, const Eigen::VectorXd& point,
                    const RobustTask& task, size_t units);

// p x p, at most as RobustMeat's, with as many bits. own: UnitSumsAt at a holder, else empty.
mpc::Shared UnitMeat(mpc::Engine& engine, const RobustTask& task, const CoxTerms& terms,
                     const UnitSums& own);

}  // namespace partita::methods::survival
