// One Engine::Execute of the engine `replicated` at one party: the steps of
// mpc/replicated_schedule.h, where the formulas are.
//
// Timing  constant in shares, tapes and private values; not in shapes (public). Proved by
//         tests/ctime.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "mpc/replicated_bits.h"
#include "mpc/replicated_engine.h"
#include "mpc/replicated_rescale.h"
#include "mpc/row_source.h"
#include "mpc/step_messages.h"

namespace partita::mpc {

template <typename R>
class ReplicatedExecution {
 public:
  // The operations are checked and their reveals are allowed.
  ReplicatedExecution(ReplicatedEngine<R>& engine, std::span<Operation> operations);
  // Fills in the results. On an exception nothing is filled in and the channel is poisoned.
  void Run();

 private:
  using Engine = ReplicatedEngine<R>;
  using Word = typename R::Word;
  using Vector = std::vector<Word>;
  using Components = std::array<Vector, 2>;  // own, previous

  // left * right, a part of this party's summand of a product.
  struct Term {
    RowSource<R> left, right;
  };

  // A term whose other side is a difference that arrives row by row.
  struct StreamedTerm {
    size_t product = 0;
    RowSource<R> other;
    bool other_left = false;
  };

  struct ProductWork {
    std::vector<Term> terms;
    Vector left_sum, right_sum;  // own plus previous component of a shared operand
    Components shares;
  };

  struct DealtWork {
    bool streamed = false;  // at the receiver: consumed row by row, never whole
    Vector received;        // at the receiver, unless streamed or kept
    const Vector* difference = nullptr;
    std::vector<StreamedTerm> terms;  // if streamed
  };

  void RunStep(size_t step);
  void StoreResults();

  // A value that its owner has put into shares[1] becomes a sharing.
  void ShareFrom(PartyIndex owner, uint64_t mask_offset, Shape shape, Components& shares);
  void StartInput(size_t i);
  void StartDealing(size_t i);
  std::function<void(size_t, ConstWords<R>)> SameAsBefore(const replicated::DealtOperand& dealt);
  void ConsumeDifference(size_t dealt, size_t first, size_t count, ConstWords<R> rows);

  void PrepareProduct(size_t i);
  void AddSharedTerms(const Product& product, ProductWork& work);
  void AddMixedTerms(size_t i);
  void AddPrivateTerms(size_t i);
  void AddTerm(ProductWork& work, bool swapped, RowSource<R> first, RowSource<R> second);
  // As above for product i, with the difference of private operand `dealt` first.
  void AddDifferenceTerm(size_t i, bool swapped, size_t dealt, RowSource<R> second);
  void ShareProduct(size_t i);
  void ShareOwnedProduct(size_t i);
  void LocalProduct(size_t i);
  void AddZeroShares(uint64_t offset, Vector& out);

  void StartRescale(size_t i);

  void StartReveal(size_t i);
  void FinishReveal(size_t i);

  Tape& OwnTape() { return *engine_.own_tape_; }
  Tape& PreviousTape() { return *engine_.previous_tape_; }
  Vector FromTapeWhole(Tape& tape, uint64_t offset, size_t size);
  RowSource<R> MaskAt(PartyIndex holder, const replicated::DealtOperand& dealt,
                      const RowList& rows);
  const Product& ProductOf(const replicated::ScheduledProduct& scheduled) const;

  Engine& engine_;
  std::span<Operation> operations_;
  replicated::Schedule schedule_;
  PartyIndex self_;
  StepMessages messages_;

  std::vector<Components> inputs_;
  std::vector<DealtWork> dealt_;
  std::vector<ProductWork> products_;
  std::vector<ReplicatedRescale<R>> rescales_;
  std::vector<Vector> reveals_;  // the component that this party lacks
  ReplicatedBits<R> bits_;
};

}  // namespace partita::mpc
