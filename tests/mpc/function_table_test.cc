// The table of functions in docs/engines.md: what it says about rounds, bytes and errors is
// computed or measured here. A failure prints the table as it should stand.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <sstream>

#include "crypto/random.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/division.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/extremes.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/norm.h"
#include "mpc/functions/order.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/shuffle.h"
#include "mpc/functions/sigmoid.h"
#include "mpc/functions/softmax.h"
#include "mpc/functions/variates.h"
#include "tests/mpc/evaluate.h"
#include "tests/paths.h"

namespace partita::mpc::testing::function_table_test {
namespace {

constexpr int kF = 40;
using List = std::vector<Shared>;
using Apply = std::function<List(Engine&, const List&)>;
// The exact results, entry by entry, from the real values of the inputs.
using Truth = std::function<std::vector<long double>(const std::vector<std::vector<long double>>&)>;

// |got - exact| <= absolute + relative |exact|.
struct Tolerance {
  double absolute = 0, relative = 0;
};

struct Entry {
  std::string name, domain;
  std::string error;  // the tolerance, in words of the table
  Tolerance tolerance;
  // What rounds and bytes are for: so many entries of such values.
  std::vector<Shape> shapes;
  double bound = 0;
  double per = 0;  // what bytes are divided by
  Apply apply;
  // Inputs over the domain, edges included. Empty: an error is measured elsewhere, or there is none
  // to measure.
  std::vector<TestInput> inputs = {};
  Truth truth = nullptr;
};

long double Value(const TestInput& input, size_t i) {
  return std::ldexp(static_cast<long double>(input.values.values[i]), -input.fraction_bits);
}

// Spread over the powers of two of [smallest, largest], their neighbours and both ends.
TestInput Positive(double smallest, double largest) {
  std::mt19937_64 random(20);
  std::uniform_real_distribution<double> mantissa(1, 2);
  std::vector<double> values = {smallest, largest};
  for (int e = std::ilogb(smallest); e <= std::ilogb(largest); ++e) {
    for (double grid : {-1.0, 0.0, 1.0}) {
      values.push_back(std::ldexp(1.0, e) + std::ldexp(grid, -kF));
    }
    for (int i = 0; i < 12; ++i) values.push_back(std::ldexp(mantissa(random), e));
  }
  std::erase_if(values, [&](double v) { return v < smallest || v > largest; });
  return Column(values, largest);
}

// Uniform over [low, high], both ends, zero and its neighbours.
TestInput Uniform(double low, double high, size_t count, Shape shape = {}) {
  std::mt19937_64 random(21);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values = {low, high, 0, 0x1p-40, -0x1p-40};
  std::erase_if(values, [&](double v) { return v < low || v > high; });
  while (values.size() < count) values.push_back(uniform(random));
  TestInput input = Column(values, std::max(std::abs(low), std::abs(high)));
  if (shape.size() > 0) input.values.shape = shape;
  return input;
}

Truth Elementwise(long double (*f)(long double)) {
  return [f](const std::vector<std::vector<long double>>& x) {
    std::vector<long double> results;
    for (long double value : x[0]) results.push_back(f(value));
    return results;
  };
}

// Row by row, of so many columns.
Truth ByRow(size_t cols, std::vector<long double> (*f)(const std::vector<long double>&)) {
  return [=](const std::vector<std::vector<long double>>& x) {
    std::vector<long double> results;
    for (size_t first = 0; first < x[0].size(); first += cols) {
      const auto begin = x[0].begin() + static_cast<ptrdiff_t>(first);
      for (long double value : f({begin, begin + static_cast<ptrdiff_t>(cols)})) {
        results.push_back(value);
      }
    }
    return results;
  };
}

std::vector<long double> SoftmaxOf(const std::vector<long double>& row) {
  long double sum = 0;
  std::vector<long double> results;
  for (long double x : row) sum += std::exp(x - row[0]);
  for (long double x : row) results.push_back(std::exp(x - row[0]) / sum);
  return results;
}
std::vector<long double> LogSumExpOf(const std::vector<long double>& row) {
  const long double largest = *std::max_element(row.begin(), row.end());
  long double sum = 0;
  for (long double x : row) sum += std::exp(x - largest);
  return {largest + std::log(sum)};
}
long double NormOfRow(const std::vector<long double>& row) {
  long double sum = 0;
  for (long double x : row) sum += x * x;
  return std::sqrt(sum);
}
std::vector<long double> NormOf(const std::vector<long double>& row) { return {NormOfRow(row)}; }
// To the norm 1: C' of norm.h.
std::vector<long double> ClippedRow(const std::vector<long double>& row) {
  // 1 is 2 times a half, and C' is rounded on that scale.
  const long double clip_to =
      2 * std::ldexp(std::floor(std::ldexp(0.5L * (1 - 0x1p-16L), 20)), -20);
  const long double factor = std::min(1.0L, clip_to / NormOfRow(row));
  std::vector<long double> results;
  for (long double x : row) results.push_back(x * factor);
  return results;
}
std::vector<long double> LargestOf(const std::vector<long double>& row) {
  return {*std::max_element(row.begin(), row.end())};
}
std::vector<long double> ColumnOfLargest(const std::vector<long double>& row) {
  return {static_cast<long double>(std::max_element(row.begin(), row.end()) - row.begin())};
}

// p variables that are all correlated by rho, in closed form.
constexpr size_t kVariables = 20;
constexpr double kRho = 0.998;  // condition number (1 + 19 rho) / (1 - rho) = 1e4
TestInput Correlations() {
  std::vector<double> values(kVariables * kVariables, kRho);
  for (size_t i = 0; i < kVariables; ++i) values[i * (kVariables + 1)] = 1;
  TestInput input = Column(values, 1);
  input.values.shape = {kVariables, kVariables};
  return input;
}
long double RhoOf(const std::vector<std::vector<long double>>& x) { return x[0][1]; }
std::vector<long double> PivotsOf(const std::vector<std::vector<long double>>& x) {
  std::vector<long double> pivots = {1};
  const long double rho = RhoOf(x);
  for (size_t j = 1; j < kVariables; ++j) {
    const auto i = static_cast<long double>(j);
    pivots.push_back((1 - rho) * (1 + i * rho) / (1 + (i - 1) * rho));
  }
  return pivots;
}

std::vector<long double> InverseOf(const std::vector<std::vector<long double>>& x) {
  const long double rho = RhoOf(x);
  const long double all_of_them = rho / (1 + (kVariables - 1) * rho);
  std::vector<long double> inverse(kVariables * kVariables, -all_of_them / (1 - rho));
  for (size_t i = 0; i < kVariables; ++i) {
    inverse[i * (kVariables + 1)] = (1 - all_of_them) / (1 - rho);
  }
  return inverse;
}

PositiveValue From(const Shared& x, double smallest) { return {x, smallest}; }

List ExactProduct(Engine& e, const List& x) {
  const Product product{Product::Kind::kElementwise, x[0], e.Add(x[0], x[0])};
  return e.Multiply({&product, 1});
}
// x 2^-40 at 80 fraction bits.
List CutByForty(Engine& e, const List& x) {
  return e.Rescale(List{TimesPowerOfTwo(x[0], -kF)}, kF);
}
List SignOf(Engine& e, const List& x) { return e.ToRing(IsNegative(e, x)); }
List ZeroOf(Engine& e, const List& x) { return e.ToRing(IsZero(e, x)); }

constexpr size_t kMany = 1000;
constexpr size_t kTable = 20;  // columns

std::vector<Entry> Entries() {
  const Shape column{kMany, 1}, table{kMany, kTable}, square{kVariables, kVariables};
  const double small = 0x1p-40, big = 0x1p39;
  std::vector<Entry> all;
  all.push_back({"product",
                 "\\|xy\\| 2^80 < 2^126",
                 "exact",
                 {},
                 {column},
                 1000,
                 kMany,
                 ExactProduct,
                 {Uniform(-1000, 1000, 300)},
                 Elementwise([](long double x) { return 2 * x * x; })});
  all.push_back({"truncation by 40 bits",
                 "\\|x\\| 2^80 < 2^126",
                 "2^-40",
                 {0x1p-40, 0},
                 {column},
                 1000,
                 kMany,
                 CutByForty,
                 {Uniform(-1000, 1000, 300)},
                 Elementwise([](long double x) { return std::ldexp(x, -kF); })});
  all.push_back({"sign, as a number",
                 "\\|x\\| 2^40 < 2^126",
                 "exact",
                 {},
                 {column},
                 1000,
                 kMany,
                 SignOf,
                 {Uniform(-1000, 1000, 300)},
                 Elementwise([](long double x) { return x < 0 ? 1.0L : 0.0L; })});
  all.push_back({"equality with 0, as a number",
                 "the same",
                 "exact",
                 {},
                 {column},
                 1000,
                 kMany,
                 ZeroOf,
                 {Uniform(-1000, 1000, 300)},
                 Elementwise([](long double x) { return x == 0 ? 1.0L : 0.0L; })});
  all.push_back({"largest of 20",
                 "\\|x\\| 2^40 < 2^125",
                 "exact",
                 {},
                 {table},
                 50,
                 kMany,
                 [](Engine& e, const List& x) { return RowMax(e, x); },
                 {Uniform(-50, 50, 40 * kTable, {40, kTable})},
                 ByRow(kTable, LargestOf)});
  all.push_back({"column of the largest of 20",
                 "the same",
                 "exact",
                 {},
                 {table},
                 50,
                 kMany,
                 [](Engine& e, const List& x) { return List{RowArgMax(e, x)[0].column}; },
                 {Uniform(-50, 50, 40 * kTable, {40, kTable})},
                 ByRow(kTable, ColumnOfLargest)});
  all.push_back({"reciprocal",
                 "2^-40 <= x <= 2^39",
                 "2^-40 + 2^-40 \\|y\\|",
                 {0x1p-40, 0x1p-40},
                 {column},
                 50,
                 kMany,
                 [](Engine& e, const List& x) {
                   const PositiveValue value = From(x[0], x[0].bound == 50 ? 0.05 : 0x1p-40);
                   return Reciprocal(e, {&value, 1}, kF);
                 },
                 {Positive(small, big)},
                 Elementwise([](long double x) { return 1 / x; })});
  all.push_back(
      {"quotient of one number by another",
       "2^-10 <= b <= 2^10, \\|a\\| <= 2^10",
       "2^-39 + 2^-44 \\|y\\|",
       {0x1p-39, 0x1p-44},
       {column, column},
       50,
       kMany,
       [](Engine& e, const List& x) {
         const bool cost = x[0].bound == 50;
         const Quotient quotient = {x[0], From(x[1], cost ? 0.05 : 0x1p-10), cost ? 1000 : 0x1p20};
         return Divide(e, {&quotient, 1}, kF);
       },
       {Positive(0x1p-10, 0x1p10), Positive(0x1p-10, 0x1p10)},
       [](const std::vector<std::vector<long double>>& x) {
         std::vector<long double> results;
         for (size_t i = 0; i < x[0].size(); ++i) results.push_back(x[0][i] / x[1][i]);
         return results;
       }});
  // The numerators in another order than the denominators.
  std::reverse(all.back().inputs[0].values.values.begin(),
               all.back().inputs[0].values.values.end());
  all.push_back({"inverse square root",
                 "2^-40 <= x <= 2^39",
                 "1.125 2^-40 + 2^-40 \\|y\\|",
                 {0x1p-40 + 0x1p-43, 0x1p-40},
                 {column},
                 50,
                 kMany,
                 [](Engine& e, const List& x) {
                   const PositiveValue value = From(x[0], x[0].bound == 50 ? 0.05 : 0x1p-40);
                   return InverseRoot(e, {&value, 1}, kF);
                 },
                 {Positive(small, big)},
                 Elementwise([](long double x) { return 1 / std::sqrt(x); })});
  all.push_back({"square root",
                 "2^-40 <= x <= 2^39",
                 "1.125 2^-40 + 2^-40 \\|y\\|",
                 {0x1p-40 + 0x1p-43, 0x1p-40},
                 {column},
                 50,
                 kMany,
                 [](Engine& e, const List& x) {
                   const PositiveValue value = From(x[0], x[0].bound == 50 ? 0.05 : 0x1p-40);
                   return Root(e, {&value, 1}, kF);
                 },
                 {Positive(small, big)},
                 Elementwise([](long double x) { return std::sqrt(x); })});
  all.push_back({"exponential",
                 "x <= B, e^B < 2^40; else see exponential.h",
                 "2^-40 + 2^-39 \\|y\\|",
                 {0x1p-40, 0x1p-39},
                 {column},
                 50,
                 kMany,
                 [](Engine& e, const List& x) {
                   const BoundedAbove value = {x[0], x[0].bound == 50 ? 0 : 27.7};
                   return Exponential(e, {&value, 1}, kF);
                 },
                 {Uniform(-60, 27.7, 600)},
                 Elementwise([](long double x) { return std::exp(x); })});
  all.push_back({"logarithm",
                 "2^-40 <= x < 2^45",
                 "2^-40 + 2^-41",
                 {0x1p-40 + 0x1p-41, 0},
                 {column},
                 50,
                 kMany,
                 [](Engine& e, const List& x) {
                   const PositiveValue value = From(x[0], x[0].bound == 50 ? 0.05 : 0x1p-40);
                   return Log(e, {&value, 1}, kF);
                 },
                 {Positive(small, 0x1.fp44)},
                 Elementwise([](long double x) { return std::log(x); })});
  all.push_back({"logistic function",
                 "any",
                 "2^-40 + 2^-40",
                 {0x1p-39, 0},
                 {column},
                 50,
                 kMany,
                 [](Engine& e, const List& x) { return Sigmoid(e, x, kF); },
                 {Uniform(-60, 60, 600)},
                 Elementwise([](long double x) { return 1 / (1 + std::exp(-x)); })});
  all.push_back({"softmax of 20",
                 "any",
                 "2^-39 + 2^-38 \\|y\\|",
                 {0x1p-39, 0x1p-38},
                 {table},
                 50,
                 kMany,
                 [](Engine& e, const List& x) { return RowSoftmax(e, x, kF); },
                 {Uniform(-50, 50, 40 * kTable, {40, kTable})},
                 ByRow(kTable, SoftmaxOf)});
  all.push_back({"log-sum-exp of 20",
                 "any",
                 "2^-38",
                 {0x1p-38, 0},
                 {table},
                 50,
                 kMany,
                 [](Engine& e, const List& x) { return RowLogSumExp(e, x); },
                 {Uniform(-50, 50, 40 * kTable, {40, kTable})},
                 ByRow(kTable, LogSumExpOf)});
  all.push_back({"norm of 20",
                 "2^-10 <= y, \\|x\\| < 2^20",
                 "1.125 2^-40 + 2^-40 \\|y\\|",
                 {0x1p-40 + 0x1p-43, 0x1p-40},
                 {table},
                 50,
                 kMany,
                 [](Engine& e, const List& x) {
                   const RowsWithNorm rows = {x[0], 0x1p-10};
                   return RowNorm(e, {&rows, 1}, kF);
                 },
                 {Uniform(-50, 50, 40 * kTable, {40, kTable})},
                 ByRow(kTable, NormOf)});
  all.push_back({"clipping of 20 to norm 1",
                 "\\|x\\| <= 50",
                 "2^-40 + 2^-39 \\|y\\|",
                 {0x1p-40, 0x1p-39},
                 {table},
                 50,
                 kMany,
                 [](Engine& e, const List& x) {
                   const RowsWithNorm rows = {x[0], 1};
                   return ClipRows(e, {&rows, 1});
                 },
                 {Uniform(-50, 50, 40 * kTable, {40, kTable})},
                 ByRow(kTable, ClippedRow)});
  all.push_back({"pivots of LDL', 20 x 20",
                 "condition 1e4",
                 "1e-7 \\|y\\|",
                 {0, 1e-7},
                 {square},
                 1,
                 1,
                 [](Engine& e, const List& x) {
                   const DefiniteMatrix matrix = {x[0]};
                   return List{FactorDefinite(e, {&matrix, 1})[0].pivots};
                 },
                 {Correlations()},
                 PivotsOf});
  all.push_back({"inverse, 20 x 20",
                 "condition 1e4",
                 "1e-7 \\|y\\|",
                 {0, 1e-7},
                 {square},
                 1,
                 1,
                 [](Engine& e, const List& x) {
                   const DefiniteMatrix matrix = {x[0]};
                   return List{InvertDefinite(e, {&matrix, 1}, kF)[0].inverse};
                 },
                 {Correlations()},
                 InverseOf});
  all.push_back({"inverse without pivots, 20 x 20",
                 "positive definite by its making, condition 1e4",
                 "1e-9 \\|y\\|",
                 {0, 1e-9},
                 {square},
                 1,
                 1,
                 [](Engine& e, const List& x) {
                   const PositiveMatrix matrix = {x[0], kVariables, 0x1p-10};
                   return InvertPositive(e, {&matrix, 1}, kF);
                 },
                 {Correlations()},
                 InverseOf});
  all.push_back({"log-determinant, 20 x 20",
                 "condition 1e4",
                 "1e-7 \\|y\\|",
                 {0, 1e-7},
                 {square},
                 1,
                 1,
                 [](Engine& e, const List& x) {
                   const DefiniteMatrix matrix = {x[0]};
                   const Pivots pivots = {FactorDefinite(e, {&matrix, 1})[0].pivots};
                   return LogDeterminant(e, {&pivots, 1}, kF);
                 },
                 {Correlations()},
                 [](const std::vector<std::vector<long double>>& x) {
                   long double sum = 0;
                   for (long double pivot : PivotsOf(x)) sum += std::log(pivot);
                   return std::vector<long double>{sum};
                 }});
  all.push_back({"cumulative sums of 1000",
                 "n \\|x\\| 2^40 < 2^126",
                 "exact",
                 {},
                 {column},
                 50,
                 kMany,
                 [](Engine& e, const List& x) { return List{CumulativeSums(e, x[0])}; },
                 {Uniform(-50, 50, 300)},
                 [](const std::vector<std::vector<long double>>& x) {
                   std::vector<long double> sums;
                   long double sum = 0;
                   for (long double value : x[0]) sums.push_back(sum += value);
                   return sums;
                 }});
  all.push_back({"shuffle of 1000 rows",
                 "\\|x\\| 2^40 < 2^125",
                 "exact",
                 {},
                 {column},
                 50,
                 kMany,
                 [](Engine& e, const List& x) {
                   crypto::SystemRandom own;
                   return List{ShuffleRows(e, x[0], own)};
                 }});
  all.push_back({"uniform variates",
                 "-",
                 "of the law: 2^-41",
                 {},
                 {column},
                 1,
                 kMany,
                 [](Engine& e, const List& x) {
                   crypto::SystemRandom own;
                   return List{UniformVariates(e, x[0].shape, own)};
                 }});
  all.push_back({"exponential variates",
                 "-",
                 "of the law: 2^-39",
                 {},
                 {column},
                 1,
                 kMany,
                 [](Engine& e, const List& x) {
                   crypto::SystemRandom own;
                   return List{ExponentialVariates(e, x[0].shape, own, kF)};
                 }});
  all.push_back({"logistic variates",
                 "-",
                 "of the law: 2^-39",
                 {},
                 {column},
                 1,
                 kMany,
                 [](Engine& e, const List& x) {
                   crypto::SystemRandom own;
                   return List{LogisticVariates(e, x[0].shape, own, kF)};
                 }});
  return all;
}

// Where results are at most 1 the error, above it the error relative to them.
struct Worst {
  long double small = 0, large = 0;
};

Worst Measure(const Setting& setting, const Entry& entry) {
  std::vector<std::vector<long double>> values;
  for (const TestInput& input : entry.inputs) {
    values.emplace_back();
    for (size_t i = 0; i < input.values.values.size(); ++i)
      values.back().push_back(Value(input, i));
  }
  const std::vector<long double> exact = entry.truth(values);
  const Opened opened = Evaluate(setting, entry.inputs, entry.apply)[0];
  EXPECT_EQ(opened.integers.size(), exact.size()) << entry.name;
  Worst worst;
  for (size_t i = 0; i < std::min(opened.integers.size(), exact.size()); ++i) {
    const long double got =
        std::ldexp(static_cast<long double>(opened.integers[i]), -opened.fraction_bits);
    const long double error = std::abs(got - exact[i]), size = std::abs(exact[i]);
    EXPECT_LE(error, entry.tolerance.absolute + (entry.tolerance.relative + 0x1p-60L) * size)
        << entry.name << " on " << setting.kind << ": " << static_cast<double>(exact[i]);
    if (size <= 1) {
      worst.small = std::max(worst.small, error);
    } else {
      worst.large = std::max(worst.large, error / size);
    }
  }
  return worst;
}

// Upwards to a tenth of the exponent.
std::string Power(long double error) {
  if (error == 0) return "0";
  if (error < 0x1p-62L) return "0";  // of the truth in long double
  return fmt::format("2^{:.1f}", std::ceil(10 * std::log2(static_cast<double>(error))) / 10);
}

struct Cost {
  uint64_t rounds = 0, bytes = 0;
};

Cost CostOf(const Setting& setting, const Entry& entry) {
  PlanEngine plan(setting.kind, setting.num_parties);
  List inputs;
  for (const Shape& shape : entry.shapes) {
    inputs.push_back(Planned(shape, kF, entry.bound));
  }
  entry.apply(plan, inputs);
  if (plan.phases().empty()) return {};
  const PhaseCost cost = plan.phases().back();
  return {*std::max_element(cost.rounds.begin(), cost.rounds.end()), cost.Total().bytes};
}

const Setting kColumns[] = {{"dealer", 2}, {"replicated", 3}, {"ot", 2}};

// The cells of a row before those that were measured, and those.
struct Row {
  std::string stated, measured;
};

Row RowOf(const Entry& entry) {
  Row row;
  row.stated = fmt::format("| {} | {} | {} |", entry.name, entry.domain, entry.error);
  std::string rounds, bytes;
  for (const Setting& setting : kColumns) {
    const Cost cost = CostOf(setting, entry);
    const double each = static_cast<double>(cost.bytes) / entry.per;
    rounds += fmt::format("{}{}", rounds.empty() ? "" : " / ", cost.rounds);
    bytes += fmt::format("{}{:.0f}", bytes.empty() ? "" : " / ", each);
  }
  row.stated += fmt::format(" {} | {} |", rounds, bytes);
  if (!entry.truth) {
    row.measured = " - | - |";
    return row;
  }
  Worst worst;
  for (const Setting& setting : {kColumns[0], kColumns[1]}) {
    const Worst here = Measure(setting, entry);
    worst.small = std::max(worst.small, here.small);
    worst.large = std::max(worst.large, here.large);
  }
  row.measured = fmt::format(" {} | {} |", Power(worst.small), Power(worst.large));
  return row;
}

TEST(FunctionTableTest, DocumentationSaysWhatIsMeasured) {
  std::ifstream file(SourcePath("docs/engines.md"));
  std::stringstream text;
  text << file.rdbuf();
  const std::string document = text.str();
  std::string fresh;
  bool stale = false;
  for (const Entry& entry : Entries()) {
    const Row row = RowOf(entry);
    fresh += row.stated + row.measured + "\n";
    stale |= document.find("\n" + row.stated) == std::string::npos;
  }
  EXPECT_FALSE(stale) << "docs/engines.md should have these rows:\n" << fresh;
  if (!stale) RecordProperty("table", fresh);
}

}  // namespace
}  // namespace partita::mpc::testing::function_table_test
