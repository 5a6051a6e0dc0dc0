#include "mpc/functions/scoring_path.h"

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/reciprocal.h"

namespace partita::mpc {
namespace {

constexpr double kLeastSquaredError = 0x1p-34;

Shared PublicPoint(Engine& engine, const std::vector<double>& values) {
  IntMatrix matrix{{values.size(), 1}, {}};
  for (const double value : values) matrix.values.push_back(EncodeFixed(value, kStepBits));
  return WithBound(engine.Public({std::move(matrix), kStepBits}), kMostCoordinate);
}

Shared TimesOver(Engine& engine, const Shared& value, size_t times) {
  return engine.SelectRows(value, std::vector<size_t>(times, 0));
}

}  // namespace

PathPoint OpenPoint(Engine& engine, std::string_view release, const std::vector<double>& from,
                    const SolvedStep& solved, int grid_bits, Shared& failures) {
  const Shared start = PublicPoint(engine, from);
  Shared next = WithBound(engine.Add(solved.step, start), solved.step.bound + kMostCoordinate);
  next = KeepWithin(engine, next, kMostCoordinate, failures);
  const GridMarks marks = MarkErrorGrids(engine, solved.variances, grid_bits);
  const std::vector<Shared> opened = {
      marks.reached,
      RoundToGrids(engine, {{next, kMostCoordinate, marks}}, nullptr, 0, grid_bits).front()};
  const std::vector<IntMatrix> values = engine.Reveal(release, opened, kEverybody);
  PathPoint point{from, std::vector<double>(from.size(), 0.0), false};
  if (values.front().values.empty()) return point;
  point.steps = GridSteps(marks.range, values[0]);
  point.at = InGridSteps(values[1], point.steps);
  point.learned = true;
  return point;
}

Shared Converged(Engine& engine, const SolvedStep& solved, const std::vector<double>& steps,
                 const Shared& failures) {
  const Shared settled = Within(engine, solved.step, PublicPoint(engine, steps));
  const Shared all = WithBound(engine.Add(failures, CountZeros(engine, settled)),
                               failures.bound + static_cast<double>(solved.step.shape.rows));
  const std::vector<Shared> none = {PlusConstant(engine, all, -1, all.bound + 1)};
  return engine.ToRing(IsNegative(engine, none)).front();
}

ErrorsOnGrid OnErrorGrid(Engine& engine, const Shared& variances, const Shared* totals,
                         double total_bound, int grid_bits, const Shared& opens) {
  const GridMarks marks = MarkErrorGrids(engine, variances, grid_bits);
  const Shared doubled = WithBound(TimesPowerOfTwo(variances, 1), 2 * kMostVariance);
  const std::vector<PositiveValue> squared = {{doubled, kLeastSquaredError}};
  const Shared errors = WithBound(Root(engine, squared, kStepBits).front(), kMostStandardError);
  const std::vector<Shared> rounded =
      RoundToGrids(engine, {{errors, kMostStandardError, marks}}, totals, total_bound, grid_bits);
  const Shared of_columns = TimesOver(engine, opens, variances.shape.rows);
  ErrorsOnGrid told;
  told.range = marks.range;
  ProductRound masked(engine);
  masked.Add(marks.reached, of_columns, marks.reached.bound, told.reached);
  masked.Add(rounded[0], of_columns, rounded[0].bound, told.errors);
  if (totals != nullptr) {
    masked.Add(rounded[1], TimesOver(engine, opens, totals->shape.rows), rounded[1].bound,
               told.totals);
  }
  masked.Run();
  return told;
}

}  // namespace partita::mpc
