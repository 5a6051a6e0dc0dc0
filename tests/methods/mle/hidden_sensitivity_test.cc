// R67 for moments with noise of rows of which nobody knows which match: all pairs of lists of two holders
// over three people, each with a column of its own, and all changes of one row of one list, its key
// included, or of one person in both. The join changes by no more than the noise is sized for; with keys
// that two rows have left out, as matchings for such studies may not do, it could.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <vector>

#include "methods/mle/moments/private_moments.h"
#include "privacy/audit/replay.h"
#include "tests/methods/mle/noise_in_the_clear.h"
#include "tests/methods/mle/plaintext_moments.h"

namespace partita::methods::mle::hidden_sensitivity_test {
namespace {

constexpr double kNorm = 0.9;
constexpr size_t kPeople = 3, kValues = 3;

// By person the value that a holder has of it, or none: it is not in the list.
using List = std::array<std::optional<size_t>, kPeople>;

// A holder's own part of a row, clipped: the bound on either side, and nothing.
std::vector<Int128> ClippedDomain() {
  std::vector<Int128> raw;
  for (const double value : {1.0, -1.0, 0.0})
    raw.push_back(static_cast<Int128>(std::llround(std::ldexp(value, kPrivateFractionBits))));
  const mpc::RowReader reader = ClippedRows(
      [&raw](size_t first, size_t num, Int128* out) {
        std::copy_n(raw.begin() + static_cast<std::ptrdiff_t>(first), num, out);
      },
      1, HolderBound(kNorm, 1, 2));
  std::vector<Int128> clipped(raw.size());
  reader(0, raw.size(), clipped.data());
  return clipped;
}

class Joins {
 public:
  Joins() : domain_(ClippedDomain()) {
    task_.num_variables = 2;
    task_.fraction_bits = kPrivateFractionBits;
    task_.max_rows = 6;
    task_.cells.assign(1, {});
    task_.blocks = {{"all", 6, {{0, {0}, {true}}, {1, {1}, {true}}}}};
    release_ = {"moments", 0, {0}, {0, 1}, AllPairs({0, 1})};
    PrivacyPromise promise;
    promise.epsilon = 1;
    promise.delta = 1e-6;
    promise.norm = kNorm;
    design_ = DesignPrivateMoments(promise, task_, release_, 2);
  }

  const PrivateMoments& design() const { return design_; }

  // What would be noised of these rows of the join, through the code in the clear with noise of zero.
  const std::vector<Int128>& Statistic(std::vector<std::array<size_t, 2>> rows) {
    std::sort(rows.begin(), rows.end());
    const auto known = statistics_.find(rows);
    if (known != statistics_.end()) return known->second;
    std::vector<Int128> values;
    for (const auto& [first, second] : rows) {
      values.push_back(domain_[first]);
      values.push_back(domain_[second]);
    }
    const std::vector<int32_t> weights(rows.size(), 1);
    const std::vector<NoisedMoments> cells =
        testing::AddNoiseInTheClear(task_, {PlaintextMoments(2, {values}, {weights})}, design_, {});
    std::vector<Int128> numbers = {cells[0].count};
    numbers.insert(numbers.end(), cells[0].sum.begin(), cells[0].sum.end());
    for (const size_t at : {0, 1, 3}) numbers.push_back(cells[0].cross[at]);
    return statistics_[rows] = numbers;
  }
  const std::vector<Int128>& Of(const List& a, const List& b) {
    std::vector<std::array<size_t, 2>> rows;
    for (size_t person = 0; person < kPeople; ++person) {
      if (a[person] && b[person]) rows.push_back({*a[person], *b[person]});
    }
    return Statistic(std::move(rows));
  }

 private:
  std::vector<Int128> domain_;
  MomentsTask task_;
  MomentsRelease release_;
  PrivateMoments design_;
  std::map<std::vector<std::array<size_t, 2>>, std::vector<Int128>> statistics_;
};

double Distance(const std::vector<Int128>& a, const std::vector<Int128>& b) {
  return static_cast<double>(privacy::GridDistance(a, b, privacy::Norm::kL2));
}

std::vector<std::optional<size_t>> Cells() {
  std::vector<std::optional<size_t>> cells = {std::nullopt};
  for (size_t value = 0; value < kValues; ++value) cells.emplace_back(value);
  return cells;
}

std::vector<List> AllLists() {
  std::vector<List> lists;
  for (const auto& a : Cells()) {
    for (const auto& b : Cells()) {
      for (const auto& c : Cells()) lists.push_back({a, b, c});
    }
  }
  return lists;
}

size_t InBoth(const List& a, const List& b) {
  size_t people = 0;
  for (size_t person = 0; person < kPeople; ++person) people += a[person] && b[person] ? 1 : 0;
  return people;
}

// Lists in which one row was put in, left out, or replaced by another one, of the same person or not.
std::vector<List> NeighboursOf(const List& list) {
  std::vector<List> all;
  for (size_t out = 0; out <= kPeople; ++out) {
    List without = list;
    if (out < kPeople) without[out].reset();
    all.push_back(without);
    for (size_t in = 0; in < kPeople; ++in) {
      if (without[in]) continue;
      for (size_t value = 0; value < kValues; ++value) {
        all.push_back(without);
        all.back()[in] = value;
      }
    }
  }
  return all;
}

TEST(HiddenSensitivityTest, OneRowOfOneListChangesNoMoreThanTheNoiseIsFor) {
  Joins joins;
  ASSERT_FALSE(joins.design().public_count);
  double largest = 0;
  const std::vector<List> lists = AllLists();
  for (const List& a : lists) {
    for (const List& other : NeighboursOf(a)) {
      for (const List& b : lists)
        largest = std::max(largest, Distance(joins.Of(a, b), joins.Of(other, b)));
    }
  }
  EXPECT_LE(largest, joins.design().sensitivity.value());
  // More than a row that comes or goes: both happen at once.
  const double one = std::sqrt(1 + std::pow(kNorm, 2) + std::pow(kNorm, 4) / 2);
  EXPECT_GT(std::ldexp(largest, -2 * kPrivateFractionBits), one);
}

// A person who is in any of the lists leaves all of them, and one who was in none comes into any.
TEST(HiddenSensitivityTest, OnePersonInAllListsChangesNoMore) {
  Joins joins;
  double largest = 0;
  for (const List& a : AllLists()) {
    for (const List& b : AllLists()) {
      if (a[2] || b[2]) continue;
      for (const auto& in_a : Cells()) {
        for (const auto& in_b : Cells()) {
          for (const bool leaves : {false, true}) {
            List a_after = a, b_after = b;
            a_after[2] = in_a;
            b_after[2] = in_b;
            if (leaves) {
              a_after[0].reset();
              b_after[0].reset();
            }
            largest = std::max(largest, Distance(joins.Of(a, b), joins.Of(a_after, b_after)));
          }
        }
      }
    }
  }
  EXPECT_LE(largest, joins.design().sensitivity.value());
  EXPECT_GT(largest, 0.5 * joins.design().sensitivity.value());
}

// A row that gets the key of another one takes that one with it out of the join, too.
TEST(HiddenSensitivityTest, KeysThatAreLeftOutWouldChangeMore) {
  Joins joins;
  double largest = 0;
  for (const List& a : AllLists()) {
    for (const List& b : AllLists()) {
      if (InBoth(a, b) < 2) continue;
      List after = a;
      after[0].reset();
      after[1].reset();
      largest = std::max(largest, Distance(joins.Of(a, b), joins.Of(after, b)));
    }
  }
  EXPECT_GT(largest, joins.design().sensitivity.value());
}

}  // namespace
}  // namespace partita::methods::mle::hidden_sensitivity_test
