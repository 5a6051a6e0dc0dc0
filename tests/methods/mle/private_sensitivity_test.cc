// R67 for the one statistic that is released with noise, through the code that releases it: every
// pair of neighbours among all data sets of up to four rows over five values, in one public cell,
// in two cells or in none. The largest distance is at most what is declared, and reaches it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "methods/mle/moments/private_moments.h"
#include "privacy/audit/replay.h"
#include "tests/methods/mle/noise_in_the_clear.h"
#include "tests/methods/mle/plaintext_moments.h"

namespace partita::methods::mle::private_sensitivity_test {
namespace {

using privacy::Adjacency;

constexpr double kNorm = 0.9;
constexpr int kNowhere = -1;

struct Row {
  size_t value = 0;  // index into the domain
  int cell = 0;      // or kNowhere
  bool operator<(const Row& other) const {
    return std::pair(value, cell) < std::pair(other.value, other.cell);
  }
};
using Rows = std::vector<Row>;  // sorted

// Five rows of two columns: the worst pair of moments_sensitivity.h, the axis, beyond the bound,
// and nothing.
std::vector<Int128> ClippedDomain() {
  const double s = std::sqrt(kNorm * kNorm + 0.5), d = std::sqrt(kNorm * kNorm - 0.5);
  const double x = (s + d) / 2, y = (s - d) / 2;
  std::vector<Int128> raw;
  for (const double value : {x, y, -y, -x, kNorm, 0.0, 1.0, -1.0, 0.0, 0.0}) {
    raw.push_back(static_cast<Int128>(std::llround(std::ldexp(value, kPrivateFractionBits))));
  }
  const mpc::RowReader reader = ClippedRows(
      [&raw](size_t first, size_t num, Int128* out) {
        std::copy_n(raw.begin() + static_cast<std::ptrdiff_t>(2 * first), 2 * num, out);
      },
      2, HolderBound(kNorm, 2, 2));
  std::vector<Int128> clipped(raw.size());
  reader(0, 5, clipped.data());
  return clipped;
}

class Brute {
 public:
  Brute(Adjacency adjacency, size_t cells, int rows_per_person) : cells_(cells) {
    task_.num_variables = 2;
    task_.fraction_bits = kPrivateFractionBits;
    task_.max_rows = 4;
    task_.cells.assign(cells, {});
    task_.blocks = {{"rows", 4, {{0, {0, 1}, std::vector<bool>(cells, cells > 1)}}}};
    release_ = {"moments", 0, {}, {0, 1}, AllPairs({0, 1})};
    for (size_t c = 0; c < cells; ++c) release_.cells.push_back(c);
    PrivacyPromise promise;
    promise.epsilon = 1;
    promise.delta = 1e-6;
    promise.adjacency = adjacency;
    promise.norm = kNorm;
    promise.max_rows_per_person = rows_per_person;
    design_ = DesignPrivateMoments(promise, task_, release_, 2);
    for (size_t value = 0; value < 5; ++value) {
      for (size_t c = 0; c < cells; ++c) states_.push_back({value, static_cast<int>(c)});
    }
    if (cells > 1) states_.push_back({0, kNowhere});
  }

  const PrivateMoments& design() const { return design_; }

  // All data sets of `size` rows, up to order.
  std::vector<Rows> DataSets(size_t size) const {
    std::vector<Rows> sets = {{}};
    for (size_t row = 0; row < size; ++row) {
      std::vector<Rows> longer;
      for (const Rows& set : sets) {
        for (const Row& state : states_) {
          if (!set.empty() && state < set.back()) continue;
          longer.push_back(set);
          longer.back().push_back(state);
        }
      }
      sets = std::move(longer);
    }
    return sets;
  }

  // The largest distance between data sets with `rows` rows and those with `changed` of them
  // replaced, or left out under add/remove.
  double Largest(size_t rows, size_t changed, bool replace) {
    long double largest = 0;
    for (const Rows& rest : DataSets(rows - changed)) {
      const std::vector<Rows> first = DataSets(changed);
      for (const Rows& a : first) {
        const std::vector<Int128>& with = Statistic(Joined(rest, a));
        if (!replace) {
          largest = std::max(largest, Distance(with, Statistic(rest)));
          continue;
        }
        for (const Rows& b : first) {
          largest = std::max(largest, Distance(with, Statistic(Joined(rest, b))));
        }
      }
    }
    return static_cast<double>(largest);
  }

 private:
  static long double Distance(const std::vector<Int128>& a, const std::vector<Int128>& b) {
    return privacy::GridDistance(a, b, privacy::Norm::kL2);
  }
  static Rows Joined(Rows rest, const Rows& more) {
    rest.insert(rest.end(), more.begin(), more.end());
    std::sort(rest.begin(), rest.end());
    return rest;
  }

  // What would be noised, through the code in the clear with noise of zero.
  const std::vector<Int128>& Statistic(const Rows& rows) {
    const auto known = statistics_.find(rows);
    if (known != statistics_.end()) return known->second;
    static const std::vector<Int128> kDomain = ClippedDomain();
    std::vector<Int128> values;
    for (const Row& row : rows) {
      values.push_back(kDomain[2 * row.value]);
      values.push_back(kDomain[2 * row.value + 1]);
    }
    std::vector<IntegerMoments> exact;
    for (size_t c = 0; c < cells_; ++c) {
      std::vector<int32_t> weights;
      for (const Row& row : rows) weights.push_back(row.cell == static_cast<int>(c) ? 1 : 0);
      exact.push_back(PlaintextMoments(2, {values}, {weights}));
    }
    std::vector<Int128> numbers;
    for (const NoisedMoments& cell : testing::AddNoiseInTheClear(task_, exact, design_, {})) {
      if (!design_.public_count) numbers.push_back(cell.count);
      numbers.insert(numbers.end(), cell.sum.begin(), cell.sum.end());
      for (const size_t at : {0, 1, 3}) numbers.push_back(cell.cross[at]);
    }
    return statistics_[rows] = numbers;
  }

  size_t cells_;
  MomentsTask task_;
  MomentsRelease release_;
  PrivateMoments design_;
  std::vector<Row> states_;
  std::map<Rows, std::vector<Int128>> statistics_;
};

void ExpectTight(double observed, double declared) {
  EXPECT_LE(observed, declared);
  // Clipping stays 2^-16 below its bound (clipping.h); moments are of second order.
  EXPECT_GE(observed, declared * (1 - 4 * 0x1p-16));
}

TEST(PrivateSensitivityTest, ReplaceInOnePublicCell) {
  Brute brute(Adjacency::kReplace, 1, 1);
  ASSERT_TRUE(brute.design().public_count);
  ExpectTight(brute.Largest(4, 1, true), brute.design().sensitivity.value());
}

TEST(PrivateSensitivityTest, ReplaceInCellsThatDependOnData) {
  Brute brute(Adjacency::kReplace, 2, 1);
  ASSERT_FALSE(brute.design().public_count);
  ExpectTight(brute.Largest(4, 1, true), brute.design().sensitivity.value());
}

TEST(PrivateSensitivityTest, AddRemove) {
  for (const size_t cells : {1, 2}) {
    Brute brute(Adjacency::kAddRemove, cells, 1);
    ASSERT_FALSE(brute.design().public_count);
    ExpectTight(brute.Largest(4, 1, false), brute.design().sensitivity.value());
    // A participant asks about the replacement of somebody else's row.
    EXPECT_LE(brute.Largest(4, 1, true), brute.design().replace_sensitivity.value());
  }
}

TEST(PrivateSensitivityTest, PersonsWithTwoRows) {
  Brute open(Adjacency::kReplace, 1, 2);
  ExpectTight(open.Largest(3, 2, true), open.design().sensitivity.value());
  Brute hidden(Adjacency::kReplace, 2, 2);
  ExpectTight(hidden.Largest(3, 2, true), hidden.design().sensitivity.value());
}

}  // namespace
}  // namespace partita::methods::mle::private_sensitivity_test
