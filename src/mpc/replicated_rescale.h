// One truncation of the engine `replicated` at one party, of a shared value or of a product as it
// is formed: the protocol of mpc/replicated_schedule.h, where the formulas and the argument for
// privacy are.
//
// Timing  constant in shares and tapes; not in shapes (public). Proved by tests/ctime.
#pragma once

#include <array>
#include <vector>

#include "mpc/bit_kernels.h"
#include "mpc/replicated_schedule.h"
#include "mpc/step_messages.h"
#include "mpc/tape.h"

namespace partita::mpc {

template <typename R>
class ReplicatedRescale {
 public:
  using Word = typename R::Word;
  using Vector = std::vector<Word>;

  // Tapes i and i - 1 at party i. Everything is borrowed.
  ReplicatedRescale(const replicated::ScheduledRescale& scheduled, PartyIndex self, Tape& own_tape,
                    Tape& previous_tape)
      : at_(scheduled), self_(self), own_tape_(own_tape), previous_tape_(previous_tape) {}

  // First step. This party's summand of the value is first + second; either may be empty, for zero.
  void Open(ConstWords<R> first, ConstWords<R> second, StepMessages& messages);
  // Second step.
  void Share(StepMessages& messages);
  // After it: own and previous component of the result.
  std::array<Vector, 2> Finish();

 private:
  // Draws and shares what the dealer knows of the mask.
  void Deal(ConstWords<R> first, ConstWords<R> second);
  void ReadWords(Tape& tape, uint64_t offset, size_t begin, Words<R> out);
  // Numbers modulo 2^shift, packed.
  Vector ReadPacked(Tape& tape, uint64_t offset, size_t begin, size_t count);
  void Pack(size_t begin, ConstWords<R> values);
  size_t each() const { return PackedBytes(static_cast<size_t>(at_.shift)); }
  size_t size() const { return at_.shape.size(); }

  const replicated::ScheduledRescale& at_;
  PartyIndex self_;
  Tape &own_tape_, &previous_tape_;
  Vector mine_, theirs_;  // summands of c; not at the dealer
  Vector dealt_;          // v - t - q; at the dealer and the second party
  // Packed: shares of m at the dealer and the second party in the first step, then summands of the
  // exclusive or.
  std::vector<uint8_t> packed_, received_;
  std::array<Vector, 2> shares_;
};

}  // namespace partita::mpc
