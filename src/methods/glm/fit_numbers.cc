#include "methods/glm/fit_numbers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/logarithm.h"
#include "stats/glm/likelihood.h"
#include "stats/glm/negative_binomial.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using stats::glm::Family;
using stats::glm::Law;

constexpr int kLogBits = 40, kLogInputRange = 44;
constexpr double kSmallestOfLog = 0x1p-40, kLargestLog = 64;

double YLogY(double y) { return y > 0 ? y * std::log(y) : 0; }

// What the closed form of the null deviance needs beside D and c.
std::vector<double> NullSums(Family family, const stats::glm::Rows& rows) {
  double first = 0, second = 0, third = 0;
  for (Eigen::Index i = 0; i < rows.y.size(); ++i) {
    const double y = rows.y[i], o = rows.offset[i], w = rows.weight(i);
    switch (family) {
      case Family::kGaussian:
        first += w * (y - o);
        break;
      case Family::kPoisson:
        first += w * (YLogY(y) - y * o);
        second += w * y;
        third += w * std::exp(o);
        break;
      case Family::kGamma:
        first += w * (std::log(y) - o);
        second += w * y * std::exp(-o);
        break;
      default:
        break;
    }
  }
  switch (family) {
    case Family::kGaussian:
      return {first};
    case Family::kPoisson:
      return {first, second, third};
    case Family::kGamma:
      return {first, second};
    default:
      break;
  }
  return {};
}

size_t NumNullSums(const Spec& spec) {
  if (!HasNull(spec.law)) return 0;
  if (!spec.intercept) return 1;
  return NullSums(spec.law.family, {}).size();
}

class Totals {
 public:
  Totals(Engine& engine, const Task& task, const SharedSums& sums, const Shared& rows)
      : engine_(engine), task_(task), sums_(sums), rows_(rows) {
    next_ = HasConstant(task.spec.law) ? 2 : 1;
  }

  FitTotals Make() {
    const Family family = task_.spec.law.family;
    if (family == Family::kGaussian) {
      AddGaussian();
    } else {
      Add(FitInput(0));
      if (HasNull(task_.spec.law) && !task_.spec.intercept) Add(FitInput(next_));
      if (task_.spec.intercept && family == Family::kPoisson) AddPoissonNull();
      if (task_.spec.intercept && family == Family::kGamma) AddGammaNull();
      if (HasConstant(task_.spec.law)) Add(FitInput(1));
      if (HasPearson(task_.spec.law)) {
        Add(mpc::TimesPowerOfTwo(sums_.pearson, task_.units.row_bits));
      }
    }
    mpc::CutRound cut(engine_);
    double bound = 0;
    for (Shared& total : totals_) {
      bound = std::max(bound, total.bound);
      cut.Add(total, kTotalBits, total.bound);
    }
    cut.Run();
    return {engine_.Concatenate(totals_, true), bound};
  }

 private:
  double Most() const { return task_.units.most_fit * static_cast<double>(task_.max_rows()); }
  Shared FitInput(size_t row) { return engine_.Slice(sums_.fit, row, 0, {1, 1}); }
  void Add(Shared total) { totals_.push_back(std::move(total)); }

  // Divided by 2^row_bits.
  Shared OfRows(const Shared& value) {
    return WithBound(mpc::TimesPowerOfTwo(value, -task_.units.row_bits),
                     std::ldexp(value.bound, -task_.units.row_bits));
  }
  std::vector<Shared> Logs(const std::vector<Shared>& values) {
    std::vector<mpc::PositiveValue> positive;
    for (const Shared& value : values) positive.push_back({value, kSmallestOfLog});
    return mpc::Log(engine_, positive, kLogBits);
  }
  Shared Difference(const Shared& a, const Shared& b) {
    return WithBound(engine_.Subtract(a, b), 2 * kLargestLog);
  }

  // n log(D / n) with an intercept and n log(d / n^2), d = n q - s^2.
  void AddGaussian() {
    const auto n_most = static_cast<double>(task_.max_rows());
    std::vector<Shared> values = {FitInput(0), rows_};
    if (!NullOpens(task_.spec)) {
      const std::vector<Shared> logs = Logs(values);
      totals_.resize(1);
      mpc::ProductRound times(engine_);
      times.Add(rows_, Difference(logs[0], logs[1]), n_most * 2 * kLargestLog, totals_[0]);
      times.Run();
      return;
    }
    // The most that d may be is brought below what logarithms take.
    const int spread_bits =
        2 * task_.units.row_bits + static_cast<int>(std::ceil(std::log2(task_.units.most_fit)));
    const int shift = task_.spec.intercept ? std::max(0, spread_bits - kLogInputRange) : 0;
    if (task_.spec.intercept) {
      const double sum_most = std::sqrt(task_.units.most_fit) * n_most;
      Shared of_squares, of_sum;
      const Shared sum = WithBound(FitInput(next_), sum_most);
      mpc::ProductRound products(engine_);
      products.Add(rows_, sums_.squares, n_most * Most(), of_squares);
      products.Add(sum, sum, sum_most * sum_most, of_sum);
      products.Run();
      // At most n q.
      Shared spread = mpc::TimesPowerOfTwo(engine_.Subtract(of_squares, of_sum), -shift);
      spread.bound = std::ldexp(1.0, spread_bits - shift);
      mpc::CutRound cut(engine_);
      cut.Add(spread, kLogBits, spread.bound);
      cut.Run();
      values.push_back(spread);
    } else {
      values.push_back(FitInput(next_));
    }
    const std::vector<Shared> logs = Logs(values);
    Shared null = engine_.Subtract(logs[2], logs[1]);
    if (task_.spec.intercept) {
      null = WithBound(engine_.Subtract(null, logs[1]), 4 * kLargestLog);
      null = mpc::PlusConstant(engine_, null, shift * std::numbers::ln2, 4 * kLargestLog);
    }
    const Shared own = Difference(logs[0], logs[1]);
    totals_.resize(2);
    mpc::ProductRound times(engine_);
    times.Add(rows_, own, n_most * 2 * kLargestLog, totals_[0]);
    times.Add(rows_, WithBound(null, 4 * kLargestLog), n_most * 4 * kLargestLog, totals_[1]);
    times.Run();
  }

  void AddPoissonNull() {
    const Shared s = FitInput(next_ + 1);
    std::vector<Shared> values = {OfRows(s), OfRows(FitInput(next_ + 2))};
    const std::vector<Shared> logs = Logs(values);
    Shared product;
    mpc::ProductRound times(engine_);
    times.Add(s, Difference(logs[0], logs[1]), Most() * 2 * kLargestLog, product);
    times.Run();
    AddTwice(FitInput(next_), product);
  }

  void AddGammaNull() {
    const std::vector<Shared> logs = Logs({OfRows(FitInput(next_ + 1)), OfRows(rows_)});
    Shared product;
    mpc::ProductRound times(engine_);
    times.Add(rows_, Difference(logs[0], logs[1]),
              static_cast<double>(task_.max_rows()) * 2 * kLargestLog, product);
    times.Run();
    AddTwice(product, FitInput(next_));
  }

  // 2 (a - b), of different numbers of fraction bits.
  void AddTwice(const Shared& a, const Shared& b) {
    const int bits = std::max(a.fraction_bits, b.fraction_bits);
    const Shared difference =
        engine_.Subtract(mpc::Lift(engine_, a, bits), mpc::Lift(engine_, b, bits));
    Add(mpc::TimesPowerOfTwo(WithBound(difference, a.bound + b.bound), 1));
    totals_.back().bound = 2 * (a.bound + b.bound);
  }

  Engine& engine_;
  const Task& task_;
  const SharedSums& sums_;
  const Shared& rows_;
  size_t next_ = 1;  // the first of the null deviance's numbers
  std::vector<Shared> totals_;
};

// Of n rows with `events` ones.
double BinomialNull(double n, double events) {
  return -2 * (YLogY(events) + YLogY(n - events) - YLogY(n));
}

}  // namespace

bool HasPearson(const Law& law) { return HasDispersion(law) && law.family != Family::kGaussian; }

OwnFit OwnFitOf(const Spec& spec, const stats::glm::Rows& rows, double deviance,
                const Eigen::VectorXd& point, const stats::glm::Limits& limits) {
  std::vector<double> numbers = {deviance};
  if (HasConstant(spec.law)) {
    numbers.push_back(stats::glm::OwnConstant(stats::glm::AtPoint(spec.law, rows, point), rows));
    if (spec.law.family == Family::kNegativeBinomial) numbers[0] += 2 * numbers[1];
  }
  if (!HasNull(spec.law)) {
    // Nothing more.
  } else if (spec.intercept) {
    for (const double sum : NullSums(spec.law.family, rows)) numbers.push_back(sum);
  } else {
    const stats::glm::Rows none = {Eigen::MatrixXd(rows.y.size(), 0), rows.y, rows.offset,
                                   rows.weights, rows.copies};
    numbers.push_back(stats::glm::SumsAt(spec.law, none, Eigen::VectorXd(0), limits).deviance);
  }
  OwnFit fit;
  fit.numbers =
      Eigen::Map<const Eigen::VectorXd>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
  const Eigen::VectorXd centred = rows.y - rows.offset;
  fit.squares = rows.weights.size() == 0 ? centred.squaredNorm()
                                         : rows.weights.dot(centred.cwiseProduct(centred));
  return fit;
}

OwnFit OwnFitOf(const Spec& spec, const stats::glm::GaussianMoments& moments, double deviance) {
  OwnFit fit;
  fit.squares = SumOfSquares(moments);
  fit.numbers.resize(2);
  fit.numbers << deviance, spec.intercept ? SumOfOutcome(moments) : fit.squares;
  return fit;
}

size_t NumFitInputs(const Spec& spec) {
  return 1 + (HasConstant(spec.law) ? 1 : 0) + NumNullSums(spec);
}

bool NullOpens(const Spec& spec) {
  if (spec.weights_kind == study::WeightsKind::kPrecision || !HasNull(spec.law)) return false;
  return !spec.intercept || spec.law.family != Family::kBinomial;
}

size_t NumTotals(const Spec& spec) {
  if (spec.weights_kind == study::WeightsKind::kSampling) return 0;
  return 1 + (NullOpens(spec) ? 1 : 0) + (HasConstant(spec.law) ? 1 : 0) +
         (HasPearson(spec.law) ? 1 : 0);
}

FitTotals TotalsOf(Engine& engine, const Task& task, const SharedSums& sums, const Shared& rows) {
  return Totals(engine, task, sums, rows).Make();
}

ModelFit FitOf(const Task& task, uint64_t rows, uint64_t events, std::span<const double> totals) {
  const Spec& spec = task.spec;
  const auto n = static_cast<double>(rows), p = static_cast<double>(spec.num_coefficients());
  ModelFit fit;
  if (spec.law.family == Family::kGaussian) {
    const double unit = spec.outcome.scale * spec.outcome.scale;
    fit.deviance = n * std::exp(totals[0] / n) * unit * spec.weight_unit();
    if (NullOpens(spec)) fit.null_deviance = n * std::exp(totals[1] / n) * unit;
    fit.dispersion = fit.deviance / (n - p);
  } else {
    fit.deviance = totals[0];
    if (NullOpens(spec)) fit.null_deviance = totals[1];
    if (spec.law.family == Family::kBinomial && spec.intercept && spec.offsets.empty())
      fit.null_deviance = BinomialNull(n, static_cast<double>(events));
    if (HasPearson(spec.law)) fit.dispersion = totals.back() / (n - p);
  }
  if (!HasLikelihood(spec.law) || spec.weights_kind == study::WeightsKind::kPrecision) return fit;
  const double constant = HasConstant(spec.law) ? totals[NullOpens(spec) ? 2 : 1] : 0;
  const double likelihood = stats::glm::LogLikelihood(spec.law, {n, fit.deviance, constant});
  fit.log_likelihood = likelihood;
  if (spec.ridge > 0 || spec.firth || !spec.lasso.empty())
    return fit;  // which has fewer degrees of freedom than columns
  fit.aic = 2 * p - 2 * likelihood + (HasDispersion(spec.law) ? 2 : 0);
  return fit;
}

}  // namespace partita::methods::glm
