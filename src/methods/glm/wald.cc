#include "methods/glm/wald.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/information_inverse.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/scoring_path.h"
#include "mpc/together.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

// e and e e' lie on their grids, so that no digit of them is lost.
constexpr int kCovarianceBits = 50, kScaleBits = 10, kRatioBits = 30;
// log2 of V's diagonal: of the model at least 1 / K_ii, that is 2^-6, with room for rounding; of robust
// errors as far as V has digits left. e V e stays within the ring whatever V has become, as far as
// it is at most 2^20.
constexpr int kLeastOfModel = -7, kLeastOfRobust = -24, kMostSize = 20;
constexpr double kMostCovariance = 0x1p20, kMostScaled = 0x1p44, kMostPair = 0x1p24;
// 1 / d, e / d and tau.
constexpr int kUnscaleBits = 46, kQuotientBits = 54, kEstimateBits = 46, kWideRatioBits = 46;
// So few that left times solution fits the smallest ring with 40 columns: 40 * 4 kMostRatio *
// 40 * 2^20 kMostRatio at 30 + 26 bits is below 2^124.
constexpr int kSolutionBits = 26;
constexpr double kMostUnscale = 2, kMostQuotient = 0x1p13;
constexpr double kMostRatio = 0x1p17, kMostWithDispersion = 0x1p24;
// phi, at 30 fraction bits.
constexpr int kLeastDispersion = -29, kMantissaBits = 44, kReciprocalBits = 40, kRootBits = 36;
constexpr double kMostDispersionScale = 0x1p15, kMantissaSlack = 0x1p-20;

struct Blocks {
  std::vector<size_t> columns;  // of all terms, one after the other
  std::vector<size_t> first;    // row of each term among them
  std::vector<Shared> covariances;
};

Blocks BlocksOf(Engine& engine, const Task& task, const Shared& covariance) {
  const size_t p = task.num_columns();
  Blocks blocks;
  std::vector<size_t> entries;
  for (const data::ModelTerm& term : task.spec.terms) {
    blocks.first.push_back(blocks.columns.size());
    blocks.columns.insert(blocks.columns.end(), term.columns.begin(), term.columns.end());
    for (const size_t i : term.columns) {
      for (const size_t j : term.columns) entries.push_back(i * p + j);
    }
  }
  Shared all = engine.SelectRows(mpc::Reshape(covariance, {p * p, 1}), entries);
  mpc::CutRound cut(engine);
  cut.Add(all, kCovarianceBits, kMostCovariance);
  cut.Run();
  size_t at = 0;
  for (const data::ModelTerm& term : task.spec.terms) {
    const size_t k = term.columns.size();
    const Shared block = engine.Slice(all, at, 0, {k * k, 1});
    blocks.covariances.push_back(WithBound(mpc::Reshape(block, {k, k}), kMostCovariance));
    at += k * k;
  }
  return blocks;
}

// e of values from 2^(s - 1) on and below 2^s: 2^-ceil(s / 2), at kScaleBits.
Shared ScaleOf(Engine& engine, const mpc::SizeClasses& sizes) {
  std::vector<double> classes = {0};
  for (int s = sizes.least + 1; s <= sizes.most + 1; ++s)
    classes.push_back(std::exp2(-std::ceil(0.5 * s)));
  return mpc::NumberOfClass(engine, sizes.below, sizes.shape, classes, kScaleBits);
}

Shared RowsOf(Engine& engine, const Shared& column, size_t first, size_t count) {
  return WithBound(engine.Slice(column, first, 0, {count, 1}), column.bound);
}

Shared Repeated(Engine& engine, const Shared& value, size_t times) {
  return WithBound(engine.SelectRows(value, std::vector<size_t>(times, 0)), value.bound);
}

// K.
Shared Scaled(Engine& engine, const Shared& covariance, const Shared& scales) {
  Shared scaled;
  mpc::ProductRound product(engine);
  product.AddCut(covariance, scales, kMostScaled, mpc::kScaledInformationBits, scaled);
  product.Run();
  return scaled;
}

// value where |value| <= limit, else 0, at fraction_bits; and where that is.
void Keep(Engine& engine, const Shared& value, double limit, int fraction_bits, Shared& kept,
          Shared& within) {
  Shared limits = mpc::ConstantLike(engine, value, limit, value.fraction_bits);
  limits.bound = limit;
  within = mpc::Within(engine, value, limits);
  mpc::ProductRound product(engine);
  if (fraction_bits == value.fraction_bits) {
    product.Add(value, within, value.bound, kept);
  } else {
    product.AddCut(value, within, value.bound, fraction_bits, kept);
  }
  product.Run();
  kept.bound = limit;
}

int UnitBits(const Task& task) { return task.units.row_bits + task.units.weight_bits; }

// What is left of 2^(unit_bits/2) beside a whole power of two.
double RestOfUnit(const Task& task) { return UnitBits(task) % 2 == 0 ? 1 : std::numbers::sqrt2; }

Shared AsPoints(const Shared& estimates) {
  return WithBound(estimates, std::numbers::sqrt2 * mpc::kMostCoordinate);
}

// b times the rest, of the columns of all terms.
Shared PointsOf(Engine& engine, const Task& task, const std::vector<size_t>& columns,
                const Eigen::VectorXd& estimates) {
  mpc::IntMatrix matrix{{columns.size(), 1}, {}};
  for (const size_t c : columns) {
    matrix.values.push_back(mpc::EncodeFixed(
        RestOfUnit(task) * estimates[static_cast<Eigen::Index>(c)], kEstimateBits));
  }
  return AsPoints(engine.Public({std::move(matrix), kEstimateBits}));
}

Shared PointsOf(Engine& engine, const Task& task, const std::vector<size_t>& columns,
                const Shared& estimates) {
  Shared points = WithBound(engine.SelectRows(estimates, columns), mpc::kMostCoordinate);
  const double rest = RestOfUnit(task);
  if (rest == 1) return AsPoints(mpc::Lift(engine, points, kEstimateBits));
  points = mpc::TimesConstant(engine, points, rest, kEstimateBits);
  mpc::CutRound cut(engine);
  cut.Add(points, kEstimateBits, rest * mpc::kMostCoordinate);
  cut.Run();
  return AsPoints(points);
}

// tau of all terms' columns. scale: e; points: of these columns.
void SetRatios(Engine& engine, const Task& task, const mpc::SolvedStep& before,
               const std::vector<size_t>& columns, const Shared& scale, const Shared& points,
               TermGuesses& guesses) {
  const Shared unscale =
      engine.SelectRows(mpc::PowerOfSize(engine, before.sizes, 0.5, kUnscaleBits), columns);
  Shared quotients, ratios;
  mpc::ProductRound divide(engine), times(engine);
  divide.AddCut(scale, WithBound(unscale, kMostUnscale), kMostQuotient, kQuotientBits, quotients);
  divide.Run();
  const int shift = UnitBits(task) / 2;
  times.AddCut(quotients, points, kMostQuotient * points.bound, kWideRatioBits + shift, ratios);
  times.Run();
  ratios = WithBound(mpc::TimesPowerOfTwo(ratios, shift), std::ldexp(ratios.bound, shift));
  if (TakesDispersion(task.spec)) {
    Keep(engine, ratios, kMostWithDispersion, kWideRatioBits, guesses.ratios, guesses.within);
  } else {
    Keep(engine, ratios, kMostRatio, kRatioBits, guesses.ratios, guesses.within);
  }
}

struct Ratios {
  Shared left, right;  // tau over phi, and tau; at most 4 kMostRatio and kMostRatio
  Shared within;
  Shared too_small;  // 1 x 1, 0 or 1: phi; empty without
};

// With phi = m 2^s: tau 2^(-s/2) and that over m.
Ratios OverDispersion(Engine& engine, const TermGuesses& guesses, const Shared& dispersion) {
  const size_t rows = guesses.ratios.shape.rows;
  const int most = static_cast<int>(std::ceil(std::log2(dispersion.bound))) - 1;
  const mpc::SizeClasses sizes = mpc::SizesOf(engine, dispersion, kLeastDispersion, most);
  const Shared root =
      WithBound(mpc::PowerOfSize(engine, sizes, -0.5, kRootBits), kMostDispersionScale);
  const Shared power =
      mpc::PowerOfSize(engine, sizes, -1, most + 1 + kMantissaBits - dispersion.fraction_bits);
  Ratios result;
  result.too_small = WithBound(engine.Slice(sizes.below, 0, 0, {1, 1}), 1);
  Shared inverse, within;
  const std::vector<mpc::Task> tasks = {
      [&](Engine& e) {
        Shared ratios;
        mpc::ProductRound product(e);
        product.AddCut(guesses.ratios, Repeated(e, root, rows),
                       kMostWithDispersion * kMostDispersionScale, kRatioBits, ratios);
        product.Run();
        Keep(e, ratios, kMostRatio, kRatioBits, result.right, within);
      },
      [&](Engine& e) {
        Shared mantissa;
        mpc::ProductRound product(e);
        product.AddCut(dispersion, power, 2, kMantissaBits, mantissa);
        product.Run();
        const std::vector<mpc::NumbersInRange> numbers = {
            {WithBound(mantissa, 1), 1 + kMantissaSlack, 0.5 - kMantissaSlack}};
        inverse = mpc::ReciprocalInRange(e, numbers, kReciprocalBits).front();
      }};
  mpc::Together(engine, tasks);
  mpc::ProductRound divide(engine);
  divide.AddCut(result.right, Repeated(engine, WithBound(inverse, 4), rows), 4 * kMostRatio,
                kRatioBits, result.left);
  divide.Add(within, guesses.within, 1, result.within);
  divide.Run();
  return result;
}

template <typename Estimates>
TermGuesses Guesses(Engine& engine, const Task& task, const mpc::SolvedStep& before,
                    const Estimates& estimates) {
  const Blocks blocks = BlocksOf(engine, task, before.covariance);
  std::vector<Shared> diagonals;
  for (const Shared& covariance : blocks.covariances)
    diagonals.push_back(mpc::DiagonalOf(engine, covariance));
  const Shared diagonal = WithBound(engine.Concatenate(diagonals, true), kMostCovariance);
  const int least = task.spec.robust() ? kLeastOfRobust : kLeastOfModel;
  const Shared scale = ScaleOf(engine, mpc::SizesOf(engine, diagonal, least, kMostSize - 1));

  const size_t terms = task.spec.terms.size();
  TermGuesses guesses;
  guesses.scales.resize(terms);
  guesses.inverses.resize(terms);
  std::vector<mpc::Task> tasks = {[&](Engine& e) {
    const Shared points = PointsOf(e, task, blocks.columns, estimates);
    SetRatios(e, task, before, blocks.columns, scale, points, guesses);
  }};
  for (size_t t = 0; t < terms; ++t) {
    tasks.emplace_back([&, t](Engine& e) {
      const Shared of_term = RowsOf(e, scale, blocks.first[t], blocks.covariances[t].shape.rows);
      mpc::ProductRound outer(e);
      outer.Add(Kind::kMatrix, of_term, e.Transpose(of_term), kMostPair, guesses.scales[t]);
      outer.Run();
      const Shared scaled = Scaled(e, blocks.covariances[t], guesses.scales[t]);
      guesses.inverses[t] = mpc::CorrectedInverse(e, mpc::InvertInformation(e, scaled, nullptr));
    });
  }
  mpc::Together(engine, tasks);
  return guesses;
}

}  // namespace

TermGuesses GuessTerms(Engine& engine, const Task& task, const mpc::SolvedStep& before,
                       const Eigen::VectorXd& estimates) {
  return Guesses(engine, task, before, estimates);
}

TermGuesses GuessTerms(Engine& engine, const Task& task, const mpc::SolvedStep& before,
                       const Shared& estimates) {
  return Guesses(engine, task, before, estimates);
}

namespace {

class LastCovariances {
 public:
  LastCovariances(Engine& engine, const Task& task, const mpc::SolvedStep& solved,
                  const TermGuesses& guesses)
      : engine_(engine), task_(task), solved_(solved), guesses_(guesses) {
    blocks_ = BlocksOf(engine, task, solved.covariance);
    scaled_.resize(blocks_.covariances.size());
    unchecked_.resize(scaled_.size());
  }

  Shared Statistics() {
    Invert();
    Shared holds, below, statistics;
    const std::vector<mpc::Task> tasks = {
        [&](Engine& e) { holds = NothingFailed(e); },
        [&](Engine& e) {
          statistics = Squared(e);
          const std::vector<Shared> more = {
              mpc::PlusConstant(e, statistics, -kMostStatistic, 2 * statistics.bound)};
          below = e.ToRing(mpc::IsNegative(e, more)).front();
        }};
    mpc::Together(engine_, tasks);
    // kNoStatistic where something failed.
    Shared both, kept;
    mpc::ProductRound join(engine_), mask(engine_);
    join.Add(holds, below, 1, both);
    join.Run();
    const Shared plus_one = mpc::PlusConstant(engine_, statistics, 1, statistics.bound + 1);
    mask.Add(plus_one, both, plus_one.bound, kept);
    mask.Run();
    return mpc::PlusConstant(engine_, kept, -1, kMostStatistic + 1);
  }

 private:
  size_t terms() const { return scaled_.size(); }
  size_t size(size_t term) const { return blocks_.covariances[term].shape.rows; }

  // And tau over the dispersion, where there is one.
  void Invert() {
    std::vector<mpc::Task> tasks;
    for (size_t t = 0; t < terms(); ++t) {
      tasks.emplace_back([this, t](Engine& e) {
        scaled_[t] = Scaled(e, blocks_.covariances[t], guesses_.scales[t]);
        unchecked_[t] = mpc::InvertInformation(e, scaled_[t], &guesses_.inverses[t]);
      });
    }
    ratios_ = {guesses_.ratios, guesses_.ratios, guesses_.within, {}};
    if (TakesDispersion(task_.spec)) {
      tasks.emplace_back(
          [this](Engine& e) { ratios_ = OverDispersion(e, guesses_, solved_.dispersion); });
    }
    mpc::Together(engine_, tasks);
  }

  // A row for each term, 0 or 1.
  Shared NothingFailed(Engine& engine) {
    std::vector<Shared> beyond(terms());
    std::vector<mpc::Task> tasks;
    for (size_t t = 0; t < terms(); ++t) {
      tasks.emplace_back(
          [&, t](Engine& e) { beyond[t] = mpc::CountBeyondLimits(e, scaled_[t], unchecked_[t]); });
    }
    mpc::Together(engine, tasks);
    const Shared is_true = WithBound(engine.SelectRows(solved_.is_true, blocks_.columns), 1);
    std::vector<Shared> failures;
    double most = 0;
    for (size_t t = 0; t < terms(); ++t) {
      const auto k = static_cast<double>(size(t));
      most = std::max(most, 6 * k * k + 2 * k + 1);
      failures.push_back(engine.SumRows(beyond[t]));
      for (const Shared& bits : {is_true, ratios_.within}) {
        const Shared zeros =
            mpc::CountZeros(engine, RowsOf(engine, bits, blocks_.first[t], size(t)));
        failures.back() = engine.Add(failures.back(), zeros);
      }
      if (ratios_.too_small.payload != nullptr)
        failures.back() = engine.Add(failures.back(), ratios_.too_small);
    }
    const Shared all = WithBound(engine.Concatenate(failures, true), most);
    return engine.ToRing(mpc::IsZero(engine, {&all, 1})).front();
  }

  // tau' K^-1 tau / phi, as if nothing had failed.
  Shared Squared(Engine& engine) {
    std::vector<Shared> statistics(terms());
    std::vector<mpc::Task> tasks;
    for (size_t t = 0; t < terms(); ++t) {
      tasks.emplace_back([&, t](Engine& e) {
        const Shared inverse = mpc::CorrectedInverse(e, unchecked_[t]);
        const double most = static_cast<double>(size(t)) * mpc::kMostInflation * kMostRatio;
        const Shared left = RowsOf(e, ratios_.left, blocks_.first[t], size(t));
        const Shared right = RowsOf(e, ratios_.right, blocks_.first[t], size(t));
        Shared solution;
        mpc::ProductRound solve(e), square(e);
        solve.AddCut(Kind::kMatrix, inverse, right, most, kSolutionBits, solution);
        solve.Run();
        square.AddCut(Kind::kMatrix, e.Transpose(left), solution,
                      static_cast<double>(size(t)) * left.bound * most, kStatisticBits,
                      statistics[t]);
        square.Run();
      });
    }
    mpc::Together(engine, tasks);
    double most = 0;
    for (const Shared& statistic : statistics) most = std::max(most, statistic.bound);
    return WithBound(engine.Concatenate(statistics, true), most);
  }

  Engine& engine_;
  const Task& task_;
  const mpc::SolvedStep& solved_;
  const TermGuesses& guesses_;
  Blocks blocks_;
  std::vector<Shared> scaled_;
  std::vector<mpc::UncheckedInverse> unchecked_;
  Ratios ratios_;
};

}  // namespace

Shared WaldStatistics(Engine& engine, const Task& task, const mpc::SolvedStep& solved,
                      const TermGuesses& guesses) {
  return LastCovariances(engine, task, solved, guesses).Statistics();
}

}  // namespace partita::methods::glm
