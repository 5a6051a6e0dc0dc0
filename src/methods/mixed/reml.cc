#include "methods/mixed/reml.h"

#include <cmath>
#include <vector>

#include "mpc/functions/arithmetic.h"
#include "mpc/functions/information_inverse.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/scoring_step.h"
#include "mpc/together.h"

namespace partita::methods::mixed {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

constexpr size_t kPsiNumbers = 4, kPsiPairs = 10;
constexpr double kMostScaledFirst = 0x1p5, kMostScaledSecond = 0x1p12;
constexpr int kRemlRowBits = 52, kScaledFirstBits = 46, kScaledSecondBits = 36,
              kRemlProductBits = 26, kRemlTraceBits = 40, kDeterminantBits = 40;
constexpr double kMostDeterminantLog = 64;

// Of a packed triangle the row and the column of each entry; of a matrix its place in the triangle.
struct TrianglePlaces {
  std::vector<size_t> row, column, in_triangle;
};
TrianglePlaces TrianglePlacesOf(size_t p) {
  TrianglePlaces places;
  places.in_triangle.resize(p * p);
  for (size_t i = 0; i < p; ++i) {
    for (size_t j = i; j < p; ++j) {
      places.in_triangle[i * p + j] = places.in_triangle[j * p + i] = places.row.size();
      places.row.push_back(i);
      places.column.push_back(j);
    }
  }
  return places;
}

Shared Beside(Engine& engine, const Shared& column, size_t times) {
  return engine.Concatenate(std::vector<Shared>(times, column), false);
}

Shared Column(Engine& engine, const Shared& matrix, size_t column) {
  return engine.Slice(matrix, 0, column, {matrix.shape.rows, 1});
}

}  // namespace

RemlTerms RemlTermsOf(Engine& engine, const RemlSums& sums, bool observed, int unit_bits,
                      int score_bits, int information_bits) {
  const size_t p = sums.fixed.shape.rows;
  const auto columns = static_cast<double>(p);
  const TrianglePlaces places = TrianglePlacesOf(p);
  RemlTerms terms;
  terms.diagonal = mpc::DiagonalOf(engine, sums.fixed);
  const Shared none = mpc::ConstantLike(engine, terms.diagonal, 0, terms.diagonal.fraction_bits);
  const mpc::ScaledInformation scaled =
      mpc::ScaleInformation(engine, sums.fixed, WithBound(none, 1));
  mpc::CutRound shorter(engine);
  terms.correlation = scaled.correlation;
  shorter.Add(terms.correlation, mpc::kScaledInformationBits, 2);
  shorter.Run();

  const Shared of_row = engine.SelectRows(scaled.scale, places.row),
               of_column = engine.SelectRows(scaled.scale, places.column);
  Shared first_rows, second_rows, first, second;
  mpc::UncheckedInverse unchecked;
  const auto scale = [&](Engine& e) {
    mpc::ProductRound rows(e);
    rows.AddCut(sums.first, Beside(e, of_row, kPsiNumbers), kMostScaledFirst, kRemlRowBits,
                first_rows);
    rows.AddCut(sums.second, Beside(e, of_row, kPsiPairs), kMostScaledSecond, kRemlRowBits,
                second_rows);
    rows.Run();
    mpc::ProductRound both(e);
    both.AddCut(first_rows, Beside(e, of_column, kPsiNumbers), kMostScaledFirst, kScaledFirstBits,
                first);
    both.AddCut(second_rows, Beside(e, of_column, kPsiPairs), kMostScaledSecond, kScaledSecondBits,
                second);
    both.Run();
  };
  const auto invert = [&](Engine& e) {
    unchecked = mpc::InvertInformation(e, terms.correlation, nullptr);
  };
  const std::vector<mpc::Task> before = {scale, invert};
  mpc::Together(engine, before);

  Shared is_true, products, of_second, of_products;
  const auto check = [&](Engine& e) {
    is_true = mpc::TrueColumns(e, terms.correlation, unchecked);
  };
  const auto traces = [&](Engine& e) {
    const Shared x = mpc::CorrectedInverse(e, unchecked);
    std::vector<Shared> matrices;
    for (size_t k = 0; k < kPsiNumbers; ++k) {
      matrices.push_back(
          mpc::Reshape(e.SelectRows(Column(e, first, k), places.in_triangle), {p, p}));
    }
    mpc::ProductRound multiply(e);
    multiply.AddCut(Kind::kMatrix, x, e.Concatenate(matrices, false),
                    columns * mpc::kMostInflation * kMostScaledFirst, kRemlProductBits, products);
    multiply.AddCut(
        Kind::kMatrix, mpc::Reshape(x, {1, p * p}), e.SelectRows(second, places.in_triangle),
        columns * columns * mpc::kMostInflation * kMostScaledSecond, kRemlTraceBits, of_second);
    multiply.Run();
    std::vector<Shared> straight, transposed;
    for (size_t k = 0; k < kPsiNumbers; ++k) {
      const Shared m = e.Slice(products, 0, k * p, {p, p});
      straight.push_back(mpc::Reshape(m, {1, p * p}));
      transposed.push_back(mpc::Reshape(e.Transpose(m), {p * p, 1}));
    }
    mpc::ProductRound square(e);
    square.AddCut(Kind::kMatrix, e.Concatenate(straight, true), e.Concatenate(transposed, false),
                  columns * columns * products.bound * products.bound, kRemlTraceBits, of_products);
    square.Run();
  };
  const std::vector<mpc::Task> tasks = {check, traces};
  mpc::Together(engine, tasks);
  terms.failures = mpc::CountZeros(engine, is_true);

  // Sums of diagonals, and the upper triangle of the products' traces.
  std::vector<Shared> of_first, pairs;
  for (size_t k = 0; k < kPsiNumbers; ++k) {
    const Shared m = engine.Slice(products, 0, k * p, {p, p});
    of_first.push_back(engine.SumRows(mpc::DiagonalOf(engine, m)));
    for (size_t l = k; l < kPsiNumbers; ++l)
      pairs.push_back(engine.Slice(of_products, k, l, {1, 1}));
  }
  const int shift = -1 - unit_bits;
  terms.score =
      WithBound(mpc::TimesPowerOfTwo(engine.Scale(engine.Concatenate(of_first, true), -1), shift),
                std::ldexp(columns * kMostScaledFirst, shift));
  const Shared of_pairs = engine.Concatenate(pairs, true), added = engine.Transpose(of_second);
  const double most = columns * columns * kMostScaledSecond;
  const Shared both = observed ? engine.Subtract(added, of_pairs) : engine.Add(added, of_pairs);
  terms.information = mpc::FromUpperTriangle(
      engine, WithBound(mpc::TimesPowerOfTwo(both, shift), std::ldexp(most, shift)), kPsiNumbers);
  mpc::CutRound cut(engine);
  cut.Add(terms.score, score_bits, terms.score.bound);
  cut.Add(terms.information, information_bits, std::ldexp(most, shift));
  cut.Run();
  return terms;
}

Shared LogDeterminant(Engine& engine, const RemlTerms& terms) {
  const size_t p = terms.correlation.shape.rows;
  // As InvertInformation: eigenvalues of K.
  constexpr double kLargest = 1.001, kSmallest = 0x1p-22;
  std::vector<mpc::PositiveMatrix> blocks;
  for (size_t size = 1; size <= p; ++size) {
    const auto of = static_cast<double>(size);
    blocks.push_back(
        {engine.Slice(terms.correlation, 0, 0, {size, size}), kLargest * of, kSmallest * of});
  }
  const std::vector<Shared> inverses =
      mpc::InvertPositive(engine, blocks, mpc::kInformationInverseBits);
  std::vector<Shared> last;
  for (size_t b = 0; b < p; ++b)
    last.push_back(WithBound(engine.Slice(inverses[b], b, b, {1, 1}), 2 * mpc::kMostInflation));
  const std::vector<mpc::PositiveValue> values = {
      {WithBound(terms.diagonal, 1), mpc::kLeastInformation},
      {WithBound(engine.Concatenate(last, true), 2 * mpc::kMostInflation), 0.25}};
  const std::vector<Shared> logs = mpc::Log(engine, values, kDeterminantBits);
  const double most = kMostDeterminantLog * static_cast<double>(p);
  return WithBound(engine.Subtract(WithBound(engine.SumRows(logs[0]), most),
                                   WithBound(engine.SumRows(logs[1]), most)),
                   2 * most);
}

}  // namespace partita::methods::mixed
