#include "mpc/dealer_bit_schedule.h"

#include "mpc/bit_kernels.h"
#include "mpc/dealer_schedule.h"
#include "mpc/window_kernels.h"

namespace partita::mpc {
namespace {

size_t WordsOf(const SharedBits& bits) { return bits.width * WordsPerPlane(bits.shape); }

size_t FindMask(const DealerBitPlan& plan, const SharedBits& operand) {
  size_t i = 0;
  while (i < plan.masked.size() && plan.masked[i].operand.payload != operand.payload) ++i;
  return i;
}

}  // namespace

uint64_t DealerSchedule::ReserveBits(size_t words) {
  const uint64_t begin = next_bit_offset_;
  next_bit_offset_ += (words + 1) / 2 * 16;  // whole cipher blocks
  return begin;
}

size_t DealerSchedule::MaskBits(DealerBitPlan& plan, const SharedBits& operand) {
  const size_t index = FindMask(plan, operand);
  if (index == plan.masked.size()) {
    plan.masked.push_back({operand, WordsOf(operand), ReserveBits(WordsOf(operand))});
  }
  return index;
}

void DealerSchedule::AddBits(ScheduledExecution& execution, std::span<const Operation> operations) {
  DealerBitPlan& plan = execution.bits;
  Requirements& requirements = execution.cost.requirements;
  auto require = [&](Correlation::Kind kind, size_t width, Shape shape) {
    requirements.push_back({kind, {}, {width, shape.size()}, {}});
  };
  auto add_decompose = [&](size_t op, size_t i, Shape shape, size_t width, bool windows) {
    const size_t planes = windows ? WindowPlanes(width) : width;
    const size_t words = planes * WordsPerPlane(shape);
    const uint64_t mask_offset = ReserveBytes(shape.size() * PackedBytes(width));
    plan.decomposes.push_back(
        {op, i, windows, shape.size(), width, words, mask_offset, ReserveBits(words)});
    require(Correlation::Kind::kBitMask, width, shape);
  };
  for (size_t op = 0; op < operations.size(); ++op) {
    if (auto* conjunction = std::get_if<AndOperation>(&operations[op])) {
      for (size_t i = 0; i < conjunction->products.size(); ++i) {
        const auto& [left, right] = conjunction->products[i];
        const size_t l = MaskBits(plan, left), r = MaskBits(plan, right);
        plan.ands.push_back({op, i, l, r, WordsOf(left), ReserveBits(WordsOf(left))});
        require(Correlation::Kind::kBitTriple, left.width, left.shape);
      }
    }
    if (auto* decompose = std::get_if<DecomposeOperation>(&operations[op])) {
      for (size_t i = 0; i < decompose->values.size(); ++i)
        add_decompose(op, i, decompose->values[i].shape, decompose->widths[i], false);
    }
    if (auto* decompose = std::get_if<DecomposeWindowsOperation>(&operations[op])) {
      for (size_t i = 0; i < decompose->values.size(); ++i)
        add_decompose(op, i, decompose->values[i].shape, decompose->widths[i], true);
    }
    if (auto* to_ring = std::get_if<ToRingOperation>(&operations[op])) {
      for (size_t i = 0; i < to_ring->bits.size(); ++i) {
        const SharedBits& bits = to_ring->bits[i];
        plan.to_rings.push_back({op, i, bits.shape.size(), bits.width, WordsOf(bits),
                                 ReserveBits(WordsOf(bits)),
                                 Reserve(bits.shape.size() * bits.width)});
        require(Correlation::Kind::kBitConversion, bits.width, bits.shape);
      }
    }
    if (auto* reveal = std::get_if<RevealBitsOperation>(&operations[op])) {
      for (size_t i = 0; i < reveal->values.size(); ++i) {
        const size_t words = WordsOf(reveal->values[i]);
        plan.reveals.push_back({op, i, words, reveal->to, ReserveBits(words)});
        require(Correlation::Kind::kRandomSharing, reveal->values[i].width,
                reveal->values[i].shape);
      }
    }
  }
}

// The order of the parts is the order in which DealerBits and BitDealer queue them.
void DealerSchedule::AddBitCost(ScheduledExecution& execution) const {
  const DealerBitPlan& plan = execution.bits;
  const PartyIndex last = num_parties_ - 1, dealer = num_parties_;
  auto add = [&](PartyIndex from, PartyIndex to, uint64_t bytes) {
    if (from == dealer && options_.dealt_ahead) return;
    if (from != to && bytes > 0) execution.cost.parts.push_back({0, from, to, bytes});
  };
  auto open = [&](uint64_t bytes, PartyIndex receiver) {
    for (PartyIndex from = 0; from < num_parties_; ++from) {
      for (PartyIndex to = 0; to < num_parties_; ++to) {
        if (receiver == kEverybody || receiver == to) add(from, to, bytes);
      }
    }
  };
  constexpr uint64_t kWord = sizeof(uint64_t);
  for (const MaskedBits& masked : plan.masked) open(masked.words * kWord, kEverybody);
  for (const ScheduledAnd& conjunction : plan.ands) add(dealer, last, conjunction.words * kWord);
  for (const ScheduledDecompose& decompose : plan.decomposes) {
    open(decompose.size * PackedBytes(decompose.width), kEverybody);
    add(dealer, last, decompose.words * kWord);
  }
  for (const ScheduledToRing& to_ring : plan.to_rings) {
    open(to_ring.words * kWord, kEverybody);
    add(dealer, last, to_ring.size * to_ring.width * element_bytes_);
  }
  for (const ScheduledBitReveal& reveal : plan.reveals) open(reveal.words * kWord, reveal.to);
}

}  // namespace partita::mpc
