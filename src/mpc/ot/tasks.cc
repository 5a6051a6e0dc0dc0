#include "mpc/ot/tasks.h"

#include <algorithm>
#include <numeric>

#include "mpc/ot/link.h"

namespace partita::mpc::ot {
namespace {

// Limits of a batch, per direction: rows of 4 MB, messages that a socket takes in quickly. A single
// group may exceed the second.
constexpr uint64_t kMaxTransfers = uint64_t{1} << 18;
constexpr uint64_t kMaxPayload = uint64_t{1} << 23;
// Groups of one bit are cut at whole words.
constexpr uint64_t kBitsPerWord = 64;

using Route = ScheduledProduct::Route;

PartyIndex Other(PartyIndex party) { return 1 - party; }

class TaskList {
 public:
  TaskList(const ScheduledExecution& execution, size_t ring_bits)
      : execution_(execution), ring_bits_(ring_bits) {}

  std::vector<OtTask> Make() {
    for (size_t i = 0; i < execution_.products.size(); ++i) AddProduct(i);
    for (size_t i = 0; i < execution_.rescales.size(); ++i) AddRescale(i);
    const DealerBitPlan& bits = execution_.bits;
    for (size_t i = 0; i < bits.ands.size(); ++i) {
      const SharedBits& operand = bits.masked[bits.ands[i].left].operand;
      for (PartyIndex receiver : {0, 1}) {
        OtTask& task = Add(OtTask::Item::kAnd, i, receiver);
        task.groups = operand.shape.size() * operand.width;
        task.transfers = 1;
      }
    }
    for (size_t i = 0; i < bits.decomposes.size(); ++i) {
      const ScheduledDecompose& decompose = bits.decomposes[i];
      OtTask& task = Add(OtTask::Item::kDecompose, i, Turn());
      task.groups = decompose.size;
      // The top bit's product has no weight below the modulus.
      for (size_t j = 0; j + 1 < decompose.width; ++j) {
        task.widths.push_back(static_cast<uint8_t>(WidthBytes(decompose.width - j - 1)));
      }
      task.transfers = task.widths.size();
    }
    for (size_t i = 0; i < bits.to_rings.size(); ++i) {
      OtTask& task = Add(OtTask::Item::kToRing, i, Turn());
      task.groups = bits.to_rings[i].size * bits.to_rings[i].width;
      task.transfers = 1;
      task.widths = {static_cast<uint8_t>(WidthBytes(ring_bits_ - 1))};
    }
    std::erase_if(tasks_, [](const OtTask& task) {
      return task.groups == 0 || task.transfers == 0 || task.entries == 0;
    });
    return std::move(tasks_);
  }

 private:
  OtTask& Add(OtTask::Item item, size_t index, PartyIndex receiver) {
    OtTask& task = tasks_.emplace_back();
    task.item = item;
    task.index = index;
    task.receiver = receiver;
    return task;
  }
  // Where either party may select, they take turns.
  PartyIndex Turn() { return turn_++ % 2; }

  void AddProduct(size_t index) {
    const ScheduledProduct& product = execution_.products[index];
    if (product.route == Route::kLocal) return;
    const MaskedOperand& left = execution_.masked[product.left];
    const MaskedOperand& right = execution_.masked[product.right];
    OuterLayout layout =
        LayoutOf(product.kind, execution_.LeftShape(product), execution_.RightShape(product));
    if (product.route == Route::kShared) {
      if (product.left == product.right && product.kind != Product::Kind::kMatrix) {
        layout.mirrored = true;
        AddOuter(index, layout, Turn());
      } else {
        for (PartyIndex left_holder : {0, 1}) AddOuter(index, layout, left_holder);
      }
      return;
    }
    AddOuter(index, layout, left.owner ? *left.owner : Other(*right.owner));
  }

  void AddOuter(size_t index, const OuterLayout& layout, PartyIndex left_holder) {
    OtTask& task =
        Add(OtTask::Item::kProduct, index, layout.a_selects ? left_holder : Other(left_holder));
    task.outer = layout;
    task.groups = layout.terms * (layout.a_selects ? layout.p : layout.q);
    task.entries = layout.a_selects ? layout.q : layout.p;
    task.widths = ProductWidths(ring_bits_);
    task.transfers = ring_bits_;
  }

  // Bit j of r has weight 2^j in r, and 2^(j - shift) in t; the top bit is m. The weight of a
  // product of two bits is twice that.
  void AddRescale(size_t index) {
    const ScheduledRescale& rescale = execution_.rescales[index];
    const auto shift = static_cast<size_t>(rescale.shift);
    OtTask& task = Add(OtTask::Item::kRescale, index, Turn());
    task.groups = rescale.shape.size();
    task.transfers = ring_bits_;
    for (size_t j = 0; j < ring_bits_; ++j) {
      size_t lost = j;  // the lowest weight's exponent
      if (j >= shift) lost = j - shift;
      if (j + 1 == ring_bits_) lost = 0;
      task.widths.push_back(static_cast<uint8_t>(WidthBytes(ring_bits_ - 1 - lost)));
    }
  }

  const ScheduledExecution& execution_;
  size_t ring_bits_;
  size_t turn_ = 0;
  std::vector<OtTask> tasks_;
};

// As many groups as still fit, of those that are left.
uint64_t FittingGroups(const OtTask& task, uint64_t left, const OtBatch& batch) {
  const uint64_t transfers = batch.transfers[task.receiver];
  const uint64_t payload = batch.payload[task.receiver];
  if (transfers >= kMaxTransfers || payload >= kMaxPayload) return 0;
  if (task.widths.empty()) {
    const uint64_t room = (kMaxTransfers - transfers) / kBitsPerWord * kBitsPerWord;
    return std::min(left, room);
  }
  const uint64_t by_transfers = (kMaxTransfers - transfers) / task.transfers;
  const uint64_t each = std::max<uint64_t>(1, task.PayloadBytes(1));
  const uint64_t fitting = std::min({left, by_transfers, (kMaxPayload - payload) / each});
  return fitting == 0 && transfers == 0 ? 1 : fitting;
}

}  // namespace

uint64_t OtTask::PayloadBytes(uint64_t num_groups) const {
  if (widths.empty()) return (num_groups * transfers + 7) / 8;
  return num_groups * entries * std::accumulate(widths.begin(), widths.end(), uint64_t{0});
}

std::vector<uint8_t> ProductWidths(size_t ring_bits) {
  std::vector<uint8_t> widths;
  for (size_t j = 0; j < ring_bits; ++j) {
    widths.push_back(static_cast<uint8_t>(WidthBytes(ring_bits - j)));
  }
  return widths;
}

OuterLayout LayoutOf(Product::Kind kind, Shape left, Shape right) {
  OuterLayout layout;
  if (kind == Product::Kind::kMatrix) {
    layout = {left.cols, left.rows, right.cols, true, true};
  } else if (kind == Product::Kind::kGram) {
    layout = {left.rows, left.cols, right.cols, true};
  } else if (left.cols == right.cols) {
    layout = {left.size(), 1, 1};
  } else {
    layout = {left.rows, left.cols, right.cols};
  }
  layout.a_selects = layout.p <= layout.q;
  return layout;
}

std::vector<OtTask> TasksOf(const ScheduledExecution& execution, size_t ring_bits) {
  return TaskList(execution, ring_bits).Make();
}

std::vector<OtBatch> BatchesOf(const std::vector<OtTask>& tasks) {
  std::vector<OtBatch> batches;
  for (PartyIndex receiver : {0, 1}) {
    size_t b = 0;
    for (size_t i = 0; i < tasks.size(); ++i) {
      const OtTask& task = tasks[i];
      for (uint64_t first = 0; task.receiver == receiver && first < task.groups;) {
        if (b == batches.size()) batches.emplace_back();
        OtBatch& batch = batches[b];
        const uint64_t count = FittingGroups(task, task.groups - first, batch);
        if (count == 0) {
          ++b;
          continue;
        }
        batch.pieces[receiver].push_back({i, first, count});
        batch.transfers[receiver] += count * task.transfers;
        batch.payload[receiver] += task.PayloadBytes(count);
        first += count;
      }
    }
  }
  for (OtBatch& batch : batches) {
    for (uint64_t& transfers : batch.transfers) transfers = PaddedTransfers(transfers);
  }
  return batches;
}

ExecutionCost CostOfBatches(const std::vector<OtBatch>& batches) {
  ExecutionCost cost;
  cost.steps = 2 * batches.size();
  for (size_t b = 0; b < batches.size(); ++b) {
    for (PartyIndex receiver : {0, 1}) {
      const PartyIndex sender = Other(receiver);
      const uint64_t columns = ExtensionBytes(batches[b].transfers[receiver]);
      cost.parts.push_back({2 * b, receiver, sender, columns});
      cost.parts.push_back({2 * b + 1, sender, receiver, batches[b].payload[receiver]});
    }
  }
  return cost;
}

ExecutionCost CostOfLink() {
  ExecutionCost cost;
  cost.steps = 2;
  for (PartyIndex from : {0, 1}) {
    cost.parts.push_back({0, from, Other(from), kLinkFirstBytes});
    cost.parts.push_back({1, from, Other(from), kLinkSecondBytes});
  }
  return cost;
}

ExecutionCost InSequence(ExecutionCost first, const ExecutionCost& second) {
  for (MessagePart part : second.parts) {
    part.step += first.steps;
    first.parts.push_back(part);
  }
  first.requirements.insert(first.requirements.end(), second.requirements.begin(),
                            second.requirements.end());
  first.steps += second.steps;
  return first;
}

}  // namespace partita::mpc::ot
