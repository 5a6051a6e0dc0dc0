#include "mpc/functions/cluster_sandwich.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/information_inverse.h"
#include "mpc/functions/scoring_step.h"

namespace partita::mpc {
namespace {

using Kind = Product::Kind;

// What products may take, a few bits below the smallest ring's 127 (engine shamir).
constexpr int kClusterProductBits = 122;
constexpr int kMostGroupedBits = 60, kScaledScoreBits = 40, kInfluenceBits = 41;
constexpr double kMostScale = 0x1p14, kMostInfluence = 0x1p10;

int BitsOfBound(double bound) { return static_cast<int>(std::ceil(std::log2(bound))); }

// value where |value| <= limit, else 0, by entry.
Shared KeepEntries(Engine& engine, const Shared& value, double limit, Shared& failures) {
  const Shape shape = value.shape;
  const Shared column = Reshape(value, {shape.rows * shape.cols, 1});
  return Reshape(KeepWithin(engine, column, limit, failures), shape);
}

}  // namespace

Sandwich SandwichOfClusters(Engine& engine, const Shared& scores, int unit_bits,
                            const Shared& scale, const Shared& inverse, Shared& failures) {
  const auto p = static_cast<double>(scores.shape.cols);
  const int half = (unit_bits + 1) / 2;
  Shared grouped = WithBound(TimesPowerOfTwo(scores, -half), std::ldexp(scores.bound, -half));
  const int grouped_bits =
      std::min(kMostGroupedBits,
               kClusterProductBits - BitsOfBound(grouped.bound * kMostScale) - scale.fraction_bits);
  if (grouped_bits < kLeastGroupedBits || static_cast<double>(scores.shape.rows) > kMostClusters) {
    throw Error(ErrorCode::kBadInput, "sums of scores over so many rows and clusters do not fit",
                "take fewer rows, or a cluster of fewer values");
  }
  CutRound cut(engine);
  cut.Add(grouped, grouped_bits, grouped.bound);
  cut.Run();
  Shared scaled, influences;
  Sandwich made;
  ProductRound columns(engine);
  // d stands for each row of the transpose.
  columns.AddCut(engine.Transpose(grouped), scale, grouped.bound * kMostScale, kScaledScoreBits,
                 scaled);
  columns.Run();
  const double most_scaled = p * 2 * kMostInfluence;
  scaled = KeepEntries(engine, engine.Transpose(scaled), most_scaled, failures);
  ProductRound solve(engine);
  solve.AddCut(Kind::kMatrix, scaled, inverse, p * most_scaled * kMostInflation, kInfluenceBits,
               influences);
  solve.Run();
  influences = KeepEntries(engine, influences, kMostInfluence, failures);
  ProductRound square(engine);
  square.Add(Kind::kGram, influences, influences, kMostSandwich, made.product);
  square.Run();
  made.product = WithBound(TimesPowerOfTwo(made.product, unit_bits % 2), kMostSandwich);
  made.diagonal = DiagonalOf(engine, made.product);
  CutRound last(engine);
  last.Add(made.diagonal, kSandwichBits, kMostSandwich);
  last.Run();
  return made;
}

}  // namespace partita::mpc
