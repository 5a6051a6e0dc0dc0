#include "methods/survival/cox/robust.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/information_inverse.h"
#include "mpc/functions/sandwich.h"
#include "mpc/functions/scoring_path.h"
#include "mpc/together.h"

namespace partita::methods::survival {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

// Of squares of L and A as many as their sums leave room for.
constexpr int kRoomBits = 80, kMostSquareBits = 44;
// Of the diagonal of the meat beside the information's, and of the trace of I^-1 M.
constexpr int kMostRatioLog2 = 10, kMostTraceLog2 = 20;
// N = diag(d) M diag(d): K_ii is at most 2^6.
constexpr int kMostNLog2 = kMostRatioLog2 + 6;
constexpr int kRobustRowBits = 56, kNBits = 48, kTraceBits = 24;
constexpr double kMostScale = 0x1p14;
constexpr int kPointBits = 30, kGradientBits = 56, kScaledGradientBits = 32;
// (I b)_i d_i is at most the root of K_ii times the spread of predictors.
constexpr double kMostGradient = 0x1p7;

// What leaves in each cell, of all holders.
struct SharedLeaving {
  Shared events, weighted;
  std::vector<Shared> squared;  // of all; or of events, and of others
  Shared event_squares;         // t x 1
};

SharedLeaving ShareLeaving(Engine& engine, const RobustTask& task, const LeavingSums& own) {
  const size_t p = task.columns, cells = task.cells.count(), width = NumRiskSums(p);
  const double most_weight = std::exp(kMostPredictor);
  const int square_bits = mpc::kMeatBits - task.unit_bits;
  std::vector<Int128> event_squares;
  for (Eigen::Index a = 0; a < own.event_squares.rows(); ++a) {
    for (Eigen::Index b = a; b < own.event_squares.cols(); ++b)
      event_squares.push_back(mpc::EncodeFixed(own.event_squares(a, b), square_bits));
  }
  std::vector<mpc::PrivateMatrix> inputs;
  const auto add = [&](const run::RowHolder& holder, mpc::Shape shape, int bits, double most,
                       const std::vector<Int128>& values) {
    inputs.push_back(run::SumsOfHolder(engine, holder, shape, bits, most, values));
  };
  for (const run::RowHolder& holder : task.holders) {
    add(holder, {cells, p}, kRiskBits, 1, own.events);
    add(holder, {cells, width}, kRiskBits, most_weight + 1, own.weighted);
    add(holder, {p * (p + 1) / 2, 1}, square_bits, 1, event_squares);
    add(holder, {cells, width}, kRiskBits, most_weight * most_weight + 1, own.squared);
    if (task.most_ties > 1)
      add(holder, {cells, width}, kRiskBits, most_weight * most_weight + 1, own.others);
  }
  const std::vector<Shared> shared = engine.Input(inputs);
  const size_t each = inputs.size() / task.holders.size();
  const auto total = [&](size_t place) {
    Shared sum = shared[place];
    for (size_t h = 1; h < task.holders.size(); ++h) {
      const Shared& next = shared[each * h + place];
      sum = WithBound(engine.Add(sum, next), sum.bound + next.bound);
    }
    return sum;
  };
  SharedLeaving leaving{total(0), total(1), {total(3)}, total(2)};
  if (task.most_ties > 1) leaving.squared.push_back(total(4));
  return leaving;
}

Shared NoneFail(Engine& engine, const Shared& failures) {
  const std::vector<Shared> less = {mpc::PlusConstant(engine, failures, -1, failures.bound + 1)};
  return WithBound(engine.ToRing(mpc::IsNegative(engine, less)).front(), 1);
}

Shared TimesBit(Engine& engine, const Shared& value, const Shared& bit, double bound) {
  Shared kept;
  mpc::ProductRound round(engine);
  const Shared bits =
      WithBound(engine.SelectRows(bit, std::vector<size_t>(value.shape.rows, 0)), 1);
  round.Add(value, bits, bound, kept);
  round.Run();
  return kept;
}

}  // namespace

Shared RobustMeat(Engine& engine, const RobustTask& task, const CoxTerms& terms,
                  const LeavingSums& own) {
  const size_t p = task.columns, cells = task.cells.count(), triangle = p * (p + 1) / 2;
  const double rows = std::ldexp(1, task.unit_bits),
               squares = kMostOfMean * kMostOfMean * rows * rows;
  const double most = MostHazard(rows, false), most_mean = kMostOfMean * most;
  const int square_bits = std::min(kMostSquareBits, kRoomBits - 2 * task.unit_bits);
  const SharedLeaving leaving = ShareLeaving(engine, task, own);
  const HazardSums secrets = SumHazards(engine, task.cells, task.most_ties, terms, rows, most);
  const auto part = [&](const Shared& sums, size_t first, size_t count) {
    return WithBound(engine.Slice(sums, 0, first, {cells, count}), sums.bound);
  };
  const Expected& own_time = secrets.expected.front();
  const size_t kinds = leaving.squared.size();
  Shared mean_hazard, weighted_mean;
  std::vector<Shared> hazard_squares(kinds), products(kinds), means(kinds);
  mpc::ProductRound first(engine);
  first.AddCut(secrets.mean, own_time.hazard, most_mean, kHazardBits, mean_hazard);
  first.AddCut(own_time.weighted, part(leaving.weighted, 0, 1), kMostOfMean * rows, kHazardBits,
               weighted_mean);
  for (size_t k = 0; k < kinds; ++k) {
    const auto& [hazard, weighted] = secrets.expected[k];
    first.AddCut(hazard, hazard, most * most, square_bits, hazard_squares[k]);
    first.AddCut(weighted, hazard, most * most_mean, square_bits, products[k]);
    // w is at most e^kMostPredictor.
    first.AddCut(weighted, part(leaving.squared[k], 0, 1),
                 kMostOfMean * rows * std::exp(kMostPredictor), square_bits, means[k]);
  }
  first.Run();
  const Shared moved = WithBound(engine.Add(own_time.weighted, mean_hazard), 2 * most_mean);
  const int meat_bits = mpc::kMeatBits - task.unit_bits;
  Shared of_events, of_means, of_moved, of_weights, of_counts;
  std::vector<Shared> of_squares(kinds), of_products(kinds), of_both(kinds);
  mpc::ProductRound sum(engine);
  sum.AddCut(Kind::kGram, part(leaving.weighted, 1 + p, triangle), own_time.hazard, 2 * rows,
             meat_bits, of_events);
  sum.AddCut(Kind::kGram, leaving.events, secrets.mean, kMostOfMean * rows, meat_bits, of_means);
  sum.AddCut(Kind::kGram, part(leaving.weighted, 1, p), moved, 4 * kMostOfMean * rows, meat_bits,
             of_moved);
  sum.AddCut(Kind::kGram, secrets.mean, weighted_mean, kMostOfMean * kMostOfMean * rows, meat_bits,
             of_weights);
  sum.AddCut(Kind::kGram, secrets.counted, secrets.mean, kMostOfMean * kMostOfMean * rows,
             meat_bits, of_counts);
  for (size_t k = 0; k < kinds; ++k) {
    const Shared& squared = leaving.squared[k];
    sum.AddCut(Kind::kGram, part(squared, 1 + p, triangle), hazard_squares[k], squares, meat_bits,
               of_squares[k]);
    sum.AddCut(Kind::kGram, part(squared, 1, p), products[k], squares, meat_bits, of_products[k]);
    sum.AddCut(Kind::kGram, means[k], secrets.expected[k].weighted, squares, meat_bits, of_both[k]);
  }
  sum.Run();
  // d xx' - 2 d w L xx' + (w L)^2 xx'.
  Shared packed = engine.Subtract(leaving.event_squares, engine.Scale(of_events, 2));
  // x (- d M + d w (A + L M) - w^2 L A)' - d w M A', and its transpose.
  Shared crossed = engine.Subtract(engine.Subtract(of_moved, of_means), of_weights);
  Shared both = of_counts;
  for (size_t k = 0; k < kinds; ++k) {
    packed = engine.Add(packed, of_squares[k]);
    crossed = engine.Subtract(crossed, of_products[k]);
    both = engine.Add(both, of_both[k]);
  }
  const Shared twice = engine.Add(crossed, engine.Transpose(crossed));
  const Shared meat =
      engine.Add(mpc::FromUpperTriangle(engine, packed, p), engine.Add(twice, both));
  return WithBound(meat, kMostOfSum * rows * rows);
}

double MostOfRobustWald(const RobustTask& task) {
  const double entries = std::pow(static_cast<double>(task.columns) * mpc::kMostWeighted, 2);
  return std::ldexp(entries * mpc::kMostInflation, task.unit_bits);
}

namespace {

// Whether the diagonal of the meat is at most 2^kMostRatioLog2 that of the information.
Shared SmallDiagonal(Engine& engine, const RobustTask& task, const Shared& meat,
                     const mpc::ScoringSums& sums) {
  const double most = std::ldexp(1, task.unit_bits + kMostRatioLog2);
  const Shared of_information =
      mpc::TimesPowerOfTwo(mpc::DiagonalOf(engine, sums.information), task.unit_bits);
  const Shared limits = WithBound(engine.Scale(of_information, Int128{1} << kMostRatioLog2), most);
  const Shared diagonal =
      mpc::Lift(engine, mpc::DiagonalOf(engine, meat), of_information.fraction_bits);
  const std::vector<Shared> room = {
      WithBound(engine.Subtract(limits, diagonal), most + meat.bound)};
  const Shared beyond = engine.ToRing(mpc::IsNegative(engine, room)).front();
  return NoneFail(engine, WithBound(engine.SumRows(beyond), static_cast<double>(task.columns)));
}

// Whether tr(X N) is at most 2^kMostTraceLog2.
Shared SmallTrace(Engine& engine, const Shared& inverse, const Shared& scaled) {
  const size_t entries = scaled.shape.rows * scaled.shape.cols;
  const double most = static_cast<double>(entries) * inverse.bound * scaled.bound;
  Shared trace;
  mpc::ProductRound sum(engine);
  sum.Add(Kind::kGram, mpc::Reshape(inverse, {entries, 1}), mpc::Reshape(scaled, {entries, 1}),
          most, trace);
  sum.Run();
  const Shared limit =
      mpc::ConstantLike(engine, trace, std::ldexp(1, kMostTraceLog2), trace.fraction_bits);
  const std::vector<Shared> room = {WithBound(engine.Subtract(limit, trace), 2 * most)};
  return NoneFail(engine, WithBound(engine.ToRing(mpc::IsNegative(engine, room)).front(), 1));
}

Shared BothOf(Engine& engine, const Shared& one, const Shared& other) {
  Shared both;
  mpc::ProductRound product(engine);
  product.Add(one, other, 1, both);
  product.Run();
  return both;
}

// y' N^-1 y of y = d I b.
Shared RobustWald(Engine& engine, const RobustTask& task, const Shared& scaled,
                  const Shared& gradient) {
  mpc::ScoringSums sums;
  sums.information = WithBound(mpc::TimesPowerOfTwo(scaled, -kMostNLog2), 1);
  const int half = kMostNLog2 / 2;
  sums.score = WithBound(mpc::TimesPowerOfTwo(gradient, -half), std::ldexp(gradient.bound, -half));
  sums.unit_bits = task.unit_bits + kMostNLog2;
  const mpc::SolvedStep solved = mpc::SolveStep(engine, sums);
  const Shared valid = NoneFail(engine, solved.failures);
  const Shared whole = WithBound(mpc::TimesPowerOfTwo(sums.score, task.unit_bits),
                                 std::ldexp(sums.score.bound, task.unit_bits));
  Shared statistic;
  mpc::ProductRound product(engine);
  product.AddCut(Kind::kGram, whole, solved.step, MostOfRobustWald(task), kRobustWaldBits,
                 statistic);
  product.Run();
  const Shared known = TimesBit(engine, statistic, valid, MostOfRobustWald(task));
  const Shared lifted =
      mpc::Lift(engine, mpc::PlusConstant(engine, valid, kNoTest, 1), kRobustWaldBits);
  return WithBound(engine.Add(known, lifted), MostOfRobustWald(task) + 1);
}

}  // namespace

RobustErrors SolveRobust(Engine& engine, const RobustTask& task, const Shared& meat,
                         const mpc::ScoringSums& sums, const Eigen::VectorXd& at,
                         const mpc::SolvedStep& solved, const Shared& holds) {
  const double most_meat = std::ldexp(1, kMostRatioLog2), most_n = std::ldexp(1, kMostNLog2);
  const Shared small = BothOf(engine, SmallDiagonal(engine, task, meat, sums), holds);
  const Shared kept = WithBound(
      mpc::TimesPowerOfTwo(TimesBit(engine, meat, small, std::ldexp(most_meat, task.unit_bits)),
                           -task.unit_bits),
      most_meat);
  const Shared inverse = TimesBit(engine, solved.covariance, small, mpc::kMostInflation);
  mpc::IntMatrix point{{1, task.columns}, {}};
  for (const double value : at) point.values.push_back(mpc::EncodeFixed(value, kPointBits));
  const Shared gradient =
      WithBound(engine.Transpose(engine.MultiplyPublic({std::move(point), kPointBits},
                                                       WithBound(sums.information, 1))),
                static_cast<double>(task.columns) * mpc::kMostCoordinate);
  Shared of_rows, scaled, short_scaled, short_gradient, scaled_gradient;
  mpc::ProductRound by_rows(engine);
  by_rows.AddCut(kept, solved.scale, most_n, kRobustRowBits, of_rows);
  by_rows.AddCut(gradient, gradient.bound, kGradientBits, short_gradient);
  by_rows.Run();
  mpc::ProductRound by_columns(engine);
  by_columns.AddTwoCuts(engine.Transpose(of_rows), solved.scale, most_n, kNBits, scaled, kTraceBits,
                        short_scaled);
  by_columns.AddCut(short_gradient, solved.scale, gradient.bound * kMostScale, kScaledGradientBits,
                    scaled_gradient);
  by_columns.Run();
  RobustErrors made;
  made.holds = BothOf(engine, SmallTrace(engine, inverse, short_scaled), small);
  mpc::ScoringSums sandwich = sums;
  sandwich.meat = TimesBit(engine, kept, made.holds, most_meat);
  const Shared n = TimesBit(engine, scaled, made.holds, most_n);
  const Shared y = TimesBit(engine, scaled_gradient, made.holds, kMostGradient);
  mpc::SolvedStep again;
  const std::vector<mpc::Task> tasks = {
      [&](Engine& e) { again = mpc::SolveStep(e, sandwich, &solved); },
      [&](Engine& e) { made.wald = RobustWald(e, task, n, y); }};
  mpc::Together(engine, tasks);
  made.variances = again.variances;
  made.covariances = again.covariances;
  made.holds = BothOf(engine, made.holds, NoneFail(engine, again.failures));
  return made;
}

}  // namespace partita::methods::survival
