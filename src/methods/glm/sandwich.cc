#include "methods/glm/sandwich.h"

#include <vector>

#include "mpc/functions/arithmetic.h"
#include "stats/glm/family.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Shared;
using Kind = mpc::Product::Kind;

constexpr int kScaledBits = 48, kHalfBits = 38;
constexpr double kMostScaled = stats::glm::kMostPearson, kMostHalf = 0x1p30;

}  // namespace

Shared Diagonal(Engine& engine, const Shared& matrix) {
  const size_t p = matrix.shape.rows;
  std::vector<size_t> entries;
  for (size_t i = 0; i < p; ++i) entries.push_back(i * p + i);
  return mpc::WithBound(engine.SelectRows(mpc::Reshape(matrix, {p * p, 1}), entries), matrix.bound);
}

Sandwich SandwichOf(Engine& engine, const Shared& meat, const Shared& scale,
                    const Shared& inverse) {
  // |M_ij| d_i <= (M_jj N_ii)^(1/2), and M is at most kMostPearson.
  Shared of_rows, scaled, half;
  Sandwich made;
  mpc::ProductRound rows(engine);
  rows.AddCut(meat, scale, kMostScaled, kMeatBits, of_rows);
  rows.Run();
  mpc::ProductRound columns(engine);
  columns.AddCut(engine.Transpose(of_rows), scale, kMostScaled, kScaledBits, scaled);
  columns.Run();
  mpc::ProductRound left(engine);
  left.AddCut(Kind::kMatrix, inverse, scaled, kMostHalf, kHalfBits, half);
  left.Run();
  mpc::ProductRound right(engine);
  right.Add(Kind::kMatrix, half, inverse, kMostSandwich, made.product);
  right.Run();
  made.diagonal = Diagonal(engine, made.product);
  mpc::CutRound cut(engine);
  cut.Add(made.diagonal, kSandwichBits, kMostSandwich);
  cut.Run();
  return made;
}

}  // namespace partita::methods::glm
