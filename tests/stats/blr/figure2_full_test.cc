// Figure 2 in full: 25 splits and 20 noise draws, three tables, six epsilons, against
// ../shared/reference/blr.json, variant `clean`. Skips where the reference data are not there.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "stats/blr/figure2.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/blr/reference_tables.h"

namespace partita::stats::blr {
namespace {

constexpr size_t kSplits = 25, kDraws = 20;

std::string Text(const RatioInterval& ratio) {
  return fmt::format("{:.3f} [{:.3f}, {:.3f}]", ratio.ratio, ratio.lower, ratio.upper);
}

// Ratios of medians with paired or one-sided bootstrap intervals of 99.9 %: a bar is missed where
// the whole interval lies above it.
TEST(Figure2FullTest, ReachesTheBarsEverywhere) {
  std::ifstream in(kShared / "reference" / "blr.json");
  if (!in) GTEST_SKIP() << "no reference data beside the sources";
  const nlohmann::json reference = nlohmann::json::parse(in)["results"]["clean"];
  SilentProgress progress;
  TestRandom random(70);
  for (const Case& c : kCases) {
    const Table table = ReadTable(c.name, c.file, c.train, c.test);
    const auto splits =
        NumpySplits(static_cast<size_t>(table.values.rows()), c.train + c.test, kSplits);
    const auto& by_epsilon = reference[c.name]["by_epsilon"];
    for (size_t e = 0; e < by_epsilon.size(); ++e) {
      const auto& expected = by_epsilon[e];
      Figure2Options options;
      options.noise_draws = kDraws;
      options.epsilons = {expected["epsilon"]};
      options.methods = {Figure2Method::kMean, Figure2Method::kTrusted, Figure2Method::kDistributed,
                         Figure2Method::kProjectedTrusted, Figure2Method::kNoiseAware};
      options.thresholds = {{expected["omega_x"], expected["omega_y"], 0}};
      const auto cells = RunFigure2(table, splits, options, random, progress);
      const RatioInterval trusted = MedianRatio(
          cells[1], double{expected["TA_B7.5_analytic"]["median_500"]}, 0.999, 1000, random);
      const RatioInterval projected = MedianRatio(
          cells[3], double{expected["proj_TA_sound"]["median_500"]}, 0.999, 1000, random);
      const RatioInterval distributed = MedianRatio(cells[2], cells[1], 0.999, 1000, random);
      const RatioInterval aware = MedianRatio(cells[4], cells[0], 0.999, 1000, random);
      fmt::print(
          "{} epsilon {:.2f}: TA {:.3f}, to reference {}; proj TA {:.3f}, to reference {}; DDP to "
          "TA {}; noise-aware {:.3f}, to the mean predictor {}\n",
          c.name, options.epsilons[0], MedianError(cells[1]), Text(trusted), MedianError(cells[3]),
          Text(projected), Text(distributed), MedianError(cells[4]), Text(aware));
      std::fflush(stdout);
      EXPECT_LE(trusted.lower, 1.05);
      EXPECT_LE(projected.lower, 1.05);
      EXPECT_LE(distributed.lower, 1.05);
      EXPECT_LE(aware.ratio, 1.02);
    }
  }
}

}  // namespace
}  // namespace partita::stats::blr
