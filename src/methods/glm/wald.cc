#include "methods/glm/wald.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/scoring_path.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

constexpr int kCovarianceBits = 58, kScaleBits = 36, kRatioBits = 30, kOfCorrelationBits = 40;
// Of the covariance's diagonal: of the model at least 1 / K_ii, that is 2^-6, with room for rounding;
// of robust errors by 2^16 less.
constexpr double kMostCovariance = 0x1p20, kSmallestOfModel = 0x1p-7, kSmallestOfRobust = 0x1p-22;
constexpr double kSmallestSquaredError = 0x1p-34, kMostInverseError = 0x1p17;
constexpr double kMostRatio = 0x1p14, kMostOfCorrelation = 0x1p20;
// Of entries of C on the way: its root, and 1 with room for rounding.
constexpr double kMostHalfScaled = 0x1p10, kMostEntry = 2;

struct TestedTerm {
  size_t first = 0, size = 0;  // rows among the columns of all terms
  Shared covariance = {}, scaled_rows = {}, correlation = {};
  Shared ratios = {}, solved = {}, statistic = {};
};

Shared EstimatesOf(Engine& engine, const std::vector<size_t>& columns,
                   const Eigen::VectorXd& estimates) {
  mpc::IntMatrix matrix{{columns.size(), 1}, {}};
  for (const size_t c : columns) {
    matrix.values.push_back(
        mpc::EncodeFixed(estimates[static_cast<Eigen::Index>(c)], mpc::kStepBits));
  }
  return WithBound(engine.Public({std::move(matrix), mpc::kStepBits}), mpc::kMostCoordinate);
}

class TermTests {
 public:
  TermTests(Engine& engine, const Task& task, const mpc::SolvedStep& solved)
      : engine_(engine), task_(task), solved_(solved) {
    for (const data::ModelTerm& term : task.spec.terms) {
      terms_.push_back({columns_.size(), term.columns.size()});
      columns_.insert(columns_.end(), term.columns.begin(), term.columns.end());
    }
  }

  Shared Make(const Eigen::VectorXd& estimates) {
    SelectCovariances();
    SetRoots();
    SetRatios(EstimatesOf(engine_, columns_, estimates));
    SetCorrelations();
    return Statistics();
  }

 private:
  Shared RowsOf(const TestedTerm& term, const Shared& column) {
    return WithBound(engine_.Slice(column, term.first, 0, {term.size, 1}), column.bound);
  }

  // The blocks of the terms, one below the other; zeros where a column is not true.
  void SelectCovariances() {
    const size_t p = task_.num_columns();
    std::vector<size_t> entries, rows, columns;
    for (const data::ModelTerm& term : task_.spec.terms) {
      for (const size_t i : term.columns) {
        for (const size_t j : term.columns) {
          entries.push_back(i * p + j);
          rows.push_back(i);
          columns.push_back(j);
        }
      }
    }
    Shared all = engine_.SelectRows(mpc::Reshape(solved_.covariance, {p * p, 1}), entries);
    mpc::CutRound cut(engine_);
    cut.Add(all, kCovarianceBits, solved_.covariance.bound);
    cut.Run();
    Shared both;
    mpc::ProductRound pairs(engine_), keep(engine_);
    pairs.Add(engine_.SelectRows(solved_.is_true, rows),
              engine_.SelectRows(solved_.is_true, columns), 1, both);
    pairs.Run();
    keep.Add(all, both, solved_.covariance.bound, all);
    keep.Run();
    size_t first = 0;
    for (TestedTerm& term : terms_) {
      const size_t k = term.size;
      term.covariance = WithBound(mpc::Reshape(engine_.Slice(all, first, 0, {k * k, 1}), {k, k}),
                                  kMostCovariance);
      first += k * k;
    }
  }

  void SetRoots() {
    std::vector<Shared> diagonals;
    for (const TestedTerm& term : terms_)
      diagonals.push_back(mpc::DiagonalOf(engine_, term.covariance));
    const Shared doubled =
        WithBound(mpc::TimesPowerOfTwo(engine_.SelectRows(solved_.variances, columns_), 1),
                  2 * mpc::kMostVariance);
    const double smallest = task_.spec.robust() ? kSmallestOfRobust : kSmallestOfModel;
    const std::vector<mpc::PositiveValue> positive = {
        {WithBound(engine_.Concatenate(diagonals, true), kMostCovariance), smallest},
        {doubled, kSmallestSquaredError}};
    std::vector<Shared> roots = mpc::InverseRoot(engine_, positive, kScaleBits);
    scale_ = WithBound(roots[0], 1 / std::sqrt(smallest));
    inverse_errors_ = WithBound(roots[1], kMostInverseError);
  }

  // t, 0 where it is too large.
  void SetRatios(const Shared& estimates) {
    Shared ratios;
    mpc::ProductRound divide(engine_);
    divide.AddCut(estimates, inverse_errors_, mpc::kMostCoordinate * kMostInverseError, kRatioBits,
                  ratios);
    divide.Run();
    Shared limits = mpc::ConstantLike(engine_, ratios, kMostRatio, kRatioBits);
    limits.bound = kMostRatio;
    within_ = Within(engine_, ratios, limits);
    Shared kept;
    mpc::ProductRound product(engine_);
    product.Add(ratios, within_, ratios.bound, kept);
    product.Run();
    for (TestedTerm& term : terms_) term.ratios = RowsOf(term, WithBound(kept, kMostRatio));
  }

  void SetCorrelations() {
    mpc::ProductRound rows(engine_), columns(engine_);
    for (TestedTerm& term : terms_) {
      rows.AddCut(term.covariance, RowsOf(term, scale_), kMostHalfScaled, kCovarianceBits,
                  term.scaled_rows);
    }
    rows.Run();
    for (TestedTerm& term : terms_) {
      columns.AddCut(engine_.Transpose(term.scaled_rows), RowsOf(term, scale_), kMostEntry,
                     kCovarianceBits, term.correlation);
    }
    columns.Run();
  }

  Shared Statistics() {
    std::vector<mpc::DefiniteMatrix> definite;
    for (const TestedTerm& term : terms_)
      definite.push_back({term.correlation, mpc::kSmallestPivot});
    const std::vector<mpc::DefiniteInverse> inverses =
        mpc::InvertDefinite(engine_, definite, kOfCorrelationBits);
    mpc::ProductRound solve(engine_), square(engine_);
    for (size_t i = 0; i < terms_.size(); ++i) {
      TestedTerm& term = terms_[i];
      const auto k = static_cast<double>(term.size);
      solve.AddCut(Kind::kMatrix, WithBound(inverses[i].inverse, kMostOfCorrelation), term.ratios,
                   k * kMostOfCorrelation * kMostRatio, kRatioBits, term.solved);
    }
    solve.Run();
    for (TestedTerm& term : terms_) {
      const double most = static_cast<double>(term.size) * kMostRatio * term.solved.bound;
      square.AddCut(Kind::kMatrix, engine_.Transpose(term.ratios), term.solved, most,
                    kStatisticBits, term.statistic);
    }
    square.Run();

    std::vector<Shared> statistics, failures;
    double most = 0, most_failures = 0;
    for (size_t i = 0; i < terms_.size(); ++i) {
      const TestedTerm& term = terms_[i];
      most = std::max(most, term.statistic.bound);
      most_failures = std::max(most_failures, 2.0 * static_cast<double>(term.size));
      statistics.push_back(term.statistic);
      failures.push_back(engine_.Add(engine_.SumRows(inverses[i].collinear),
                                     CountZeros(engine_, RowsOf(term, within_))));
    }
    return WithMarks(WithBound(engine_.Concatenate(statistics, true), most),
                     WithBound(engine_.Concatenate(failures, true), most_failures));
  }

  // -1 where something failed.
  Shared WithMarks(const Shared& statistics, const Shared& failures) {
    const Shared more =
        mpc::PlusConstant(engine_, statistics, -kMostStatistic, 2 * statistics.bound);
    const std::vector<Shared> compared = {
        more, mpc::PlusConstant(engine_, failures, -1, failures.bound + 1)};
    const std::vector<Shared> passed = engine_.ToRing(mpc::IsNegative(engine_, compared));
    Shared both;
    mpc::ProductRound join(engine_);
    join.Add(passed[0], passed[1], 1, both);
    join.Run();
    const Shared plus_one = mpc::PlusConstant(engine_, statistics, 1, statistics.bound + 1);
    Shared kept;
    mpc::ProductRound mask(engine_);
    mask.Add(plus_one, both, plus_one.bound, kept);
    mask.Run();
    return mpc::PlusConstant(engine_, kept, -1, kMostStatistic + 1);
  }

  Engine& engine_;
  const Task& task_;
  const mpc::SolvedStep& solved_;
  std::vector<size_t> columns_;  // of all terms
  std::vector<TestedTerm> terms_;
  Shared scale_, inverse_errors_, within_;  // rows of columns_
};

}  // namespace

Shared WaldStatistics(Engine& engine, const Task& task, const mpc::SolvedStep& solved,
                      const Eigen::VectorXd& estimates) {
  return TermTests(engine, task, solved).Make(estimates);
}

}  // namespace partita::methods::glm
