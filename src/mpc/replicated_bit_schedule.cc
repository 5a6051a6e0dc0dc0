#include "mpc/replicated_bit_schedule.h"

#include "mpc/replicated_schedule.h"

namespace partita::mpc::replicated {
namespace {

size_t WordsOf(Shape shape, size_t width) { return width * WordsPerPlane(shape); }

}  // namespace

uint64_t Scheduler::ReserveBits(size_t words) {
  const uint64_t begin = next_bit_offset_;
  next_bit_offset_ += (words + 1) / 2 * 16;  // whole cipher blocks
  return begin;
}

void Scheduler::AddBits(Schedule& schedule, std::span<const Operation> operations) {
  BitSchedule& bits = schedule.bits;
  auto require = [&](size_t width, Shape shape) {
    schedule.cost.requirements.push_back(
        {Correlation::Kind::kRandomSharing, {}, {width, shape.size()}, {}});
  };
  for (size_t op = 0; op < operations.size(); ++op) {
    if (auto* input = std::get_if<InputBitsOperation>(&operations[op])) {
      for (size_t i = 0; i < input->inputs.size(); ++i) {
        const auto& [owner, values] = input->inputs[i];
        const size_t words = WordsOf(values.shape, values.width);
        bits.inputs.push_back({op, i, owner, words, ReserveBits(words)});
        require(values.width, values.shape);
      }
    }
    if (auto* conjunction = std::get_if<AndOperation>(&operations[op])) {
      for (size_t i = 0; i < conjunction->products.size(); ++i) {
        const SharedBits& left = conjunction->products[i].left;
        const size_t words = WordsOf(left.shape, left.width);
        bits.ands.push_back({op, i, words, ReserveBits(words)});
        require(left.width, left.shape);
      }
    }
    if (auto* decompose = std::get_if<DecomposeOperation>(&operations[op])) {
      for (size_t i = 0; i < decompose->values.size(); ++i) {
        const Shape shape = decompose->values[i].shape;
        const size_t width = decompose->widths[i], words = WordsOf(shape, width);
        bits.decomposes.push_back({op, i, width, words, ReserveBits(words), ReserveBits(words)});
        require(2 * width, shape);
      }
    }
    if (auto* to_ring = std::get_if<ToRingOperation>(&operations[op])) {
      for (size_t i = 0; i < to_ring->bits.size(); ++i) {
        const auto& [shape, width, payload] = to_ring->bits[i];
        const Shape elements = {shape.size(), width};
        bits.to_rings.push_back({op, i, shape.size(), width, Reserve(elements), Reserve(elements)});
        schedule.cost.requirements.push_back(
            {Correlation::Kind::kBitConversion, {}, {width, shape.size()}, {}});
      }
    }
    if (auto* reveal = std::get_if<RevealBitsOperation>(&operations[op])) {
      for (size_t i = 0; i < reveal->values.size(); ++i) {
        const SharedBits& value = reveal->values[i];
        bits.reveals.push_back({op, i, WordsOf(value.shape, value.width), reveal->to});
      }
    }
  }
}

// The order of the parts is the order in which ReplicatedBits queues them.
void Scheduler::AddBitCost(Schedule& schedule) const {
  const BitSchedule& bits = schedule.bits;
  auto add = [&](size_t step, PartyIndex from, PartyIndex to, uint64_t bytes) {
    if (bytes > 0) schedule.cost.parts.push_back({step, from, to, bytes});
  };
  auto reshare = [&](size_t step, uint64_t bytes) {
    for (PartyIndex i = 0; i < kParties; ++i) add(step, i, replicated::Next(i), bytes);
  };
  constexpr uint64_t kWord = sizeof(uint64_t);
  for (const ScheduledBitInput& input : bits.inputs) {
    add(0, input.owner, Previous(input.owner), input.words * kWord);
  }
  for (const ScheduledAnd& conjunction : bits.ands) reshare(0, conjunction.words * kWord);
  for (const ScheduledDecompose& decompose : bits.decomposes) {
    add(0, 0, 2, decompose.words * kWord);
    reshare(1, decompose.words * kWord);
  }
  for (const ScheduledToRing& to_ring : bits.to_rings) {
    const uint64_t bytes = to_ring.size * to_ring.width * element_bytes_;
    add(0, 0, 2, bytes);
    add(1, 1, 2, bytes);
    add(1, 2, 1, bytes);
  }
  for (const ScheduledBitReveal& reveal : bits.reveals) {
    for (PartyIndex to = 0; to < kParties; ++to) {
      if (reveal.to == kEverybody || reveal.to == to) {
        add(0, replicated::Next(to), to, reveal.words * kWord);
      }
    }
  }
}

}  // namespace partita::mpc::replicated
