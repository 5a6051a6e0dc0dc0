// One Engine::Execute of the engine `shamir` at one party: what goes into and comes out of the
// transfers of mpc/shamir_schedule.h, where the formulas are.
//
// Timing  constant in shares, tapes and private values; not in shapes (public). Proved by
//         tests/ctime.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "mpc/row_source.h"
#include "mpc/shamir_engine.h"
#include "mpc/shamir_mask.h"

namespace partita::mpc {

template <typename F, size_t kSlices>
class ShamirExecution {
 public:
  // The operations are checked and their reveals are allowed.
  ShamirExecution(ShamirEngine<F, kSlices>& engine, std::span<Operation> operations);
  // Fills in the results. On an exception nothing is filled in and the channel is poisoned.
  void Run();

 private:
  using Engine = ShamirEngine<F, kSlices>;
  using Party = ShamirParty<F, kSlices>;
  using Word = typename F::Word;
  using Vector = std::vector<Word>;
  using Bits = BitSlices<kSlices>;

  void PrepareFirstStep();
  void Prepare(size_t step);

  Vector ReadPrivate(const PrivateMatrix& matrix) const;
  void PrepareProduct(size_t i);
  void PrepareOwnedProduct(size_t i);
  void FinishLocalProduct(size_t i);
  // An operand of a product that is shared by now.
  RowSource<F> SourceOf(const Operand& operand, size_t dealt) const;
  const Product& ProductOf(const shamir::ScheduledProduct& scheduled) const;

  void StoreResults();
  void StoreRescale(const shamir::ScheduledRescale& at);
  void StoreRaised();
  // Shares of the two addends of a decomposition; of the first, in slice 0, if it is public.
  struct Addends {
    Bits opened, complement;
  };
  Addends AddendsOf(const shamir::ScheduledDecompose& at);
  void StoreDecompose(const shamir::ScheduledDecompose& at);
  void StoreToRing(const shamir::ScheduledToRing& at);

  Engine& engine_;
  Party& party_;
  std::span<Operation> operations_;
  shamir::Schedule schedule_;
  ShamirTransfers<F, kSlices> transfers_;
  std::vector<ShamirMask<F, kSlices>> masks_;
  std::map<size_t, Bits> propagate_;  // of decompositions, by their resharing
};

}  // namespace partita::mpc
