#include "methods/mixed/fit.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/information_inverse.h"
#include "mpc/functions/leading.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/scoring_path.h"
#include "mpc/together.h"

namespace partita::methods::mixed {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::SharedBits;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

// Of places in steps of the ladder, and of fractions of a step.
constexpr double kMostPlace = 1024, kMostPart = 4;
// v / 2 of log lambda is h^2 over the slope's rise in a step: at most this.
constexpr double kMostLogVariance = 0x1p9;
constexpr int kRiseBits = 40, kLogBits = 40, kUnitBits = 64, kUnitScaledBits = 56,
              kVarianceBits = 50;
// Of R / nu d X, by its diagonal: d is at least 1/2, and X at most kMostInflation.
constexpr double kMostCovarianceRow = 0x1p22;
constexpr int kCovarianceRowBits = 56;
constexpr double kAnyResidual = 0x1p34, kMostLog = 32;

double LeastRise() { return LogStep() * LogStep() / kMostLogVariance; }

Shared Sum(Engine& engine, const std::vector<Shared>& values) {
  Shared sum = values.front();
  double bound = sum.bound;
  for (size_t i = 1; i < values.size(); ++i) {
    sum = engine.Add(sum, values[i]);
    bound += values[i].bound;
  }
  return WithBound(sum, bound);
}

Shared Product(Engine& engine, const Shared& a, const Shared& b, double bound, int fraction_bits) {
  Shared result;
  mpc::ProductRound round(engine);
  round.AddCut(a, b, bound, fraction_bits, result);
  round.Run();
  return result;
}

// value where it is above least, else least.
Shared AtLeast(Engine& engine, const Shared& value, double least) {
  const std::vector<Shared> above = {mpc::PlusConstant(engine, value, -least, value.bound + 1)};
  const std::vector<SharedBits> below = mpc::IsNegative(engine, above);
  const Shared lacking = engine.ToRing(below).front();
  Shared added;
  mpc::ProductRound round(engine);
  round.Add(above.front(), lacking, above.front().bound, added);
  round.Run();
  return WithBound(engine.Subtract(value, added), value.bound + 1);
}

// The least v of v / 2 = half a squared standard error for which release_grid.h has a grid.
double LeastVariance(int grid_bits) {
  return std::exp2(2 * (mpc::EstimateGrids(grid_bits, 1).lowest + grid_bits) - 1);
}

// By entry: 1 if x < limit.
Shared Below(Engine& engine, const Shared& x, double limit) {
  const std::vector<Shared> above = {mpc::PlusConstant(engine, x, -limit, x.bound + limit)};
  return engine.ToRing(mpc::IsNegative(engine, above)).front();
}

}  // namespace

// Where the slope meets zero. ends: the sums of the points on both sides, two columns; both those of
// 0 where that is the place.
struct Fitter::Place {
  Shared ends;
  Shared part;              // the secant's, in steps of the ladder
  Shared steps;             // of the lower end, from the ladder's first point
  Shared inverse;           // of the slope's rise in a step
  Shared step_inverse;      // the same, 0 where no step is to be taken
  Shared singular, beyond;  // 1 or 0
};

struct Fitter::Solved {
  ScaledSums sums;
  Profile profile;
  Slopes slopes;
};

// Errors, grids and estimates, of coefficients and of two numbers; beside these totals and what is public then.
uint64_t NumFit(const Task& task) {
  return 4 + task.num_errors() + 2 + 2 * (task.num_columns() + 2) + 2;
}

Fitter::Fitter(Engine& engine, const Task& task, const OwnData& own, const SharedTotals& totals)
    : engine_(engine), task_(task), groups_(totals.groups) {
  numbers_ = {totals.rows, InvertRows(engine, task, totals.rows)};
  means_ = ShareMeans(engine, task, own, numbers_.inverses);
  sums_ = Scale(engine, task.num_columns(), means_);
}

std::vector<size_t> Fitter::OpenCollinear() {
  const Shared independent =
      mpc::IndependentOfThoseBefore(engine_, CorrelationOf(engine_, sums_, 0));
  const std::vector<Shared> flags = {
      WithBound(engine_.Subtract(mpc::ConstantLike(engine_, independent, 1, 0), independent), 1)};
  const mpc::IntMatrix opened =
      engine_.Reveal(kIndependenceRelease, flags, mpc::kEverybody).front();
  std::vector<size_t> collinear;
  for (size_t c = 0; c < opened.values.size(); ++c) {
    if (opened.values[c] != 0) collinear.push_back(c);
  }
  return collinear;
}

Fitter::Place Fitter::FindPlace() {
  Engine& engine = engine_;
  const size_t nodes = task_.Lambdas().size(), points = nodes - 1;
  const Profile profile = ProfileOf(engine, sums_, false);
  const Shared signs = SlopeSigns(engine, task_, sums_, profile, numbers_);
  const Shared leads = mpc::LeadingNegatives(engine, engine.Slice(signs, 1, 0, {points, 1}));
  Place place;
  place.steps = mpc::PlusConstant(engine, engine.SumRows(leads), -1, kMostPlace);
  const Shared first = engine.Slice(leads, 0, 0, {1, 1});
  place.singular = WithBound(engine.Subtract(mpc::ConstantLike(engine, first, 1, 0), first), 1);
  place.beyond = WithBound(engine.Slice(leads, points - 1, 0, {1, 1}), 1);
  // One where the place is between a point and the next.
  const Shared between = engine.Subtract(engine.Slice(leads, 0, 0, {points - 1, 1}),
                                         engine.Slice(leads, 1, 0, {points - 1, 1}));
  const Shared none = mpc::ConstantLike(engine, first, 0, 0);
  const std::vector<Shared> low = {place.singular, between, place.beyond},
                            high = {place.singular, none, between};
  const Shared lower = engine.Concatenate(low, true);
  Shared upper = engine.Concatenate(high, true);
  const std::vector<Shared> last = {
      engine.Slice(upper, 0, 0, {points, 1}),
      engine.Add(engine.Slice(upper, points, 0, {1, 1}), place.beyond)};
  upper = engine.Concatenate(last, true);
  const std::vector<Shared> both = {lower, upper};
  const Shared ends = WithBound(engine.Concatenate(both, false), 1);

  const size_t determinant = 2 * NumSums(task_.num_columns()) - 1;
  SlopeParts parts;
  mpc::ProductRound choice(engine);
  choice.Add(Kind::kMatrix, means_, ends, kMostMean, place.ends);
  choice.Add(Kind::kMatrix, profile.residual, ends, profile.residual.bound, parts.residual);
  choice.Add(Kind::kMatrix, profile.falls, ends, profile.falls.bound, parts.falls);
  choice.Add(Kind::kMatrix, profile.trace, ends, profile.trace.bound, parts.trace);
  choice.Run();
  parts.determinant_slope = WithBound(engine.Slice(place.ends, determinant, 0, {1, 2}), 2);
  const Shared slopes = SlopesOf(engine, task_, parts, numbers_).slope;
  const Shared low_slope = engine.Slice(slopes, 0, 0, {1, 1});
  const Shared rise =
      WithBound(engine.Subtract(engine.Slice(slopes, 0, 1, {1, 1}), low_slope), 2 * slopes.bound);
  const std::vector<mpc::PositiveValue> rises = {{AtLeast(engine, rise, LeastRise()), LeastRise()}};
  place.inverse = mpc::Reciprocal(engine, rises, kRiseBits).front();
  // Nothing is to be stepped over where both ends are one, and where R is so small that slopes are
  // noise, which is no fit.
  const Shared lost =
      Below(engine, engine.Slice(parts.residual, 0, 0, {1, 1}), task_.LeastResidual());
  const Shared one_end = engine.Add(place.singular, place.beyond);
  const Shared two_ends =
      WithBound(engine.Subtract(mpc::ConstantLike(engine, first, 1, 0), one_end), 1);
  const Shared sound = WithBound(engine.Subtract(mpc::ConstantLike(engine, first, 1, 0), lost), 1);
  Shared steps_over;
  mpc::ProductRound both_hold(engine), mask(engine);
  both_hold.Add(two_ends, sound, 1, steps_over);
  both_hold.Run();
  mask.Add(place.inverse, steps_over, place.inverse.bound, place.step_inverse);
  mask.Run();
  place.part =
      Product(engine, engine.Scale(low_slope, -1), place.step_inverse, kMostPart, kWeightBits);
  return place;
}

// What Newton's method adds to w.
Shared Fitter::SolveAt(const Shared& inverse, const Shared& means, bool last, Solved& solved) {
  solved.sums = Scale(engine_, task_.num_columns(), means);
  solved.profile = ProfileOf(engine_, solved.sums, last && task_.spec.reml());
  solved.slopes = SlopesOf(engine_, task_,
                           {solved.sums.determinant_slope, solved.profile.trace,
                            solved.profile.residual, solved.profile.falls},
                           numbers_);
  return Product(engine_, engine_.Scale(solved.slopes.slope, -1), inverse, kMostPart, kWeightBits);
}

std::optional<OpenedFit> Fitter::Fit() {
  Engine& engine = engine_;
  const size_t p = task_.num_columns();
  const Place place = FindPlace();
  Solved solved;
  const Shared first =
      SolveAt(place.step_inverse, SumsBetween(engine, place.ends, place.part), false, solved);
  const Shared part = WithBound(engine.Add(place.part, first), kMostPart);
  const Shared means = SumsBetween(engine, place.ends, part);
  const Shared correction = SolveAt(place.step_inverse, means, true, solved);
  const ScaledSums& sums = solved.sums;
  const Profile& profile = solved.profile;

  // Logarithms: of R, of REML of the diagonal of A and the variances of the leading blocks.
  std::vector<mpc::PositiveValue> of = {{profile.residual, kLeastResidual}};
  if (task_.spec.reml()) {
    std::vector<Shared> diagonal;
    for (size_t i = 0; i < p; ++i)
      diagonal.push_back(engine.Slice(means, i * p - i * (i + 1) / 2 + i, 0, {1, 1}));
    of.push_back({WithBound(engine.Concatenate(diagonal, true), 2), kLeastDiagonal});
    of.push_back({profile.leading_variances, 0.25});
  }
  std::vector<Shared> logs;
  Shared failures, unit, step_of_log, estimates, variances, covariances;
  mpc::UncheckedInverse unchecked;
  const auto check = [&](Engine& e) {
    const Shared correlation = CorrelationOf(e, sums, 0);
    unchecked.inverse = mpc::Reshape(profile.inverse, {p, p});
    mpc::ProductRound round(e);
    round.Add(Kind::kMatrix, correlation, unchecked.inverse, kAnyResidual, unchecked.residual);
    round.Run();
    mpc::PublicMatrix identity{{{p, p}, std::vector<Int128>(p * p, 0)},
                               unchecked.residual.fraction_bits};
    for (size_t i = 0; i < p; ++i)
      identity.values.values[i * p + i] = Int128{1} << unchecked.residual.fraction_bits;
    unchecked.residual =
        WithBound(e.Subtract(unchecked.residual, e.Public(identity)), kAnyResidual);
    const Shared wrong = mpc::CountZeros(e, mpc::TrueColumns(e, correlation, unchecked));
    failures = Sum(e, {wrong, place.beyond, Below(e, profile.residual, task_.LeastResidual())});
  };
  Shared estimate_failures = engine.Public({{{1, 1}, {0}}, 0});
  const auto coefficients = [&](Engine& e) {
    // R / nu, halved: times d X d half the squared standard errors.
    const Shared of_freedom = numbers_.inverses.of_freedom;
    Shared residual = profile.residual;
    mpc::CutRound shorter(e);
    shorter.Add(residual, kProfileBits, residual.bound);
    shorter.Run();
    unit = Product(e, residual, of_freedom, 1, kUnitBits);
    unit = WithBound(mpc::TimesPowerOfTwo(unit, -1), 1);
    std::vector<size_t> places;
    for (size_t i = 0; i < p; ++i) places.push_back(i * p + i);
    Shared scaled, squared;
    mpc::ProductRound one(e);
    one.AddCut(OverRows(e, unit, p), sums.scale, kMostScale, kUnitScaledBits, scaled);
    one.AddCut(profile.solutions, sums.scale, profile.solutions.bound * kMostScale, mpc::kStepBits,
               estimates);
    one.Run();
    // R / nu d X d, where there is a fit of at most twice kMostVariance.
    const bool pairs = task_.spec.covariance;
    const Shared x = mpc::Reshape(profile.inverse, {p, p});
    Shared of_rows;
    mpc::ProductRound two(e);
    two.AddCut(scaled, sums.scale, mpc::kMostVariance, kVarianceBits, squared);
    if (pairs) two.AddCut(x, scaled, kMostCovarianceRow, kCovarianceRowBits, of_rows);
    two.Run();
    mpc::ProductRound three(e);
    three.AddCut(squared, e.SelectRows(profile.inverse, places),
                 mpc::kMostVariance * mpc::kMostInflation, kVarianceBits, variances);
    if (pairs)
      three.AddCut(e.Transpose(of_rows), sums.scale, mpc::kMostVariance, mpc::kCovarianceBits + 1,
                   covariances);
    three.Run();
    if (pairs) {
      covariances = WithBound(mpc::TimesPowerOfTwo(covariances, 1), 2 * mpc::kMostVariance);
    }
    variances = mpc::KeepWithin(e, variances, mpc::kMostVariance, estimate_failures);
    const Shared none = e.SumRows(Below(e, variances, LeastVariance(task_.grid_bits)));
    estimate_failures = Sum(e, {estimate_failures, WithBound(none, static_cast<double>(p))});
    estimates = mpc::KeepWithin(e, estimates, mpc::kMostCoordinate, estimate_failures);
  };
  const auto logarithms = [&](Engine& e) {
    logs = mpc::Log(e, of, kLogBits);
    for (Shared& log : logs) log.bound = kMostLog;
    // R moves with the last correction of w.
    step_of_log = Product(e, solved.slopes.ratio, correction, 2 * kMostPart, kLogBits);
  };
  const std::vector<mpc::Task> tasks = {check, coefficients, logarithms};
  mpc::Together(engine, tasks);

  // log lambda, where it is not 0; log R; half their squared standard errors.
  const Shared at = WithBound(engine.Add(part, correction), kMostPart);
  const Shared steps = engine.Add(mpc::Lift(engine, place.steps, kWeightBits), at);
  const Shared log_lambda = mpc::PlusConstant(
      engine, mpc::TimesConstant(engine, WithBound(steps, 2 * kMostPlace), LogStep(), 30),
      task_.LogOfFirst(), 2 * kMostPlace);
  const double h = LogStep();
  const Shared log_variance =
      WithBound(mpc::TimesConstant(engine, place.inverse, h * h, 40), kMostLogVariance);
  const Shared regular = WithBound(
      engine.Subtract(mpc::ConstantLike(engine, place.singular, 1, 0), place.singular), 1);
  Shared log_lambda_told, log_variance_told, log_residual_variance, effective, determinants;
  const size_t determinant = NumSums(p) - 1;
  const Shared freedom =
      task_.spec.reml()
          ? mpc::PlusConstant(engine, numbers_.rows, -static_cast<double>(p), numbers_.rows.bound)
          : numbers_.rows;
  mpc::ProductRound last(engine);
  last.AddCut(log_lambda, regular, mpc::kMostCoordinate, mpc::kStepBits, log_lambda_told);
  last.AddCut(log_variance, kMostLogVariance, kVarianceBits, log_variance_told);
  last.AddCut(numbers_.inverses.of_freedom, 1, kVarianceBits, log_residual_variance);
  last.AddCut(freedom, logs[0], numbers_.rows.bound * kMostLog, kLogBits, effective);
  last.AddCut(engine.Slice(means, determinant, 0, {1, 1}), numbers_.rows,
              numbers_.rows.bound * kMostMean, kLogBits, determinants);
  last.Run();
  std::vector<Shared> criterion = {effective, determinants};
  if (task_.spec.reml()) {
    const double most = kMostLog * static_cast<double>(p);
    criterion.push_back(WithBound(engine.SumRows(logs[1]), most));
    criterion.push_back(
        WithBound(engine.Scale(WithBound(engine.SumRows(logs[2]), most), -1), most));
  }
  const Shared moved = WithBound(engine.Add(logs[0], step_of_log), kMostLog + 1);
  const std::vector<Shared> told_estimates = {estimates, log_lambda_told, moved},
                            told_variances = {variances, log_variance_told, log_residual_variance};
  Shared falls = mpc::TimesConstant(engine, solved.slopes.ratio, -1 / h, 20);
  mpc::CutRound cut(engine);
  cut.Add(falls, kLogBits, 4 / h);
  cut.Run();
  const std::vector<Shared> told_totals = {Sum(engine, criterion), falls};
  const Shared totals = engine.Concatenate(told_totals, true);
  const Shared all_variances = engine.Concatenate(told_variances, true);
  const Shared all_estimates =
      WithBound(engine.Concatenate(told_estimates, true), mpc::kMostCoordinate);
  const auto converged = [&](Engine& e) {
    const Shared all = Sum(e, {failures, estimate_failures});
    const std::vector<Shared> none = {mpc::PlusConstant(e, all, -1, all.bound + 1)};
    return e.ToRing(mpc::IsNegative(e, none)).front();
  };
  const mpc::ErrorsOnGrid told =
      mpc::OnErrorGrid(engine, all_variances, &totals, totals.bound, task_.grid_bits, converged,
                       &all_estimates, {}, task_.spec.covariance ? &covariances : nullptr);
  Shared singular;
  mpc::ProductRound mask(engine);
  mask.Add(place.singular, told.opens, 1, singular);
  mask.Run();
  std::vector<Shared> opened = {told.opens,   singular,    numbers_.rows,  groups_,
                                told.reached, told.errors, told.estimates, told.totals};
  if (task_.spec.covariance) opened.push_back(told.covariances);
  const std::vector<mpc::IntMatrix> values = engine.Reveal(kFitRelease, opened, task_.to);
  if (values.front().values.empty()) return {};
  const auto whole = [&](size_t i) { return static_cast<uint64_t>(values[i].values.front()); };
  OpenedFit fit;
  fit.converged = whole(0) != 0;
  fit.singular = whole(1) != 0;
  fit.rows = whole(2);
  fit.groups = whole(3);
  const std::vector<double> grid = mpc::GridSteps(told.range, values[4]);
  const std::span<const double> grids(grid);
  const size_t pairs = task_.spec.covariance ? p : 0;
  const std::vector<double> alone = mpc::InGridSteps(values[5], grids.subspan(pairs)),
                            numbers = mpc::InGridSteps(values[6], grid);
  // Nothing is computed from a number without a grid.
  if (std::find(grid.begin(), grid.end(), 0.0) != grid.end()) fit.converged = false;
  const auto head = [p](const std::vector<double>& all) -> Eigen::VectorXd {
    return Eigen::Map<const Eigen::VectorXd>(all.data(), static_cast<Eigen::Index>(p));
  };
  fit.estimates = head(numbers);
  fit.steps = head(grid);
  if (task_.spec.covariance) {
    const auto columns = static_cast<Eigen::Index>(p);
    const std::vector<double> by_rows = mpc::InSquaredSteps(values[8], grids.first(p));
    fit.covariance = Eigen::Map<const Eigen::MatrixXd>(by_rows.data(), columns, columns);
    if (!mpc::HasVariances(by_rows, p)) fit.converged = false;
    fit.standard_errors = fit.covariance.diagonal().cwiseMax(0).cwiseSqrt();
  } else {
    fit.standard_errors = head(alone);
  }
  if (!fit.singular) {
    fit.log_lambda = numbers[p];
    fit.log_lambda_error = alone[p - pairs];
    fit.log_lambda_step = grid[p];
  }
  fit.log_residual = numbers[p + 1];
  fit.log_residual_step = grid[p + 1];
  const auto total = [&](size_t i) {
    return std::ldexp(mpc::DecodeFixed(values[7].values[i], mpc::kGuardBits), -task_.grid_bits);
  };
  fit.criterion = total(0);
  fit.falls = total(1);
  return fit;
}

}  // namespace partita::methods::mixed
