#include "mpc/shamir_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/rules.h"
#include "mpc/scheduled_cost.h"
#include "mpc/shamir_code.h"

namespace partita::mpc::shamir {
namespace {

// Intervals of tapes begin at whole cipher blocks.
constexpr uint64_t kAlignment = 16;
uint64_t Aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

bool IsPublic(const Operand& operand) { return std::holds_alternative<PublicMatrix>(operand); }

Route RouteOf(const Product& product) {
  const auto left = OwnerOf(product.left), right = OwnerOf(product.right);
  if (IsPublic(product.left) || IsPublic(product.right)) {
    return left || right ? Route::kOwned : Route::kLocal;
  }
  return left && right && *left == *right ? Route::kOwned : Route::kShared;
}

int CeilLog2(size_t value) { return static_cast<int>(std::bit_width(value - 1)); }

// k with |x| < 2^(k-1), for every x within its bound.
int ValueBits(const Shared& value) { return static_cast<int>(BitsFor(value)); }

ScheduledMask MaskOf(size_t entries, size_t width) {
  ScheduledMask mask;
  mask.entries = entries;
  mask.width = width;
  return mask;
}

size_t WordsOf(Shape shape, size_t width) { return width * WordsPerPlane(shape); }

}  // namespace

std::vector<Group> GroupsOf(size_t num_parties, size_t threshold) {
  const size_t size = num_parties - threshold;
  std::vector<Group> groups;
  for (Group group = 0; group < Group{1} << num_parties; ++group) {
    if (static_cast<size_t>(std::popcount(group)) == size) groups.push_back(group);
  }
  return groups;
}

Scheduler::Scheduler(const Parameters& parameters)
    : parameters_(parameters),
      levels_(static_cast<size_t>(CeilLog2(parameters.threshold + 1))),
      group_bits_(CeilLog2(GroupsOf(parameters.num_parties, parameters.threshold).size())) {}

uint64_t Scheduler::ReserveElements(size_t size) {
  const uint64_t begin = next_offset_;
  next_offset_ += Aligned(size * parameters_.tape_bytes);
  return begin;
}

uint64_t Scheduler::ReserveBits(size_t words) {
  const uint64_t begin = next_bit_offset_;
  next_bit_offset_ += Aligned(words * sizeof(uint64_t));
  return begin;
}

size_t Scheduler::AddTransfer(Schedule& schedule, Transfer transfer) {
  if (transfer.kind != Transfer::Kind::kOpen) {
    transfer.offset = transfer.bits ? ReserveBits(transfer.size * parameters_.slices())
                                    : ReserveElements(transfer.size);
    schedule.cost.requirements.push_back({Correlation::Kind::kRandomSharing,
                                          {},
                                          {transfer.bits ? 64 : size_t{1}, transfer.size},
                                          {}});
  }
  schedule.transfers.push_back(transfer);
  return schedule.transfers.size() - 1;
}

// ---- masks

namespace {

// The smallest D for a uniform mask over 2^field_bits - 1; 0 if there is none.
size_t NumDigits(int field_bits, size_t threshold, int value_bits, int width) {
  if (value_bits >= field_bits) return 0;
  const UInt128 order = (static_cast<UInt128>(1) << field_bits) - 1;
  const UInt128 rest = (static_cast<UInt128>(1) << value_bits) + (static_cast<UInt128>(1) << width);
  const int high_bits = field_bits - width;
  for (size_t digits = 2; digits <= 4 * threshold + 6; ++digits) {
    if (high_bits < 8 && digits == size_t{1} << high_bits && rest - 1 <= order) return digits;
    if (digits < threshold + 2) continue;
    const UInt128 parts = (threshold + 1) * (order / digits + 1);
    if (parts < order && rest < order - parts) return digits;
  }
  return 0;
}

}  // namespace

std::vector<size_t> JoinCounts(const std::vector<size_t>& counts) {
  std::vector<size_t> joined;
  for (size_t i = 0; i + 1 < counts.size(); i += 2) joined.push_back(counts[i] + counts[i + 1] - 1);
  if (counts.size() % 2 == 1) joined.push_back(counts.back());
  return joined;
}

ScheduledMask Scheduler::MaskFor(size_t entries, int value_bits, int width) const {
  ScheduledMask mask = MaskOf(entries, static_cast<size_t>(width));
  const int available = parameters_.mask_bits - group_bits_;
  if (available - value_bits >= parameters_.statistical_bits) {
    mask.integer_bits = available - width;
    return mask;
  }
  mask.digits = NumDigits(parameters_.mersenne_bits, parameters_.threshold, value_bits, width);
  mask.integer_bits = parameters_.mersenne_bits - width;
  if (mask.digits != 0) return mask;
  throw Error(
      ErrorCode::kBadInput,
      fmt::format("a value of {} bits is to be opened under a mask, which leaves no room for the "
                  "mask in the field of {} bits",
                  value_bits, parameters_.mask_bits + 1),
      "use tighter bounds or fewer fraction bits, or the engine replicated or dealer");
}

void Scheduler::CheckMasks(std::span<const Operation> operations) const {
  for (const Operation& operation : operations) {
    if (auto* rescale = std::get_if<RescaleOperation>(&operation)) {
      for (const Shared& value : rescale->values) {
        const int shift = value.fraction_bits - rescale->fraction_bits;
        if (shift > 0) MaskFor(0, std::max(ValueBits(value), shift + 1), shift);
      }
    }
    if (auto* decompose = std::get_if<DecomposeOperation>(&operation)) {
      for (size_t i = 0; i < decompose->values.size(); ++i) {
        const auto width = static_cast<int>(decompose->widths[i]);
        MaskFor(0, std::max(ValueBits(decompose->values[i]), width), width);
      }
    }
  }
}

size_t Scheduler::AddMask(Schedule& schedule, ScheduledMask mask) {
  using Kind = Transfer::Kind;
  const size_t n = parameters_.num_parties, words = WordsOf({mask.entries, 1}, mask.width);
  const size_t elements = mask.entries * mask.width;
  const size_t indicator = mask.as_bits ? WordsOf({mask.entries, 1}, 1) : mask.entries;
  mask.bits_offset = ReserveBits(words);
  mask.integer_offset = next_integer_offset_;
  if (mask.integer_bits > 0) {
    next_integer_offset_ += Aligned(mask.entries * parameters_.tape_bytes);
  }
  for (PartyIndex dealer = n - parameters_.threshold; dealer < n; ++dealer) {
    auto deal = [&](bool bits, size_t size) {
      return AddTransfer(schedule, {Kind::kDeal, bits, 0, size, dealer, 0});
    };
    mask.deals.push_back(deal(false, elements));
    if (mask.as_bits) mask.bit_deals.push_back(deal(true, words));
    if (mask.digits == 0) continue;
    mask.integer_deals.push_back(deal(false, mask.entries));
    mask.indicator_deals.push_back(deal(mask.as_bits, (mask.digits - 1) * indicator));
  }
  size_t vectors = parameters_.threshold + 1;
  std::vector<size_t> counts(vectors, mask.digits);
  for (size_t level = 1; level <= levels_; ++level) {
    const size_t size = level == levels_ && mask.sum ? mask.entries : vectors / 2 * elements;
    mask.reshares.push_back(AddTransfer(schedule, {Kind::kReshare, false, level, size, 0, 0}));
    if (mask.digits != 0) {
      size_t values = 0;
      for (size_t i = 0; i + 1 < counts.size(); i += 2) values += counts[i] + counts[i + 1] - 2;
      mask.indicator_reshares.push_back(
          AddTransfer(schedule, {Kind::kReshare, mask.as_bits, level, values * indicator, 0, 0}));
      counts = JoinCounts(counts);
    }
    vectors = (vectors + 1) / 2;
  }
  schedule.masks.push_back(std::move(mask));
  return schedule.masks.size() - 1;
}

// ---- products

void Scheduler::Register(const FixedOperand& operand) {
  fixed_[operand.id] = {operand.matrix.shape, operand.matrix.owner, false};
}

// Finds or adds the operand; a fixed one appears once however many products use it.
size_t Scheduler::Deal(Schedule& schedule, const Operand& operand) {
  DealtOperand dealt;
  bool deal = true;
  if (auto* fixed = std::get_if<FixedOperand>(&operand)) {
    for (size_t i = 0; i < schedule.dealt.size(); ++i) {
      if (schedule.dealt[i].fixed_id == fixed->id) return i;
    }
    auto known = fixed_.find(fixed->id);
    if (known == fixed_.end() || known->second.shape != fixed->matrix.shape ||
        known->second.owner != fixed->matrix.owner) {
      throw Error(ErrorCode::kUsage, "a fixed operand was registered with another engine",
                  "register it with the engine that uses it");
    }
    dealt.matrix = fixed->matrix;
    dealt.fixed_id = fixed->id;
    deal = !known->second.dealt;
    known->second.dealt = true;
  } else {
    dealt.matrix = std::get<PrivateMatrix>(operand);
  }
  if (deal) {
    dealt.deal = AddTransfer(schedule, {Transfer::Kind::kDeal, false, 0, dealt.matrix.shape.size(),
                                        dealt.matrix.owner, 0});
  }
  schedule.dealt.push_back(std::move(dealt));
  return schedule.dealt.size() - 1;
}

void Scheduler::AddProduct(Schedule& schedule, const Product& product, ScheduledProduct scheduled) {
  if (RowsOf(product.left) != nullptr || RowsOf(product.right) != nullptr) {
    throw Error(ErrorCode::kUsage, "the engine shamir multiplies fixed operands as a whole only",
                "choose the engine dealer, replicated or ot");
  }
  scheduled.route = RouteOf(product);
  const size_t size = scheduled.shape.size();
  if (scheduled.route == Route::kOwned) {
    const auto left = OwnerOf(product.left);
    scheduled.owner = left ? *left : *OwnerOf(product.right);
    scheduled.transfer =
        AddTransfer(schedule, {Transfer::Kind::kDeal, false, 0, size, scheduled.owner, 0});
  } else if (scheduled.route == Route::kShared) {
    size_t step = 0;
    for (auto [operand, index] :
         {std::pair{&product.left, &scheduled.left}, std::pair{&product.right, &scheduled.right}}) {
      if (!OwnerOf(*operand)) continue;
      *index = Deal(schedule, *operand);
      if (schedule.dealt[*index].deal != kNone) step = 1;
    }
    scheduled.transfer = AddTransfer(schedule, {Transfer::Kind::kReshare, false, step, size, 0, 0});
  }
  schedule.products.push_back(std::move(scheduled));
}

// ---- all operations

Schedule Scheduler::Next(std::span<const Operation> operations) {
  using Kind = Transfer::Kind;
  CheckMasks(operations);
  Schedule schedule;
  auto add = [&](Kind kind, bool bits, size_t step, size_t size, PartyIndex party) {
    return AddTransfer(schedule, {kind, bits, step, size, party, 0});
  };
  for (size_t op = 0; op < operations.size(); ++op) {
    if (auto* input = std::get_if<InputOperation>(&operations[op])) {
      for (size_t i = 0; i < input->inputs.size(); ++i) {
        const PrivateMatrix& matrix = input->inputs[i];
        schedule.inputs.push_back(
            {op, i, add(Kind::kDeal, false, 0, matrix.shape.size(), matrix.owner)});
      }
    }
    if (auto* multiply = std::get_if<MultiplyOperation>(&operations[op])) {
      for (size_t i = 0; i < multiply->products.size(); ++i) {
        ScheduledProduct scheduled;
        scheduled.operation = op;
        scheduled.index = i;
        scheduled.shape = multiply->results[i].shape;
        AddProduct(schedule, multiply->products[i], std::move(scheduled));
      }
    }
    if (auto* rescale = std::get_if<RescaleOperation>(&operations[op])) {
      for (size_t i = 0; i < rescale->values.size(); ++i) {
        const Shared& value = rescale->values[i];
        const int shift = value.fraction_bits - rescale->fraction_bits;
        if (shift <= 0) continue;
        ScheduledRescale scheduled{op, i, shift, std::max(ValueBits(value), shift + 1), 0, 0};
        scheduled.mask =
            AddMask(schedule, MaskFor(value.shape.size(), scheduled.value_bits, shift));
        scheduled.open = add(Kind::kOpen, false, 1 + levels_, value.shape.size(), kEverybody);
        schedule.rescales.push_back(scheduled);
      }
    }
    if (auto* reveal = std::get_if<RevealOperation>(&operations[op])) {
      for (size_t i = 0; i < reveal->values.size(); ++i) {
        schedule.reveals.push_back(
            {op, i, add(Kind::kOpen, false, 0, reveal->values[i].shape.size(), reveal->to)});
      }
    }
    if (auto* input = std::get_if<InputBitsOperation>(&operations[op])) {
      for (size_t i = 0; i < input->inputs.size(); ++i) {
        const auto& [owner, values] = input->inputs[i];
        schedule.bit_inputs.push_back(
            {op, i, add(Kind::kDeal, true, 0, WordsOf(values.shape, values.width), owner)});
      }
    }
    if (auto* conjunction = std::get_if<AndOperation>(&operations[op])) {
      for (size_t i = 0; i < conjunction->products.size(); ++i) {
        const SharedBits& left = conjunction->products[i].left;
        schedule.ands.push_back(
            {op, i, add(Kind::kReshare, true, 0, WordsOf(left.shape, left.width), 0)});
      }
    }
    if (auto* decompose = std::get_if<DecomposeOperation>(&operations[op])) {
      for (size_t i = 0; i < decompose->values.size(); ++i) {
        const Shared& value = decompose->values[i];
        const auto width = static_cast<int>(decompose->widths[i]);
        ScheduledDecompose scheduled{op, i, std::max(ValueBits(value), width), 0, 0, kNone};
        ScheduledMask mask = MaskFor(value.shape.size(), scheduled.value_bits, width);
        mask.as_bits = true;
        const bool uniform = mask.digits != 0;
        scheduled.mask = AddMask(schedule, std::move(mask));
        scheduled.open = add(Kind::kOpen, false, 1 + levels_, value.shape.size(), kEverybody);
        if (uniform) {
          scheduled.reshare =
              add(Kind::kReshare, true, 2 + levels_, WordsOf(value.shape, decompose->widths[i]), 0);
        }
        schedule.decomposes.push_back(scheduled);
      }
    }
    if (auto* to_ring = std::get_if<ToRingOperation>(&operations[op])) {
      for (size_t i = 0; i < to_ring->bits.size(); ++i) {
        const SharedBits& bits = to_ring->bits[i];
        ScheduledMask mask = MaskOf(bits.shape.size(), bits.width);
        mask.sum = false;
        mask.as_bits = true;
        const size_t index = AddMask(schedule, std::move(mask));
        schedule.to_rings.push_back(
            {op, i, index, add(Kind::kOpen, true, 1, WordsOf(bits.shape, bits.width), kEverybody)});
      }
    }
    if (auto* reveal = std::get_if<RevealBitsOperation>(&operations[op])) {
      for (size_t i = 0; i < reveal->values.size(); ++i) {
        const SharedBits& value = reveal->values[i];
        schedule.bit_reveals.push_back(
            {op, i, add(Kind::kOpen, true, 0, WordsOf(value.shape, value.width), reveal->to)});
      }
    }
  }
  AddCost(schedule);
  return schedule;
}

// In the order in which ShamirTransfers queues the parts.
void Scheduler::AddCost(Schedule& schedule) const {
  ExecutionCost& cost = schedule.cost;
  const size_t n = parameters_.num_parties;
  for (const Transfer& transfer : schedule.transfers) {
    const uint64_t bytes = transfer.size * (transfer.bits ? parameters_.slices() * sizeof(uint64_t)
                                                          : parameters_.element_bytes);
    if (bytes == 0) continue;
    auto deal = [&](PartyIndex dealer) {
      for (size_t i = parameters_.threshold + 1; i < n; ++i) {
        cost.parts.push_back({transfer.step, dealer, (dealer + i) % n, bytes});
      }
    };
    switch (transfer.kind) {
      case Transfer::Kind::kDeal:
        deal(transfer.party);
        break;
      case Transfer::Kind::kReshare:
        for (PartyIndex dealer = 0; dealer <= 2 * parameters_.threshold; ++dealer) deal(dealer);
        break;
      case Transfer::Kind::kOpen:
        for (PartyIndex to = 0; to < n; ++to) {
          if (transfer.party != kEverybody && transfer.party != to) continue;
          for (PartyIndex from = 0; from < n; ++from) {
            if (from != to) cost.parts.push_back({transfer.step, from, to, bytes});
          }
        }
    }
  }
  for (const MessagePart& part : cost.parts) cost.steps = std::max(cost.steps, part.step + 1);
}

OracleLayout Scheduler::NextOracle(Shape values, const OracleTask& task) {
  const size_t n = parameters_.num_parties, rows = MaxOracleRows(task);
  OracleLayout layout;
  layout.weights_offset = ReserveElements(rows * values.rows);
  layout.zero_offset = ReserveElements(rows * values.cols);
  OracleCost& cost = layout.cost;
  for (const OracleKind& kind : task.kinds) {
    const uint64_t request = kind.rows * values.rows * parameters_.element_bytes;
    const uint64_t reply = kind.rows * values.cols * parameters_.element_bytes;
    ExecutionCost evaluation;
    evaluation.steps = 2;
    for (size_t i = 1; i < n; ++i) {
      const PartyIndex party = (task.centre + i) % n;
      const bool sent = i > parameters_.threshold && i <= 2 * parameters_.threshold;
      evaluation.parts.push_back({0, task.centre, party, kOracleHeadBytes + (sent ? request : 0)});
    }
    for (size_t i = 1; i <= 2 * parameters_.threshold; ++i) {
      evaluation.parts.push_back({1, (task.centre + i) % n, task.centre, reply});
    }
    cost.evaluations.push_back(std::move(evaluation));
  }
  cost.stop.steps = 1;
  for (size_t i = 1; i < n; ++i) {
    cost.stop.parts.push_back({0, task.centre, (task.centre + i) % n, kOracleHeadBytes});
  }
  cost.setup.requirements = {{Correlation::Kind::kOracleRows, {}, values, {rows, values.rows}}};
  return layout;
}

// ---- the PlanEngine's side

const Capabilities& ShamirCapabilities() {
  static const Capabilities capabilities = {
      "shamir",
      "Semi-honest with an honest majority: fewer than half of the three to seven computing "
      "parties may be corrupted and collude. Wrong shares in openings are corrected if that are "
      "fewer than a third of the parties, and otherwise noticed; other lies are not.",
      kMinParties, kMaxParties, false};
  return capabilities;
}

void CheckNumParties(size_t num_parties) {
  if (num_parties >= kMinParties && num_parties <= kMaxParties) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("the engine shamir computes among {} to {} parties, not {}", kMinParties,
                          kMaxParties, num_parties),
              "change the roster, or use the engine dealer");
}

void CheckThreshold(size_t num_parties, size_t threshold) {
  const size_t largest = ShamirThreshold(num_parties);
  if (threshold >= 1 && threshold <= largest) return;
  throw Error(ErrorCode::kBadInput,
              fmt::format("the engine shamir tolerates 1 to {} of {} parties, not {}", largest,
                          num_parties, threshold),
              "fewer than half of the parties can be tolerated, and at least one");
}

ExecutionCost SetupCost(size_t num_parties, size_t threshold) {
  ExecutionCost cost;
  for (Group group : GroupsOf(num_parties, threshold)) {
    if (std::popcount(group) == 2) continue;  // a pair has a key already
    const auto first = static_cast<PartyIndex>(std::countr_zero(group));
    for (PartyIndex member = first + 1; member < num_parties; ++member) {
      if (IsMember(group, member)) cost.parts.push_back({0, first, member, kGroupKeyBytes});
    }
    cost.steps = 1;
  }
  return cost;
}

std::unique_ptr<CostModel> MakeShamirCostModel(size_t num_parties, int ring_bits,
                                               std::optional<size_t> threshold) {
  CheckNumParties(num_parties);
  Parameters parameters;
  parameters.num_parties = num_parties;
  parameters.threshold = threshold.value_or(ShamirThreshold(num_parties));
  CheckThreshold(num_parties, parameters.threshold);
  parameters.mask_bits = ring_bits - 1;
  parameters.element_bytes = ring_bits > 64 ? 16 : 8;
  parameters.mersenne_bits = ring_bits;
  return MakeScheduledCostModel({ShamirCapabilities(), num_parties, num_parties, ring_bits,
                                 SetupCost(num_parties, parameters.threshold)},
                                Scheduler(parameters));
}

}  // namespace partita::mpc::shamir
