// The coverage study as a program: prints one line per cell.
//   coverage_study DATA_SETS [FIRST_CELL LAST_CELL]
#include <fmt/format.h>

#include <cstdlib>

#include "tests/stats/blr/coverage.h"

int main(int argc, char** argv) {
  using namespace partita::stats::blr;
  const size_t data_sets = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 4000;
  const size_t first = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 0;
  const size_t last = argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 18;
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
        const Coverage c =
            CoverageOfPrior({rows, features, epsilon}, {}, data_sets, {}, estimator, 1000 + cell);
        const auto share = [&](size_t count) {
          return static_cast<double>(count) / static_cast<double>(c.intervals);
        };
        fmt::print("{:6} {:3} {:4} coverage {:.4f} plain {:.4f} width {:.1f} seconds {:.4f}\n",
                   rows, features, epsilon, share(c.covered), share(c.plain_covered), c.width_ratio,
                   c.seconds_per_posterior);
        std::fflush(stdout);
      }
    }
  }
}
