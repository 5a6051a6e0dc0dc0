// Records unlike operations and runs them in one set of rounds.
//
//   Batch batch(engine);
//   auto products = batch.Multiply(list);
//   auto shares = batch.Input(more);
//   batch.Flush();
//   use(products.Get());
//
// The operations of one batch must not need each other's results. A batch costs the rounds of its
// longest operation and one message per directed link and round, however many it holds.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "mpc/engine.h"
#include "mpc/operation.h"

namespace partita::mpc {

// The results of one recorded operation.
template <typename T>
class Pending {
 public:
  // Throws kUsage before the batch was flushed.
  const std::vector<T>& Get() const {
    if (!slot_->ready) {
      throw Error(ErrorCode::kUsage, "a batch's result was asked for before the batch was flushed",
                  "call Batch::Flush first");
    }
    return slot_->values;
  }

 private:
  friend class Batch;
  struct Slot {
    bool ready = false;
    std::vector<T> values;
  };
  std::shared_ptr<Slot> slot_ = std::make_shared<Slot>();
};

class Batch {
 public:
  // The engine must outlive the batch.
  explicit Batch(Engine& engine) : engine_(engine) {}

  Pending<Shared> Input(std::span<const PrivateMatrix> inputs);
  Pending<Shared> Multiply(std::span<const Product> products);
  Pending<Shared> Rescale(std::span<const Shared> inputs, int fraction_bits);
  Pending<IntMatrix> Reveal(std::string_view release_id, std::span<const Shared> values,
                            PartyIndex to);

  Pending<SharedBits> InputBits(std::span<const PrivateBits> inputs);
  Pending<SharedBits> And(std::span<const BitProduct> products);
  Pending<CarryBits> Decompose(std::span<const Shared> values, std::span<const size_t> widths);
  // On engines that have windows (window_carries.h, which asks whether they do).
  Pending<WindowCarries> DecomposeWindows(std::span<const Shared> values,
                                          std::span<const size_t> widths);
  Pending<Shared> ToRing(std::span<const SharedBits> bits);
  Pending<BitMatrix> RevealBits(std::string_view release_id, std::span<const SharedBits> values,
                                PartyIndex to);

  // Runs everything recorded since the last flush. If it throws, no result becomes ready and the
  // recorded operations are dropped.
  void Flush();

 private:
  template <typename T>
  Pending<T> Record(Operation operation);

  Engine& engine_;
  std::vector<Operation> operations_;
  std::vector<std::function<void(Operation&)>> deliveries_;  // one per operation
};

}  // namespace partita::mpc
