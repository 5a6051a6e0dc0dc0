#include "mpc/functions/normalise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

// Bit numbers, in the integer x 2^f, that the leading bit can have.
struct LeadingBits {
  size_t first = 0, count = 0;
};

LeadingBits LeadingBitsOf(const PositiveValue& value) {
  if (!(value.smallest > 0) || !(value.smallest <= value.value.bound)) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("a positive value lies between {} and {}", value.smallest, value.value.bound),
        "state a smallest value above zero and not above the bound");
  }
  const int exponent = std::ilogb(value.smallest) + value.value.fraction_bits;
  const size_t top = BitsFor(value.value) - 1;  // the sign's
  const auto first = static_cast<size_t>(std::max(exponent, 0));
  return {first, top - first};
}

// prefix[i] = bits[0] AND ... AND bits[i], for every list.
void PrefixAnd(Engine& engine, std::vector<SharedBits>& all) {
  size_t widest = 0;
  for (const SharedBits& bits : all) widest = std::max(widest, bits.width);
  for (size_t block = 1; block < widest; block *= 2) {
    std::vector<BitProduct> products;
    std::vector<std::vector<size_t>> highs;
    for (const SharedBits& bits : all) {
      std::vector<size_t> high, low;
      for (size_t i = 0; i < bits.width; ++i) {
        if ((i & block) == 0) continue;
        high.push_back(i);
        low.push_back(i / block * block - 1);
      }
      highs.push_back(high);
      if (high.empty()) continue;
      products.push_back({engine.SelectPlanes(bits, high), engine.SelectPlanes(bits, low)});
    }
    const std::vector<SharedBits> results = engine.And(products);
    auto next = results.begin();
    for (size_t k = 0; k < all.size(); ++k) {
      if (highs[k].empty()) continue;
      std::vector<size_t> from(all[k].width);
      std::iota(from.begin(), from.end(), size_t{0});
      for (size_t i = 0; i < highs[k].size(); ++i) from[highs[k][i]] = all[k].width + i;
      const SharedBits parts[] = {all[k], *next++};
      all[k] = engine.SelectPlanes(engine.JoinPlanes(parts), from);
    }
  }
}

// Plane i marks that the leading bit is number first + i. `none[i]` says that the top i + 1 of the
// bits are all zero.
SharedBits MarksOf(Engine& engine, const SharedBits& none) {
  std::vector<size_t> upward(none.width);
  for (size_t i = 0; i < none.width; ++i) upward[i] = none.width - 1 - i;
  const SharedBits none_from = engine.SelectPlanes(none, upward);  // by bit number
  SharedBits top = engine.Not(engine.SelectPlanes(none, {upward.data() + none.width - 1, 1}));
  if (none.width == 1) return top;
  std::vector<size_t> all_but_last(none.width - 1), all_but_first(none.width - 1);
  std::iota(all_but_last.begin(), all_but_last.end(), size_t{0});
  std::iota(all_but_first.begin(), all_but_first.end(), size_t{1});
  const SharedBits parts[] = {engine.Xor(engine.SelectPlanes(none_from, all_but_last),
                                         engine.SelectPlanes(none_from, all_but_first)),
                              top};
  return engine.JoinPlanes(parts);
}

}  // namespace

Shared WeightOfExponent(Engine& engine, const Normalised& value,
                        const std::function<double(int exponent)>& weight, int fraction_bits) {
  const size_t count = value.marks.shape.rows;
  PublicMatrix weights{{{1, count}, std::vector<Int128>(count)}, fraction_bits};
  double largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const double w = weight(value.first_exponent + static_cast<int>(i));
    weights.values.values[i] = EncodeFixed(w, fraction_bits);
    largest = std::max(largest, std::abs(w));
  }
  Shared marks = value.marks;
  marks.bound = 1 / static_cast<double>(count);  // all of them together are at most 1
  Shared sum = engine.MultiplyPublic(weights, marks);
  sum.shape = value.mantissa.shape;
  sum.bound = largest;
  return sum;
}

std::vector<Normalised> NormaliseBits(Engine& engine, std::span<const PositiveValue> values,
                                      std::span<const SharedBits> bits,
                                      const MantissaFormat& format) {
  CheckCarriesFractions(engine, "reciprocals, roots and logarithms");
  std::vector<Shared> shared;
  std::vector<LeadingBits> leading;
  std::vector<SharedBits> none;  // from the top down: complements, then their prefixes
  for (size_t k = 0; k < values.size(); ++k) {
    shared.push_back(values[k].value);
    leading.push_back(LeadingBitsOf(values[k]));
    const auto [first, count] = leading.back();
    std::vector<size_t> downward(count);
    for (size_t i = 0; i < count; ++i) downward[i] = first + count - 1 - i;
    none.push_back(engine.Not(engine.SelectPlanes(bits[k], downward)));
  }
  PrefixAnd(engine, none);
  std::vector<SharedBits> marks;
  for (const SharedBits& prefixes : none) marks.push_back(MarksOf(engine, prefixes));
  std::vector<Shared> elements = engine.ToRing(marks);

  std::vector<Normalised> results(values.size());
  ProductRound products(engine);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto [first, count] = leading[i];
    Normalised& result = results[i];
    result.first_exponent = static_cast<int>(first) - shared[i].fraction_bits;
    result.marks = std::move(elements[i]);
    result.marks.shape = {count, shared[i].shape.size()};  // row by row, the same memory
    result.mantissa.shape = shared[i].shape;
    // x times 2^(first + count - 1 - number of its leading bit), as integers, has its leading bit
    // at first + count - 1.
    const int top = result.first_exponent + static_cast<int>(count) - 1;
    Shared power = WeightOfExponent(
        engine, result, [top](int exponent) { return std::ldexp(1.0, top - exponent); }, 0);
    power.bound = 1;  // such that the product's bound is that of what it is
    Shared digits = shared[i];
    digits.fraction_bits = static_cast<int>(first + count);
    digits.bound = 1;
    if (format.short_one_too) {
      products.AddTwoCuts(digits, power, 1, format.bits, result.mantissa, kShortMantissaBits,
                          result.short_mantissa);
    } else {
      products.AddCut(digits, power, 1, format.bits, result.mantissa);
    }
  }
  products.Run();
  return results;
}

std::vector<Normalised> Normalise(Engine& engine, std::span<const PositiveValue> values,
                                  const MantissaFormat& format) {
  CheckCarriesFractions(engine, "reciprocals, roots and logarithms");
  std::vector<Shared> shared;
  for (const PositiveValue& value : values) {
    LeadingBitsOf(value);  // throws before anything is sent
    shared.push_back(value.value);
  }
  return NormaliseBits(engine, values, ToBits(engine, shared), format);
}

}  // namespace partita::mpc
