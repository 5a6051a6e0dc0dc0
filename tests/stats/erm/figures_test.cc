// Figures 1 and 2 against tests/references/psgd.json: every cell that both have within 4
// combined standard errors (20 data sets there, 10 here; about 6e-5 of false alarm each, 6e-3 over
// the 96 cells, which share data sets; the seed is fixed). The slopes against a mixed model that is
// solved in closed form.
#include "stats/erm/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/erm/reference.h"

namespace partita::stats::erm::figures_test {
namespace {

using testing::Reference;

const char* MethodKey(Method method) {
  switch (method) {
    case Method::kErm:
      return "ERM";
    case Method::kModelAverage:
      return "LA_no_noise";
    case Method::kLocalAggregation:
      return "LA";
    case Method::kObjectivePerturbation:
      return "GOP";
    case Method::kPsgd:
      return "PSGD";
    default:
      return "";
  }
}

const char* RuleKey(NoiseRule rule) {
  switch (rule) {
    case NoiseRule::kPrinted:
      return "printed";
    case NoiseRule::kCorrected:
      return "corrected";
    default:
      return "corrected_glm";
  }
}

bool Near(const nlohmann::json& row, const char* key, double value) {
  return !row.contains(key) || std::abs(row[key].get<double>() - value) < 1e-9;
}

// The reference's row for a cell; null where it has none. PSGD's law depends on K alone, so its
// skews are its K = 5.
nlohmann::json ReferenceOf(const nlohmann::json& results, const FigureCell& cell) {
  const Method method = cell.line.method;
  const bool averages = method == Method::kLocalAggregation || method == Method::kModelAverage;
  for (const auto& row : results) {
    if (row["method"] != MethodKey(method) || !Near(row, "lambda", 0.1) ||
        !Near(row, "eps", cell.epsilon) || !Near(row, "delta", 0.05)) {
      continue;
    }
    if (row.contains("sigma_variant") && row["sigma_variant"] != RuleKey(cell.line.rule)) continue;
    const size_t parties = cell.panel == Panel::kParties ? cell.position : 5;
    if (row.contains("K") && row["K"] != parties) continue;
    const std::string split =
        cell.panel == Panel::kParties ? "random" : "skew" + std::to_string(cell.position);
    if (averages && row["split"] != split) continue;
    return row;
  }
  return {};
}

constexpr int kDataSets = 10, kDraws = 3;

// The standard error of a mean over kDataSets of kDraws each, from the reference's variances
// between 20 data sets and between draws: its own few data sets would estimate it badly.
double OwnError(const nlohmann::json& row) {
  const double noise = row["se_noise_only"], between = row["sd_between_datasets"];
  const double draws = row["draws_per_dataset"];
  const double of_draw = noise * noise * 20 * draws;
  const double of_data = std::max(0.0, between * between - of_draw / draws);
  return std::sqrt((of_data + of_draw / kDraws) / kDataSets);
}

TEST(Figures, MeanErrorsAreThoseOfTheReference) {
  blr::TestRandom random(11);
  blr::Variates variates(random);
  std::vector<SimulatedData> data;
  for (int k = 0; k < kDataSets; ++k) data.push_back(DrawUnitBallData(10, 1000, 1000, variates));
  FigureOptions options;
  options.draws = kDraws;
  SilentProgress progress;
  const std::vector<FigureCell> cells = RunFigure(data, options, variates, progress);
  ASSERT_EQ(cells.size(), 2 * 2 * 3 * FigureLines().size());
  const auto results = Reference("psgd.json")["results"];
  size_t compared = 0;
  for (const FigureCell& cell : cells) {
    const nlohmann::json row = ReferenceOf(results, cell);
    const Mean here = MeanOf(cell.errors);
    if (row.is_null()) continue;
    const double se = std::hypot(OwnError(row), row["se"].get<double>());
    EXPECT_NEAR(here.value, row["mean"], 4 * se)
        << LineName(cell.line) << " at " << cell.position << ", epsilon " << cell.epsilon;
    // One draw of local aggregation has a standard deviation of 0.3.
    EXPECT_LT(se, cell.line.method == Method::kLocalAggregation ? 0.07 : 0.03);
    ++compared;
  }
  EXPECT_EQ(compared, 96u);  // all but PSGD for linear models, single parties, AMP, descent
}

TEST(Figures, LinesThatIgnoreTheSplitAreFlat) {
  blr::TestRandom random(3);
  blr::Variates variates(random);
  const std::vector<SimulatedData> data = {DrawUnitBallData(4, 60, 50, variates),
                                           DrawUnitBallData(4, 60, 50, variates)};
  FigureOptions options;
  options.draws = 2;
  options.iterations = 20;
  SilentProgress progress;
  const auto cells = RunFigure(data, options, variates, progress);
  for (const FigureCell& cell : cells) {
    ASSERT_EQ(cell.errors.size(), 2u);
    if (!IgnoresSplit(cell.line.method)) continue;
    for (const FigureCell& other : cells) {
      if (other.panel == cell.panel && other.epsilon == cell.epsilon &&
          LineName(other.line) == LineName(cell.line)) {
        EXPECT_EQ(other.errors, cell.errors);
      }
    }
  }
  const PairedSlope slope = SlopeOfDifference(cells, Panel::kSkew, 0.2, {Method::kLocalAggregation},
                                              {Method::kLocalAggregation});
  EXPECT_EQ(slope.slope, 0);
  EXPECT_EQ(slope.detectable, 0);
  EXPECT_THROW(SlopeOfDifference(cells, Panel::kSkew, 0.3, {}, {}), Error);
  EXPECT_THROW(RunFigure({}, options, variates, progress), Error);
  EXPECT_THROW(SkewOf(4), Error);
}

// Balanced and complete: the slope is the difference of the ends, its error that of the mean.
TEST(Figures, SlopesOfPairedDifferences) {
  const std::vector<double> positions = {1, 2, 3};
  const PairedSlope slope =
      FitPairedSlope(positions, {{0.1, 0.9, 0.3}, {0.0, -0.4, 0.4}, {5.2, 5.2, 5.8}});
  const double own[] = {0.1, 0.2, 0.3};
  const double mean = (own[0] + own[1] + own[2]) / 3, se = 0.1 / std::sqrt(3.0);
  constexpr double kT975 = 4.302652729749464, kT80 = 1.0606601717798212;  // 2 degrees of freedom
  EXPECT_NEAR(slope.slope, mean, 1e-12);
  EXPECT_NEAR(slope.lower, mean - kT975 * se, 1e-12);
  EXPECT_NEAR(slope.upper, mean + kT975 * se, 1e-12);
  EXPECT_NEAR(slope.detectable, (kT975 + kT80) * se, 1e-12);
  EXPECT_THROW(FitPairedSlope(positions, {{1, 2, 3}}), Error);
  EXPECT_NEAR(SlopePosition(Panel::kSkew, 3), std::log10(20.0), 1e-12);
  EXPECT_EQ(SlopePosition(Panel::kParties, 15), 3);
}

}  // namespace
}  // namespace partita::stats::erm::figures_test
