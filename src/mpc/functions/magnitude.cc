#include "mpc/functions/magnitude.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mpc/compare.h"
#include "mpc/planes.h"
#include "mpc/window_carries.h"

namespace partita::mpc {
namespace {

SharedBits Reversed(Engine& engine, const SharedBits& bits) {
  std::vector<size_t> planes(bits.width);
  for (size_t i = 0; i < bits.width; ++i) planes[i] = bits.width - 1 - i;
  return engine.SelectPlanes(bits, planes);
}

// Prefixes of carries (generate is set) or of conjunctions alone.
struct Prefix {
  SharedBits propagate;
  std::optional<SharedBits> generate;
  size_t missing = 0;  // planes that the first block lacks
  size_t width() const { return missing + propagate.width; }
};

// Plane i becomes the join of the planes 0 to i, in ceil(log2 width) rounds (Sklansky 1960), fewer if
// planes are joined within blocks of so many already.
class PrefixLevels {
 public:
  PrefixLevels(Engine& engine, std::vector<Prefix>& all) : engine_(engine), all_(all) {}

  void Run(size_t joined) {
    size_t widest = 0;
    for (const Prefix& prefix : all_) widest = std::max(widest, prefix.width());
    for (size_t block = joined; block < widest; block *= 2) RunLevel(block);
  }

 private:
  void RunLevel(size_t block) {
    std::vector<BitProduct> products;
    std::vector<std::vector<size_t>> highs;
    for (const Prefix& prefix : all_) {
      std::vector<size_t> high, low;
      for (size_t i = prefix.missing; i < prefix.width(); ++i) {
        if ((i & block) == 0) continue;
        high.push_back(i - prefix.missing);
        low.push_back(i / block * block - 1 - prefix.missing);
      }
      highs.push_back(high);
      if (high.empty()) continue;
      const SharedBits propagate = engine_.SelectPlanes(prefix.propagate, high);
      products.push_back({propagate, engine_.SelectPlanes(prefix.propagate, low)});
      if (prefix.generate) {
        products.push_back({propagate, engine_.SelectPlanes(*prefix.generate, low)});
      }
    }
    const std::vector<SharedBits> results = engine_.And(products);
    auto next = results.begin();
    for (size_t k = 0; k < all_.size(); ++k) {
      if (highs[k].empty()) continue;
      Prefix& prefix = all_[k];
      prefix.propagate = Replace(prefix.propagate, highs[k], *next++);
      if (!prefix.generate) continue;
      const SharedBits joined =
          engine_.Xor(engine_.SelectPlanes(*prefix.generate, highs[k]), *next++);
      prefix.generate = Replace(*prefix.generate, highs[k], joined);
    }
  }

  // `bits` with the planes `at` replaced by `by`.
  SharedBits Replace(const SharedBits& bits, const std::vector<size_t>& at, const SharedBits& by) {
    std::vector<size_t> from(bits.width);
    std::iota(from.begin(), from.end(), size_t{0});
    for (size_t i = 0; i < at.size(); ++i) from[at[i]] = bits.width + i;
    return engine_.SelectPlanes(JoinBits(engine_, bits, by), from);
  }

  Engine& engine_;
  std::vector<Prefix>& all_;
};

// Which bits of a value of `width` bits the powers are.
size_t FirstBit(const Shared& value, const PowersOfTwo& powers, size_t width) {
  const int first = powers.first + value.fraction_bits;
  if (first < 0 || static_cast<size_t>(first) + powers.count > width - 1) {
    Misuse("a power of two lies outside the bits of the value");
  }
  return static_cast<size_t>(first);
}

// What has to hold from bit j on, in the order of falling bits, so that a prefix is a suffix. joined:
// blocks of so many bits from bit 0 on.
Prefix FromTheTop(Engine& engine, const SharedBits& bits, size_t first, size_t joined) {
  return {Reversed(engine, PlaneRange(engine, bits, first, bits.width - first)),
          {},
          (joined - bits.width % joined) % joined};
}

// p, and what prefixes begin with: carries of all bits but the top one; whether all are ones from bit
// j on; whether each agrees with the carry that it would need, from bit j + 1 on (plane of the lowest
// bit: unused). The last three within blocks of `joined` bits.
struct Beginnings {
  size_t joined = 1;
  std::vector<SharedBits> sums;
  std::vector<Prefix> carries;
  std::vector<SharedBits> ones, agree;
};

Beginnings BeginInWindows(Engine& engine, std::span<const Shared> values,
                          const std::vector<size_t>& widths) {
  Beginnings all;
  all.joined = kCarryBlock;
  for (const WindowCarries& value : DecomposeWindows(engine, values, widths)) {
    all.sums.push_back(value.propagate);
    all.carries.push_back({value.block_propagate, value.block_generate});
    all.ones.push_back(value.block_ones);
    all.agree.push_back(value.block_agree);
  }
  return all;
}

Beginnings Begin(Engine& engine, std::span<const Shared> values,
                 const std::vector<size_t>& widths) {
  Beginnings all;
  for (const auto& [propagate, generate] : engine.Decompose(values, widths)) {
    const size_t below = propagate.width - 1;
    const SharedBits passed = PlaneRange(engine, propagate, 0, below);
    const SharedBits made = PlaneRange(engine, generate, 0, below);
    all.sums.push_back(propagate);
    all.carries.push_back({passed, made});
    all.ones.push_back(propagate);
    all.agree.push_back(
        engine.Not(engine.Xor(PlaneRange(engine, propagate, 1, below), engine.Xor(passed, made))));
  }
  return all;
}

// What is known of a value when its carries are: the sign, and for every power what decides whether
// the value lies below it.
struct Carried {
  SharedBits negative;
  SharedBits into;       // plane i: the carry into bit first + i
  SharedBits ones;       // all propagate bits from there on are one
  SharedBits propagate;  // that bit's own
  SharedBits agree;      // every bit above agrees with the carry that it would need
};

// The last four are empty where only the sign is asked for.
std::vector<Carried> CarriesOf(Engine& engine, std::span<const Shared> values,
                               std::span<const PowersOfTwo> powers, bool in_windows) {
  std::vector<size_t> widths, first;
  for (size_t k = 0; k < values.size(); ++k) {
    widths.push_back(BitsFor(values[k], engine.ring_bits()));
    first.push_back(FirstBit(values[k], powers[k], widths.back()));
  }
  const Beginnings begin =
      in_windows ? BeginInWindows(engine, values, widths) : Begin(engine, values, widths);
  std::vector<Prefix> prefixes;
  for (size_t k = 0; k < values.size(); ++k) {
    prefixes.push_back(begin.carries[k]);
    if (powers[k].count == 0) continue;
    prefixes.push_back(FromTheTop(engine, begin.ones[k], first[k], begin.joined));
    prefixes.push_back(FromTheTop(engine, begin.agree[k], first[k], begin.joined));
  }
  PrefixLevels(engine, prefixes).Run(begin.joined);

  std::vector<Carried> results(values.size());
  size_t at = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    const size_t width = widths[k], count = powers[k].count;
    const SharedBits& propagate = begin.sums[k];
    const SharedBits carries = *prefixes[at++].generate;  // plane i: out of bit i
    results[k].negative = engine.Xor(PlaneRange(engine, propagate, width - 1, 1),
                                     PlaneRange(engine, carries, width - 2, 1));
    if (count == 0) continue;
    const SharedBits ones = Reversed(engine, prefixes[at++].propagate);   // plane i: bit first + i
    const SharedBits agree = Reversed(engine, prefixes[at++].propagate);  // one bit higher
    // Into bit `first + i`; none goes into bit 0.
    const SharedBits none = engine.PublicBits(MakeBits(values[k].shape, 1));
    results[k].into = first[k] > 0 ? PlaneRange(engine, carries, first[k] - 1, count)
                                   : PlaneRange(engine, JoinBits(engine, none, carries), 0, count);
    results[k].ones = PlaneRange(engine, ones, 0, count);
    results[k].propagate = PlaneRange(engine, propagate, first[k], count);
    results[k].agree = PlaneRange(engine, agree, 0, count);
  }
  return results;
}

// With a carry into the bit, all ones: below. Without one and with a zero there: below if the rest
// agrees.
void AddCases(Engine& engine, const Carried& value, std::vector<BitProduct>& products) {
  products.push_back({value.into, value.ones});
  products.push_back({engine.Not(value.into), engine.Not(value.propagate)});
}

}  // namespace

std::vector<Magnitude> MagnitudesOf(Engine& engine, std::span<const Shared> values,
                                    std::span<const PowersOfTwo> powers) {
  if (powers.size() != values.size()) {
    Misuse("every value needs its powers of two");
  }
  const std::vector<Carried> carried = CarriesOf(engine, values, powers, false);
  std::vector<Magnitude> results(values.size());
  std::vector<BitProduct> products;
  for (size_t k = 0; k < values.size(); ++k) {
    results[k].negative = carried[k].negative;
    if (powers[k].count > 0) AddCases(engine, carried[k], products);
  }
  const std::vector<SharedBits> cases = engine.And(products);
  products.clear();
  for (size_t k = 0; k < values.size(); ++k) {
    if (powers[k].count > 0) products.push_back({cases[2 * products.size() + 1], carried[k].agree});
  }
  const std::vector<SharedBits> without_carry = engine.And(products);
  size_t done = 0;
  for (size_t k = 0; k < values.size(); ++k) {
    if (powers[k].count == 0) continue;
    results[k].below = engine.Xor(cases[2 * done], without_carry[done]);
    ++done;
  }
  return results;
}

SharedBits BelowOfLarger(Engine& engine, const Shared& x, const Shared& y,
                         const PowersOfTwo& powers) {
  const Shared values[] = {x, y, engine.Subtract(x, y)};
  const PowersOfTwo wanted[] = {powers, powers, {}};
  const std::vector<Carried> carried = CarriesOf(engine, values, wanted, HasWindows(engine));
  const SharedBits take_y =
      engine.SelectPlanes(carried[2].negative, std::vector<size_t>(powers.count, 0));
  // The choice is made beside the cases: without agreement a value's case without a carry does not
  // hold, and of the cases with one the last round takes the chosen one's.
  std::vector<BitProduct> products;
  AddCases(engine, carried[0], products);
  AddCases(engine, carried[1], products);
  products.push_back({engine.Not(take_y), carried[0].agree});
  products.push_back({take_y, carried[1].agree});
  const std::vector<SharedBits> first = engine.And(products);
  products = {{first[1], first[4]}, {first[3], first[5]}, {take_y, engine.Xor(first[0], first[2])}};
  const std::vector<SharedBits> second = engine.And(products);
  const SharedBits with_carry = engine.Xor(first[0], second[2]);
  return engine.Xor(with_carry, engine.Xor(second[0], second[1]));
}

Shared NumberOfClass(Engine& engine, const Shared& below, Shape shape,
                     std::span<const double> classes, int fraction_bits) {
  const size_t count = classes.size() - 1;
  if (below.shape.size() != count * shape.size()) {
    Misuse("there is not one number for every class");
  }
  // Whoever is below the power i is below all that follow: so the differences telescope.
  std::vector<Int128> numbers(classes.size());
  double largest = 0;
  for (size_t i = 0; i < classes.size(); ++i) {
    numbers[i] = EncodeFixed(classes[i], fraction_bits);
    largest = std::max(largest, std::abs(classes[i]));
  }
  PublicMatrix steps{{{1, count}, std::vector<Int128>(count)}, fraction_bits};
  for (size_t i = 0; i < count; ++i) steps.values.values[i] = numbers[i] - numbers[i + 1];
  Shared bits = below;
  bits.shape = {count, shape.size()};
  bits.bound = 0;  // the caller's classes bound the sum, whatever the engine makes of the steps
  Shared sum = engine.MultiplyPublic(steps, bits);
  sum.shape = shape;
  const Shared last =
      engine.Public({{shape, std::vector<Int128>(shape.size(), numbers[count])}, fraction_bits});
  sum.bound = 0;
  Shared number = engine.Add(sum, last);
  number.bound = largest;
  return number;
}

SizeClasses SizesOf(Engine& engine, const Shared& values, int least, int most) {
  const PowersOfTwo powers = {least, static_cast<size_t>(most - least) + 1};
  const Magnitude size = MagnitudesOf(engine, {&values, 1}, {&powers, 1}).front();
  return {engine.ToRing({&size.below, 1}).front(), values.shape, least, most};
}

Shared PowerOfSize(Engine& engine, const SizeClasses& sizes, double times, int fraction_bits) {
  std::vector<double> classes = {0};
  for (int e = sizes.least + 1; e <= sizes.most + 1; ++e) classes.push_back(std::exp2(times * e));
  return NumberOfClass(engine, sizes.below, sizes.shape, classes, fraction_bits);
}

}  // namespace partita::mpc
