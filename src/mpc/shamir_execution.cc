#include "mpc/shamir_execution.h"

#include <algorithm>

#include "mpc/bit_kernels.h"

namespace partita::mpc {

template <typename F, size_t kSlices>
ShamirExecution<F, kSlices>::ShamirExecution(Engine& engine, std::span<Operation> operations)
    : engine_(engine),
      party_(engine.party_),
      operations_(operations),
      schedule_(engine.scheduler_.Next(operations)),
      transfers_(engine.party_, schedule_) {
  for (const shamir::ScheduledMask& mask : schedule_.masks)
    masks_.emplace_back(party_, transfers_, mask);
}

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
  for (const shamir::ScheduledInput& at : schedule_.inputs) {
    const PrivateMatrix& matrix =
        std::get<InputOperation>(operations_[at.operation]).inputs[at.index];
    if (self == matrix.owner) transfers_.In(at.deal) = ReadPrivate(matrix);
  }
  for (const shamir::ScheduledInput& at : schedule_.bit_inputs) {
    const PrivateBits& input =
        std::get<InputBitsOperation>(operations_[at.operation]).inputs[at.index];
    if (self != input.owner) continue;
    Bits& secret = transfers_.BitsIn(at.deal) = MakeSlices<kSlices>(input.values.words.size());
    secret[0] = input.values.words;
  }
  for (const shamir::DealtOperand& dealt : schedule_.dealt) {
    if (dealt.deal != shamir::kNone && self == dealt.matrix.owner) {
      transfers_.In(dealt.deal) = ReadPrivate(dealt.matrix);
    }
  }
  for (const shamir::ScheduledReveal& at : schedule_.reveals) {
    const Shared& value = std::get<RevealOperation>(operations_[at.operation]).values[at.index];
    transfers_.In(at.open) = Engine::SharesOf(value).components[0];
  }
  for (const shamir::ScheduledReveal& at : schedule_.bit_reveals) {
    auto& reveal = std::get<RevealBitsOperation>(operations_[at.operation]);
    transfers_.BitsIn(at.open) = Engine::BitsOf(reveal.values[at.index]);
  }
  for (const shamir::ScheduledAnd& at : schedule_.ands) {
    const auto& [left, right] =
        std::get<AndOperation>(operations_[at.operation]).products[at.index];
    transfers_.BitsIn(at.reshare) = Multiply<kSlices>(Engine::BitsOf(left), Engine::BitsOf(right));
  }
  for (auto& mask : masks_) mask.Start();
}

template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::Prepare(size_t step) {
  for (size_t i = 0; i < schedule_.products.size(); ++i) {
    const shamir::ScheduledProduct& at = schedule_.products[i];
    if (at.route == shamir::Route::kLocal || schedule_.transfers[at.transfer].step != step)
      continue;
    at.route == shamir::Route::kOwned ? PrepareOwnedProduct(i) : PrepareProduct(i);
  }
  for (auto& mask : masks_) mask.Prepare(step);
  for (const shamir::ScheduledRescale& at : schedule_.rescales) {
    if (schedule_.transfers[at.open].step != step) continue;
    const Shared& value = std::get<RescaleOperation>(operations_[at.operation]).values[at.index];
    transfers_.In(at.open) =
        masks_[at.mask].Masked(Engine::SharesOf(value).components[0], at.value_bits);
  }
  for (const shamir::ScheduledDecompose& at : schedule_.decomposes) {
    if (schedule_.transfers[at.open].step != step) continue;
    const Shared& value = std::get<DecomposeOperation>(operations_[at.operation]).values[at.index];
    transfers_.In(at.open) =
        masks_[at.mask].Masked(Engine::SharesOf(value).components[0], at.value_bits);
  }
  for (const shamir::ScheduledDecompose& at : schedule_.decomposes) {
    if (at.reshare == shamir::kNone || schedule_.transfers[at.reshare].step != step) continue;
    Addends addends = AddendsOf(at);
    transfers_.BitsIn(at.reshare) = Multiply<kSlices>(addends.opened, addends.complement);
    AddScaled<kSlices>(addends.opened, 1, addends.complement);
    propagate_[at.reshare] = std::move(addends.complement);
  }
  for (const shamir::ScheduledToRing& at : schedule_.to_rings) {
    if (schedule_.transfers[at.open].step != step) continue;
    const SharedBits& bits = std::get<ToRingOperation>(operations_[at.operation]).bits[at.index];
    Bits masked = Engine::BitsOf(bits);
    AddScaled<kSlices>(masks_[at.mask].bits(), 1, masked);
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
const Product& ShamirExecution<F, kSlices>::ProductOf(
    const shamir::ScheduledProduct& scheduled) const {
  return std::get<MultiplyOperation>(operations_[scheduled.operation]).products[scheduled.index];
}

template <typename F, size_t kSlices>
RowSource<F> ShamirExecution<F, kSlices>::SourceOf(const Operand& operand, size_t dealt) const {
  if (auto* shared = std::get_if<Shared>(&operand)) {
    return FromMemory<F>(shared->shape, Engine::SharesOf(*shared).components[0]);
  }
  const shamir::DealtOperand& known = schedule_.dealt[dealt];
  const Vector& shares =
      known.deal != shamir::kNone ? transfers_.Out(known.deal) : engine_.kept_.at(known.fixed_id);
  return FromMemory<F>(known.matrix.shape, shares);
}

template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::PrepareProduct(size_t i) {
  const shamir::ScheduledProduct& at = schedule_.products[i];
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
  const shamir::ScheduledProduct& at = schedule_.products[i];
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
  const shamir::ScheduledProduct& at = schedule_.products[i];
  const Product& product = ProductOf(at);
  Vector memory[2], shares(at.shape.size());
  auto source = [&](const Operand& operand, Vector& words) {
    return std::holds_alternative<Shared>(operand) ? SourceOf(operand, shamir::kNone)
                                                   : KnownSource<F>(operand, words);
  };
  AccumulateProduct<F>(product.kind, source(product.left, memory[0]),
                       source(product.right, memory[1]), at.shape, shares);
  Shared& result = std::get<MultiplyOperation>(operations_[at.operation]).results[at.index];
  result = Engine::WithShares(std::move(result), {std::move(shares)});
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
  for (auto& mask : masks_) mask.Finish(schedule_.cost.steps);
  for (const shamir::ScheduledInput& at : schedule_.inputs) {
    with_shares(std::get<InputOperation>(operations_[at.operation]).results[at.index], at.deal);
  }
  for (const shamir::ScheduledInput& at : schedule_.bit_inputs) {
    with_bits(std::get<InputBitsOperation>(operations_[at.operation]).results[at.index], at.deal);
  }
  for (const shamir::ScheduledAnd& at : schedule_.ands) {
    with_bits(std::get<AndOperation>(operations_[at.operation]).results[at.index], at.reshare);
  }
  for (size_t i = 0; i < schedule_.products.size(); ++i) {
    const shamir::ScheduledProduct& at = schedule_.products[i];
    if (at.route == shamir::Route::kLocal) {
      FinishLocalProduct(i);
    } else {
      with_shares(std::get<MultiplyOperation>(operations_[at.operation]).results[at.index],
                  at.transfer);
    }
  }
  for (const shamir::DealtOperand& dealt : schedule_.dealt) {
    if (dealt.fixed_id != 0 && dealt.deal != shamir::kNone) {
      engine_.kept_[dealt.fixed_id] = std::move(transfers_.Out(dealt.deal));
    }
  }
  for (const shamir::ScheduledRescale& at : schedule_.rescales) StoreRescale(at);
  StoreRaised();
  for (const shamir::ScheduledDecompose& at : schedule_.decomposes) StoreDecompose(at);
  for (const shamir::ScheduledToRing& at : schedule_.to_rings) StoreToRing(at);
  for (const shamir::ScheduledReveal& at : schedule_.reveals) {
    if (!transfers_.Opens(at.open)) continue;
    auto& reveal = std::get<RevealOperation>(operations_[at.operation]);
    reveal.results[at.index] = FromWords<F>(reveal.values[at.index].shape, transfers_.Out(at.open));
  }
  for (const shamir::ScheduledReveal& at : schedule_.bit_reveals) {
    if (!transfers_.Opens(at.open)) continue;
    auto& reveal = std::get<RevealBitsOperation>(operations_[at.operation]);
    reveal.results[at.index].words = std::move(transfers_.BitsOut(at.open)[0]);
    ClearUnused(reveal.results[at.index]);
  }
}

// y = (x + 2^(k-1) - c' + r') / 2^m - 2^(k-1-m).
template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::StoreRescale(const shamir::ScheduledRescale& at) {
  auto& rescale = std::get<RescaleOperation>(operations_[at.operation]);
  const Vector& value = Engine::SharesOf(rescale.values[at.index]).components[0];
  const Vector opened = masks_[at.mask].LowOfOpened(transfers_.Out(at.open));
  const Word inverse = F::Inverse(F::Reduce(static_cast<UInt128>(1) << at.shift));
  const Word offset = F::Reduce(static_cast<UInt128>(1) << (at.value_bits - 1));
  const Word centre = F::Reduce(static_cast<UInt128>(1) << (at.value_bits - 1 - at.shift));
  Vector result = std::move(masks_[at.mask].low());
  for (size_t e = 0; e < result.size(); ++e) {
    const Word sum = F::Add(F::Add(result[e], value[e]), F::Sub(offset, opened[e]));
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

// c' - 2^(k-1) + 1 and ~r'.
template <typename F, size_t kSlices>
auto ShamirExecution<F, kSlices>::AddendsOf(const shamir::ScheduledDecompose& at) -> Addends {
  auto& mask = masks_[at.mask];
  const UInt128 addend = 1 - (static_cast<UInt128>(1) << (at.value_bits - 1));
  Addends addends{mask.LowOfOpenedAsBits(transfers_.Out(at.open), addend), mask.bits()};
  for (uint64_t& word : addends.complement[0]) word = ~word;
  return addends;
}

template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::StoreDecompose(const shamir::ScheduledDecompose& at) {
  CarryBits& result = std::get<DecomposeOperation>(operations_[at.operation]).results[at.index];
  if (at.reshare != shamir::kNone) {
    result = {
        Engine::WithBits(std::move(result.propagate), std::move(propagate_.at(at.reshare))),
        Engine::WithBits(std::move(result.generate), std::move(transfers_.BitsOut(at.reshare)))};
    return;
  }
  Addends addends = AddendsOf(at);
  const BitMatrix known{result.propagate.shape, result.propagate.width,
                        std::move(addends.opened[0])};
  const SharedBits complement = Engine::WithBits(result.propagate, std::move(addends.complement));
  result = {engine_.Xor(complement, engine_.PublicBits(known)),
            engine_.AndPublic(complement, known)};
}

// b = e + d - 2 e d.
template <typename F, size_t kSlices>
void ShamirExecution<F, kSlices>::StoreToRing(const shamir::ScheduledToRing& at) {
  auto& to_ring = std::get<ToRingOperation>(operations_[at.operation]);
  const SharedBits& bits = to_ring.bits[at.index];
  const Vector opened =
      FromPlanes<F>(transfers_.BitsOut(at.open)[0], bits.shape.size(), bits.width);
  Vector result = std::move(masks_[at.mask].low());
  for (size_t e = 0; e < result.size(); ++e) {
    const Word flip = F::Sub(1, F::Add(opened[e], opened[e]));
    result[e] = F::Add(opened[e], F::Mul(flip, result[e]));
  }
  Shared& stored = to_ring.results[at.index];
  stored = Engine::WithShares(std::move(stored), {std::move(result)});
}

#define PARTITA_INSTANTIATE(F, kSlices) template class ShamirExecution<F, kSlices>;
PARTITA_FOR_SHAMIR_FIELDS(PARTITA_INSTANTIATE)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
