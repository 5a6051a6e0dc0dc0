#include "mpc/replicated_rescale.h"

#include <algorithm>

#include "mpc/row_source.h"

namespace partita::mpc {

using replicated::kTruncationDealer;
using replicated::kTruncationFirst;
using replicated::kTruncationSecond;

namespace {

// Elements that stay in the inner caches while several tapes and shares meet.
constexpr size_t kRescaleBlock = 2048;

// x 2^exponent.
template <typename R>
constexpr typename R::Word Raise(typename R::Word x, int exponent) {
  return R::Reduce(static_cast<UInt128>(x) << exponent);
}

// Everything below the top bit.
template <typename R>
constexpr typename R::Word kLow = R::Reduce((static_cast<UInt128>(1) << (R::kBits - 1)) - 1);

template <typename R>
void AddIfAny(ConstWords<R> values, size_t begin, Words<R> sum) {
  if (!values.empty()) Add<R>(sum, values.subspan(begin, sum.size()), sum);
}

}  // namespace

template <typename R>
void ReplicatedRescale<R>::ReadWords(Tape& tape, uint64_t offset, size_t begin, Words<R> out) {
  tape.Read(offset + begin * R::kBytes, WireBytes(out));
  ReduceWords<R>(out);
}

template <typename R>
auto ReplicatedRescale<R>::ReadPacked(Tape& tape, uint64_t offset, size_t begin, size_t count)
    -> Vector {
  std::vector<uint8_t> bytes(count * each());
  tape.Read(offset + begin * each(), bytes);
  return UnpackLow<R>(bytes, static_cast<size_t>(at_.shift));
}

template <typename R>
void ReplicatedRescale<R>::Pack(size_t begin, ConstWords<R> values) {
  const std::vector<uint8_t> bytes = PackLow<R>(values, static_cast<size_t>(at_.shift));
  std::copy(bytes.begin(), bytes.end(), packed_.begin() + static_cast<ptrdiff_t>(begin * each()));
}

template <typename R>
void ReplicatedRescale<R>::Open(ConstWords<R> first, ConstWords<R> second, StepMessages& messages) {
  if (self_ == kTruncationDealer) {
    Deal(first, second);
    messages.Send(kTruncationSecond, WireBytes(std::span<const Word>(dealt_)));
    messages.Send(kTruncationSecond, packed_);
    return;
  }
  const bool is_first = self_ == kTruncationFirst;
  Tape& mask = is_first ? previous_tape_ : own_tape_;
  const Word offset = is_first ? Word{0} : Raise<R>(1, R::kBits - 2);
  mine_.resize(size());
  theirs_.resize(size());
  ForEachBlock(size(), kRescaleBlock, [&](size_t begin, size_t count) {
    Words<R> sum(mine_.data() + begin, count);
    ReadWords(mask, at_.mask_offset, begin, sum);
    AddIfAny<R>(first, begin, sum);
    AddIfAny<R>(second, begin, sum);
    for (Word& word : sum) word = R::Add(word, offset);
  });
  const PartyIndex other = is_first ? kTruncationSecond : kTruncationFirst;
  messages.Send(other, WireBytes(std::span<const Word>(mine_)));
  messages.Receive(other, WireBytes(std::span(theirs_)));
  if (is_first) return;
  dealt_.resize(size());
  received_.resize(size() * each());
  messages.Receive(kTruncationDealer, WireBytes(std::span(dealt_)));
  messages.Receive(kTruncationDealer, received_);
}

template <typename R>
void ReplicatedRescale<R>::Deal(ConstWords<R> first, ConstWords<R> second) {
  const int shift = at_.shift, unit = R::kBits - shift;
  Vector &own = shares_[0], &previous = shares_[1];
  dealt_.resize(size());
  packed_.resize(size() * each());
  own.resize(size());
  previous.resize(size());
  Vector mask(kRescaleBlock), other_mask(kRescaleBlock), summand(kRescaleBlock);
  ForEachBlock(size(), kRescaleBlock, [&](size_t begin, size_t count) {
    Words<R> r(mask.data(), count), e(other_mask.data(), count), z(summand.data(), count);
    ReadWords(own_tape_, at_.mask_offset, begin, r);
    ReadWords(previous_tape_, at_.mask_offset, begin, e);
    Add<R>(r, e, r);
    std::fill(z.begin(), z.end(), Word{0});
    AddIfAny<R>(first, begin, z);
    AddIfAny<R>(second, begin, z);
    Sub<R>(r, z, r);
    Words<R> q(own.data() + begin, count);
    ReadWords(own_tape_, at_.result_offset, begin, q);
    Vector top = ReadPacked(own_tape_, at_.top_offset, begin, count);
    const Vector s = ReadPacked(own_tape_, at_.xor_offset, begin, count);
    const Vector s_previous = ReadPacked(previous_tape_, at_.xor_offset, begin, count);
    for (size_t i = 0; i < count; ++i) {
      const auto t = static_cast<Word>((r[i] & kLow<R>) >> shift);
      const auto m = static_cast<Word>(r[i] >> (R::kBits - 1));
      const Word value = R::Sub(Raise<R>(m, unit - 1), t);
      const Word rest = R::Sub(value, q[i]);
      dealt_[begin + i] = rest;
      top[i] = R::Sub(m, top[i]);
      q[i] = R::Add(q[i], Raise<R>(s[i], unit));
      previous[begin + i] = R::Add(rest, Raise<R>(s_previous[i], unit));
    }
    Pack(begin, top);
  });
}

template <typename R>
void ReplicatedRescale<R>::Share(StepMessages& messages) {
  if (self_ == kTruncationDealer) return;
  const bool is_first = self_ == kTruncationFirst;
  const int shift = at_.shift, unit = R::kBits - shift;
  const Word offset = Raise<R>(1, unit - 2);
  // Component 0 comes to lie in mine_; the other one is q at the first party, what was dealt at the
  // second, and the mask of this party's summand.
  Vector& other_component = is_first ? shares_[1] : dealt_;
  Tape& tape = is_first ? previous_tape_ : own_tape_;
  other_component.resize(size());
  packed_.resize(size() * each());
  ForEachBlock(size(), kRescaleBlock, [&](size_t begin, size_t count) {
    Words<R> rest(other_component.data() + begin, count);
    if (is_first) {
      ReadWords(tape, at_.result_offset, begin, rest);
    } else {
      ReduceWords<R>(rest);
    }
    const Vector top = is_first ? ReadPacked(tape, at_.top_offset, begin, count)
                                : UnpackLow<R>(std::span<const uint8_t>(received_).subspan(
                                                   begin * each(), count * each()),
                                               static_cast<size_t>(shift));
    Vector summand = ReadPacked(tape, at_.xor_offset, begin, count);
    Word* mine = mine_.data() + begin;
    for (size_t i = 0; i < count; ++i) {
      const Word c = R::Add(mine[i], R::Reduce(theirs_[begin + i]));
      const auto carry = static_cast<Word>(c >> (R::kBits - 1));
      const auto quotient = static_cast<Word>((c & kLow<R>) >> shift);
      const Word opened = R::Add(R::Sub(quotient, offset), Raise<R>(carry, unit - 1));
      rest[i] = R::Add(rest[i], Raise<R>(summand[i], unit));
      summand[i] = R::Neg(R::Add(R::Mul(carry, top[i]), summand[i]));
      mine[i] = R::Add(opened, Raise<R>(summand[i], unit));
    }
    Pack(begin, summand);
  });
  const PartyIndex other = is_first ? kTruncationSecond : kTruncationFirst;
  received_.resize(size() * each());
  messages.Send(other, packed_);
  messages.Receive(other, received_);
}

template <typename R>
auto ReplicatedRescale<R>::Finish() -> std::array<Vector, 2> {
  if (self_ == kTruncationDealer) return std::move(shares_);
  const bool is_first = self_ == kTruncationFirst;
  const int unit = R::kBits - at_.shift;
  ForEachBlock(size(), kRescaleBlock, [&](size_t begin, size_t count) {
    const Vector theirs =
        UnpackLow<R>(std::span<const uint8_t>(received_).subspan(begin * each(), count * each()),
                     static_cast<size_t>(at_.shift));
    for (size_t i = 0; i < count; ++i) {
      Word& sum = mine_[begin + i];
      sum = R::Add(sum, Raise<R>(theirs[i], unit));
    }
  });
  shares_[is_first ? 0 : 1] = std::move(mine_);
  if (!is_first) shares_[0] = std::move(dealt_);
  return std::move(shares_);
}

template class ReplicatedRescale<Ring128>;
template class ReplicatedRescale<Ring64>;
template class ReplicatedRescale<Ring16>;
template class ReplicatedRescale<Ring8>;
template class ReplicatedRescale<Ring4>;

}  // namespace partita::mpc
