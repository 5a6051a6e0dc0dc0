// The operations on bits of one Execute of the engine `replicated`, at one party. Formulas:
// replicated_bit_schedule.h.
//
// Timing  constant in shares and tapes; not in shapes (public). Proved by tests/ctime.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "mpc/linear_engine.h"
#include "mpc/replicated_schedule.h"
#include "mpc/step_messages.h"
#include "mpc/tape.h"

namespace partita::mpc {

template <typename R>
class ReplicatedBits {
 public:
  // Everything is borrowed.
  ReplicatedBits(const replicated::BitSchedule& schedule, std::span<Operation> operations,
                 PartyIndex self, Tape& own_tape, Tape& previous_tape);
  // Queues the messages of step 0 or 1, once those of step 0 were exchanged.
  void Start(size_t step, StepMessages& messages);
  // Fills in the results.
  void Finish();

 private:
  using Word = typename R::Word;
  using Vector = std::vector<Word>;
  using BitVector = std::vector<uint64_t>;
  using BitComponents = std::array<BitVector, 2>;  // own, previous
  using Engine = LinearEngine<R, 2>;

  struct DecomposeState {
    BitComponents a, b, generate;
  };
  struct ToRingState {
    Vector part;          // t_0 or t_2; at party 0 the message
    Vector mine, theirs;  // of component 1
    std::array<Vector, 2> shares;
  };

  BitVector Read(Tape& tape, uint64_t offset, size_t words) const;
  Vector ReadElements(Tape& tape, uint64_t offset, size_t size) const;
  // A value that its owner has put into shares[1] becomes a sharing.
  void ShareFrom(PartyIndex owner, uint64_t mask_offset, size_t words, BitComponents& shares,
                 StepMessages& messages) const;
  // out[0] becomes the own part of a AND b; it is sent, and out[1] received.
  void ShareAnd(const BitComponents& a, const BitComponents& b, uint64_t zero_offset,
                BitComponents& out, StepMessages& messages) const;

  void StartInput(size_t i, StepMessages& messages);
  void StartAnd(size_t i, StepMessages& messages);
  void StartDecompose(size_t i, StepMessages& messages);
  void StartToRing(size_t i, StepMessages& messages);
  void ShareToRing(size_t i, StepMessages& messages);
  void StartReveal(size_t i, StepMessages& messages);
  void FinishDecompose(size_t i);
  void FinishToRing(size_t i);
  void FinishReveal(size_t i);

  const replicated::BitSchedule& schedule_;
  std::span<Operation> operations_;
  PartyIndex self_;
  Tape &own_tape_, &previous_tape_;
  std::vector<BitComponents> inputs_, ands_;
  std::vector<DecomposeState> decomposes_;
  std::vector<ToRingState> to_rings_;
  std::vector<BitVector> reveals_;  // the component that this party lacks
};

}  // namespace partita::mpc
