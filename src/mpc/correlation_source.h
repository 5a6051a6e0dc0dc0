// Where a party of the engine `dealer` gets its correlated randomness from.
//
// Timing  constant in what is handed out; not in offsets (public). Proved by tests/ctime.
#pragma once

#include "mpc/bit_kernels.h"
#include "mpc/row_source.h"
#include "mpc/step_messages.h"
#include "mpc/tape.h"

namespace partita::mpc {

struct ScheduledExecution;  // dealer_schedule.h
struct DealerOracleLayout;

// `offset` is the place that the schedule gave to one use; nothing is asked for twice but the masks
// of fixed operands and masks that are regenerated within one operation.
template <typename R>
class CorrelationSource {
 public:
  virtual ~CorrelationSource() = default;
  // Called once for every Execute, in order, before anything else is asked for it.
  virtual void Prepare(const ScheduledExecution&) {}
  // The same for an oracle.
  virtual void PrepareOracle(const DealerOracleLayout&) {}
  // A uniform matrix: this party's share of a mask, or the whole mask of an own private matrix.
  virtual RowSource<R> Mask(Shape shape, uint64_t offset) = 0;
  // This party's share of something dealt (a product of masks, a truncation pair). `out` is zero and
  // becomes the share until `messages` have been exchanged: at once, or by additions while they are,
  // so that others may add to it meanwhile. `last`: this party is the last of those that get a share.
  virtual void Deal(uint64_t offset, bool last, Words<R> out, StepMessages& messages) = 0;
  // As Mask and Deal for what is not ring elements: planes of bits, packed masks.
  virtual void Random(uint64_t offset, std::span<uint8_t> out) = 0;
  virtual void DealBits(uint64_t offset, bool last, BitWords out, StepMessages& messages) = 0;
};

// A dealer that takes part in the run: everything comes from the tape shared with it, except what
// the last party gets, which the dealer sends in the same step.
template <typename R>
class LiveDealer : public CorrelationSource<R> {
 public:
  LiveDealer(PartyIndex dealer, std::unique_ptr<Tape> tape)
      : dealer_(dealer), tape_(std::move(tape)) {}

  RowSource<R> Mask(Shape shape, uint64_t offset) override {
    return FromTape<R>(shape, *tape_, offset);
  }

  void Deal(uint64_t offset, bool last, Words<R> out, StepMessages& messages) override {
    if (last) {
      const auto add = [out](size_t first, size_t count, ConstWords<R> rows) {
        const Words<R> place = out.subspan(first, count);
        Add<R>(place, rows, place);
      };
      messages.ReceiveStream(dealer_, out.size() * R::kBytes, ConsumeRows<R>({out.size(), 1}, add));
      return;
    }
    tape_->Read(offset, WireBytes(out));
    ReduceWords<R>(out);
  }

  void Random(uint64_t offset, std::span<uint8_t> out) override {
    if (!out.empty()) tape_->Read(offset, out);
  }

  void DealBits(uint64_t offset, bool last, BitWords out, StepMessages& messages) override {
    if (last) {
      messages.Receive(dealer_, BitBytes(out));
    } else {
      Random(offset, BitBytes(out));
    }
  }

 private:
  PartyIndex dealer_;
  std::unique_ptr<Tape> tape_;
};

}  // namespace partita::mpc
