#include "methods/survival/cox/proportional.h"

#include <cmath>
#include <vector>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/information_inverse.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/together.h"

namespace partita::methods::survival {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

constexpr int kScaledBits = 44, kSolvedBits = 36, kPhSquareBits = 60, kPhScoreBits = 50;
constexpr int kPhInverseBits = 36, kQuotientBits = 40;
// Of a fit that holds: the information has changed by less than 2^5 since its scale was found, I_g is at
// most the root of I times I_gg, and X at most kMostInflation.
constexpr double kMostScaled = 0x1p5, kMostSolved = 0x1p12, kMostSquare = 2;
constexpr double kMostScore = 4, kMostStepOfAll = 1;
// S is not below 0 but for rounding.
constexpr double kMargin = 0x1p-38;

Shared EntriesTimes(Engine& engine, const Shared& matrix, const Shared& bit) {
  const std::vector<size_t> rows(matrix.shape.rows, 0);
  return WithBound(engine.SelectRows(bit, rows), 1);
}

}  // namespace

double MostOfProportional(size_t columns, int unit_bits) {
  const double one = kMostScore * kMostScore / mpc::kLeastInformation;
  const double all =
      static_cast<double>(columns) * mpc::kMostWeighted * mpc::kMostWeighted * mpc::kMostInflation;
  return std::ldexp(std::max(one, all), unit_bits);
}

ProportionalTests TestProportional(Engine& engine, const TimedSums& sums,
                                   const mpc::SolvedStep& solved, const Shared& holds) {
  const size_t p = sums.score.shape.rows;
  const Shared rows = EntriesTimes(engine, sums.first, holds);
  Shared first, second, inverse, step, of_events;
  mpc::ProductRound keep(engine);
  keep.Add(sums.first, rows, 1, first);
  keep.Add(sums.second, rows, 1, second);
  keep.Add(solved.covariance, rows, mpc::kMostInflation, inverse);
  keep.Add(solved.step, rows, kMostStepOfAll, step);
  keep.Add(WithBound(mpc::TimesPowerOfTwo(sums.score, -sums.unit_bits), 2), rows, 2, of_events);
  keep.Run();

  Shared scaled, moved;
  mpc::ProductRound scale(engine);
  scale.AddCut(first, solved.scale, kMostScaled, kScaledBits, scaled);
  scale.AddCut(Kind::kMatrix, first, step, 2, kPhScoreBits, moved);
  scale.AddCut(of_events, 2, kPhScoreBits, of_events);
  scale.Run();
  const Shared score = WithBound(engine.Subtract(of_events, moved), kMostScore);
  Shared of_inverse;
  mpc::ProductRound solve(engine);
  solve.AddCut(Kind::kMatrix, inverse, scaled, kMostSolved, kSolvedBits, of_inverse);
  solve.Run();
  Shared square;
  mpc::ProductRound back(engine);
  back.AddCut(Kind::kGram, scaled, of_inverse, kMostSquare, kPhSquareBits, square);
  back.AddCut(second, 1, kPhSquareBits, second);
  back.Run();
  mpc::ScoringSums of_times;
  of_times.information = WithBound(engine.Subtract(second, square), 1);
  of_times.score = score;
  of_times.unit_bits = sums.unit_bits;

  mpc::SolvedStep all;
  Shared inverses;
  const std::vector<mpc::Task> tasks = {
      [&](Engine& e) { all = mpc::SolveStep(e, of_times); },
      [&](Engine& e) {
        const Shared diagonal = mpc::DiagonalOf(e, of_times.information);
        const std::vector<mpc::PositiveValue> positive = {
            {mpc::PlusConstant(e, diagonal, kMargin, 2), mpc::kLeastInformation}};
        inverses = WithBound(mpc::Reciprocal(e, positive, kPhInverseBits).front(),
                             1 / mpc::kLeastInformation);
      }};
  mpc::Together(engine, tasks);
  const std::vector<Shared> failures = {
      mpc::PlusConstant(engine, all.failures, -1, all.failures.bound + 1)};
  ProportionalTests tests;
  Shared quotients, of_all;
  const Shared whole = WithBound(mpc::TimesPowerOfTwo(score, sums.unit_bits),
                                 std::ldexp(kMostScore, sums.unit_bits));
  const double most = MostOfProportional(p, sums.unit_bits);
  mpc::ProductRound divide(engine);
  divide.AddCut(score, inverses, kMostScore / mpc::kLeastInformation, kQuotientBits, quotients);
  divide.AddCut(Kind::kGram, whole, all.step, most, kTestBits, of_all);
  divide.Run();
  Shared of_each;
  mpc::ProductRound multiply(engine);
  multiply.AddCut(whole, quotients, most, kTestBits, of_each);
  multiply.Run();
  const Shared valid = engine.ToRing(mpc::IsNegative(engine, failures)).front();
  const std::vector<Shared> values = {of_each, of_all}, both = {valid, holds};
  const Shared stacked = WithBound(engine.Concatenate(values, true), most);
  mpc::ProductRound mask(engine);
  mask.Add(stacked, EntriesTimes(engine, stacked, valid), most, tests.tests);
  mask.Add(both[0], both[1], 1, tests.valid);
  mask.Run();
  return tests;
}

}  // namespace partita::methods::survival
