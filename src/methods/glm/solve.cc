#include "methods/glm/solve.h"

#include <cmath>
#include <utility>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

constexpr int kDispersionBits = 30;
constexpr double kLeastPearson = 0x1p-36;

// Pearson's sum over n - p, 1 x 1.
Shared Dispersion(Engine& engine, const Task& task, const SharedSums& sums, const Shared& rows) {
  const size_t coefficients = task.spec.num_coefficients();
  const auto most = static_cast<double>(task.max_rows());
  const int row_bits = task.units.row_bits;
  Shared freedom = mpc::PlusConstant(engine, rows, -static_cast<double>(coefficients), most);
  freedom = WithBound(mpc::TimesPowerOfTwo(freedom, -row_bits), std::ldexp(most, -row_bits));
  // At least ten degrees of freedom and two for each column: n is at most 1.5 times that.
  const double largest = 2 * task.units.most_pearson;
  const std::vector<mpc::Quotient> quotient = {
      {sums.pearson, {freedom, std::ldexp(1.0, -row_bits)}, largest}};
  return WithBound(mpc::Divide(engine, quotient, kDispersionBits).front(), largest);
}

}  // namespace

mpc::SolvedStep SolveSums(Engine& engine, const Task& task, const SharedSums& sums,
                          const Shared& rows, const mpc::SolvedStep* last,
                          std::optional<mpc::NextPoint> next, bool covariances) {
  mpc::ScoringSums scoring{sums.information, sums.score};
  scoring.covariances = covariances;
  scoring.next = std::move(next);
  scoring.unit_bits = task.units.row_bits + task.units.weight_bits;
  if (task.spec.robust()) scoring.meat = sums.meat;
  scoring.clusters = sums.clusters;
  // Not of a first step, of which nothing is told.
  if (TakesDispersion(task.spec) && sums.pearson.payload != nullptr)
    scoring.dispersion = [&](Engine& e) { return Dispersion(e, task, sums, rows); };
  return SolveStep(engine, scoring, last);
}

Shared LeavesNothing(Engine& engine, const Task& task, const SharedSums& sums) {
  const std::vector<Shared> less = {mpc::PlusConstant(engine, sums.pearson, -kLeastPearson,
                                                      task.units.most_pearson + kLeastPearson)};
  return WithBound(engine.ToRing(mpc::IsNegative(engine, less)).front(), 1);
}

}  // namespace partita::methods::glm
