#include "mpc/functions/norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/rules.h"

namespace partita::mpc {
namespace {

constexpr int kSquareBits = 48, kNormBits = 20;

// The sums of the squares of every row, exact.
std::vector<Shared> SquaredNorms(Engine& engine, std::span<const Shared> rows) {
  std::vector<Shared> squares(rows.size());
  ProductRound products(engine);
  for (size_t i = 0; i < rows.size(); ++i) {
    products.Add(rows[i], rows[i], rows[i].bound * rows[i].bound, squares[i]);
  }
  products.Run();
  for (Shared& square : squares) {
    square = SumOfRows(engine, square, square.bound * static_cast<double>(square.shape.cols));
  }
  return squares;
}

// The norm as 2^exponent times something in [1/2, 1), C' on that scale, and how many digits of
// an inverse root keep the error of a whole row below 2^-41.
struct PublicNorm {
  int exponent = 0;
  double clip_to = 0;
  int root_bits = 0;
};

PublicNorm PublicNormOf(const RowsWithNorm& value) {
  const auto& [rows, norm] = value;
  const auto cols = static_cast<double>(rows.shape.cols);
  PublicNorm result;
  const double scaled = std::frexp(norm, &result.exponent);
  result.clip_to =
      std::ldexp(std::floor(std::ldexp(scaled * (1 - 0x1p-16), kNormBits)), -kNormBits);
  const double longest = std::ldexp(std::sqrt(cols) * rows.bound, -result.exponent);
  result.root_bits = 41 + static_cast<int>(std::ceil(std::log2(std::max(longest, 1.0))));
  const bool fits = std::isfinite(norm) && norm > 0 && longest < 0x1p37 &&
                    norm > std::sqrt(cols) * std::ldexp(1.0, 17 - rows.fraction_bits);
  if (fits) return result;
  throw Error(ErrorCode::kBadInput,
              fmt::format("rows of {} values up to {:.6g} with {} fraction bits cannot be clipped "
                          "to the norm {:.6g}",
                          rows.shape.cols, rows.bound, rows.fraction_bits, norm),
              "use another number of fraction bits, a tighter bound or a norm above zero");
}

// max(square, clip_to^2).
std::vector<PositiveValue> AtLeast(Engine& engine, const std::vector<Shared>& squares,
                                   const std::vector<PublicNorm>& norms) {
  std::vector<Comparison> comparisons;
  for (size_t i = 0; i < squares.size(); ++i) {
    const double least = norms[i].clip_to * norms[i].clip_to;  // exact: 48 digits
    comparisons.push_back({squares[i], ConstantLike(engine, squares[i], least, kSquareBits)});
  }
  const std::vector<SharedBits> less = LessThan(engine, comparisons);
  std::vector<Selection> selections;
  for (size_t i = 0; i < less.size(); ++i) {
    selections.push_back({less[i], comparisons[i].right, comparisons[i].left});
  }
  const std::vector<Shared> chosen = Select(engine, selections);
  std::vector<PositiveValue> results;
  for (size_t i = 0; i < chosen.size(); ++i) {
    results.push_back({chosen[i], norms[i].clip_to * norms[i].clip_to});
  }
  return results;
}

}  // namespace

std::vector<Shared> RowNorm(Engine& engine, std::span<const RowsWithNorm> values,
                            int fraction_bits) {
  CheckCarriesFractions(engine, "norms");
  std::vector<Shared> rows;
  for (const RowsWithNorm& value : values) rows.push_back(value.rows);
  const std::vector<Shared> squares = SquaredNorms(engine, rows);
  std::vector<PositiveValue> positive;
  for (size_t i = 0; i < squares.size(); ++i) {
    positive.push_back({squares[i], values[i].norm * values[i].norm});
  }
  return Root(engine, positive, fraction_bits);
}

std::vector<Shared> ClipRows(Engine& engine, std::span<const RowsWithNorm> values) {
  CheckCarriesFractions(engine, "clipped norms");
  std::vector<PublicNorm> norms;
  std::vector<Shared> rows;
  int root_bits = 0;
  for (const RowsWithNorm& value : values) {
    norms.push_back(PublicNormOf(value));
    rows.push_back(TimesPowerOfTwo(value.rows, -norms.back().exponent));
    root_bits = std::max(root_bits, norms.back().root_bits);
  }
  for (const Shared& value : rows) {
    // Of the clipped rows before they are cut: values up to 1.
    CheckFits({value.shape, value.fraction_bits + kNormBits + root_bits, 1, nullptr},
              engine.ring_bits());
  }
  const std::vector<Shared> squares = engine.Rescale(SquaredNorms(engine, rows), kSquareBits);
  const std::vector<Shared> roots = InverseRoot(engine, AtLeast(engine, squares, norms), root_bits);
  std::vector<Shared> results(values.size());
  ProductRound products(engine);
  for (size_t i = 0; i < results.size(); ++i) {
    const Shared factor = TimesConstant(engine, roots[i], norms[i].clip_to, kNormBits);
    products.AddCut(rows[i], factor, 1, rows[i].fraction_bits, results[i]);
  }
  products.Run();
  for (size_t i = 0; i < results.size(); ++i) {
    const double bound =
        std::min(values[i].norm, values[i].rows.bound + std::ldexp(2.0, -rows[i].fraction_bits));
    results[i] = WithBound(TimesPowerOfTwo(results[i], norms[i].exponent), bound);
  }
  return results;
}

}  // namespace partita::mpc
