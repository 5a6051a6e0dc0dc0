// The operations on bits of one Execute of the engine `dealer`, at a computing party and at the
// dealer. Protocol: dealer_bit_schedule.h.
//
// Timing  constant in shares and tapes; not in shapes (public). Proved by tests/ctime.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mpc/correlation_source.h"
#include "mpc/dealer_bit_schedule.h"
#include "mpc/step_messages.h"

namespace partita::mpc {

// At a computing party. Everything is borrowed.
template <typename R>
class DealerBits {
 public:
  DealerBits(const DealerBitPlan& plan, std::span<Operation> operations, PartyIndex self,
             size_t num_parties, CorrelationSource<R>& source,
             std::span<const std::unique_ptr<Tape>> peer_tapes);
  // Queues all messages.
  void Prepare(StepMessages& messages);
  // Fills in the results, once the messages were exchanged.
  void Finish();

 private:
  using Word = typename R::Word;
  using BitVector = std::vector<uint64_t>;

  // Shares sent to and got from others, then their exclusive or.
  struct Opening {
    BitVector own;
    std::vector<BitVector> received;
  };
  struct DecomposeState {
    std::vector<uint8_t> own;  // packed
    std::vector<std::vector<uint8_t>> received;
    BitVector dealt;
  };
  struct ToRingState {
    Opening opening;
    std::vector<Word> dealt;
  };

  bool last() const { return self_ + 1 == num_parties_; }
  BitVector Mask(uint64_t offset, size_t words);
  void Open(Opening& opening, PartyIndex to, StepMessages& messages);
  static void AddUp(Opening& opening);

  void ShareInputs();
  void PrepareDecompose(size_t i, StepMessages& messages);
  void PrepareToRing(size_t i, StepMessages& messages);
  void PrepareReveal(size_t i, StepMessages& messages);
  void FinishAnd(size_t i);
  void FinishDecompose(size_t i);
  void FinishWindows(size_t i, const BitVector& c);  // c: planes of what opened
  void FinishToRing(size_t index);
  void FinishReveal(size_t i);

  const DealerBitPlan& plan_;
  std::span<Operation> operations_;
  PartyIndex self_;
  size_t num_parties_;
  CorrelationSource<R>& source_;
  std::span<const std::unique_ptr<Tape>> peer_tapes_;
  std::vector<Opening> masked_;
  std::vector<BitVector> masks_, ands_;  // shares of the masks; dealt shares
  std::vector<DecomposeState> decomposes_;
  std::vector<ToRingState> to_rings_;
  std::vector<Opening> reveals_;
};

// At the dealer: the corrections for the last party.
template <typename R>
class BitDealer {
 public:
  // tapes: of all parties. Borrowed.
  BitDealer(const DealerBitPlan& plan, std::span<const std::unique_ptr<Tape>> tapes);
  // Computes and queues them; they live as long as this.
  void Deal(StepMessages& messages);

 private:
  using Word = typename R::Word;
  using BitVector = std::vector<uint64_t>;

  // Exclusive or of what the first `parties` parties have at an offset.
  BitVector Sum(uint64_t offset, size_t words, size_t parties) const;
  BitVector DealAnd(const ScheduledAnd& conjunction) const;
  BitVector DealDecompose(const ScheduledDecompose& decompose) const;
  std::vector<Word> DealToRing(const ScheduledToRing& to_ring) const;

  const DealerBitPlan& plan_;
  std::span<const std::unique_ptr<Tape>> tapes_;
  std::vector<BitVector> masks_, bits_;
  std::vector<std::vector<Word>> words_;
};

}  // namespace partita::mpc
