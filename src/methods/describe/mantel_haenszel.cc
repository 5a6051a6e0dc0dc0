#include "methods/describe/mantel_haenszel.h"

#include <cmath>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/division.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/together.h"

namespace partita::methods::describe {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

constexpr double kLeastTerm = 0x1p-6, kLeastTestVariance = 0x1p-20, kLeastLogVariance = 0x1p-30;
constexpr int kShareBits = 46, kInverseBits = 60, kLogBits = 40, kVarianceBits = 50, kRootBits = 46;
constexpr double kMostInverse = 1 / kLeastTerm, kMostLog = 64, kMostLogError = 64;
constexpr double kMostHalfVariance = 1024;

// 1 where x >= limit.
Shared AtLeast(Engine& engine, const Shared& x, double limit) {
  const std::vector<Shared> above = {mpc::PlusConstant(engine, x, -limit, x.bound + limit)};
  const std::vector<mpc::SharedBits> below = {engine.Not(mpc::IsNegative(engine, above).front())};
  return WithBound(engine.ToRing(below).front(), 1);
}

}  // namespace

std::vector<size_t> TwoValued(const Spec& spec) {
  std::vector<size_t> variables;
  for (size_t v = 0; v < spec.variables.size(); ++v) {
    if (CountedValues(spec.variables[v].schema).size() == 2) variables.push_back(v);
  }
  return variables;
}

std::vector<Int128> OwnStratum(const Spec& spec, const std::vector<Int128>& counts) {
  const Layout layout(spec);
  std::vector<Int128> terms;
  for (const size_t v : TwoValued(spec)) {
    const auto count = [&](size_t value, size_t group) {
      return static_cast<uint64_t>(counts[(layout.first_row[v] + value) * 2 + group]);
    };
    const stats::tables::StratumTerms own = stats::tables::TermsOf(
        {count(1, 0), count(0, 0) + count(1, 0), count(1, 1), count(0, 1) + count(1, 1)});
    for (const double term : {own.r, own.s, own.pr, own.mixed, own.qs, own.excess, own.variance})
      terms.push_back(mpc::EncodeFixed(term, kStratumBits));
  }
  return terms;
}

StrataOnGrid StrataOf(Engine& engine, const Shared& terms, double max_rows, int grid_bits) {
  const size_t rows = terms.shape.rows;
  const auto column = [&](size_t c) {
    return WithBound(engine.Slice(terms, 0, c, {rows, 1}), max_rows);
  };
  const Shared r = column(0), s = column(1), excess = column(5), variance = column(6);
  const Shared both = WithBound(engine.Add(r, s), 2 * max_rows);
  const Shared one = mpc::ConstantLike(engine, r, 1, kStratumBits);
  std::vector<Shared> shares, inverses, logs;
  Shared inverse_root, there;
  const std::vector<mpc::Task> tasks = {
      [&](Engine& e) {
        const std::vector<mpc::Quotient> quotients = {{column(2), {r, kLeastTerm}, 2},
                                                      {column(3), {both, kLeastTerm}, 2},
                                                      {column(4), {s, kLeastTerm}, 2}};
        shares = mpc::Divide(e, quotients, kShareBits);
      },
      [&](Engine& e) {
        const std::vector<mpc::Quotient> quotients = {
            {WithBound(one, 1), {r, kLeastTerm}, kMostInverse},
            {WithBound(one, 1), {s, kLeastTerm}, kMostInverse}};
        inverses = mpc::Divide(e, quotients, kInverseBits);
      },
      [&](Engine& e) {
        const std::vector<mpc::PositiveValue> of = {{r, kLeastTerm}, {s, kLeastTerm}};
        logs = mpc::Log(e, of, kLogBits);
      },
      [&](Engine& e) {
        const std::vector<mpc::PositiveValue> of = {{variance, kLeastTestVariance}};
        inverse_root = WithBound(mpc::InverseRoot(e, of, kRootBits).front(), 0x1p11);
      },
      [&](Engine& e) {
        const Shared of_r = AtLeast(e, r, kLeastTerm), of_s = AtLeast(e, s, kLeastTerm);
        mpc::ProductRound product(e);
        product.Add(of_r, of_s, 1, there);
        product.Run();
      }};
  mpc::Together(engine, tasks);

  // Half the squared error: a quarter of the sum.
  Shared parts[3];
  mpc::ProductRound first(engine);
  const Shared sum = WithBound(engine.Add(inverses[0], inverses[1]), 2 * kMostInverse);
  first.AddCut(WithBound(shares[0], 2), inverses[0], 2 * kMostInverse, kVarianceBits + 2, parts[0]);
  first.AddCut(WithBound(shares[1], 2), sum, 4 * kMostInverse, kVarianceBits + 2, parts[1]);
  first.AddCut(WithBound(shares[2], 2), inverses[1], 2 * kMostInverse, kVarianceBits + 2, parts[2]);
  Shared root, log_ratio;
  const double most_root = std::sqrt(max_rows) + 1;
  first.AddCut(excess, inverse_root, most_root, kLogBits, root);
  first.Run();
  const Shared four_times = engine.Add(engine.Add(parts[0], parts[1]), parts[2]);
  Shared half_variance = WithBound(mpc::TimesPowerOfTwo(four_times, -2), kMostHalfVariance / 2);
  Shared correction = WithBound(mpc::TimesPowerOfTwo(inverse_root, -1), 0x1p10);
  mpc::CutRound cut(engine);
  cut.Add(half_variance, kVarianceBits, half_variance.bound);
  cut.Add(correction, kLogBits, correction.bound);
  cut.Run();
  log_ratio = WithBound(engine.Subtract(logs[0], logs[1]), kMostLog);
  const std::vector<mpc::PositiveValue> squared = {
      {WithBound(mpc::TimesPowerOfTwo(half_variance, 1), kMostHalfVariance), kLeastLogVariance}};
  Shared error;
  mpc::GridMarks marks;
  const std::vector<mpc::Task> of_error = {
      [&](Engine& e) { error = WithBound(mpc::Root(e, squared, kLogBits).front(), kMostLogError); },
      [&](Engine& e) { marks = mpc::MarkErrorGrids(e, half_variance, grid_bits); }};
  mpc::Together(engine, of_error);

  StrataOnGrid result;
  result.range = marks.range;
  Shared log_ratio_told, error_told;
  mpc::ProductRound masked(engine);
  masked.Add(marks.reached, there, marks.reached.bound, result.reached);
  masked.Add(log_ratio, there, kMostLog, log_ratio_told);
  masked.Add(error, there, kMostLogError, error_told);
  masked.Run();
  const std::vector<Shared> roots = {root, correction};
  const double most = std::max(most_root, correction.bound);
  const Shared totals = WithBound(engine.Concatenate(roots, true), most);
  const std::vector<Shared> rounded = mpc::RoundToGrids(
      engine, {{log_ratio_told, kMostLog, marks}, {error_told, kMostLogError, marks}}, &totals,
      most, grid_bits);
  result.log_ratios = rounded[0];
  result.errors = rounded[1];
  result.roots = rounded[2];
  return result;
}

stats::tables::MantelHaenszel OverStrata(const OpenedStrata& opened) {
  stats::tables::MantelHaenszel over;
  if (opened.error > 0)
    over.odds_ratio = stats::tables::FromLogarithm(opened.log_ratio, opened.error);
  if (opened.correction > 0) {
    const double away = std::max(0.0, std::fabs(opened.root) - opened.correction);
    over.test =
        stats::tables::Test{away * away, 1, {}, stats::tables::ChiSquareTail(away * away, 1)};
  }
  return over;
}

}  // namespace partita::methods::describe
