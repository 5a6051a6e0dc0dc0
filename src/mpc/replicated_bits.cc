#include "mpc/replicated_bits.h"

#include "mpc/bit_kernels.h"

namespace partita::mpc {

template <typename R>
ReplicatedBits<R>::ReplicatedBits(const replicated::BitSchedule& schedule,
                                  std::span<Operation> operations, PartyIndex self, Tape& own_tape,
                                  Tape& previous_tape)
    : schedule_(schedule),
      operations_(operations),
      self_(self),
      own_tape_(own_tape),
      previous_tape_(previous_tape),
      inputs_(schedule.inputs.size()),
      ands_(schedule.ands.size()),
      decomposes_(schedule.decomposes.size()),
      to_rings_(schedule.to_rings.size()),
      reveals_(schedule.reveals.size()) {}

// Parts are queued in the order of Scheduler::AddBitCost.
template <typename R>
void ReplicatedBits<R>::Start(size_t step, StepMessages& messages) {
  for (size_t i = 0; step == 0 && i < inputs_.size(); ++i) StartInput(i, messages);
  for (size_t i = 0; step == 0 && i < ands_.size(); ++i) StartAnd(i, messages);
  for (size_t i = 0; i < decomposes_.size(); ++i) {
    DecomposeState& state = decomposes_[i];
    if (step == 0) {
      StartDecompose(i, messages);
    } else {
      ShareAnd(state.a, state.b, schedule_.decomposes[i].zero_offset, state.generate, messages);
    }
  }
  for (size_t i = 0; i < to_rings_.size(); ++i) {
    step == 0 ? StartToRing(i, messages) : ShareToRing(i, messages);
  }
  for (size_t i = 0; step == 0 && i < reveals_.size(); ++i) StartReveal(i, messages);
}

template <typename R>
void ReplicatedBits<R>::Finish() {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const replicated::ScheduledBitInput& at = schedule_.inputs[i];
    SharedBits& result = std::get<InputBitsOperation>(operations_[at.operation]).results[at.index];
    result = Engine::WithBits(std::move(result), std::move(inputs_[i]));
  }
  for (size_t i = 0; i < ands_.size(); ++i) {
    const replicated::ScheduledAnd& at = schedule_.ands[i];
    SharedBits& result = std::get<AndOperation>(operations_[at.operation]).results[at.index];
    result = Engine::WithBits(std::move(result), std::move(ands_[i]));
  }
  for (size_t i = 0; i < decomposes_.size(); ++i) FinishDecompose(i);
  for (size_t i = 0; i < to_rings_.size(); ++i) FinishToRing(i);
  for (size_t i = 0; i < reveals_.size(); ++i) FinishReveal(i);
}

template <typename R>
auto ReplicatedBits<R>::Read(Tape& tape, uint64_t offset, size_t words) const -> BitVector {
  BitVector bits(words);
  if (words > 0) tape.Read(offset, BitBytes(BitWords(bits)));
  return bits;
}

template <typename R>
auto ReplicatedBits<R>::ReadElements(Tape& tape, uint64_t offset, size_t size) const -> Vector {
  Vector words(size);
  if (size > 0) tape.Read(offset, WireBytes(Words<R>(words)));
  ReduceWords<R>(Words<R>(words));
  return words;
}

// ---- input and and

template <typename R>
void ReplicatedBits<R>::ShareFrom(PartyIndex owner, uint64_t mask_offset, size_t words,
                                  BitComponents& shares, StepMessages& messages) const {
  auto& [own, previous] = shares;
  if (self_ == owner) {
    own = Read(own_tape_, mask_offset, words);
    XorInto(previous, own);
    messages.Send(replicated::Previous(owner), BitBytes(ConstBitWords(previous)));
  } else if (self_ == replicated::Next(owner)) {
    own.resize(words);
    previous = Read(previous_tape_, mask_offset, words);
  } else {
    own.resize(words);
    previous.resize(words);
    messages.Receive(owner, BitBytes(BitWords(own)));
  }
}

template <typename R>
void ReplicatedBits<R>::StartInput(size_t i, StepMessages& messages) {
  const replicated::ScheduledBitInput& at = schedule_.inputs[i];
  if (self_ == at.owner) {
    inputs_[i][1] =
        std::get<InputBitsOperation>(operations_[at.operation]).inputs[at.index].values.words;
  }
  ShareFrom(at.owner, at.mask_offset, at.words, inputs_[i], messages);
}

// a_i (b_i ^ b_(i-1)) ^ a_(i-1) b_i ^ tape i ^ tape i - 1.
template <typename R>
void ReplicatedBits<R>::ShareAnd(const BitComponents& a, const BitComponents& b,
                                 uint64_t zero_offset, BitComponents& out,
                                 StepMessages& messages) const {
  auto& [own, previous] = out;
  const size_t words = a[0].size();
  own = Read(own_tape_, zero_offset, words);
  previous = Read(previous_tape_, zero_offset, words);
  for (size_t w = 0; w < words; ++w) {
    own[w] ^= previous[w] ^ (a[0][w] & (b[0][w] ^ b[1][w])) ^ (a[1][w] & b[0][w]);
  }
  messages.Send(replicated::Next(self_), BitBytes(ConstBitWords(own)));
  messages.Receive(replicated::Previous(self_), BitBytes(BitWords(previous)));
}

template <typename R>
void ReplicatedBits<R>::StartAnd(size_t i, StepMessages& messages) {
  const replicated::ScheduledAnd& at = schedule_.ands[i];
  const auto& [left, right] = std::get<AndOperation>(operations_[at.operation]).products[at.index];
  ShareAnd(Engine::BitsOf(left), Engine::BitsOf(right), at.zero_offset, ands_[i], messages);
}

// ---- ring to bits

template <typename R>
void ReplicatedBits<R>::StartDecompose(size_t i, StepMessages& messages) {
  const replicated::ScheduledDecompose& at = schedule_.decomposes[i];
  const Shared& value = std::get<DecomposeOperation>(operations_[at.operation]).values[at.index];
  const auto& [own, previous] = Engine::SharesOf(value).components;
  DecomposeState& state = decomposes_[i];
  for (BitVector& component : state.b) component.resize(at.words);
  if (self_ == 0) {
    Vector sum(own.size());
    Add<R>(own, previous, sum);
    state.a[1] = ToPlanes<R>(sum, at.width);
  } else {
    state.b[self_ - 1] = ToPlanes<R>(self_ == 1 ? own : previous, at.width);
  }
  ShareFrom(0, at.mask_offset, at.words, state.a, messages);
}

template <typename R>
void ReplicatedBits<R>::FinishDecompose(size_t i) {
  const replicated::ScheduledDecompose& at = schedule_.decomposes[i];
  DecomposeState& state = decomposes_[i];
  for (size_t c = 0; c < 2; ++c) XorInto(state.a[c], state.b[c]);
  CarryBits& result = std::get<DecomposeOperation>(operations_[at.operation]).results[at.index];
  result = {Engine::WithBits(result.propagate, std::move(state.a)),
            Engine::WithBits(result.generate, std::move(state.generate))};
}

// ---- bits to ring

template <typename R>
void ReplicatedBits<R>::StartToRing(size_t i, StepMessages& messages) {
  const replicated::ScheduledToRing& at = schedule_.to_rings[i];
  const size_t size = at.size * at.width;
  ToRingState& state = to_rings_[i];
  if (self_ == 1) {
    state.part = ReadElements(previous_tape_, at.mask_offset, size);
  } else if (self_ == 2) {
    state.part.resize(size);
    messages.Receive(0, WireBytes(Words<R>(state.part)));
  } else {
    const SharedBits& bits = std::get<ToRingOperation>(operations_[at.operation]).bits[at.index];
    BitVector planes = Engine::BitsOf(bits)[0];
    XorInto(planes, Engine::BitsOf(bits)[1]);
    state.part = FromPlanes<R>(planes, at.size, at.width);
    Sub<R>(state.part, ReadElements(own_tape_, at.mask_offset, size), state.part);
    messages.Send(2, WireBytes(ConstWords<R>(state.part)));
  }
}

template <typename R>
void ReplicatedBits<R>::ShareToRing(size_t i, StepMessages& messages) {
  const replicated::ScheduledToRing& at = schedule_.to_rings[i];
  const size_t size = at.size * at.width;
  ToRingState& state = to_rings_[i];
  if (self_ == 0) return;
  const bool first = self_ == 1;
  const SharedBits& bits = std::get<ToRingOperation>(operations_[at.operation]).bits[at.index];
  ReduceWords<R>(Words<R>(state.part));
  const Vector s = FromPlanes<R>(Engine::BitsOf(bits)[first ? 0 : 1], at.size, at.width);
  // Component 0 at party 1, component 2 at party 2: of the result, and the mask of the message.
  Vector& mask = state.shares[first ? 1 : 0];
  mask = ReadElements(first ? previous_tape_ : own_tape_, at.result_offset, size);
  state.mine.resize(size);
  state.theirs.resize(size);
  for (size_t e = 0; e < size; ++e) {
    const Word sign = R::Sub(1, R::Add(s[e], s[e]));
    const Word share = R::Sub(R::Mul(sign, state.part[e]), mask[e]);
    state.mine[e] = first ? R::Add(share, s[e]) : share;
  }
  const PartyIndex other = first ? 2 : 1;
  messages.Send(other, WireBytes(ConstWords<R>(state.mine)));
  messages.Receive(other, WireBytes(Words<R>(state.theirs)));
}

template <typename R>
void ReplicatedBits<R>::FinishToRing(size_t i) {
  const replicated::ScheduledToRing& at = schedule_.to_rings[i];
  const size_t size = at.size * at.width;
  ToRingState& state = to_rings_[i];
  auto& [own, previous] = state.shares;
  if (self_ == 0) {
    own = ReadElements(own_tape_, at.result_offset, size);
    previous = ReadElements(previous_tape_, at.result_offset, size);
  } else {
    ReduceWords<R>(Words<R>(state.theirs));
    Add<R>(state.mine, state.theirs, state.mine);
    (self_ == 1 ? own : previous) = std::move(state.mine);
  }
  Shared& result = std::get<ToRingOperation>(operations_[at.operation]).results[at.index];
  result = Engine::WithShares(std::move(result), std::move(state.shares));
}

// ---- reveal

template <typename R>
void ReplicatedBits<R>::StartReveal(size_t i, StepMessages& messages) {
  const replicated::ScheduledBitReveal& at = schedule_.reveals[i];
  const SharedBits& value =
      std::get<RevealBitsOperation>(operations_[at.operation]).values[at.index];
  const PartyIndex to = replicated::Previous(self_);  // lacks this party's own component
  if (at.to == kEverybody || at.to == to) {
    messages.Send(to, BitBytes(ConstBitWords(Engine::BitsOf(value)[0])));
  }
  if (at.to == kEverybody || at.to == self_) {
    reveals_[i].resize(at.words);
    messages.Receive(replicated::Next(self_), BitBytes(BitWords(reveals_[i])));
  }
}

template <typename R>
void ReplicatedBits<R>::FinishReveal(size_t i) {
  const replicated::ScheduledBitReveal& at = schedule_.reveals[i];
  if (at.to != kEverybody && at.to != self_) return;
  auto& reveal = std::get<RevealBitsOperation>(operations_[at.operation]);
  for (const BitVector& component : Engine::BitsOf(reveal.values[at.index])) {
    XorInto(reveals_[i], component);
  }
  reveal.results[at.index].words = std::move(reveals_[i]);
  ClearUnused(reveal.results[at.index]);
}

template class ReplicatedBits<Ring128>;
template class ReplicatedBits<Ring64>;
template class ReplicatedBits<Ring16>;
template class ReplicatedBits<Ring8>;
template class ReplicatedBits<Ring4>;

}  // namespace partita::mpc
