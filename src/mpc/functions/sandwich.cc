#include "mpc/functions/sandwich.h"

#include <vector>

#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

using Kind = Product::Kind;

constexpr int kScaledBits = 48, kHalfBits = 42;
constexpr double kMostScaledMeat = 0x1p26, kMostHalf = 0x1p33;

}  // namespace

Sandwich SandwichOf(Engine& engine, const Shared& meat, const Shared& scale,
                    const Shared& inverse) {
  // |M_ij| d_i <= (M_jj N_ii)^(1/2), and M is at most kMostMeat J.
  Shared of_rows, scaled, half;
  Sandwich made;
  ProductRound rows(engine);
  rows.AddCut(meat, scale, kMostScaledMeat, kMeatBits, of_rows);
  rows.Run();
  ProductRound columns(engine);
  columns.AddCut(engine.Transpose(of_rows), scale, kMostScaledMeat, kScaledBits, scaled);
  columns.Run();
  ProductRound left(engine);
  left.AddCut(Kind::kMatrix, inverse, scaled, kMostHalf, kHalfBits, half);
  left.Run();
  ProductRound right(engine);
  right.Add(Kind::kMatrix, half, inverse, kMostSandwich, made.product);
  right.Run();
  made.diagonal = DiagonalOf(engine, made.product);
  CutRound cut(engine);
  cut.Add(made.diagonal, kSandwichBits, kMostSandwich);
  cut.Run();
  return made;
}

}  // namespace partita::mpc
