// Figures 1 and 2 of Rajkumar & Agarwal (2012): mean test errors against the number of parties and
// against the skew of their shares. The paper gives curves without numbers and no lambda; lambda =
// 0.1 shows what it says best. Every line that uses sigma* is drawn with the printed equation
// (which is NOT private, see objective_noise.h), the corrected one, and the one for linear models.
//
// Noise is drawn in floating point: this compares error rates and protects nobody.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/progress.h"
#include "stats/erm/simulated.h"

namespace partita::stats::erm {

enum class Panel {
  kParties,  // K = 5, 10, 15, shares uniform on the simplex
  kSkew,     // five parties with the shares of SkewOf(1 .. 3)
};

struct FigureLine {
  Method method = Method::kErm;
  NoiseRule rule = NoiseRule::kCorrected;
};
// "PSGD, printed sigma* (not private)".
std::string LineName(const FigureLine& line);
std::vector<FigureLine> FigureLines();

struct FigureOptions {
  std::vector<double> epsilons = {0.1, 0.2};
  double delta = 0.05;
  double lambda = 0.1;
  size_t draws = 10;         // splits and noises of each data set
  size_t iterations = 1000;  // of PSGD
  std::vector<FigureLine> lines = FigureLines();
};

struct FigureCell {
  Panel panel = Panel::kParties;
  size_t position = 0;  // K, or the number of the skew
  double epsilon = 0;
  FigureLine line;
  std::vector<double> errors = {};  // mean test error of each data set
};

struct Mean {
  double value = 0, standard_error = 0;  // 0 for one value
};
Mean MeanOf(std::span<const double> values);

// The shares of the five parties: [.2 .2 .2 .2 .2], [.1 .2 .2 .25 .25], [.01 .29 .2 .25 .25].
std::vector<double> SkewOf(size_t number);
inline constexpr size_t kFigureParties[] = {5, 10, 15};

// All cells, panel by panel and line by line. A line whose error does not depend on the split is
// computed once and stands at every position; so is PSGD over the skews, for its law depends on the
// number of parties alone. Throws kUsage without data sets.
std::vector<FigureCell> RunFigure(std::span<const SimulatedData> data, const FigureOptions& options,
                                  blr::Variates& variates, Progress& progress);

// How the difference of two lines changes with the position, over data sets that both lines share:
// the mean of the data sets' own least-squares slopes, which in a balanced design is the fixed
// effect of the mixed model with a random intercept and slope for every data set.
struct PairedSlope {
  double slope = 0, lower = 0, upper = 0;  // 95 %
  double detectable = 0;                   // slope that is found in 80 % of repetitions
};
// differences: one row per data set, one column per position. Throws kUsage for fewer than two of
// either.
PairedSlope FitPairedSlope(std::span<const double> positions,
                           const std::vector<std::vector<double>>& differences);

// The position on which a panel's slopes are taken: K / 5; or the logarithm to base 10 of 0.2 over
// the smallest share.
double SlopePosition(Panel panel, size_t position);

// first minus second, cell by cell. Throws kUsage if a cell is missing.
PairedSlope SlopeOfDifference(const std::vector<FigureCell>& cells, Panel panel, double epsilon,
                              const FigureLine& first, const FigureLine& second);

}  // namespace partita::stats::erm
