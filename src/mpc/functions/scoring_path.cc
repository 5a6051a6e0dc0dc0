#include "mpc/functions/scoring_path.h"

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/covariance_grid.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/together.h"

namespace partita::mpc {
namespace {

constexpr double kLeastSquaredError = 0x1p-34;

Shared TimesOver(Engine& engine, const Shared& value, size_t times) {
  return engine.SelectRows(value, std::vector<size_t>(times, 0));
}

}  // namespace

PathPoint OpenPoint(Engine& engine, std::string_view release, const std::vector<double>& from,
                    const SolvedStep& solved, int grid_bits, Shared& failures) {
  Shared next = solved.next;
  GridMarks marks = solved.marks;
  if (next.payload == nullptr) {
    const Shared start = PublicPoint(engine, from);
    next = WithBound(engine.Add(solved.step, start), solved.step.bound + kMostCoordinate);
    const std::vector<Task> tasks = {
        [&](Engine& e) { next = KeepWithin(e, next, kMostCoordinate, failures); },
        [&](Engine& e) { marks = MarkErrorGrids(e, solved.variances, grid_bits); }};
    Together(engine, tasks);
  } else {
    failures = WithBound(engine.Add(failures, solved.beyond), failures.bound + solved.beyond.bound);
  }
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
                         double total_bound, int grid_bits,
                         const std::function<Shared(Engine&)>& opens_if, const Shared* estimates,
                         const std::function<Shared(Engine&)>& make_totals,
                         const Shared* covariances) {
  // Those of which covariances open, and those of which errors do.
  const size_t all = variances.shape.rows,
               pairs = covariances == nullptr ? 0 : covariances->shape.rows, alone = all - pairs;
  GridMarks marks;
  Shared opens, made;
  std::vector<Shared> rounded;
  const std::vector<Task> tasks = {
      [&](Engine& e) { opens = opens_if(e); },
      [&](Engine& e) {
        Shared errors;
        std::vector<Task> parts = {
            [&](Engine& of_marks) { marks = MarkErrorGrids(of_marks, variances, grid_bits); }};
        if (alone > 0) {
          parts.emplace_back([&](Engine& of_root) {
            const Shared own = of_root.Slice(variances, pairs, 0, {alone, 1});
            const Shared doubled = WithBound(TimesPowerOfTwo(own, 1), 2 * kMostVariance);
            const std::vector<PositiveValue> squared = {{doubled, kLeastSquaredError}};
            errors = WithBound(Root(of_root, squared, kStepBits).front(), kMostStandardError);
          });
        }
        if (make_totals) {
          parts.emplace_back([&](Engine& of_totals) { made = make_totals(of_totals); });
          totals = &made;
        }
        Together(e, parts);
        std::vector<GridNumbers> on_grids;
        if (pairs > 0) on_grids.push_back(CovariancesOfRows(e, *covariances, marks, grid_bits));
        if (alone > 0) {
          const Shared factor =
              WithBound(e.Slice(marks.factor, pairs, 0, {alone, 1}), marks.factor.bound);
          on_grids.push_back({errors, kMostStandardError, {marks.range, {}, factor}});
        }
        if (estimates != nullptr) on_grids.push_back({*estimates, kMostCoordinate, marks});
        rounded = RoundToGrids(e, on_grids, totals, total_bound, grid_bits);
      }};
  Together(engine, tasks);
  const Shared of_columns = TimesOver(engine, opens, all);
  ErrorsOnGrid told;
  told.opens = opens;
  told.range = marks.range;
  ProductRound masked(engine);
  masked.Add(marks.reached, of_columns, marks.reached.bound, told.reached);
  size_t next = 0;
  const auto mask = [&](Shared& kept) {
    const Shared& number = rounded[next++];
    masked.Add(number, TimesOver(engine, opens, number.shape.rows), number.bound, kept);
  };
  if (pairs > 0) mask(told.covariances);
  if (alone > 0) mask(told.errors);
  if (estimates != nullptr) mask(told.estimates);
  if (totals != nullptr) {
    masked.Add(rounded.back(), TimesOver(engine, opens, totals->shape.rows), rounded.back().bound,
               told.totals);
  }
  masked.Run();
  return told;
}

}  // namespace partita::mpc
