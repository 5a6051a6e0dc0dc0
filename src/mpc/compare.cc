#include "mpc/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "mpc/planes.h"
#include "mpc/window_carries.h"

namespace partita::mpc {
namespace {

// Adjacent groups of bits: whether a group makes a carry, and whether it passes one on.
struct Groups {
  SharedBits generate, propagate;
  size_t size() const { return generate.width; }
};

std::vector<size_t> Every(size_t first, size_t step, size_t count) {
  std::vector<size_t> planes(count);
  for (size_t i = 0; i < count; ++i) planes[i] = first + i * step;
  return planes;
}

// Joins neighbours: (g, p) high with low is (g_high ^ p_high g_low, p_high p_low). A group without
// a neighbour stays. Once only two are left, what the result passes on is not needed.
std::vector<Groups> JoinNeighbours(Engine& engine, const std::vector<Groups>& all) {
  std::vector<BitProduct> products;
  for (const Groups& groups : all) {
    const size_t pairs = groups.size() / 2;
    if (pairs == 0) continue;
    const SharedBits high = engine.SelectPlanes(groups.propagate, Every(1, 2, pairs));
    products.push_back({high, engine.SelectPlanes(groups.generate, Every(0, 2, pairs))});
    if (groups.size() > 2) {
      products.push_back({high, engine.SelectPlanes(groups.propagate, Every(0, 2, pairs))});
    }
  }
  const std::vector<SharedBits> results = engine.And(products);
  auto next = results.begin();
  std::vector<Groups> joined;
  for (const Groups& groups : all) {
    const size_t pairs = groups.size() / 2;
    if (pairs == 0) {
      joined.push_back(groups);
      continue;
    }
    Groups result;
    result.generate = engine.Xor(engine.SelectPlanes(groups.generate, Every(1, 2, pairs)), *next++);
    if (groups.size() > 2) result.propagate = *next++;
    if (groups.size() % 2 == 1) {
      const size_t top = groups.size() - 1;
      result.generate =
          JoinBits(engine, result.generate, PlaneRange(engine, groups.generate, top, 1));
      result.propagate =
          JoinBits(engine, result.propagate, PlaneRange(engine, groups.propagate, top, 1));
    }
    joined.push_back(std::move(result));
  }
  return joined;
}

std::vector<size_t> WidthsOf(const Engine& engine, std::span<const Shared> values) {
  std::vector<size_t> widths;
  for (const Shared& value : values) widths.push_back(BitsFor(value, engine.ring_bits()));
  return widths;
}

bool AnyLargerThanOne(const std::vector<SharedBits>& all) {
  return std::any_of(all.begin(), all.end(), [](const SharedBits& b) { return b.width > 1; });
}

// One level of a parallel prefix over all groups: groups whose number has bit `level` set join with
// everything below their block of 2^level.
std::vector<Groups> PrefixLevel(Engine& engine, const std::vector<Groups>& all, size_t level) {
  const size_t block = size_t{1} << level;
  std::vector<BitProduct> products;
  std::vector<std::vector<size_t>> highs;
  for (const Groups& groups : all) {
    std::vector<size_t> high, low;
    for (size_t i = 0; i < groups.size(); ++i) {
      if ((i & block) == 0) continue;
      high.push_back(i);
      low.push_back(i / block * block - 1);
    }
    highs.push_back(high);
    if (high.empty()) continue;
    const SharedBits propagate = engine.SelectPlanes(groups.propagate, high);
    products.push_back({propagate, engine.SelectPlanes(groups.generate, low)});
    products.push_back({propagate, engine.SelectPlanes(groups.propagate, low)});
  }
  const std::vector<SharedBits> results = engine.And(products);
  auto next = results.begin();
  std::vector<Groups> joined;
  for (size_t g = 0; g < all.size(); ++g) {
    const Groups& groups = all[g];
    if (highs[g].empty()) {
      joined.push_back(groups);
      continue;
    }
    // The joined planes stand behind the old ones; then every plane is taken from where it is.
    const SharedBits generate = engine.Xor(engine.SelectPlanes(groups.generate, highs[g]), *next++);
    std::vector<size_t> from(groups.size());
    std::iota(from.begin(), from.end(), size_t{0});
    for (size_t i = 0; i < highs[g].size(); ++i) from[highs[g][i]] = groups.size() + i;
    Groups result;
    result.generate = engine.SelectPlanes(JoinBits(engine, groups.generate, generate), from);
    result.propagate = engine.SelectPlanes(JoinBits(engine, groups.propagate, *next++), from);
    joined.push_back(std::move(result));
  }
  return joined;
}

}  // namespace

size_t BitsFor(const Shared& value, int ring_bits) {
  // A private input may exceed its bound by one unit of its grid, and so may sums in proportion.
  const double largest =
      std::ldexp(value.bound, value.fraction_bits) * (1 + std::ldexp(1.0, -16)) + 2;
  int exponent = 0;  // largest <= 2^exponent
  if (std::frexp(largest, &exponent) == 0.5) --exponent;
  if (!(largest < std::ldexp(1.0, ring_bits - 1))) {
    throw Error(
        ErrorCode::kBadInput,
        fmt::format("a value that may reach {:.6g} with {} fraction bits cannot be compared "
                    "in a ring of {} bits",
                    value.bound, value.fraction_bits, ring_bits),
        "use tighter bounds or fewer fraction bits");
  }
  return static_cast<size_t>(exponent) + 1;
}

namespace {

// The bits of decompositions, all of them.
std::vector<SharedBits> SumBits(Engine& engine, const std::vector<CarryBits>& carries) {
  // Prefixes of all bits but the top one: nobody asks for its carry.
  std::vector<Groups> all;
  size_t widest = 0;
  for (const CarryBits& carry : carries) {
    const size_t width = carry.propagate.width - 1;
    all.push_back({PlaneRange(engine, carry.generate, 0, width),
                   PlaneRange(engine, carry.propagate, 0, width)});
    widest = std::max(widest, width);
  }
  for (size_t level = 0; (size_t{1} << level) < widest; ++level) {
    all = PrefixLevel(engine, all, level);
  }
  std::vector<SharedBits> bits;
  for (size_t i = 0; i < all.size(); ++i) {
    const SharedBits& sums = carries[i].propagate;
    const SharedBits with_carry =
        engine.Xor(PlaneRange(engine, sums, 1, sums.width - 1), all[i].generate);
    bits.push_back(JoinBits(engine, PlaneRange(engine, sums, 0, 1), with_carry));
  }
  return bits;
}

}  // namespace

std::vector<SharedBits> ToBits(Engine& engine, std::span<const Shared> values) {
  return SumBits(engine, engine.Decompose(values, WidthsOf(engine, values)));
}

std::vector<SharedBits> LowestBits(Engine& engine, std::span<const Shared> values, size_t n) {
  std::vector<CarryBits> carries = engine.Decompose(values, WidthsOf(engine, values));
  for (CarryBits& carry : carries) {
    if (n < 2 || n > carry.propagate.width) Misuse("a value has not so many lowest bits");
    carry.generate = PlaneRange(engine, carry.generate, 0, n);
    carry.propagate = PlaneRange(engine, carry.propagate, 0, n);
  }
  return SumBits(engine, carries);
}

namespace {

// The top bit is its propagate bit, the highest of `sums`, and the carry into it.
std::vector<SharedBits> TopBits(Engine& engine, const std::vector<SharedBits>& sums,
                                std::vector<Groups> all) {
  auto unfinished = [](const Groups& groups) { return groups.size() > 1; };
  while (std::any_of(all.begin(), all.end(), unfinished)) all = JoinNeighbours(engine, all);
  std::vector<SharedBits> tops;
  for (size_t i = 0; i < all.size(); ++i) {
    tops.push_back(engine.Xor(PlaneRange(engine, sums[i], sums[i].width - 1, 1), all[i].generate));
  }
  return tops;
}

}  // namespace

std::vector<SharedBits> IsNegative(Engine& engine, std::span<const Shared> values) {
  std::vector<SharedBits> sums;
  std::vector<Groups> all;
  for (const CarryBits& carry : engine.Decompose(values, WidthsOf(engine, values))) {
    const size_t width = carry.propagate.width - 1;
    all.push_back({PlaneRange(engine, carry.generate, 0, width),
                   PlaneRange(engine, carry.propagate, 0, width)});
    sums.push_back(carry.propagate);
  }
  return TopBits(engine, sums, std::move(all));
}

std::vector<SharedBits> IsNegativeInWindows(Engine& engine, std::span<const Shared> values) {
  if (!HasWindows(engine)) return IsNegative(engine, values);
  std::vector<SharedBits> sums;
  std::vector<Groups> all;
  for (const WindowCarries& carry : DecomposeWindows(engine, values, WidthsOf(engine, values))) {
    std::vector<size_t> ends;  // of the blocks below the top bit
    const size_t below = carry.propagate.width - 1;
    for (size_t first = 0; first < below; first += kCarryBlock)
      ends.push_back(std::min(first + kCarryBlock, below) - 1);
    all.push_back({engine.SelectPlanes(carry.block_generate, ends),
                   engine.SelectPlanes(carry.block_propagate, ends)});
    sums.push_back(carry.propagate);
  }
  return TopBits(engine, sums, std::move(all));
}

// a + b = 0 modulo 2^w exactly if at every bit the sum without carries equals the carry that it
// would need, a OR b of the bit below (Cortadella & Llaberia, IEEE Trans. Computers 1992):
// p_j ^ p_(j-1) ^ g_(j-1) = 0, which is local.
std::vector<SharedBits> IsZero(Engine& engine, std::span<const Shared> values) {
  std::vector<SharedBits> agree;
  for (const auto& [propagate, generate] : engine.Decompose(values, WidthsOf(engine, values))) {
    const size_t below = propagate.width - 1;
    const SharedBits carry =
        engine.Xor(PlaneRange(engine, propagate, 0, below), PlaneRange(engine, generate, 0, below));
    const SharedBits high = engine.Xor(PlaneRange(engine, propagate, 1, below), carry);
    agree.push_back(engine.Not(JoinBits(engine, PlaneRange(engine, propagate, 0, 1), high)));
  }
  while (AnyLargerThanOne(agree)) {
    std::vector<BitProduct> products;
    for (const SharedBits& bits : agree) {
      const size_t half = bits.width / 2;
      if (half == 0) continue;
      products.push_back({PlaneRange(engine, bits, 0, half), PlaneRange(engine, bits, half, half)});
    }
    const std::vector<SharedBits> results = engine.And(products);
    auto next = results.begin();
    for (SharedBits& bits : agree) {
      if (bits.width == 1) continue;
      const SharedBits& joined = *next++;
      bits = bits.width % 2 == 0
                 ? joined
                 : JoinBits(engine, joined, PlaneRange(engine, bits, bits.width - 1, 1));
    }
  }
  return agree;
}

namespace {

std::vector<Shared> Differences(Engine& engine, std::span<const Comparison> comparisons) {
  std::vector<Shared> differences;
  for (const auto& [left, right] : comparisons) {
    differences.push_back(engine.Subtract(left, right));
  }
  return differences;
}

}  // namespace

std::vector<SharedBits> LessThan(Engine& engine, std::span<const Comparison> comparisons) {
  return IsNegative(engine, Differences(engine, comparisons));
}

std::vector<SharedBits> Equal(Engine& engine, std::span<const Comparison> comparisons) {
  return IsZero(engine, Differences(engine, comparisons));
}

std::vector<Shared> Select(Engine& engine, std::span<const Selection> selections) {
  std::vector<SharedBits> conditions;
  for (const Selection& selection : selections) {
    if (selection.condition.width != 1) {
      Misuse("a selection needs a condition of one bit");
    }
    conditions.push_back(selection.condition);
  }
  const std::vector<Shared> bits = engine.ToRing(conditions);
  std::vector<Product> products;
  for (size_t i = 0; i < selections.size(); ++i) {
    products.push_back({Product::Kind::kElementwise, bits[i],
                        engine.Subtract(selections[i].if_true, selections[i].if_false)});
  }
  const std::vector<Shared> chosen = engine.Multiply(products);
  std::vector<Shared> results;
  for (size_t i = 0; i < selections.size(); ++i) {
    const auto& [condition, if_true, if_false] = selections[i];
    results.push_back(engine.Add(if_false, chosen[i]));
    results.back().bound = std::max(if_true.bound, if_false.bound);  // it is one of the two
  }
  return results;
}

}  // namespace partita::mpc
