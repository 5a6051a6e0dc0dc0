#include "mpc/replicated_schedule.h"

#include "base/error.h"
#include "mpc/bit_kernels.h"
#include "mpc/rules.h"
#include "mpc/scheduled_cost.h"

namespace partita::mpc::replicated {
namespace {

// Intervals of tapes begin at whole cipher blocks.
constexpr uint64_t kAlignment = 16;

bool IsPublic(const Operand& operand) { return std::holds_alternative<PublicMatrix>(operand); }

Route RouteOf(const Product& product) {
  const auto left = OwnerOf(product.left), right = OwnerOf(product.right);
  if (IsPublic(product.left) || IsPublic(product.right)) {
    return left || right ? Route::kOwned : Route::kLocal;
  }
  if (left && right) return *left == *right ? Route::kOwned : Route::kPrivate;
  return left || right ? Route::kMixed : Route::kShared;
}

}  // namespace

uint64_t Scheduler::ReserveBytes(uint64_t bytes) {
  const uint64_t begin = next_offset_;
  next_offset_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return begin;
}

uint64_t Scheduler::Reserve(Shape shape) { return ReserveBytes(shape.size() * element_bytes_); }

void Scheduler::Register(const FixedOperand& operand) {
  Fixed& fixed = fixed_[operand.id];
  fixed.mask_offset = Reserve(operand.matrix.shape);
  fixed.shape = operand.matrix.shape;
  fixed.owner = operand.matrix.owner;
}

// Finds or adds the operand; a fixed one appears once however many products use it.
size_t Scheduler::Deal(Schedule& schedule, const Operand& operand, Product::Kind kind) {
  const bool by_rows = kind != Product::Kind::kMatrix;
  DealtOperand dealt;
  if (auto* fixed = std::get_if<FixedOperand>(&operand)) {
    for (size_t i = 0; i < schedule.dealt.size(); ++i) {
      if (schedule.dealt[i].fixed_id != fixed->id) continue;
      schedule.dealt[i].by_rows = schedule.dealt[i].by_rows && by_rows;
      CheckRowsAreKept(*fixed, schedule.dealt[i].keep);
      return i;
    }
    auto known = fixed_.find(fixed->id);
    if (known == fixed_.end() || known->second.shape != fixed->matrix.shape ||
        known->second.owner != fixed->matrix.owner) {
      throw Error(ErrorCode::kUsage, "a fixed operand was registered with another engine",
                  "register it with the engine that uses it");
    }
    dealt.matrix = fixed->matrix;
    dealt.fixed_id = fixed->id;
    dealt.mask_offset = known->second.mask_offset;
    dealt.keep = dealt.matrix.shape.size() * element_bytes_ <= options_.max_kept_bytes;
    CheckRowsAreKept(*fixed, dealt.keep);
    dealt.sent = !known->second.kept;
    known->second.kept = dealt.keep;
  } else {
    dealt.matrix = std::get<PrivateMatrix>(operand);
    dealt.mask_offset = Reserve(dealt.matrix.shape);
  }
  dealt.by_rows = by_rows;
  if (dealt.sent) {
    schedule.cost.requirements.push_back(
        {Correlation::Kind::kRandomSharing, {}, dealt.matrix.shape, {}});
  }
  schedule.dealt.push_back(std::move(dealt));
  return schedule.dealt.size() - 1;
}

void Scheduler::AddProduct(Schedule& schedule, const Product& product, ScheduledProduct scheduled) {
  scheduled.route = RouteOf(product);
  if (scheduled.route == Route::kOwned) {
    const auto left = OwnerOf(product.left);
    scheduled.owner = left ? *left : *OwnerOf(product.right);
  } else if (scheduled.route != Route::kLocal) {
    for (auto [operand, index] :
         {std::pair{&product.left, &scheduled.left}, std::pair{&product.right, &scheduled.right}}) {
      if (!OwnerOf(*operand)) continue;
      *index = Deal(schedule, *operand, product.kind);
      (operand == &product.left ? scheduled.left_rows : scheduled.right_rows) = RowsOf(*operand);
      if (schedule.dealt[*index].sent) scheduled.step = 1;
    }
  }
  if (scheduled.rescale == kNone && scheduled.route != Route::kLocal) {
    scheduled.offset = Reserve(scheduled.shape);
    schedule.cost.requirements.push_back(
        {Correlation::Kind::kRandomSharing, {}, scheduled.shape, {}});
  }
  schedule.products.push_back(std::move(scheduled));
}

void Scheduler::AddRescale(Schedule& schedule, ScheduledRescale scheduled) {
  const uint64_t packed =
      scheduled.shape.size() * PackedBytes(static_cast<size_t>(scheduled.shift));
  scheduled.mask_offset = Reserve(scheduled.shape);
  scheduled.result_offset = Reserve(scheduled.shape);
  scheduled.top_offset = ReserveBytes(packed);
  scheduled.xor_offset = ReserveBytes(packed);
  schedule.cost.requirements.push_back({Correlation::Kind::kTruncation, {}, scheduled.shape, {}});
  schedule.rescales.push_back(scheduled);
}

Schedule Scheduler::Next(std::span<const Operation> operations) {
  Schedule schedule;
  Requirements& requirements = schedule.cost.requirements;
  for (size_t op = 0; op < operations.size(); ++op) {
    if (auto* input = std::get_if<InputOperation>(&operations[op])) {
      for (size_t i = 0; i < input->inputs.size(); ++i) {
        const PrivateMatrix& matrix = input->inputs[i];
        schedule.inputs.push_back({op, i, matrix.owner, Reserve(matrix.shape), matrix.shape});
        requirements.push_back({Correlation::Kind::kRandomSharing, {}, matrix.shape, {}});
      }
    }
    if (auto* multiply = std::get_if<MultiplyOperation>(&operations[op])) {
      for (size_t i = 0; i < multiply->products.size(); ++i) {
        ScheduledProduct scheduled;
        scheduled.operation = op;
        scheduled.index = i;
        scheduled.shape = multiply->results[i].shape;
        const bool cut = IsTruncated(*multiply, i);
        if (cut) scheduled.rescale = schedule.rescales.size();
        AddProduct(schedule, multiply->products[i], std::move(scheduled));
        if (!cut) continue;
        ScheduledRescale rescale;
        rescale.operation = op;
        rescale.index = i;
        rescale.shift = FractionBitsOf(multiply->products[i].left) +
                        FractionBitsOf(multiply->products[i].right) - multiply->fraction_bits[i];
        rescale.product = schedule.products.size() - 1;
        rescale.step = schedule.products.back().step;
        rescale.shape = schedule.products.back().shape;
        AddRescale(schedule, rescale);
      }
    }
    if (auto* rescale = std::get_if<RescaleOperation>(&operations[op])) {
      for (size_t i = 0; i < rescale->values.size(); ++i) {
        const Shared& value = rescale->values[i];
        const int shift = value.fraction_bits - rescale->fraction_bits;
        if (shift <= 0) continue;
        ScheduledRescale scheduled;
        scheduled.operation = op;
        scheduled.index = i;
        scheduled.shift = shift;
        scheduled.shape = value.shape;
        AddRescale(schedule, scheduled);
      }
    }
    if (auto* reveal = std::get_if<RevealOperation>(&operations[op])) {
      for (size_t i = 0; i < reveal->values.size(); ++i) {
        schedule.reveals.push_back({op, i, reveal->to, reveal->values[i].shape});
      }
    }
  }
  AddBits(schedule, operations);
  AddCost(schedule);
  return schedule;
}

// The order of the parts is the order in which ReplicatedEngine queues them.
void Scheduler::AddCost(Schedule& schedule) const {
  ExecutionCost& cost = schedule.cost;
  auto add_bytes = [&](size_t step, PartyIndex from, PartyIndex to, uint64_t bytes) {
    if (bytes > 0) cost.parts.push_back({step, from, to, bytes});
  };
  auto add = [&](size_t step, PartyIndex from, PartyIndex to, Shape shape) {
    add_bytes(step, from, to, shape.size() * element_bytes_);
  };
  for (const ScheduledInput& input : schedule.inputs) {
    add(0, input.owner, Previous(input.owner), input.shape);
  }
  for (const DealtOperand& dealt : schedule.dealt) {
    if (dealt.sent) add(0, dealt.matrix.owner, Previous(dealt.matrix.owner), dealt.matrix.shape);
  }
  for (const ScheduledProduct& product : schedule.products) {
    if (product.rescale != kNone) continue;
    if (product.route == Route::kOwned) {
      add(0, product.owner, Previous(product.owner), product.shape);
    } else if (product.route != Route::kLocal) {
      for (PartyIndex i = 0; i < kParties; ++i) {
        add(product.step, i, replicated::Next(i), product.shape);
      }
    }
  }
  for (const ScheduledRescale& rescale : schedule.rescales) {
    const uint64_t packed = rescale.shape.size() * PackedBytes(static_cast<size_t>(rescale.shift));
    add(rescale.step, kTruncationFirst, kTruncationSecond, rescale.shape);
    add(rescale.step, kTruncationSecond, kTruncationFirst, rescale.shape);
    add(rescale.step, kTruncationDealer, kTruncationSecond, rescale.shape);
    add_bytes(rescale.step, kTruncationDealer, kTruncationSecond, packed);
    add_bytes(rescale.step + 1, kTruncationFirst, kTruncationSecond, packed);
    add_bytes(rescale.step + 1, kTruncationSecond, kTruncationFirst, packed);
  }
  for (const ScheduledReveal& reveal : schedule.reveals) {
    for (PartyIndex to = 0; to < kParties; ++to) {
      if (reveal.to == kEverybody || reveal.to == to) {
        add(0, replicated::Next(to), to, reveal.shape);
      }
    }
  }
  AddBitCost(schedule);
  for (const MessagePart& part : cost.parts) cost.steps = std::max(cost.steps, part.step + 1);
}

OracleLayout Scheduler::NextOracle(Shape values, const OracleTask& task) {
  const size_t rows = MaxOracleRows(task);
  const PartyIndex centre = task.centre;
  const PartyIndex with_tape = replicated::Next(centre), with_rest = Previous(centre);
  OracleLayout layout;
  layout.split_offset = Reserve({rows, values.rows});
  layout.zero_offset = Reserve({rows, values.cols});
  OracleCost& cost = layout.cost;
  for (const OracleKind& kind : task.kinds) {
    const uint64_t request = kind.rows * values.rows * element_bytes_;
    const uint64_t reply = kind.rows * values.cols * element_bytes_;
    cost.evaluations.push_back({2,
                                {{0, centre, with_tape, kOracleHeadBytes},
                                 {0, centre, with_rest, kOracleHeadBytes + request},
                                 {1, with_tape, centre, reply},
                                 {1, with_rest, centre, reply}},
                                {}});
  }
  cost.stop = {
      1, {{0, centre, with_tape, kOracleHeadBytes}, {0, centre, with_rest, kOracleHeadBytes}}, {}};
  cost.setup.requirements = {{Correlation::Kind::kOracleRows, {}, values, {rows, values.rows}}};
  return layout;
}

const Capabilities& ReplicatedCapabilities() {
  static const Capabilities capabilities = {
      "replicated",
      "Semi-honest with an honest majority: one of the three computing parties may be corrupted; "
      "any two together see everything.",
      kParties,
      kParties,
      false,
      true};
  return capabilities;
}

std::unique_ptr<CostModel> MakeReplicatedCostModel(size_t num_parties, int ring_bits,
                                                   const Options& options) {
  if (num_parties != kParties) {
    throw Error(ErrorCode::kBadInput, "the engine replicated needs exactly three computing parties",
                "use three parties in the roster, or the engine dealer");
  }
  return MakeScheduledCostModel({ReplicatedCapabilities(), kParties, kParties, ring_bits},
                                Scheduler(static_cast<size_t>(ring_bits + 7) / 8, options));
}

}  // namespace partita::mpc::replicated
