// Score, information and fit of level `sealed` at a point that nobody knows.
//
// Method    eta = X b of every block's operands, row values (row_values.h), U = X' (y - mu) and
//           I = (w o X)' X in the blocks of their operands, above the diagonal only. Gaussian: X' X,
//           X' y and y' y once, and at a point U = X' y - (X' X) b and the residual sum of squares
//           y' y - b' (X' y + U).
// Ridge     n L joins the diagonal of I, and n L b leaves U, of every coefficient but the intercept; n is on
//           shares. Squares and deviances are of the data alone.
// Weights   are on shares: residuals, working weights and, of robust errors, squares are multiplied by them
//           at every point, squares by frequencies once and by other weights twice.
// Robust    errors: the meat (r^2 o X)' X at the end, of the squares of row_values.h; gaussian models have
//           a linear predictor there for it. Of clusters: sums of scores (clusters.h).
// Fit       As fit_numbers.h wants it. Rows that do not take part have eta = 0 and y = 0, and add a
//           known number each, which is taken away; with weights they have weight 0.
// Precision J 2^-64, U 2^-54 beside what row values err by.
// Rounds    eta, row values, a product where there are weights, two products and a cut. Any number of
//           blocks.
// Revealed  Nothing.
#pragma once

#include <optional>
#include <vector>

#include "methods/glm/counts.h"
#include "methods/glm/inputs.h"
#include "methods/glm/sealed/risk.h"
#include "methods/glm/sealed/row_values.h"
#include "methods/glm/sealed/shared_rows.h"

namespace partita::methods::glm {

class SealedSums {
 public:
  // blocks must outlive this. totals: of all that take part.
  SealedSums(mpc::Engine& engine, const Task& task, const SealedLayout& layout,
             const std::vector<SharedBlock>& blocks, SharedTotals totals);

  // The point of the model with the intercept alone, of gaussian models and without an intercept 0.
  // p x 1 at mpc::kStepBits.
  mpc::Shared Start();
  // Of gamma models the sums of least squares of log y - o at 0, without what else At gives.
  SharedSums OfLogarithms();
  // point: at mpc::kStepBits, |b| <= mpc::kMostCoordinate. last: with outside, and what the fit needs.
  SharedSums At(const mpc::Shared& point, bool last);
  // Of the last point of a spec with cuts, after At.
  const LastRows& Last() const { return last_; }

 private:
  bool Is(stats::glm::Family family) const { return task_.spec.law.family == family; }
  bool gaussian() const { return Is(stats::glm::Family::kGaussian); }
  mpc::Shared Zero(mpc::Shape shape, int fraction_bits);
  mpc::Shared Joined(mpc::Shared SharedBlock::*column);
  mpc::Shared Predictor(const mpc::Shared& point);
  // X' v of a column by block, and X' V of what is multiplied with each part; divided (task.h).
  mpc::Shared Score(const std::vector<mpc::Shared>& values, int fraction_bits);
  // Each at most `most` for a row; cut to fraction_bits.
  mpc::Shared Information(const std::vector<std::vector<mpc::Operand>>& weighted, double most,
                          int fraction_bits);
  // (w o X)' X of a number w for each row.
  mpc::Shared Weighted(const mpc::Shared& weights, double most, int fraction_bits);
  mpc::Shared Meat(const mpc::Shared& squares);
  // Of robust errors: of the residuals, weighted, where they are of clusters, else of the squares.
  void AddMeat(const RowValues& values, SharedSums& sums);
  // Of each row, where there are weights: into its place.
  void Weight(const std::vector<mpc::Shared*>& values);
  bool weighted() const { return weights_.payload != nullptr; }
  std::vector<mpc::Shared> ByBlock(const mpc::Shared& values);
  mpc::Shared PerRow(const mpc::Shared& sum, double bound);

  void MakeRidge();
  void AddRidge(const mpc::Shared& point, SharedSums& sums);
  SharedSums LikelihoodAt(const mpc::Shared& point, bool last);
  // Of all rows, weighted, each at most `most`: J of gaussian and gamma models.
  void MakeMoments(double most);
  void MakeGaussian();
  SharedSums GaussianAt(const mpc::Shared& point, bool last);
  void MakePoisson();
  void MakeGamma();
  mpc::Shared Pearson(const mpc::Shared& squares);
  mpc::Shared GammaFit(const mpc::Shared& residual, const mpc::Shared& distance);
  // Of a number for each row: the sum, weighted where there are weights.
  mpc::Shared WeightedSum(const mpc::Shared& values);
  mpc::Shared BinomialFit(const mpc::Shared& logs);
  mpc::Shared PoissonFit(const mpc::Shared& point, const mpc::Shared& mean);
  mpc::Shared LeftOut();

  mpc::Engine& engine_;
  const Task& task_;
  const std::vector<SharedBlock>& blocks_;
  const SharedTotals totals_;
  size_t rows_ = 0;
  // Rows that one row may stand for at most; with other weights 1.
  double most_copies_ = 1, most_rows_ = 1;
  mpc::Shared outcome_, weighted_outcome_, weights_;  // weights_: empty: none
  // Of a ridge what it adds to J, p x p, and its diagonal.
  mpc::Shared ridge_, ridge_diagonal_;
  // Of gaussian models: J, X' y and y' y, divided; the sum of y and y' y as they are. Of gamma ones J and
  // X' (log y - o), divided; sums of log y, o and y e^-o over the upper bound of y.
  mpc::Shared moments_, products_, squares_, sum_;
  // Of poisson models: X' y divided; sums of y, y log y - y - log y!, y log y, y o and e^o.
  mpc::Shared sum_constant_, sum_log_, sum_offset_, sum_rate_;
  LastRows last_;
};

}  // namespace partita::methods::glm
