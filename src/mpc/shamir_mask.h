// One mask of the engine `shamir` at one party: shared random numbers with shared low bits, made
// while the transfers of their schedule run. Formulas: shamir_schedule.h.
//
// Timing  constant in shares and tapes; not in the schedule (public). Proved by tests/ctime.
#pragma once

#include <vector>

#include "mpc/shamir_schedule.h"
#include "mpc/shamir_transfers.h"

namespace partita::mpc {

// Per entry, all shared: r = 2^m r'' + r'.
template <typename F, size_t kSlices>
class ShamirMask {
 public:
  using Word = typename F::Word;
  using Vector = std::vector<Word>;
  using Bits = BitSlices<kSlices>;
  using Party = ShamirParty<F, kSlices>;
  using Transfers = ShamirTransfers<F, kSlices>;

  // Everything is borrowed.
  ShamirMask(const Party& party, Transfers& transfers, const shamir::ScheduledMask& scheduled);

  // Puts in what is dealt in step 0.
  void Start();
  // Takes what came out of the step before and puts in what is reshared in `step`, 1, 2, ...
  void Prepare(size_t step);
  // After the last step of a schedule: takes what only then came out.
  void Finish(size_t steps) {
    if (steps == scheduled_.reshares.size() + 1) Prepare(steps);
  }

  // r', or if the schedule says so every bit on its own, plane by plane.
  Vector& low() { return low_; }
  // The bits of r' over GF(2^d).
  Bits& bits() { return bits_; }
  // Shares of value + 2^(value_bits - 1) + r.
  Vector Masked(const Vector& value, int value_bits) const;

  // Of c, which was opened from Masked. Shares of (value + 2^(value_bits - 1) + r) mod 2^m.
  Vector LowOfOpened(const Vector& opened) const;
  // Of a mask with bits: shares over GF(2^d) of that plus `addend`, modulo 2^m, plane by plane. Of
  // a statistical mask they are public: all in slice 0.
  Bits LowOfOpenedAsBits(const Vector& opened, UInt128 addend) const;

 private:
  // Shares of the indicators of 1, 2, ... of a number in [0, count), plane by plane.
  struct Indicators {
    size_t count = 0;
    Vector elements;
    Bits bits;
  };

  void StartIndicators(const Vector& integers, bool dealt, size_t deal);
  void PutProducts(size_t level);
  void TakeProducts(size_t level);
  void PutIndicators(size_t level);
  void TakeIndicators(size_t level);
  Indicators Join(const Indicators& a, const Indicators& b) const;
  void AddIntegers();
  // w, from the sum of digits and c.
  size_t Wraps(size_t digit_sum, Word opened) const;
  size_t MaxDigitSum() const { return (party_.threshold() + 1) * (scheduled_.digits - 1); }
  size_t WordsPerIndicator() const { return WordsPerPlane({scheduled_.entries, 1}); }

  const Party& party_;
  Transfers& transfers_;
  const shamir::ScheduledMask& scheduled_;
  std::vector<Vector> parts_;  // the bits of every contributor, later of their exclusive or
  Vector low_, whole_;
  Bits bits_;
  Vector integers_;                 // this party's share of contributor 0's
  std::vector<Indicators> digits_;  // of every contributor, later of their sum
};

}  // namespace partita::mpc
