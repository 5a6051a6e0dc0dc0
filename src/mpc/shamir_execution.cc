#include "mpc/shamir_execution.h"

#include <algorithm>

#include "mpc/bit_kernels.h"

namespace partita::mpc {

using namespace shamir;  // NOLINT: this file implements that protocol

template <typename F, size_t kSlices>
ShamirExecution<F, kSlices>::ShamirExecution(Engine& engine, std::span<Operation> operations)
    : engine_(engine),
      party_(engine.party_),
      operations_(operations),
      schedule_(engine.scheduler_.Next(operations)),
      transfers_(engine.party_, schedule_),
      masks_(schedule_.masks.size()) {}

template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::Run() {
  PrepareFirstStep();
  for (size_t step = 0; step < schedule_.cost.steps; ++step) {
    Prepare(step);
    transfers_.RunStep(step);
  }
  StoreResults();
}

template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::PrepareFirstStep() {
  const PartyIndex self = party_.self();
  for (const ScheduledInput& at : schedule_.inputs) {
    const PrivateMatrix& matrix =
        std::get<InputOperation>(operations_[at.operation]).inputs[at.index];
    if (self == matrix.owner) transfers_.In(at.deal) = ReadPrivate(matrix);
  }
  for (const ScheduledInput& at : schedule_.bit_inputs) {
    const PrivateBits& input =
        std::get<InputBitsOperation>(operations_[at.operation]).inputs[at.index];
    if (self != input.owner) continue;
    Bits& secret = transfers_.BitsIn(at.deal) = MakeSlices<kSlices>(input.values.words.size());
    secret[0] = input.values.words;
  }
  for (const DealtOperand& dealt : schedule_.dealt) {
    if (dealt.deal != kNone && self == dealt.matrix.owner) {
      transfers_.In(dealt.deal) = ReadPrivate(dealt.matrix);
    }
  }
  for (const ScheduledReveal& at : schedule_.reveals) {
    const Shared& value = std::get<RevealOperation>(operations_[at.operation]).values[at.index];
    transfers_.In(at.open) = Engine::SharesOf(value).components[0];
  }
  for (const ScheduledReveal& at : schedule_.bit_reveals) {
    auto& reveal = std::get<RevealBitsOperation>(operations_[at.operation]);
    transfers_.BitsIn(at.open) = Engine::BitsOf(reveal.values[at.index]);
  }
  for (const ScheduledAnd& at : schedule_.ands) {
    const auto& [left, right] =
        std::get<AndOperation>(operations_[at.operation]).products[at.index];
    transfers_.BitsIn(at.reshare) = Multiply<kSlices>(Engine::BitsOf(left), Engine::BitsOf(right));
  }
  for (size_t i = 0; i < masks_.size(); ++i) StartMask(i);
}

template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::Prepare(size_t step) {
  for (size_t i = 0; i < schedule_.products.size(); ++i) {
    const ScheduledProduct& at = schedule_.products[i];
    if (at.route == Route::kLocal || schedule_.transfers[at.transfer].step != step) continue;
    at.route == Route::kOwned ? PrepareOwnedProduct(i) : PrepareProduct(i);
  }
  for (size_t i = 0; i < masks_.size(); ++i) {
    const size_t levels = schedule_.masks[i].reshares.size();
    if (step >= 2 && step <= levels + 1) TakeMask(i, step - 2);
    if (step >= 1 && step <= levels) CombineMask(i, step - 1);
  }
  for (const ScheduledRescale& at : schedule_.rescales) {
    if (schedule_.transfers[at.open].step != step) continue;
    const Shared& value = std::get<RescaleOperation>(operations_[at.operation]).values[at.index];
    transfers_.In(at.open) = Masked(value, at.value_bits, at.mask);
  }
  for (const ScheduledDecompose& at : schedule_.decomposes) {
    if (schedule_.transfers[at.open].step != step) continue;
    const Shared& value = std::get<DecomposeOperation>(operations_[at.operation]).values[at.index];
    transfers_.In(at.open) = Masked(value, at.value_bits, at.mask);
  }
  for (const ScheduledToRing& at : schedule_.to_rings) {
    if (schedule_.transfers[at.open].step != step) continue;
    const SharedBits& bits = std::get<ToRingOperation>(operations_[at.operation]).bits[at.index];
    Bits masked = Engine::BitsOf(bits);
    AddScaled<kSlices>(masks_[at.mask].bits, 1, masked);
    transfers_.BitsIn(at.open) = std::move(masked);
  }
}

// ---- products

template <typename F, size_t kSlices>
auto ShamirExecution<F, kSlices>::ReadPrivate(const PrivateMatrix& matrix) const -> Vector {
  Vector words(matrix.shape.size());
  if (!words.empty()) FromPrivate<F>(matrix).fill(0, matrix.shape.rows, words);
  return words;
}

template <typename F, size_t kSlices>
const Product& ShamirExecution<F, kSlices>::ProductOf(const ScheduledProduct& scheduled) const {
  return std::get<MultiplyOperation>(operations_[scheduled.operation]).products[scheduled.index];
}

template <typename F, size_t kSlices>
RowSource<F> ShamirExecution<F, kSlices>::SourceOf(const Operand& operand, size_t dealt) const {
  if (auto* shared = std::get_if<Shared>(&operand)) {
    return FromMemory<F>(shared->shape, Engine::SharesOf(*shared).components[0]);
  }
  const DealtOperand& known = schedule_.dealt[dealt];
  const Vector& shares =
      known.deal != kNone ? transfers_.Out(known.deal) : engine_.kept_.at(known.fixed_id);
  return FromMemory<F>(known.matrix.shape, shares);
}

template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::PrepareProduct(size_t i) {
  const ScheduledProduct& at = schedule_.products[i];
  const Product& product = ProductOf(at);
  Vector& part = transfers_.In(at.transfer);
  if (party_.self() > 2 * party_.threshold()) return;  // its share is not needed
  part.resize(at.shape.size());
  AccumulateProduct<F>(product.kind, SourceOf(product.left, at.left),
                       SourceOf(product.right, at.right), at.shape, part);
}

namespace {

// An operand that this party knows; `memory` lives as long as the source.
template <typename F>
RowSource<F> KnownSource(const Operand& operand, std::vector<typename F::Word>& memory) {
  if (auto* matrix = std::get_if<PrivateMatrix>(&operand)) return FromPrivate<F>(*matrix);
  if (auto* fixed = std::get_if<FixedOperand>(&operand)) return FromPrivate<F>(fixed->matrix);
  const PublicMatrix& known = std::get<PublicMatrix>(operand);
  memory = ToWords<F>(known.values);
  return FromMemory<F>(known.values.shape, memory);
}

}  // namespace

template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::PrepareOwnedProduct(size_t i) {
  const ScheduledProduct& at = schedule_.products[i];
  if (party_.self() != at.owner) return;
  const Product& product = ProductOf(at);
  Vector memory[2];
  Vector& result = transfers_.In(at.transfer);
  result.resize(at.shape.size());
  AccumulateProduct<F>(product.kind, KnownSource<F>(product.left, memory[0]),
                       KnownSource<F>(product.right, memory[1]), at.shape, result);
}

// A public matrix times a shared one, or two public ones, whose product is everybody's share.
template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::FinishLocalProduct(size_t i) {
  const ScheduledProduct& at = schedule_.products[i];
  const Product& product = ProductOf(at);
  Vector memory[2], shares(at.shape.size());
  auto source = [&](const Operand& operand, Vector& words) {
    return std::holds_alternative<Shared>(operand) ? SourceOf(operand, kNone)
                                                   : KnownSource<F>(operand, words);
  };
  AccumulateProduct<F>(product.kind, source(product.left, memory[0]),
                       source(product.right, memory[1]), at.shape, shares);
  Shared& result = std::get<MultiplyOperation>(operations_[at.operation]).results[at.index];
  result = Engine::WithShares(std::move(result), {std::move(shares)});
}

// ---- masks

template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::StartMask(size_t i) {
  const ScheduledMask& mask = schedule_.masks[i];
  const size_t n = party_.num_parties(), t = party_.threshold(), self = party_.self();
  const size_t words = mask.width * WordsPerPlane({mask.entries, 1});
  MaskState& state = masks_[i];
  state.parts.resize(t + 1);
  state.bits = MakeSlices<kSlices>(mask.as_bits ? words : 0);
  if (self < n - t) {
    // Of the first group, whose polynomial vanishes at everybody else.
    const auto planes = party_.ReadBits(party_.TapeOf(party_.groups()[0]), mask.bits_offset, words);
    const Vector bits = FromPlanes<F>(planes, mask.entries, mask.width);
    state.parts[0].resize(bits.size());
    Scale<F>(bits, party_.group_share(0), state.parts[0]);
    if (mask.as_bits) {
      Bits known = MakeSlices<kSlices>(words);
      known[0] = planes;
      AddScaled<kSlices>(known, party_.bit_group_share(0), state.bits);
    }
    return;
  }
  state.parts[0].resize(mask.entries * mask.width);
  const size_t own = self - (n - t);
  const auto planes = party_.ReadBits(party_.TapeOf(Group{1} << self), mask.bits_offset, words);
  transfers_.In(mask.deals[own]) = FromPlanes<F>(planes, mask.entries, mask.width);
  if (mask.as_bits) {
    Bits& secret = transfers_.BitsIn(mask.bit_deals[own]) = MakeSlices<kSlices>(words);
    secret[0] = planes;
  }
}

namespace {

// out[e] += sum over planes of 2^j a(j, e).
template <typename F>
void AddWeighted(ConstWords<F> planes, size_t entries, Words<F> out) {
  typename F::Word weight = 1;
  for (size_t first = 0; first < planes.size(); first += entries) {
    for (size_t e = 0; e < entries; ++e) {
      out[e] = F::Add(out[e], F::Mul(weight, planes[first + e]));
    }
    weight = F::Add(weight, weight);
  }
}

}  // namespace

template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::CombineMask(size_t i, size_t level) {
  const ScheduledMask& mask = schedule_.masks[i];
  MaskState& state = masks_[i];
  if (level == 0) {
    for (size_t d = 0; d < mask.deals.size(); ++d) {
      state.parts[d + 1] = transfers_.Out(mask.deals[d]);
      if (mask.as_bits) AddScaled<kSlices>(transfers_.BitsOut(mask.bit_deals[d]), 1, state.bits);
    }
  }
  const size_t size = mask.entries * mask.width;
  Vector products;
  for (size_t pair = 0; pair + 1 < state.parts.size(); pair += 2) {
    Vector product(size);
    Hadamard<F>(state.parts[pair], state.parts[pair + 1], product);
    products.insert(products.end(), product.begin(), product.end());
  }
  if (mask.sum && level + 1 == mask.reshares.size()) {
    Vector sum(mask.entries);
    AddWeighted<F>(products, mask.entries, sum);
    products = std::move(sum);
  }
  transfers_.In(mask.reshares[level]) = std::move(products);
}

// u xor v = u + v - 2 u v.
template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::TakeMask(size_t i, size_t level) {
  const ScheduledMask& mask = schedule_.masks[i];
  MaskState& state = masks_[i];
  const Vector& products = transfers_.Out(mask.reshares[level]);
  const bool last = level + 1 == mask.reshares.size();
  if (mask.sum && last) {
    state.low.resize(mask.entries);
    Scale<F>(products, F::FromSigned(-2), state.low);
    for (const Vector& part : state.parts) AddWeighted<F>(part, mask.entries, state.low);
    AddIntegers(i);
    return;
  }
  const size_t size = mask.entries * mask.width;
  std::vector<Vector> parts;
  for (size_t pair = 0; pair < state.parts.size(); pair += 2) {
    if (pair + 1 == state.parts.size()) {
      parts.push_back(std::move(state.parts[pair]));
      break;
    }
    Vector part(size);
    Scale<F>(ConstWords<F>(products).subspan(pair / 2 * size, size), F::FromSigned(-2), part);
    Add<F>(part, state.parts[pair], part);
    Add<F>(part, state.parts[pair + 1], part);
    parts.push_back(std::move(part));
  }
  state.parts = std::move(parts);
  if (last) state.low = std::move(state.parts[0]);
}

// r = r' + 2^m (sum of the groups' integers).
template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::AddIntegers(size_t i) {
  const ScheduledMask& mask = schedule_.masks[i];
  MaskState& state = masks_[i];
  state.whole = state.low;
  const Word shift = F::Reduce(static_cast<UInt128>(1) << mask.width);
  for (size_t g = 0; g < party_.groups().size(); ++g) {
    const Group group = party_.groups()[g];
    if (!IsMember(group, party_.self())) continue;
    Vector integers = party_.ReadIntegers(party_.TapeOf(group), mask.integer_offset, mask.entries,
                                          mask.integer_bits);
    Scale<F>(integers, F::Mul(shift, party_.group_share(g)), integers);
    Add<F>(state.whole, integers, state.whole);
  }
}

// Shares of x + 2^(k-1) + r.
template <typename F, size_t kSlices>
auto ShamirExecution<F, kSlices>::Masked(const Shared& value, int value_bits, size_t mask) const
    -> Vector {
  Vector masked = masks_[mask].whole;
  Add<F>(masked, Engine::SharesOf(value).components[0], masked);
  const Word offset = F::Reduce(static_cast<UInt128>(1) << (value_bits - 1));
  for (Word& word : masked) word = F::Add(word, offset);
  return masked;
}

// ---- results

template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::StoreResults() {
  auto with_shares = [&](Shared& result, size_t transfer) {
    result = Engine::WithShares(std::move(result), {std::move(transfers_.Out(transfer))});
  };
  auto with_bits = [&](SharedBits& result, size_t transfer) {
    result = Engine::WithBits(std::move(result), std::move(transfers_.BitsOut(transfer)));
  };
  // What needs a mask's last level when nothing is opened after it.
  for (size_t i = 0; i < masks_.size(); ++i) {
    const size_t levels = schedule_.masks[i].reshares.size();
    if (schedule_.cost.steps == levels + 1 && masks_[i].low.empty()) TakeMask(i, levels - 1);
  }
  for (const ScheduledInput& at : schedule_.inputs) {
    with_shares(std::get<InputOperation>(operations_[at.operation]).results[at.index], at.deal);
  }
  for (const ScheduledInput& at : schedule_.bit_inputs) {
    with_bits(std::get<InputBitsOperation>(operations_[at.operation]).results[at.index], at.deal);
  }
  for (const ScheduledAnd& at : schedule_.ands) {
    with_bits(std::get<AndOperation>(operations_[at.operation]).results[at.index], at.reshare);
  }
  for (size_t i = 0; i < schedule_.products.size(); ++i) {
    const ScheduledProduct& at = schedule_.products[i];
    if (at.route == Route::kLocal) {
      FinishLocalProduct(i);
    } else {
      with_shares(std::get<MultiplyOperation>(operations_[at.operation]).results[at.index],
                  at.transfer);
    }
  }
  for (const DealtOperand& dealt : schedule_.dealt) {
    if (dealt.fixed_id != 0 && dealt.deal != kNone) {
      engine_.kept_[dealt.fixed_id] = std::move(transfers_.Out(dealt.deal));
    }
  }
  for (const ScheduledRescale& at : schedule_.rescales) StoreRescale(at);
  StoreRaised();
  for (const ScheduledDecompose& at : schedule_.decomposes) StoreDecompose(at);
  for (const ScheduledToRing& at : schedule_.to_rings) StoreToRing(at);
  for (const ScheduledReveal& at : schedule_.reveals) {
    if (!transfers_.Opens(at.open)) continue;
    auto& reveal = std::get<RevealOperation>(operations_[at.operation]);
    reveal.results[at.index] = FromWords<F>(reveal.values[at.index].shape, transfers_.Out(at.open));
  }
  for (const ScheduledReveal& at : schedule_.bit_reveals) {
    if (!transfers_.Opens(at.open)) continue;
    auto& reveal = std::get<RevealBitsOperation>(operations_[at.operation]);
    reveal.results[at.index].words = std::move(transfers_.BitsOut(at.open)[0]);
    ClearUnused(reveal.results[at.index]);
  }
}

// y = (x + 2^(k-1) - c' + r') / 2^m - 2^(k-1-m).
template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::StoreRescale(const ScheduledRescale& at) {
  auto& rescale = std::get<RescaleOperation>(operations_[at.operation]);
  const Vector& opened = transfers_.Out(at.open);
  const Vector& value = Engine::SharesOf(rescale.values[at.index]).components[0];
  const Word inverse = F::Inverse(F::Reduce(static_cast<UInt128>(1) << at.shift));
  const Word offset = F::Reduce(static_cast<UInt128>(1) << (at.value_bits - 1));
  const Word centre = F::Reduce(static_cast<UInt128>(1) << (at.value_bits - 1 - at.shift));
  const UInt128 low = (static_cast<UInt128>(1) << at.shift) - 1;
  Vector result = masks_[at.mask].low;
  for (size_t e = 0; e < result.size(); ++e) {
    const Word known = F::Sub(offset, static_cast<Word>(opened[e] & low));
    const Word sum = F::Add(F::Add(result[e], value[e]), known);
    result[e] = F::Sub(F::Mul(sum, inverse), centre);
  }
  Shared& stored = rescale.results[at.index];
  stored = Engine::WithShares(std::move(stored), {std::move(result)});
}

// Rescales that add fraction bits, or none.
template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::StoreRaised() {
  for (Operation& operation : operations_) {
    auto* rescale = std::get_if<RescaleOperation>(&operation);
    if (rescale == nullptr) continue;
    for (size_t i = 0; i < rescale->values.size(); ++i) {
      const Shared& value = rescale->values[i];
      const int shift = rescale->fraction_bits - value.fraction_bits;
      if (shift < 0) continue;
      Vector scaled(value.shape.size());
      Scale<F>(Engine::SharesOf(value).components[0], F::Reduce(static_cast<UInt128>(1) << shift),
               scaled);
      rescale->results[i] = Engine::WithShares(std::move(rescale->results[i]), {std::move(scaled)});
    }
  }
}

// The addends c - 2^(k-1) + 1, public, and ~r'.
template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::StoreDecompose(const ScheduledDecompose& at) {
  auto& decompose = std::get<DecomposeOperation>(operations_[at.operation]);
  const Vector& opened = transfers_.Out(at.open);
  std::vector<UInt128> addend(opened.size());
  for (size_t e = 0; e < opened.size(); ++e) {
    addend[e] = opened[e] - (static_cast<UInt128>(1) << (at.value_bits - 1)) + 1;
  }
  CarryBits& result = decompose.results[at.index];
  const BitMatrix known{result.propagate.shape, result.propagate.width,
                        ToPlanes<Ring128>(addend, result.propagate.width)};
  const SharedBits complement =
      engine_.Not(Engine::WithBits(result.propagate, std::move(masks_[at.mask].bits)));
  result = {engine_.Xor(complement, engine_.PublicBits(known)),
            engine_.AndPublic(complement, known)};
}

// b = e + d - 2 e d.
template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::StoreToRing(const ScheduledToRing& at) {
  auto& to_ring = std::get<ToRingOperation>(operations_[at.operation]);
  const SharedBits& bits = to_ring.bits[at.index];
  const Vector opened =
      FromPlanes<F>(transfers_.BitsOut(at.open)[0], bits.shape.size(), bits.width);
  Vector result = std::move(masks_[at.mask].low);
  for (size_t e = 0; e < result.size(); ++e) {
    const Word flip = F::Sub(1, F::Add(opened[e], opened[e]));
    result[e] = F::Add(opened[e], F::Mul(flip, result[e]));
  }
  Shared& stored = to_ring.results[at.index];
  stored = Engine::WithShares(std::move(stored), {std::move(result)});
}

#define PARTITA_INSTANTIATE(F, kSlices) template class ShamirExecution<F, kSlices>;
PARTITA_INSTANTIATE(Field127, 2)
PARTITA_INSTANTIATE(Field127, 3)
PARTITA_INSTANTIATE(Field61, 2)
PARTITA_INSTANTIATE(Field61, 3)
PARTITA_INSTANTIATE(Field5, 2)
PARTITA_INSTANTIATE(FieldOf7Bits, 2)
PARTITA_INSTANTIATE(Field7, 3)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
