#include "mpc/functions/softmax.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/error.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/extremes.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/reciprocal.h"

namespace partita::mpc {
namespace {

constexpr double kBoundWithoutMax = 10;
constexpr size_t kMaxCols = size_t{1} << 16;
constexpr double kNarrowRange = 200;
// Of exponents of 2. The one that is subtracted is found among exponents cut to halves, so that it is
// the largest one to +-1/2: comparisons of nine bits instead of fifty, and nothing else depends on
// which it is.
constexpr int kHalvesBits = 1;
constexpr double kHalf = 0.5;
constexpr int kLn2Bits = 70;

struct Row {
  std::optional<Shared>
      largest;          // rows x 1, exponent of 2, about the largest, if it was subtracted
  double exponent = 0;  // every exponent is at most this
  Shared exponentials;
  PositiveValue sum;
};

int CeilOfLog2(double x) { return static_cast<int>(std::ceil(std::log2(x))); }

bool SubtractsLargest(const Shared& value) { return value.bound > kBoundWithoutMax; }

// Bits of the exponentials: all terms of a sum err by one unit, together by 2^-44 of the smallest
// sum, which is 2^-1/2 after about the largest entry was subtracted and else cols e^-bound.
int BitsOfExponentials(std::span<const Shared> values) {
  int bits = 0;
  for (const Shared& value : values) {
    if (value.shape.cols == 0 || value.shape.cols > kMaxCols) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("a sum of exponentials over {} columns", value.shape.cols),
                  "use between 1 and 65536 columns");
    }
    const double ratio = SubtractsLargest(value)
                             ? static_cast<double>(value.shape.cols) * std::exp2(kHalf)
                             : std::exp(value.bound);
    bits = std::max(bits, 44 + CeilOfLog2(ratio));
  }
  return bits;
}

// The values as exponents of 2, less about the largest of every row where the bound is wide.
std::vector<BinaryExponent> ExponentsOf(Engine& engine, std::span<const Shared> values,
                                        std::vector<Row>& rows) {
  std::vector<BinaryExponent> exponents(values.size());
  std::vector<Shared> halves;
  for (const Shared& value : values) {
    if (SubtractsLargest(value)) halves.push_back(TimesLog2E(engine, value));
  }
  CutRound cuts(engine);
  for (size_t i = 0; i < values.size(); ++i)
    AddCuts(TimesLog2E(engine, values[i]), cuts, exponents[i]);
  for (Shared& half : halves) cuts.Add(half, kHalvesBits, half.bound + kHalf);
  cuts.Run();
  const std::vector<Shared> largest = RowMax(engine, halves);
  auto next = largest.begin();
  for (size_t i = 0; i < values.size(); ++i) {
    if (!SubtractsLargest(values[i])) {
      exponents[i].largest = values[i].bound * std::numbers::log2e;
      rows[i].exponent = values[i].bound;
      continue;
    }
    rows[i].largest = *next++;
    const size_t cols = values[i].shape.cols;
    const PublicMatrix ones = {{{1, cols}, std::vector<Int128>(cols, 1)}, 0};
    const Shared everywhere = engine.MultiplyPublic(*rows[i].largest, ones);
    for (Shared* cut : {&exponents[i].fine, &exponents[i].coarse})
      *cut = engine.Subtract(*cut, Lift(engine, everywhere, cut->fraction_bits));
    exponents[i].largest = kHalf;
    rows[i].exponent = kHalf * std::numbers::ln2;
  }
  return exponents;
}

std::vector<Row> Exponentials(Engine& engine, std::span<const Shared> values) {
  const int bits = BitsOfExponentials(values);
  std::vector<Row> rows(values.size());
  std::vector<Shared> results = BinaryExponential(engine, ExponentsOf(engine, values, rows), bits);
  for (size_t i = 0; i < rows.size(); ++i) {
    Row& row = rows[i];
    const auto cols = static_cast<double>(results[i].shape.cols);
    row.exponentials = std::move(results[i]);
    row.sum.value = SumOfRows(engine, row.exponentials, cols * row.exponentials.bound);
    const double smallest = row.largest ? std::exp2(-kHalf) : cols * std::exp(-values[i].bound);
    row.sum.smallest = smallest * (1 - 0x1p-20);
  }
  return rows;
}

std::vector<PositiveValue> SumsOf(const std::vector<Row>& rows) {
  std::vector<PositiveValue> sums;
  for (const Row& row : rows) sums.push_back(row.sum);
  return sums;
}

// Rows of few columns have sums in a narrow range.
std::vector<Shared> ReciprocalsOf(Engine& engine, const std::vector<PositiveValue>& sums,
                                  int bits) {
  std::vector<NumbersInRange> numbers;
  for (const PositiveValue& sum : sums) {
    const double largest = sum.value.bound * (1 + 0x1p-20);
    if (!(largest <= kNarrowRange * sum.smallest)) return Reciprocal(engine, sums, bits);
    numbers.push_back({sum.value, largest, sum.smallest});
  }
  return ReciprocalInRange(engine, numbers, bits);
}

}  // namespace

std::vector<Shared> RowSoftmax(Engine& engine, std::span<const Shared> values, int fraction_bits) {
  const std::vector<Row> rows = Exponentials(engine, values);
  // A reciprocal is multiplied by an exponential of up to e^exponent.
  int bits = 0;
  for (const Row& row : rows) bits = std::max(bits, 43 + CeilOfLog2(std::exp(row.exponent)));
  const std::vector<Shared> reciprocals = ReciprocalsOf(engine, SumsOf(rows), bits);
  std::vector<Shared> results(rows.size());
  ProductRound products(engine);
  for (size_t i = 0; i < rows.size(); ++i) {
    products.AddCut(rows[i].exponentials, reciprocals[i], 1 + 0x1p-30, fraction_bits, results[i]);
  }
  products.Run();
  return results;
}

std::vector<Shared> RowLogSumExp(Engine& engine, std::span<const Shared> values) {
  if (values.empty()) return {};
  const int fraction_bits = values[0].fraction_bits;
  for (const Shared& value : values) {
    if (value.fraction_bits == fraction_bits) continue;
    Misuse("sums of exponentials of values with unlike fraction bits");
  }
  const std::vector<Row> rows = Exponentials(engine, values);
  std::vector<Shared> results = Log(engine, SumsOf(rows), fraction_bits);
  std::vector<Shared> largest;  // times ln 2
  CutRound cuts(engine);
  for (const Row& row : rows) {
    if (row.largest)
      largest.push_back(TimesConstant(engine, *row.largest, std::numbers::ln2, kLn2Bits));
  }
  for (Shared& logarithm : largest)
    cuts.Add(logarithm, fraction_bits, logarithm.bound + std::ldexp(1.0, -fraction_bits));
  cuts.Run();
  auto next = largest.begin();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].largest) results[i] = engine.Add(results[i], *next++);
    results[i].bound = values[i].bound + std::log(static_cast<double>(values[i].shape.cols)) +
                       0x1p-30 + std::ldexp(1.0, 2 - fraction_bits);
  }
  return results;
}

}  // namespace partita::mpc
