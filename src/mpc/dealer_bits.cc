#include "mpc/dealer_bits.h"

#include "mpc/bit_kernels.h"
#include "mpc/linear_engine.h"
#include "mpc/window_kernels.h"

namespace partita::mpc {
namespace {

using Bits = LinearBits<1>;

const Shared& DecomposedOf(const Operation& operation, const ScheduledDecompose& plan) {
  return plan.windows ? std::get<DecomposeWindowsOperation>(operation).values[plan.index]
                      : std::get<DecomposeOperation>(operation).values[plan.index];
}

}  // namespace

template <typename R>
DealerBits<R>::DealerBits(const DealerBitPlan& plan, std::span<Operation> operations,
                          PartyIndex self, size_t num_parties, CorrelationSource<R>& source,
                          std::span<const std::unique_ptr<Tape>> peer_tapes)
    : plan_(plan),
      operations_(operations),
      self_(self),
      num_parties_(num_parties),
      source_(source),
      peer_tapes_(peer_tapes),
      masked_(plan.masked.size()),
      masks_(plan.masked.size()),
      ands_(plan.ands.size()),
      decomposes_(plan.decomposes.size()),
      to_rings_(plan.to_rings.size()),
      reveals_(plan.reveals.size()) {}

template <typename R>
void DealerBits<R>::Prepare(StepMessages& messages) {
  ShareInputs();
  for (size_t i = 0; i < masked_.size(); ++i) {
    const MaskedBits& masked = plan_.masked[i];
    masks_[i] = Mask(masked.mask_offset, masked.words);
    masked_[i].own = Bits::BitsOf(masked.operand)[0];
    XorInto(masked_[i].own, masks_[i]);
    Open(masked_[i], kEverybody, messages);
  }
  for (size_t i = 0; i < ands_.size(); ++i) {
    ands_[i].resize(plan_.ands[i].words);
    source_.DealBits(plan_.ands[i].dealt_offset, last(), ands_[i], messages);
  }
  for (size_t i = 0; i < decomposes_.size(); ++i) PrepareDecompose(i, messages);
  for (size_t i = 0; i < to_rings_.size(); ++i) PrepareToRing(i, messages);
  for (size_t i = 0; i < reveals_.size(); ++i) PrepareReveal(i, messages);
}

template <typename R>
void DealerBits<R>::Finish() {
  for (Opening& opening : masked_) AddUp(opening);
  for (size_t i = 0; i < ands_.size(); ++i) FinishAnd(i);
  for (size_t i = 0; i < decomposes_.size(); ++i) FinishDecompose(i);
  for (size_t i = 0; i < to_rings_.size(); ++i) FinishToRing(i);
  for (size_t i = 0; i < reveals_.size(); ++i) FinishReveal(i);
}

template <typename R>
auto DealerBits<R>::Mask(uint64_t offset, size_t words) -> BitVector {
  BitVector mask(words);
  source_.Random(offset, BitBytes(BitWords(mask)));
  return mask;
}

template <typename R>
void DealerBits<R>::Open(Opening& opening, PartyIndex to, StepMessages& messages) {
  for (PartyIndex peer = 0; peer < num_parties_; ++peer) {
    if (peer == self_) continue;
    if (to == kEverybody || to == peer) messages.Send(peer, BitBytes(ConstBitWords(opening.own)));
    if (to != kEverybody && to != self_) continue;
    opening.received.emplace_back(opening.own.size());
    messages.Receive(peer, BitBytes(BitWords(opening.received.back())));
  }
}

template <typename R>
void DealerBits<R>::AddUp(Opening& opening) {
  for (const BitVector& share : opening.received) XorInto(opening.own, share);
  opening.received.clear();
}

template <typename R>
void DealerBits<R>::ShareInputs() {
  for (Operation& operation : operations_) {
    auto* input = std::get_if<InputBitsOperation>(&operation);
    for (size_t i = 0; input != nullptr && i < input->inputs.size(); ++i) {
      const auto& [owner, values] = input->inputs[i];
      BitVector share(values.width * WordsPerPlane(values.shape));
      if (owner == self_) share = values.words;
      input->results[i] = Bits::WithBits(input->results[i], {std::move(share)});
    }
  }
}

// E y_i ^ F u_i ^ w_i.
template <typename R>
void DealerBits<R>::FinishAnd(size_t i) {
  const ScheduledAnd& plan = plan_.ands[i];
  auto& operation = std::get<AndOperation>(operations_[plan.operation]);
  const BitVector& right_share = Bits::BitsOf(operation.products[plan.index].right)[0];
  AndInto(ands_[i], masked_[plan.left].own, right_share);
  AndInto(ands_[i], masked_[plan.right].own, masks_[plan.left]);
  SharedBits& result = operation.results[plan.index];
  result = Bits::WithBits(result, {std::move(ands_[i])});
}

template <typename R>
void DealerBits<R>::PrepareDecompose(size_t i, StepMessages& messages) {
  const ScheduledDecompose& plan = plan_.decomposes[i];
  DecomposeState& state = decomposes_[i];
  const Shared& value = DecomposedOf(operations_[plan.operation], plan);
  std::vector<uint8_t> packed(plan.size * PackedBytes(plan.width));
  source_.Random(plan.mask_offset, packed);
  std::vector<Word> masked = UnpackLow<R>(packed, plan.width);
  Sub<R>(LinearEngine<R, 1>::SharesOf(value).components[0], masked, masked);
  state.own = PackLow<R>(masked, plan.width);
  for (PartyIndex peer = 0; peer < num_parties_; ++peer) {
    if (peer == self_) continue;
    messages.Send(peer, state.own);
    state.received.emplace_back(state.own.size());
    messages.Receive(peer, state.received.back());
  }
  state.dealt.resize(plan.words);
  source_.DealBits(plan.dealt_offset, last(), state.dealt, messages);
}

// c is public, r dealt.
template <typename R>
void DealerBits<R>::FinishDecompose(size_t i) {
  const ScheduledDecompose& plan = plan_.decomposes[i];
  DecomposeState& state = decomposes_[i];
  std::vector<Word> c = UnpackLow<R>(state.own, plan.width);
  for (const auto& bytes : state.received) Add<R>(c, UnpackLow<R>(bytes, plan.width), c);
  const BitVector planes = ToPlanes<R>(c, plan.width);
  if (plan.windows) {
    FinishWindows(i, planes);
    return;
  }
  BitVector generate(plan.words);
  AndInto(generate, planes, state.dealt);
  if (self_ == 0) XorInto(state.dealt, planes);
  CarryBits& result = std::get<DecomposeOperation>(operations_[plan.operation]).results[plan.index];
  result = {Bits::WithBits(result.propagate, {std::move(state.dealt)}),
            Bits::WithBits(result.generate, {std::move(generate)})};
}

template <typename R>
void DealerBits<R>::FinishWindows(size_t i, const BitVector& c) {
  const ScheduledDecompose& plan = plan_.decomposes[i];
  WindowCarries& result =
      std::get<DecomposeWindowsOperation>(operations_[plan.operation]).results[plan.index];
  WindowShares shares = LookUp(c, decomposes_[i].dealt, plan.width,
                               WordsPerPlane(result.propagate.shape), self_ == 0);
  result = {Bits::WithBits(result.propagate, {std::move(shares.propagate)}),
            Bits::WithBits(result.block_generate, {std::move(shares.block_generate)}),
            Bits::WithBits(result.block_propagate, {std::move(shares.block_propagate)}),
            Bits::WithBits(result.block_ones, {std::move(shares.block_ones)}),
            Bits::WithBits(result.block_agree, {std::move(shares.block_agree)})};
}

template <typename R>
void DealerBits<R>::PrepareToRing(size_t i, StepMessages& messages) {
  const ScheduledToRing& plan = plan_.to_rings[i];
  ToRingState& state = to_rings_[i];
  state.opening.own = Mask(plan.mask_offset, plan.words);
  XorInto(state.opening.own,
          Bits::BitsOf(std::get<ToRingOperation>(operations_[plan.operation]).bits[plan.index])[0]);
  Open(state.opening, kEverybody, messages);
  state.dealt.resize(plan.size * plan.width);
  source_.Deal(plan.dealt_offset, last(), state.dealt, messages);
}

// c + (1 - 2 c) r.
template <typename R>
void DealerBits<R>::FinishToRing(size_t index) {
  const ScheduledToRing& plan = plan_.to_rings[index];
  ToRingState& state = to_rings_[index];
  AddUp(state.opening);
  ReduceWords<R>(Words<R>(state.dealt));
  const std::vector<Word> c = FromPlanes<R>(state.opening.own, plan.size, plan.width);
  for (size_t i = 0; i < c.size(); ++i) {
    const Word share = R::Mul(state.dealt[i], R::Sub(1, R::Add(c[i], c[i])));
    state.dealt[i] = self_ == 0 ? R::Add(share, c[i]) : share;
  }
  Shared& result = std::get<ToRingOperation>(operations_[plan.operation]).results[plan.index];
  result = LinearEngine<R, 1>::WithShares(result, {std::move(state.dealt)});
}

template <typename R>
void DealerBits<R>::PrepareReveal(size_t i, StepMessages& messages) {
  const ScheduledBitReveal& plan = plan_.reveals[i];
  Opening& opening = reveals_[i];
  opening.own = Bits::BitsOf(
      std::get<RevealBitsOperation>(operations_[plan.operation]).values[plan.index])[0];
  BitVector zero(plan.words);
  for (PartyIndex peer = 0; peer < num_parties_; ++peer) {
    if (peer == self_ || zero.empty()) continue;
    peer_tapes_[peer]->Read(plan.zero_offset, BitBytes(BitWords(zero)));
    XorInto(opening.own, zero);
  }
  Open(opening, plan.to, messages);
}

template <typename R>
void DealerBits<R>::FinishReveal(size_t i) {
  const ScheduledBitReveal& plan = plan_.reveals[i];
  if (plan.to != kEverybody && plan.to != self_) return;
  AddUp(reveals_[i]);
  BitMatrix& result =
      std::get<RevealBitsOperation>(operations_[plan.operation]).results[plan.index];
  result.words = std::move(reveals_[i].own);
  ClearUnused(result);
}

template <typename R>
BitDealer<R>::BitDealer(const DealerBitPlan& plan, std::span<const std::unique_ptr<Tape>> tapes)
    : plan_(plan), tapes_(tapes) {}

template <typename R>
void BitDealer<R>::Deal(StepMessages& messages) {
  const PartyIndex last = tapes_.size() - 1;
  for (const MaskedBits& masked : plan_.masked) {
    masks_.push_back(Sum(masked.mask_offset, masked.words, tapes_.size()));
  }
  // A vector that moves keeps its memory, so what is queued stays where it is.
  auto send = [&](auto& kept, auto dealt) {
    kept.push_back(std::move(dealt));
    messages.Send(last, {reinterpret_cast<const uint8_t*>(kept.back().data()),
                         kept.back().size() * sizeof(kept.back()[0])});
  };
  for (const ScheduledAnd& conjunction : plan_.ands) send(bits_, DealAnd(conjunction));
  for (const ScheduledDecompose& decompose : plan_.decomposes) {
    send(bits_, DealDecompose(decompose));
  }
  for (const ScheduledToRing& to_ring : plan_.to_rings) send(words_, DealToRing(to_ring));
}

template <typename R>
auto BitDealer<R>::Sum(uint64_t offset, size_t words, size_t parties) const -> BitVector {
  BitVector sum(words), share(words);
  for (PartyIndex party = 0; party < parties && words > 0; ++party) {
    tapes_[party]->Read(offset, BitBytes(BitWords(share)));
    XorInto(sum, share);
  }
  return sum;
}

template <typename R>
auto BitDealer<R>::DealAnd(const ScheduledAnd& conjunction) const -> BitVector {
  BitVector dealt = Sum(conjunction.dealt_offset, conjunction.words, tapes_.size() - 1);
  AndInto(dealt, masks_[conjunction.left], masks_[conjunction.right]);
  return dealt;
}

template <typename R>
auto BitDealer<R>::DealDecompose(const ScheduledDecompose& decompose) const -> BitVector {
  std::vector<Word> r(decompose.size);
  std::vector<uint8_t> packed(decompose.size * PackedBytes(decompose.width));
  for (const auto& tape : tapes_) {
    if (!packed.empty()) tape->Read(decompose.mask_offset, packed);
    Add<R>(r, UnpackLow<R>(packed, decompose.width), r);
  }
  BitVector dealt = Sum(decompose.dealt_offset, decompose.words, tapes_.size() - 1);
  const BitVector planes = ToPlanes<R>(r, decompose.width);
  XorInto(dealt, decompose.windows
                     ? TablesOf(planes, decompose.width, planes.size() / decompose.width)
                     : planes);
  return dealt;
}

template <typename R>
auto BitDealer<R>::DealToRing(const ScheduledToRing& to_ring) const -> std::vector<Word> {
  const BitVector r = Sum(to_ring.mask_offset, to_ring.words, tapes_.size());
  std::vector<Word> dealt = FromPlanes<R>(r, to_ring.size, to_ring.width), share(dealt.size());
  for (PartyIndex party = 0; party + 1 < tapes_.size() && !share.empty(); ++party) {
    tapes_[party]->Read(to_ring.dealt_offset, WireBytes(Words<R>(share)));
    ReduceWords<R>(Words<R>(share));
    Sub<R>(dealt, share, dealt);
  }
  return dealt;
}

#define PARTITA_INSTANTIATE(R)  \
  template class DealerBits<R>; \
  template class BitDealer<R>;
PARTITA_INSTANTIATE(Ring128)
PARTITA_INSTANTIATE(Ring64)
PARTITA_INSTANTIATE(Ring16)
PARTITA_INSTANTIATE(Ring8)
PARTITA_INSTANTIATE(Ring4)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
