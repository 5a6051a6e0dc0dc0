#include "methods/glm/sealed/row_values.h"

#include <algorithm>
#include <cmath>

#include "methods/glm/sealed/shared_rows.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/logarithm.h"
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
  const double limit = std::exp(-task.units.limits.upper);
  values.outside =
      NumOnes(engine, IsBelow(engine, values.weight, limit / ((1 + limit) * (1 + limit))));
  const Shared lifted = mpc::Lift(engine, outcome, kMeanBits);
  // 1 - mu - y + 2 y mu.
  const Shared probability = engine.Subtract(engine.Add(other, engine.Scale(happened, 2)), lifted);
  const std::vector<mpc::PositiveValue> positive = {{WithBound(probability, 1), kLeastProbability}};
  const Shared logs = mpc::Log(engine, positive, kLogLikelihoodBits).front();
  values.logs = WithBound(engine.SumRows(logs), logs.bound * NumRows(logs));
  return values;
}

RowValues PoissonValues(Engine& engine, const Task& task, const Shared& predictor,
                        const Shared& outcome, bool last) {
  RowValues values;
  // On the grid of the predictor.
  const double cap = std::floor(std::ldexp(task.units.limits.upper, 20)) * 0x1p-20;
  const double most = predictor.bound + std::abs(cap);
  const Shared room =
      WithBound(mpc::PlusConstant(engine, engine.Scale(predictor, -1), cap, most), most);
  const std::vector<Shared> rooms = {room};
  const Shared above = AsNumbers(engine, mpc::IsNegative(engine, rooms).front());
  Shared taken;
  mpc::ProductRound product(engine);
  product.Add(above, room, most, taken);
  product.Run();
  const Shared capped = WithBound(engine.Add(predictor, taken), most);
  const std::vector<mpc::BoundedAbove> exponents = {{capped, cap}};
  values.mean = WithBound(mpc::Exponential(engine, exponents, kMeanBits).front(),
                          std::exp(cap) * (1 + 0x1p-30) + 0x1p-30);
  values.residual = ResidualOf(engine, outcome, values.mean);
  values.weight = CutToBits(engine, values.mean, WeightBits(task));
  if (last) values.outside = NumOnes(engine, above);
  return values;
}

}  // namespace

int WeightBits(const Task& task) {
  const int room = kProductBits - task.units.row_bits - task.units.weight_bits - 2 * kColumnBits;
  return std::min(kMostWeightBits, room);
}

RowValues ValuesAt(Engine& engine, const Task& task, const Shared& predictor, const Shared& outcome,
                   bool last) {
  if (task.spec.law.family == stats::glm::Family::kBinomial)
    return BinomialValues(engine, task, predictor, outcome, last);
  return PoissonValues(engine, task, predictor, outcome, last);
}

}  // namespace partita::methods::glm
