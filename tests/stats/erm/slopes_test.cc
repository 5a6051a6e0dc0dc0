// Local aggregation against PSGD and objective perturbation: how the paired difference of the test
// errors changes with K and with the skew, over 50 data sets, at full size. Prints slopes, 95 %
// intervals and the slope that would be found in 80 % of repetitions. Each slope is that of the
// mean errors of tests/references/psgd.json within 4 combined standard errors: 6e-5 of false
// alarm each, 5e-4 over the eight; the seed is fixed.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "stats/erm/figures.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/erm/reference.h"

namespace partita::stats::erm::slopes_test {
namespace {

constexpr size_t kDataSets = 50, kDraws = 3;
constexpr FigureLine kAggregation{Method::kLocalAggregation};
constexpr FigureLine kPsgd{Method::kPsgd, NoiseRule::kCorrected};
constexpr FigureLine kObjectivePerturbation{Method::kObjectivePerturbation, NoiseRule::kCorrected};

struct ReferenceMean {
  double mean = 0, error = 0;
};

// PSGD's and objective perturbation's law depends on K at most, which both panels' rows name.
ReferenceMean ReferenceOf(const nlohmann::json& results, const FigureLine& line, Panel panel,
                          size_t position, double epsilon) {
  const size_t parties = panel == Panel::kParties ? position : 5;
  const std::string split = panel == Panel::kParties ? "random" : "skew" + std::to_string(position);
  const auto near = [](const nlohmann::json& row, const char* key, double value) {
    return !row.contains(key) || std::abs(row[key].get<double>() - value) < 1e-9;
  };
  for (const auto& row : results) {
    const bool aggregation = line.method == Method::kLocalAggregation;
    const char* method = aggregation ? "LA" : line.method == Method::kPsgd ? "PSGD" : "GOP";
    if (row["method"] != method || !near(row, "lambda", 0.1) || !near(row, "eps", epsilon) ||
        !near(row, "delta", 0.05)) {
      continue;
    }
    if (row.contains("sigma_variant") && row["sigma_variant"] != "corrected") continue;
    if (row.contains("K") && row["K"] != parties) continue;
    if (aggregation && row["split"] != split) continue;
    return {row["mean"], row["se"]};
  }
  ADD_FAILURE() << "the reference has no such row";
  return {};
}

TEST(Slopes, LocalAggregationAgainstTheOthers) {
  blr::TestRandom random(50);
  blr::Variates variates(random);
  std::vector<SimulatedData> data;
  for (size_t k = 0; k < kDataSets; ++k) {
    data.push_back(DrawUnitBallData(10, 1000, 1000, variates));
  }
  FigureOptions options;
  options.draws = kDraws;
  options.lines = {kAggregation, kPsgd, kObjectivePerturbation};
  SilentProgress progress;
  const std::vector<FigureCell> cells = RunFigure(data, options, variates, progress);
  const auto results = testing::Reference("psgd.json")["results"];
  for (const Panel panel : {Panel::kParties, Panel::kSkew}) {
    const std::vector<size_t> positions =
        panel == Panel::kParties ? std::vector<size_t>{5, 10, 15} : std::vector<size_t>{1, 2, 3};
    for (const double epsilon : options.epsilons) {
      for (const FigureLine& other : {kPsgd, kObjectivePerturbation}) {
        const PairedSlope slope = SlopeOfDifference(cells, panel, epsilon, kAggregation, other);
        // Least squares: the sum of weights times means.
        double mean = 0, sum_squares = 0, expected = 0, variance = 0;
        for (const size_t k : positions) mean += SlopePosition(panel, k) / 3;
        for (const size_t k : positions) {
          sum_squares += std::pow(SlopePosition(panel, k) - mean, 2);
        }
        for (const size_t k : positions) {
          const double weight = (SlopePosition(panel, k) - mean) / sum_squares;
          const ReferenceMean first = ReferenceOf(results, kAggregation, panel, k, epsilon);
          const ReferenceMean second = ReferenceOf(results, other, panel, k, epsilon);
          expected += weight * (first.mean - second.mean);
          variance += std::pow(weight * first.error, 2);
          // Elsewhere one row stands at every position and cancels.
          if (panel == Panel::kParties && other.method == Method::kPsgd) {
            variance += std::pow(weight * second.error, 2);
          }
        }
        fmt::print(
            "{} on {}, epsilon {}: slope {:.4f} in [{:.4f}, {:.4f}], detectable {:.4f}; reference "
            "{:.4f}, standard error {:.4f}\n",
            LineName(other), panel == Panel::kParties ? "K / 5" : "skew", epsilon, slope.slope,
            slope.lower, slope.upper, slope.detectable, expected, std::sqrt(variance));
        const double own = (slope.upper - slope.lower) / 2 / 1.96;
        EXPECT_NEAR(slope.slope, expected, 4 * std::hypot(own, std::sqrt(variance)));
        EXPECT_GT(slope.detectable, 0);
      }
    }
  }
}

}  // namespace
}  // namespace partita::stats::erm::slopes_test
