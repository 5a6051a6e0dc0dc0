#include "mpc/shamir_mask.h"

#include <algorithm>

#include "mpc/bit_kernels.h"

namespace partita::mpc {

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

// ceil(i 2^bits / parts), i <= parts.
UInt128 UpperPart(size_t i, size_t parts, int bits) {
  const UInt128 whole = static_cast<UInt128>(1) << bits;
  return i * (whole / parts) + (i * (whole % parts) + parts - 1) / parts;
}
UInt128 LowerPart(size_t i, size_t parts, int bits) {
  const UInt128 whole = static_cast<UInt128>(1) << bits;
  return i * (whole / parts) + i * (whole % parts) / parts;
}

template <size_t kSlices>
BitSlices<kSlices> Plane(const BitSlices<kSlices>& planes, size_t i, size_t words) {
  BitSlices<kSlices> plane;
  for (size_t s = 0; s < kSlices; ++s) {
    const auto first = planes[s].begin() + static_cast<ptrdiff_t>(i * words);
    plane[s].assign(first, first + static_cast<ptrdiff_t>(words));
  }
  return plane;
}

template <size_t kSlices>
void AddToPlane(const BitSlices<kSlices>& plane, size_t i, BitSlices<kSlices>& planes) {
  for (size_t s = 0; s < kSlices; ++s) {
    for (size_t w = 0; w < plane[s].size(); ++w) planes[s][i * plane[s].size() + w] ^= plane[s][w];
  }
}

}  // namespace

template <typename F, size_t kSlices>
ShamirMask<F, kSlices>::ShamirMask(const Party& party, Transfers& transfers,
                                   const shamir::ScheduledMask& scheduled)
    : party_(party), transfers_(transfers), scheduled_(scheduled) {}

template <typename F, size_t kSlices>
void ShamirMask<F, kSlices>::Start() {
  const size_t n = party_.num_parties(), t = party_.threshold(), self = party_.self();
  const size_t words = scheduled_.width * WordsPerIndicator();
  parts_.resize(t + 1);
  bits_ = MakeSlices<kSlices>(scheduled_.as_bits ? words : 0);
  const bool dealt = self >= n - t;
  const size_t own = dealt ? self - (n - t) : 0;
  Tape& tape = party_.TapeOf(dealt ? Group{1} << self : party_.groups()[0]);
  const auto planes = party_.ReadBits(tape, scheduled_.bits_offset, words);
  const Vector bits = FromPlanes<F>(planes, scheduled_.entries, scheduled_.width);
  Bits known = MakeSlices<kSlices>(scheduled_.as_bits ? words : 0);
  if (scheduled_.as_bits) known[0] = planes;
  parts_[0].resize(bits.size());
  if (dealt) {
    transfers_.In(scheduled_.deals[own]) = bits;
    if (scheduled_.as_bits) transfers_.BitsIn(scheduled_.bit_deals[own]) = std::move(known);
  } else {
    // Of the first group, whose polynomial vanishes at everybody else.
    Scale<F>(bits, party_.group_share(0), parts_[0]);
    AddScaled<kSlices>(known, party_.bit_group_share(0), bits_);
  }
  if (scheduled_.digits == 0) return;
  const Vector integers = party_.ReadIntegers(tape, scheduled_.integer_offset, scheduled_.entries,
                                              scheduled_.integer_bits);
  integers_.resize(scheduled_.entries);
  if (dealt) {
    transfers_.In(scheduled_.integer_deals[own]) = integers;
  } else {
    Scale<F>(integers, party_.group_share(0), integers_);
  }
  StartIndicators(integers, dealt, dealt ? scheduled_.indicator_deals[own] : shamir::kNone);
}

// [T_i = v] for v = 1, 2, ...: dealt, or shared by the first group without a message.
template <typename F, size_t kSlices>
void ShamirMask<F, kSlices>::StartIndicators(const Vector& integers, bool dealt, size_t deal) {
  const size_t entries = scheduled_.entries, words = WordsPerIndicator();
  std::vector<size_t> digit(entries);
  for (size_t v = 1; v < scheduled_.digits; ++v) {
    const UInt128 from = UpperPart(v, scheduled_.digits, scheduled_.integer_bits);
    for (size_t e = 0; e < entries; ++e) digit[e] += integers[e] >= from ? 1 : 0;
  }
  Indicators known{scheduled_.digits, {}, {}}, own = known;
  const size_t planes = scheduled_.digits - 1;
  if (scheduled_.as_bits) {
    known.bits = MakeSlices<kSlices>(planes * words);
    own.bits = known.bits;
    for (size_t i = 0; i < planes * entries; ++i) {
      const size_t plane = i / entries, e = i % entries;
      const uint64_t bit = digit[e] == plane + 1 ? 1 : 0;
      known.bits[0][plane * words + e / 64] |= bit << (e % 64);
    }
    if (dealt) {
      transfers_.BitsIn(deal) = std::move(known.bits);
    } else {
      AddScaled<kSlices>(known.bits, party_.bit_group_share(0), own.bits);
    }
  } else {
    own.elements.resize(planes * entries);
    known.elements.resize(planes * entries);
    for (size_t i = 0; i < planes * entries; ++i) {
      known.elements[i] = digit[i % entries] == i / entries + 1 ? 1 : 0;
    }
    if (dealt) {
      transfers_.In(deal) = std::move(known.elements);
    } else {
      Scale<F>(known.elements, party_.group_share(0), own.elements);
    }
  }
  digits_.push_back(std::move(own));
}

template <typename F, size_t kSlices>
void ShamirMask<F, kSlices>::Prepare(size_t step) {
  const size_t levels = scheduled_.reshares.size();
  if (step == 1) {
    for (size_t d = 0; d < scheduled_.deals.size(); ++d) {
      parts_[d + 1] = transfers_.Out(scheduled_.deals[d]);
      if (scheduled_.as_bits) {
        AddScaled<kSlices>(transfers_.BitsOut(scheduled_.bit_deals[d]), 1, bits_);
      }
      if (scheduled_.digits == 0) continue;
      Indicators dealt{scheduled_.digits, {}, {}};
      dealt.elements = transfers_.Out(scheduled_.indicator_deals[d]);
      dealt.bits = transfers_.BitsOut(scheduled_.indicator_deals[d]);
      digits_.push_back(std::move(dealt));
    }
  }
  if (step >= 2 && step <= levels + 1) {
    TakeProducts(step - 2);
    if (scheduled_.digits != 0) TakeIndicators(step - 2);
  }
  if (step >= 1 && step <= levels) {
    PutProducts(step - 1);
    if (scheduled_.digits != 0) PutIndicators(step - 1);
  }
}

// ---- r'

template <typename F, size_t kSlices>
void ShamirMask<F, kSlices>::PutProducts(size_t level) {
  const size_t size = scheduled_.entries * scheduled_.width;
  Vector products;
  for (size_t pair = 0; pair + 1 < parts_.size(); pair += 2) {
    Vector product(size);
    Hadamard<F>(parts_[pair], parts_[pair + 1], product);
    products.insert(products.end(), product.begin(), product.end());
  }
  if (scheduled_.sum && level + 1 == scheduled_.reshares.size()) {
    Vector sum(scheduled_.entries);
    AddWeighted<F>(products, scheduled_.entries, sum);
    products = std::move(sum);
  }
  transfers_.In(scheduled_.reshares[level]) = std::move(products);
}

// u xor v = u + v - 2 u v.
template <typename F, size_t kSlices>
void ShamirMask<F, kSlices>::TakeProducts(size_t level) {
  const Vector& products = transfers_.Out(scheduled_.reshares[level]);
  const bool last = level + 1 == scheduled_.reshares.size();
  if (scheduled_.sum && last) {
    low_.resize(scheduled_.entries);
    Scale<F>(products, F::FromSigned(-2), low_);
    for (const Vector& part : parts_) AddWeighted<F>(part, scheduled_.entries, low_);
    AddIntegers();
    return;
  }
  const size_t size = scheduled_.entries * scheduled_.width;
  std::vector<Vector> parts;
  for (size_t pair = 0; pair < parts_.size(); pair += 2) {
    if (pair + 1 == parts_.size()) {
      parts.push_back(std::move(parts_[pair]));
      break;
    }
    Vector part(size);
    Scale<F>(ConstWords<F>(products).subspan(pair / 2 * size, size), F::FromSigned(-2), part);
    Add<F>(part, parts_[pair], part);
    Add<F>(part, parts_[pair + 1], part);
    parts.push_back(std::move(part));
  }
  parts_ = std::move(parts);
  if (last) low_ = std::move(parts_[0]);
}

// r = r' + 2^m (sum of the integers).
template <typename F, size_t kSlices>
void ShamirMask<F, kSlices>::AddIntegers() {
  whole_ = low_;
  const Word shift = F::Reduce(static_cast<UInt128>(1) << scheduled_.width);
  auto add = [&](Vector integers, Word factor) {
    Scale<F>(integers, F::Mul(shift, factor), integers);
    Add<F>(whole_, integers, whole_);
  };
  if (scheduled_.digits != 0) {
    add(std::move(integers_), 1);
    for (size_t deal : scheduled_.integer_deals) add(transfers_.Out(deal), 1);
    return;
  }
  for (size_t g = 0; g < party_.groups().size(); ++g) {
    const Group group = party_.groups()[g];
    if (!shamir::IsMember(group, party_.self())) continue;
    add(party_.ReadIntegers(party_.TapeOf(group), scheduled_.integer_offset, scheduled_.entries,
                            scheduled_.integer_bits),
        party_.group_share(g));
  }
}

template <typename F, size_t kSlices>
auto ShamirMask<F, kSlices>::Masked(const Vector& value, int value_bits) const -> Vector {
  Vector masked = whole_;
  Add<F>(masked, value, masked);
  const Word offset = F::Reduce(static_cast<UInt128>(1) << (value_bits - 1));
  for (Word& word : masked) word = F::Add(word, offset);
  return masked;
}

// ---- digits

// The sum is v where the first is i and the second v - i: local products, to be reshared.
template <typename F, size_t kSlices>
auto ShamirMask<F, kSlices>::Join(const Indicators& a, const Indicators& b) const -> Indicators {
  Indicators sum{a.count + b.count - 1, {}, {}};
  const size_t entries = scheduled_.entries, words = WordsPerIndicator();
  if (scheduled_.as_bits) {
    auto planes = [&](const Indicators& x) {
      std::vector<Bits> all(1);
      all[0] = MakeSlices<kSlices>(words);
      all[0][0].assign(words, ~uint64_t{0});  // 0 is what is none of the others
      for (size_t v = 1; v < x.count; ++v) {
        all.push_back(Plane<kSlices>(x.bits, v - 1, words));
        AddScaled<kSlices>(all[v], 1, all[0]);
      }
      return all;
    };
    const std::vector<Bits> left = planes(a), right = planes(b);
    sum.bits = MakeSlices<kSlices>((sum.count - 1) * words);
    for (size_t v = 1; v < sum.count; ++v) {
      for (size_t i = v < b.count ? 0 : v - b.count + 1; i <= std::min(v, a.count - 1); ++i) {
        AddToPlane<kSlices>(Multiply<kSlices>(left[i], right[v - i]), v - 1, sum.bits);
      }
    }
    return sum;
  }
  auto planes = [&](const Indicators& x) {
    Vector all(entries, 1);
    all.insert(all.end(), x.elements.begin(), x.elements.end());
    for (size_t i = entries; i < all.size(); ++i) {
      all[i % entries] = F::Sub(all[i % entries], all[i]);
    }
    return all;
  };
  const Vector left = planes(a), right = planes(b);
  sum.elements.resize((sum.count - 1) * entries);
  auto plane = [&](const Vector& all, size_t v) {
    return ConstWords<F>(all).subspan(v * entries, entries);
  };
  for (size_t v = 1; v < sum.count; ++v) {
    const Words<F> out = Words<F>(sum.elements).subspan((v - 1) * entries, entries);
    for (size_t i = v < b.count ? 0 : v - b.count + 1; i <= std::min(v, a.count - 1); ++i) {
      HadamardAccumulate<F>(plane(left, i), plane(right, v - i), out);
    }
  }
  return sum;
}

template <typename F, size_t kSlices>
void ShamirMask<F, kSlices>::PutIndicators(size_t level) {
  const size_t transfer = scheduled_.indicator_reshares[level];
  Vector elements;
  Bits bits = MakeSlices<kSlices>(0);
  for (size_t pair = 0; pair + 1 < digits_.size(); pair += 2) {
    const Indicators sum = Join(digits_[pair], digits_[pair + 1]);
    elements.insert(elements.end(), sum.elements.begin(), sum.elements.end());
    for (size_t s = 0; s < kSlices; ++s) {
      bits[s].insert(bits[s].end(), sum.bits[s].begin(), sum.bits[s].end());
    }
  }
  if (scheduled_.as_bits) {
    transfers_.BitsIn(transfer) = std::move(bits);
  } else {
    transfers_.In(transfer) = std::move(elements);
  }
}

template <typename F, size_t kSlices>
void ShamirMask<F, kSlices>::TakeIndicators(size_t level) {
  const size_t transfer = scheduled_.indicator_reshares[level];
  const size_t size = scheduled_.as_bits ? WordsPerIndicator() : scheduled_.entries;
  std::vector<Indicators> joined;
  size_t first = 0;
  for (size_t pair = 0; pair < digits_.size(); pair += 2) {
    if (pair + 1 == digits_.size()) {
      joined.push_back(std::move(digits_[pair]));
      break;
    }
    Indicators sum{digits_[pair].count + digits_[pair + 1].count - 1, {}, {}};
    const size_t length = (sum.count - 1) * size;
    auto part = [&](const auto& all) {
      const auto begin = all.begin() + static_cast<ptrdiff_t>(first);
      return std::remove_cvref_t<decltype(all)>(begin, begin + static_cast<ptrdiff_t>(length));
    };
    if (scheduled_.as_bits) {
      for (size_t s = 0; s < kSlices; ++s) sum.bits[s] = part(transfers_.BitsOut(transfer)[s]);
    } else {
      sum.elements = part(transfers_.Out(transfer));
    }
    first += length;
    joined.push_back(std::move(sum));
  }
  digits_ = std::move(joined);
}

// ---- what was opened

// x + 2^(k-1) + r >= T 2^b / D = p q + q + r0 2^b / D for T = q D + r0, and less than that plus p.
template <typename F, size_t kSlices>
size_t ShamirMask<F, kSlices>::Wraps(size_t digit_sum, Word opened) const {
  const size_t quotient = digit_sum / scheduled_.digits;
  const UInt128 least =
      quotient + LowerPart(digit_sum % scheduled_.digits, scheduled_.digits, F::kBits);
  return quotient + (opened < least ? 1 : 0);
}

template <typename F, size_t kSlices>
auto ShamirMask<F, kSlices>::LowOfOpened(const Vector& opened) const -> Vector {
  const UInt128 low = (static_cast<UInt128>(1) << scheduled_.width) - 1;
  const size_t entries = scheduled_.entries;
  Vector shares(entries);
  if (scheduled_.digits == 0) {
    for (size_t e = 0; e < entries; ++e) shares[e] = static_cast<Word>(opened[e] & low);
    return shares;
  }
  const Vector& indicators = digits_[0].elements;
  for (size_t e = 0; e < entries; ++e) {
    auto if_digits = [&](size_t sum) {
      return F::Reduce((opened[e] + F::kModulus * Wraps(sum, opened[e])) & low);
    };
    const Word at_zero = if_digits(0);
    shares[e] = at_zero;
    for (size_t sum = 1; sum <= MaxDigitSum(); ++sum) {
      const Word more = F::Sub(if_digits(sum), at_zero);
      shares[e] = F::Add(shares[e], F::Mul(more, indicators[(sum - 1) * entries + e]));
    }
  }
  return shares;
}

template <typename F, size_t kSlices>
auto ShamirMask<F, kSlices>::LowOfOpenedAsBits(const Vector& opened, UInt128 addend) const -> Bits {
  const size_t entries = scheduled_.entries, words = WordsPerIndicator();
  const size_t width = scheduled_.width;
  auto if_wraps = [&](size_t wraps) {
    std::vector<UInt128> values(entries);
    for (size_t e = 0; e < entries; ++e) values[e] = opened[e] + F::kModulus * wraps + addend;
    return ToPlanes<Ring128>(values, width);
  };
  // Where the sum of digits says so, there are at least so many.
  auto at_least = [&](size_t wraps, size_t sum) {
    std::vector<uint64_t> plane(words);
    for (size_t e = 0; e < entries; ++e) {
      plane[e / 64] |= uint64_t{Wraps(sum, opened[e]) >= wraps} << (e % 64);
    }
    return plane;
  };
  Bits shares = MakeSlices<kSlices>(width * words);
  std::vector<uint64_t> below = if_wraps(0);
  shares[0] = below;
  if (scheduled_.digits == 0) return shares;
  for (size_t wraps = 1; wraps <= party_.threshold() + 1; ++wraps) {
    Bits condition = MakeSlices<kSlices>(words);
    const std::vector<uint64_t> at_zero = at_least(wraps, 0);
    condition[0] = at_zero;
    for (size_t sum = 1; sum <= MaxDigitSum(); ++sum) {
      std::vector<uint64_t> differs = at_least(wraps, sum);
      XorInto(differs, at_zero);
      for (size_t s = 0; s < kSlices; ++s) {
        const auto indicator = ConstBitWords(digits_[0].bits[s]).subspan((sum - 1) * words, words);
        AndInto(condition[s], indicator, differs);
      }
    }
    const std::vector<uint64_t> value = if_wraps(wraps);
    XorInto(below, value);
    for (size_t s = 0; s < kSlices; ++s) {
      for (size_t j = 0; j < width; ++j) {
        AndInto(BitWords(shares[s]).subspan(j * words, words), condition[s],
                ConstBitWords(below).subspan(j * words, words));
      }
    }
    below = value;
  }
  return shares;
}

#define PARTITA_INSTANTIATE(F, kSlices) template class ShamirMask<F, kSlices>;
PARTITA_FOR_SHAMIR_FIELDS(PARTITA_INSTANTIATE)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
