#include "stats/tables/counts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace partita::stats::tables {
namespace {

constexpr double kSmallExpected = 5;
// As in R: tables whose probability is equal but for rounding are not more probable.
constexpr double kEqualProbabilities = 1e-7;
constexpr uint64_t kMostFisherRows = 10'000'000;

uint64_t SumOf(const std::vector<uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

struct Margins {
  std::vector<uint64_t> groups, values;
  uint64_t all = 0;
};

Margins MarginsOf(const Counts& counts) {
  Margins margins;
  margins.values.resize(counts.front().size());
  for (const std::vector<uint64_t>& group : counts) {
    margins.groups.push_back(SumOf(group));
    for (size_t k = 0; k < group.size(); ++k) margins.values[k] += group[k];
  }
  margins.all = SumOf(margins.values);
  return margins;
}

bool IsTable(const Counts& counts) { return counts.size() > 1 && counts.front().size() > 1; }

// Goes through all tables of the same margins, cell by cell; the last of a group and the last group
// are what is left.
class Tables {
 public:
  explicit Tables(const Counts& counts) : margins_(MarginsOf(counts)), left_(margins_.values) {
    log_factorials_.push_back(0);
    for (uint64_t i = 1; i <= margins_.all; ++i)
      log_factorials_.push_back(log_factorials_.back() + std::log(static_cast<double>(i)));
    constant_ = -log_factorials_[margins_.all];
    for (const uint64_t sum : margins_.groups) constant_ += log_factorials_[sum];
    for (const uint64_t sum : margins_.values) constant_ += log_factorials_[sum];
    double own = constant_;
    for (const std::vector<uint64_t>& group : counts)
      for (const uint64_t count : group) own -= log_factorials_[count];
    most_ = own + kEqualProbabilities;
  }

  std::optional<double> P() {
    Fill(0, 0, margins_.groups.front(), constant_);
    if (steps_ > kMostFisherSteps) return std::nullopt;
    return std::min(sum_, 1.0);
  }

 private:
  // group_left: of this group for this value and those after it.
  void Fill(size_t group, size_t value, uint64_t group_left, double log_probability) {
    if (++steps_ > kMostFisherSteps) return;
    if (group + 1 == margins_.groups.size()) {
      for (const uint64_t count : left_) log_probability -= log_factorials_[count];
      if (log_probability <= most_) sum_ += std::exp(log_probability);
      return;
    }
    if (value + 1 == left_.size()) {
      if (group_left > left_[value]) return;
      left_[value] -= group_left;
      Fill(group + 1, 0, margins_.groups[group + 1], log_probability - log_factorials_[group_left]);
      left_[value] += group_left;
      return;
    }
    uint64_t after = 0;
    for (size_t k = value + 1; k < left_.size(); ++k) after += left_[k];
    const uint64_t least = group_left > after ? group_left - after : 0;
    const uint64_t most = std::min(group_left, left_[value]);
    for (uint64_t count = least; count <= most && steps_ <= kMostFisherSteps; ++count) {
      left_[value] -= count;
      Fill(group, value + 1, group_left - count, log_probability - log_factorials_[count]);
      left_[value] += count;
    }
  }

  const Margins margins_;
  std::vector<uint64_t> left_;  // of each value
  std::vector<double> log_factorials_;
  double constant_ = 0, most_ = 0, sum_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace

Counts WithoutEmpty(const Counts& counts) {
  Counts kept;
  for (const std::vector<uint64_t>& group : counts) {
    if (SumOf(group) > 0) kept.push_back(group);
  }
  if (kept.empty()) return kept;
  const std::vector<uint64_t> values = MarginsOf(kept).values;
  for (std::vector<uint64_t>& group : kept) {
    std::vector<uint64_t> of_group;
    for (size_t k = 0; k < group.size(); ++k) {
      if (values[k] > 0) of_group.push_back(group[k]);
    }
    group = std::move(of_group);
  }
  return kept;
}

std::optional<CountTest> ChiSquare(const Counts& counts) {
  const Counts table = WithoutEmpty(counts);
  if (!IsTable(table)) return std::nullopt;
  const Margins margins = MarginsOf(table);
  CountTest result;
  double least = 0.5;
  const auto each = [&](auto visit) {
    for (size_t g = 0; g < table.size(); ++g) {
      for (size_t k = 0; k < table[g].size(); ++k) {
        const double expected = static_cast<double>(margins.groups[g]) *
                                static_cast<double>(margins.values[k]) /
                                static_cast<double>(margins.all);
        visit(std::fabs(static_cast<double>(table[g][k]) - expected), expected);
      }
    }
  };
  each([&](double away, double expected) {
    least = std::min(least, away);
    result.small_expected = result.small_expected || expected < kSmallExpected;
  });
  const bool corrected = table.size() == 2 && table.front().size() == 2;
  const double correction = corrected ? least : 0;
  each([&](double away, double expected) {
    result.test.statistic += (away - correction) * (away - correction) / expected;
  });
  result.test.df = static_cast<double>((table.size() - 1) * (table.front().size() - 1));
  result.test.p_value = ChiSquareTail(result.test.statistic, result.test.df);
  return result;
}

std::optional<double> FisherP(const Counts& counts) {
  Counts table = WithoutEmpty(counts);
  if (!IsTable(table) || MarginsOf(table).all > kMostFisherRows) return std::nullopt;
  // What is left to the last group need not be gone through.
  std::sort(table.begin(), table.end(),
            [](const auto& a, const auto& b) { return SumOf(a) < SumOf(b); });
  return Tables(table).P();
}

}  // namespace partita::stats::tables
