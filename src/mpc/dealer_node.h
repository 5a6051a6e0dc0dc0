// The dealer of the engine `dealer`: runs the same method code as the parties, on shapes alone, and
// sends the corrections that the tapes it shares with the parties cannot carry.
//
// It learns shapes, operand kinds and the rows that products choose, never a value, and receives no
// message but an oracle's requests for more rows. Corrections go to the
// last party that gets a share: one element per entry of a dealt product, two per entry of a
// truncation. Cross products of masks are computed block by block, all that have the same number of
// rows in one pass, so memory does not grow with the rows.
//
// Timing  constant in tapes; not in shapes and rows (public). Proved by tests/ctime.
#pragma once

#include <memory>
#include <vector>

#include "mpc/dealer_schedule.h"
#include "mpc/row_source.h"
#include "mpc/shape_engine.h"
#include "mpc/step_messages.h"
#include "mpc/tape.h"
#include "net/channel.h"

namespace partita::mpc {

template <typename R>
class DealerNode : public ShapeEngine {
 public:
  // The channel must outlive the node; this process is its last party. The dealer is there, so
  // options.dealt_ahead is false. gate: of a run whose parties agree before they open, so that the
  // dealer knows of the phase; it opens nothing. Borrowed.
  DealerNode(net::Channel& channel, const TapeFactory& tapes, const DealerOptions& options = {},
             ReleaseGate* gate = nullptr);

  const Capabilities& capabilities() const override { return DealerCapabilities(); }
  void BeginPhase(std::string_view name) override { channel_.BeginPhase(name); }
  void AgreeToOpen() override;
  FixedOperand Register(PrivateMatrix matrix) override;
  OracleUse RunOracle(const Shared& values, const OracleTask& task,
                      const OracleQueries& queries) override;

 protected:
  void Execute(std::span<Operation> operations) override;

 private:
  using Vector = std::vector<typename R::Word>;

  RowSource<R> MaskOf(const MaskedOperand& masked);
  // U * V for every scheduled product (empty for local and elementwise ones).
  std::vector<Vector> MultiplyMasks(const ScheduledExecution& plan);
  void MultiplyCrossProducts(const ScheduledExecution& plan, std::vector<Vector>& products);
  void MultiplyGroup(const ScheduledExecution& plan, size_t rows,
                     const std::vector<size_t>& members, std::vector<Vector>& products);
  // From `value`, subtracts what all sharers but the last take from their tapes.
  void SubtractShares(const std::vector<bool>& sharers, PartyIndex last, uint64_t offset,
                      Words<R> value);
  // What the last sharer of an elementwise product is sent, made while it leaves: it is as large as its
  // operands. Borrows the plan.
  RowSource<R> ElementwiseCorrection(const ScheduledExecution& plan,
                                     const ScheduledProduct& product);
  Vector DealTruncation(const ScheduledRescale& plan);
  // Rows of C_c (linear_oracle.h) from `row` on; b is the sum of all masks b_i.
  void DealOracleRows(const DealerOracleLayout& layout, ConstWords<R> b, uint64_t row,
                      size_t num_rows, Words<R> dealt);
  // So many rows from `row` on, to the centre, made while they leave.
  void SendOracleRows(const DealerOracleLayout& layout, ConstWords<R> b, uint64_t row,
                      uint64_t num_rows);

  net::Channel& channel_;
  ReleaseGate* gate_;
  DealerOptions options_;
  DealerSchedule schedule_;
  std::vector<std::unique_ptr<Tape>> tapes_;  // by party
  uint64_t num_registered_ = 0;
};

}  // namespace partita::mpc
