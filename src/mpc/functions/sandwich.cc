#include "mpc/functions/sandwich.h"

#include <vector>

#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

using Kind = Product::Kind;

constexpr int kScaledBits = 48, kHalfBits = 38;
constexpr double kMostHalf = 0x1p30;

}  // namespace

Shared SandwichDiagonal(Engine& engine, const Shared& meat, const Shared& scale,
                        const Shared& inverse) {
  // |M_ij| d_i <= (M_jj N_ii)^(1/2), and M is at most kMostMeat J.
  Shared of_rows, scaled, half, product;
  ProductRound rows(engine);
  rows.AddCut(meat, scale, kMostMeat, kMeatBits, of_rows);
  rows.Run();
  ProductRound columns(engine);
  columns.AddCut(engine.Transpose(of_rows), scale, kMostMeat, kScaledBits, scaled);
  columns.Run();
  ProductRound left(engine);
  left.AddCut(Kind::kMatrix, inverse, scaled, kMostHalf, kHalfBits, half);
  left.Run();
  ProductRound right(engine);
  right.Add(Kind::kMatrix, half, inverse, kMostSandwich, product);
  right.Run();
  Shared diagonal = DiagonalOf(engine, product);
  CutRound cut(engine);
  cut.Add(diagonal, kSandwichBits, kMostSandwich);
  cut.Run();
  return diagonal;
}

}  // namespace partita::mpc
