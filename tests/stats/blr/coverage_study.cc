// The coverage study as a program: prints one line per cell.
//   coverage_study DATA_SETS prior [FIRST_CELL LAST_CELL]   parameters from the prior, 18 cells
//   coverage_study DATA_SETS fixed                          three vectors of coefficients
//   coverage_study DATA_SETS clipped                        rows that the bounds clip
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "tests/stats/blr/coverage.h"

namespace {

using namespace partita::stats::blr;

void Print(const CoverageCell& cell, const std::string& what, const Coverage& c) {
  const auto share = [&](size_t count) {
    return static_cast<double>(count) / static_cast<double>(c.intervals);
  };
  fmt::print("{:6} {:3} {:4} {} coverage {:.4f} plain {:.4f} width {:.1f} seconds {:.4f}\n",
             cell.num_rows, cell.features, cell.epsilon, what, share(c.covered),
             share(c.plain_covered), c.width_ratio, c.seconds_per_posterior);
  std::fflush(stdout);
}

void PriorCells(size_t data_sets, size_t first, size_t last) {
  const Estimator estimator = [](const Statistics& s, double v, const NoiseAwarePrior& p,
                                 const NoiseAwareOptions& o, partita::crypto::RandomSource& r) {
    return FitNoiseAware(s, v, false, p, o, r);
  };
  size_t number = 0;
  for (const size_t rows : {200, 1000, 10000}) {
    for (const size_t features : {3, 10}) {
      for (const double epsilon : {0.3, 1.0, 3.0}) {
        const size_t cell = number++;
        if (cell < first || cell >= last) continue;
        Print(
            {rows, features, epsilon}, "prior",
            CoverageOfPrior({rows, features, epsilon}, {}, data_sets, {}, estimator, 1000 + cell));
      }
    }
  }
}

const std::vector<double> kVectors[] = {{0, 0, 0}, {0.5, -0.3, 0.2}, {1, 1, -1}};

void FixedCells(size_t data_sets) {
  uint64_t seed = 3000;
  for (const auto& beta : kVectors) {
    for (const double epsilon : {0.3, 1.0, 3.0}) {
      const CoverageCell cell{1000, 3, epsilon};
      Print(cell, fmt::format("beta {} {} {}", beta[0], beta[1], beta[2]),
            CoverageOfTruth(cell, {beta, 0.2, 0.15}, {}, data_sets, {}, ++seed));
    }
  }
}

// Feature deviations that put about 1 % and 5 % of the rows beyond a bound.
void ClippedCells(size_t data_sets) {
  uint64_t seed = 4000;
  for (const double stddev : {0.35, 0.42}) {
    const CoverageCell cell{10000, 3, 3.0};
    double clipped = 0;
    const Coverage c =
        CoverageOfTruth(cell, {kVectors[1], stddev, 0.15}, {}, data_sets, {}, ++seed, &clipped);
    Print(cell, fmt::format("clipped {:.1f} %", 100 * clipped), c);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const size_t data_sets = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 4000;
  const std::string mode = argc > 2 ? argv[2] : "prior";
  if (mode == "fixed" || mode == "clipped") {
    (mode == "fixed" ? FixedCells : ClippedCells)(data_sets);
    return 0;
  }
  const size_t first = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 0;
  const size_t last = argc > 4 ? std::strtoul(argv[4], nullptr, 10) : 18;
  PriorCells(data_sets, first, last);
}
