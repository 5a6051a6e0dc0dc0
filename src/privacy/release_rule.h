// The release rule of exact results: how many bits open, against how many bits the table of
// covariates has.
//
// A table        The numbers n_k of rows with pattern k of K: whole numbers. One opened double
//                holds 40 to 50 bits of them, so that a few estimates determine all of them, and
//                lattice reduction finds them (tests/privacy/lattice_attack_test.cc).
// H              log2 C(n + K - 1, K - 1): as many bits as there are tables of n rows, n those that
//                an adversary does not have itself.
// B              Bits that open: log2(1 / g) for a number on the grid g, log2(n) / 2 + 2 for an
//                exact count, 52 for a double.
// The rule       B <= H / 2. It is empirical: of random logistic tables the attack found none in
//                full below 0.7 H, and nearly all above 2.5 H. A better search may find more.
// Grid           Of a number with standard error SE multiples of 2^e open, e = floor(log2(g SE)).
#pragma once

#include <cstdint>
#include <vector>

namespace partita::privacy {

// g = 2^-bits.
inline constexpr int kDefaultGridBits = 6;   // adds 0.002 % to the variance of an estimate
inline constexpr int kCoarsestGridBits = 4;  // and 0.03 %
inline constexpr double kDoubleBits = 52;

// H: bits of a table of `rows` rows over 2^log2_patterns patterns, to 1e-9 of itself for up to 2^16
// rows or patterns. Where both are more, to 0.01 bits, or below the truth with 2^40 patterns.
double TableBits(uint64_t rows, double log2_patterns);

// Of an exact sum over at most `rows` rows of whole numbers in [0, steps]: log2(rows) / 2 + 2 +
// log2(steps), at most a double's. One step: a count.
double CountBits(uint64_t rows, double steps = 1);

// Of so many numbers on the grid; grid_bits 0: doubles.
double NumberBits(uint64_t numbers, int grid_bits);

// What an adversary does not have: `rows` rows of which it lacks 2^log2_patterns patterns.
struct UnknownRows {
  uint64_t rows = 0;
  double log2_patterns = 0;
  bool spread =
      false;  // that they lie where they are counted is assumed (run/method/covariate_table.h)
};
double TableBits(const std::vector<UnknownRows>& unknown);

// Whether opened <= table / 2, both rounded to whole bits to the safe side as a plan shows them.
uint64_t WholeBitsUp(double bits);
uint64_t WholeBitsDown(double bits);
bool Passes(uint64_t opened_bits, uint64_t table_bits);

// The exponent e of the grid of a number with this standard error. Both positive and finite.
int GridExponent(double standard_error, int grid_bits);
// The multiple of 2^exponent that is nearest to value (ties away from zero), as a number.
double OnGrid(double value, int exponent);

}  // namespace partita::privacy
