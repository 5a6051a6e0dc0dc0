#include "methods/glm/sealed/row_values.h"

#include <algorithm>
#include <cmath>

#include "methods/glm/sealed/shared_rows.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/sandwich.h"
#include "mpc/functions/scoring_path.h"
#include "mpc/functions/sigmoid.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

// Of (w o X)' X: the smallest ring (engine shamir) has 127 bits.
constexpr int kProductBits = 122, kMostWeightBits = 40;
constexpr int kLogLikelihoodBits = 40;
constexpr double kLeastOdds = 1 / mpc::kMostMeat;
constexpr double kLeastProbability = 0x1p-24;  // e^-15 is more

double NumRows(const Shared& values) { return static_cast<double>(values.shape.rows); }

Shared AsNumbers(Engine& engine, const mpc::SharedBits& bits) {
  const std::vector<mpc::SharedBits> list = {bits};
  return engine.ToRing(list).front();
}

// [value < limit], n x 1 as ring elements.
Shared IsBelow(Engine& engine, const Shared& value, double limit) {
  const std::vector<Shared> less = {
      mpc::PlusConstant(engine, value, -limit, value.bound + std::abs(limit))};
  return AsNumbers(engine, mpc::IsNegative(engine, less).front());
}

Shared NumOnes(Engine& engine, const Shared& ones) {
  return WithBound(engine.SumRows(ones), NumRows(ones));
}

Shared ResidualOf(Engine& engine, const Shared& outcome, const Shared& mean) {
  const Shared lifted = mpc::Lift(engine, outcome, kMeanBits);
  return WithBound(engine.Subtract(lifted, mean), std::max(outcome.bound, mean.bound));
}

Shared CutToBits(Engine& engine, Shared value, int fraction_bits) {
  mpc::CutRound cut(engine);
  cut.Add(value, fraction_bits, value.bound);
  cut.Run();
  return value;
}

// Squared residuals where they are within, else 0. within: n x 1, 0 or 1.
Shared SquaresWithin(Engine& engine, const Task& task, const Shared& residual,
                     const Shared& within) {
  Shared square, kept;
  mpc::ProductRound squares(engine);
  squares.AddCut(residual, residual, MostSquare(task), SquareBits(task), square);
  squares.Run();
  mpc::ProductRound mask(engine);
  mask.Add(square, within, MostSquare(task), kept);
  mask.Run();
  return kept;
}

Shared OthersOf(Engine& engine, const Shared& bits) {
  return mpc::PlusConstant(engine, engine.Scale(bits, -1), 1, 1);
}

RowValues BinomialValues(Engine& engine, const Task& task, const Shared& predictor,
                         const Shared& outcome, bool last) {
  RowValues values;
  const std::vector<Shared> one = {predictor};
  values.mean = WithBound(mpc::Sigmoid(engine, one, kMeanBits).front(), 1);
  const Shared other = mpc::PlusConstant(engine, engine.Scale(values.mean, -1), 1, 1);
  values.residual = ResidualOf(engine, outcome, values.mean);
  Shared happened;
  mpc::ProductRound products(engine);
  products.AddCut(values.mean, WithBound(other, 1), 0.25, WeightBits(task), values.weight);
  if (last) products.Add(outcome, values.mean, 1, happened);
  products.Run();
  if (!last) return values;
  const double limit =
      std::max(std::exp(-task.units.limits.upper), TakesSquares(task.spec) ? kLeastOdds : 0);
  const Shared beyond = IsBelow(engine, values.weight, limit / ((1 + limit) * (1 + limit)));
  values.outside = NumOnes(engine, beyond);
  if (TakesSquares(task.spec))
    values.squares = SquaresWithin(engine, task, values.residual, OthersOf(engine, beyond));
  const Shared lifted = mpc::Lift(engine, outcome, kMeanBits);
  // 1 - mu - y + 2 y mu.
  const Shared probability = engine.Subtract(engine.Add(other, engine.Scale(happened, 2)), lifted);
  const std::vector<mpc::PositiveValue> positive = {{WithBound(probability, 1), kLeastProbability}};
  values.logs = mpc::Log(engine, positive, kLogLikelihoodBits).front();
  return values;
}

// above: predictors that are capped.
void AddPoissonSquares(Engine& engine, const Task& task, const Shared& above, RowValues& values) {
  const double most = MostSquare(task);
  Shared square, mean;
  mpc::ProductRound squares(engine);
  squares.AddCut(values.residual, values.residual, most, SquareBits(task), square);
  squares.AddCut(values.mean, values.mean.bound, SquareBits(task), mean);
  squares.Run();
  const double most_mean = mean.bound * mpc::kMostMeat;
  const Shared limits =
      WithBound(engine.Scale(mean, static_cast<Int128>(mpc::kMostMeat)), most_mean);
  const std::vector<Shared> room = {WithBound(engine.Subtract(limits, square), most_mean + most)};
  const Shared far = AsNumbers(engine, mpc::IsNegative(engine, room).front());
  Shared both;
  mpc::ProductRound union_of(engine);
  union_of.Add(far, above, 1, both);
  union_of.Run();
  const Shared beyond = WithBound(engine.Subtract(engine.Add(far, above), both), 1);
  values.outside = NumOnes(engine, beyond);
  mpc::ProductRound mask(engine);
  mask.Add(square, OthersOf(engine, beyond), most, values.squares);
  mask.Run();
}

// value where it is at most `cap`, else that, which is on its grid; above: where it is.
struct Capped {
  Shared value, above;
};
Capped CapAt(Engine& engine, const Shared& value, double cap) {
  const double most = value.bound + std::abs(cap);
  const Shared room =
      WithBound(mpc::PlusConstant(engine, engine.Scale(value, -1), cap, most), most);
  const std::vector<Shared> rooms = {room};
  Capped capped;
  capped.above = AsNumbers(engine, mpc::IsNegative(engine, rooms).front());
  Shared taken;
  mpc::ProductRound product(engine);
  product.Add(capped.above, room, most, taken);
  product.Run();
  capped.value = WithBound(engine.Add(value, taken), most);
  return capped;
}
double OnGrid(double cap) { return std::floor(std::ldexp(cap, 20)) * 0x1p-20; }

RowValues PoissonValues(Engine& engine, const Task& task, const Shared& predictor,
                        const Shared& outcome, bool last) {
  RowValues values;
  const double cap = OnGrid(task.units.limits.upper);
  const auto [capped, above] = CapAt(engine, predictor, cap);
  const std::vector<mpc::BoundedAbove> exponents = {{capped, cap}};
  values.mean = WithBound(mpc::Exponential(engine, exponents, kMeanBits).front(),
                          std::exp(cap) * (1 + 0x1p-30) + 0x1p-30);
  values.residual = ResidualOf(engine, outcome, values.mean);
  values.weight = CutToBits(engine, values.mean, WeightBits(task));
  if (!last) return values;
  values.outside = NumOnes(engine, above);
  if (TakesSquares(task.spec)) AddPoissonSquares(engine, task, above, values);
  return values;
}

RowValues GammaValues(Engine& engine, const Task& task, const Shared& predictor,
                      const Shared& log_outcome, bool last) {
  RowValues values;
  const Shared distance =
      WithBound(engine.Subtract(log_outcome, predictor), log_outcome.bound + predictor.bound);
  const double cap = OnGrid(std::log(kMostSealedRatio));
  const auto [capped, above] = CapAt(engine, distance, cap);
  const std::vector<mpc::BoundedAbove> exponents = {{capped, cap}};
  const Shared ratio =
      WithBound(mpc::Exponential(engine, exponents, kMeanBits).front(), kMostSealedRatio);
  values.residual = mpc::PlusConstant(engine, ratio, -1, kMostSealedRatio);
  if (!last) {
    values.weight = CutToBits(engine, ratio, WeightBits(task));
    return values;
  }
  values.outside = NumOnes(engine, above);
  values.logs = distance;
  mpc::ProductRound squares(engine);
  squares.AddCut(values.residual, values.residual, MostSquare(task), kMeanBits, values.pearson);
  if (TakesSquares(task.spec))
    squares.AddCut(values.residual, values.residual, MostSquare(task), SquareBits(task),
                   values.squares);
  squares.Run();
  return values;
}

}  // namespace

bool TakesSquares(const Spec& spec) { return spec.robust() && !spec.clustered(); }

int WeightBits(const Task& task) {
  const int room = kProductBits - task.units.row_bits - task.units.weight_bits - 2 * kColumnBits;
  return std::min(kMostWeightBits, room);
}

double MostSquare(const Task& task) {
  const Spec& spec = task.spec;
  if (spec.law.family == stats::glm::Family::kBinomial) return 1;
  // The residuals' sum of squares is at most that of the outcome, which is in [-1, 1].
  if (spec.law.family == stats::glm::Family::kGaussian) return std::ldexp(1, task.units.row_bits);
  if (spec.law.family == stats::glm::Family::kGamma) return std::pow(kMostSealedRatio, 2);
  const double most_mean = std::exp(task.units.limits.upper) + 1;
  return std::pow(std::max(most_mean, spec.outcome.upper), 2);
}

int SquareBits(const Task& task) {
  const int bits = static_cast<int>(std::ceil(std::log2(MostSquare(task))));
  return std::min(kMostWeightBits, kProductBits - task.units.row_bits - bits - 2 * kColumnBits);
}

RowValues GaussianValues(Engine& engine, const Task& task, const Shared& predictor,
                         const Shared& outcome) {
  RowValues values;
  values.residual = WithBound(engine.Subtract(outcome, predictor), outcome.bound + predictor.bound);
  if (!TakesSquares(task.spec)) {
    values.outside = WithBound(engine.Public({{{1, 1}, {0}}, 0}), 1);
    return values;
  }
  const double most_of_any = values.residual.bound * values.residual.bound;
  Shared square;
  mpc::ProductRound squares(engine);
  squares.AddCut(values.residual, values.residual, most_of_any, SquareBits(task), square);
  squares.Run();
  const Shared within = IsBelow(engine, square, MostSquare(task));
  values.outside = NumOnes(engine, OthersOf(engine, within));
  mpc::ProductRound mask(engine);
  mask.Add(square, WithBound(within, 1), MostSquare(task), values.squares);
  mask.Run();
  return values;
}

RowValues ValuesAt(Engine& engine, const Task& task, const Shared& predictor, const Shared& outcome,
                   bool last) {
  if (task.spec.law.family == stats::glm::Family::kBinomial)
    return BinomialValues(engine, task, predictor, outcome, last);
  if (task.spec.law.family == stats::glm::Family::kGamma)
    return GammaValues(engine, task, predictor, outcome, last);
  return PoissonValues(engine, task, predictor, outcome, last);
}

}  // namespace partita::methods::glm
