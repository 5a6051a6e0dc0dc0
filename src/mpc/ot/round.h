// One party's side of making what an Execute consumes, by oblivious transfers (tasks.h).
//
// Timing  constant in masks, rows and choices; not in shapes (public). Proved by tests/ctime.
#pragma once

#include <memory>
#include <vector>

#include "mpc/ahead_source.h"
#include "mpc/ot/link.h"
#include "mpc/ot/tasks.h"
#include "mpc/ot/transfers.h"
#include "mpc/row_source.h"
#include "mpc/step_messages.h"
#include "mpc/tape.h"

namespace partita::mpc::ot {

// Masks come from `own`, a tape that nobody else has; the shares of their products, and the masks
// that are made rather than drawn (of Rescale and Decompose), from transfers.
template <typename R>
class Round {
 public:
  // All are borrowed, also by the results of Prepare.
  Round(const ScheduledExecution& execution, Tape& own, net::Channel& channel);
  // All batches: two rounds each, declared by CostOfBatches.
  void Run(const std::vector<OtTask>& tasks, Link& link);
  DealtPieces TakeResults();

 private:
  using Word = typename R::Word;
  using Vector = std::vector<Word>;

  // Numbers of one operand of outer products that this party has, row by row.
  struct Factor {
    Vector transposed;  // whole, where the layout asks for it or only some rows are used
    RowSource<R> rows;
  };
  struct ProductState {
    Vector out;
    Vector mirrored;  // the product of the masks' shares, of a square
    Factor a, b;
  };
  struct RescaleState {
    Vector bits, r, dealt;  // own random bits of an entry as a word; shares of r, and of t and m
  };
  struct AndState {
    std::vector<uint8_t> left, right, out;  // one bit each, without the gaps of planes
  };
  struct DecomposeState {
    Vector bits, r;
  };
  struct ToRingState {
    Vector bits, out;
  };
  void BeginProduct(size_t index);
  void BeginRescale(size_t index);
  void BeginAnd(size_t index);
  void BeginDecompose(size_t index);
  void BeginToRing(size_t index);
  // The operand with this mask as A (left) or B of the outer products.
  Factor MakeFactor(const OuterLayout& layout, bool left, const MaskedOperand& masked,
                    const RowList& rows);
  // Of the own tape.
  RowSource<R> MaskRows(const MaskedOperand& masked, const RowList& rows);
  // Bits of planes, each in a byte, without the gaps at the planes' ends.
  std::vector<uint8_t> OwnPlanes(uint64_t offset, size_t size, size_t width);

  void RunBatch(const std::vector<OtTask>& tasks, const OtBatch& batch, const ExecutionCost& cost,
                size_t step);
  void Choose(const OtTask& task, const OtPiece& piece, BitAppender& choices);
  void SendPiece(const Transfers& t, const OtPiece& piece, uint8_t* payload);
  void ReceivePiece(const Transfers& t, const OtPiece& piece, std::span<const uint64_t> choices,
                    size_t first_choice, const uint8_t* payload);
  // A share of what transfer j of a group, counted from the task's first, is about.
  void AddBit(const OtTask& task, uint64_t group, size_t j, crypto::Block share);
  crypto::Block OwnBits(const OtTask& task, uint64_t group) const;
  Vector& OutOf(const OtTask& task);

  // Kept from batch to batch: fresh memory costs more than what is done in it.
  struct Buffers {
    std::vector<crypto::Block> rows_sent, rows_received;
    Bytes columns_in, columns_out, payload_in, payload_out;
  };

  const ScheduledExecution& execution_;
  Tape& own_;
  net::Channel& channel_;
  Link* link_ = nullptr;
  PartyIndex self_;
  std::vector<ProductState> products_;
  std::vector<RescaleState> rescales_;
  std::vector<AndState> ands_;
  std::vector<DecomposeState> decomposes_;
  std::vector<ToRingState> to_rings_;
  Buffers buffers_;
};

}  // namespace partita::mpc::ot
