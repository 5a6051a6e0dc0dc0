#include "methods/glm/firth.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/information_inverse.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

constexpr double kMostScale = 0x1p14;
constexpr int kFirthRowBits = 34, kInverseBits = 30, kFirthScoreBits = 30, kFirthWeightedBits = 44;

// p x p^2: row j has the moments of j with every pair of columns.
Shared AllMoments(Engine& engine, const Shared& third, size_t p) {
  std::vector<size_t> places(p * p * p);
  size_t next = 0;
  for (size_t j = 0; j < p; ++j) {
    for (size_t k = j; k < p; ++k) {
      for (size_t l = k; l < p; ++l, ++next) {
        std::array<size_t, 3> order = {j, k, l};
        do {
          places[(order[0] * p + order[1]) * p + order[2]] = next;
        } while (std::next_permutation(order.begin(), order.end()));
      }
    }
  }
  return WithBound(mpc::Reshape(engine.SelectRows(third, places), {p, p * p}), kMostThird);
}

}  // namespace

void AddFirth(Engine& engine, const Task& task, const Shared& third, mpc::SolvedStep& solved) {
  const size_t p = task.num_columns();
  const auto columns = static_cast<double>(p);
  const Shared &d = solved.scale, &x = solved.inverse;
  Shared of_rows, inverse;
  mpc::ProductRound scale_rows(engine);
  scale_rows.AddCut(x, d, mpc::kMostInflation * kMostScale, kFirthRowBits, of_rows);
  scale_rows.Run();
  mpc::ProductRound scale_columns(engine);
  scale_columns.AddCut(engine.Transpose(of_rows), d, of_rows.bound * kMostScale, kInverseBits,
                       inverse);
  scale_columns.Run();
  Shared score;
  mpc::ProductRound moments(engine);
  moments.AddCut(Kind::kMatrix, AllMoments(engine, third, p), mpc::Reshape(inverse, {p * p, 1}),
                 columns * columns * kMostThird * inverse.bound, kFirthScoreBits, score);
  moments.Run();
  // Half of it, over 2^weight_bits, and in the unit of J, over 2^(row_bits + weight_bits).
  const int unit_bits = task.units.row_bits + task.units.weight_bits;
  score = WithBound(mpc::TimesPowerOfTwo(score, -1 - task.units.weight_bits - unit_bits),
                    std::ldexp(columns, -unit_bits));
  Shared weighted, direction, step;
  mpc::ProductRound weigh(engine);
  weigh.AddCut(score, d, score.bound * kMostScale, kFirthWeightedBits, weighted);
  weigh.Run();
  mpc::ProductRound solve(engine);
  solve.AddCut(Kind::kMatrix, x, WithBound(weighted, mpc::kMostWeighted),
               columns * mpc::kMostInflation * mpc::kMostWeighted, mpc::kStepBits, direction);
  solve.Run();
  mpc::ProductRound scale_back(engine);
  scale_back.AddCut(direction, d, direction.bound * kMostScale, mpc::kStepBits, step);
  scale_back.Run();
  mpc::ProductRound keep(engine);
  keep.Add(step, solved.is_true, step.bound, step);
  keep.Run();
  solved.step = WithBound(engine.Add(solved.step, step), solved.step.bound + step.bound);
}

}  // namespace partita::methods::glm
