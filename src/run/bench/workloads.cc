#include "run/bench/workloads.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "crypto/random.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/division.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/extremes.h"
#include "mpc/functions/information_inverse.h"
#include "mpc/functions/inverse.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/norm.h"
#include "mpc/functions/order.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/shuffle.h"
#include "mpc/functions/sigmoid.h"
#include "mpc/functions/softmax.h"
#include "mpc/functions/variates.h"
#include "mpc/together.h"

namespace partita::run {
namespace {

using mpc::Engine;
using mpc::Shape;
using mpc::Shared;

constexpr int kFractionBits = 40;
constexpr char kRelease[] = "bench";

void Multiplication(Engine& engine, const Shared& x, mpc::Product::Kind kind) {
  const mpc::Product product{kind, x, x};
  const std::optional<int> fraction_bits = kFractionBits;
  engine.MultiplyAndRescale({&product, 1}, {&fraction_bits, 1});
}

mpc::PositiveValue Positive(const Shared& x, double smallest) { return {x, smallest}; }

// I + x.
mpc::DefiniteMatrix NearIdentity(Engine& engine, const Shared& x) {
  mpc::PublicMatrix identity;
  identity.fraction_bits = kFractionBits;
  identity.values.shape = x.shape;
  identity.values.values.resize(x.shape.rows * x.shape.cols);
  for (size_t i = 0; i < x.shape.rows; ++i)
    identity.values.values[i * (x.shape.cols + 1)] = Int128{1} << kFractionBits;
  return {engine.Add(engine.Public(identity), x)};
}

// As regressions and hazards take it: every column of the result is true, or known not to be.
void CheckedInverse(Engine& engine, const Shared& x) {
  const Shared scaled =
      mpc::Lift(engine, NearIdentity(engine, x).matrix, mpc::kScaledInformationBits);
  const mpc::UncheckedInverse inverse = mpc::InvertInformation(engine, scaled, nullptr);
  const std::vector<mpc::Task> tasks = {
      [&](Engine& task) { mpc::CorrectedInverse(task, inverse); },
      [&](Engine& task) { mpc::TrueColumns(task, scaled, inverse); }};
  mpc::Together(engine, tasks);
}

Shape Scaled(Shape shape, double scale) {
  const double rows = std::ceil(static_cast<double>(shape.rows) * scale);
  return {std::max<size_t>(1, static_cast<size_t>(rows)), shape.cols};
}

}  // namespace

std::vector<MpcWorkload> MpcWorkloads(double scale) {
  const Shape million = Scaled({1'000'000, 1}, scale), many = Scaled({100'000, 1}, scale);
  const Shape thousand = Scaled({1'000, 1}, scale), table = Scaled({1'000, 20}, scale);
  // Stay square.
  const auto side = static_cast<size_t>(std::ceil(100 * std::sqrt(scale)));
  const Shape square{side, side};
  using Kind = mpc::Product::Kind;
  std::vector<MpcWorkload> all;
  all.push_back({"multiply", million, -1, 1, million.rows, [](Engine& engine, const Shared& x) {
                   Multiplication(engine, x, Kind::kElementwise);
                 }});
  all.push_back({"matrix product", square, -1, 1, side * side, [](Engine& engine, const Shared& x) {
                   Multiplication(engine, x, Kind::kMatrix);
                 }});
  const auto large_side = static_cast<size_t>(std::ceil(1000 * std::sqrt(scale)));
  const Shape large{large_side, large_side};
  all.push_back({"matrix product", large, -1, 1, large_side * large_side,
                 [](Engine& engine, const Shared& x) { Multiplication(engine, x, Kind::kMatrix); },
                 true});
  all.push_back({"truncate", many, -1, 1, many.rows, [](Engine& engine, const Shared& x) {
                   engine.Rescale({&x, 1}, kFractionBits / 2);
                 }});
  all.push_back({"open", many, -1, 1, many.rows, [](Engine& engine, const Shared& x) {
                   engine.Reveal(kRelease, {&x, 1}, mpc::kEverybody);
                 }});
  all.push_back({"compare", many, -1000, 1000, many.rows, [](Engine& engine, const Shared& x) {
                   mpc::IsNegative(engine, {&x, 1});
                 }});
  all.push_back({"equal", many, -1000, 1000, many.rows, [](Engine& engine, const Shared& x) {
                   mpc::IsZero(engine, {&x, 1});
                 }});
  all.push_back(
      {"less than a public number", many, -1000, 1000, many.rows,
       [](Engine& engine, const Shared& x) {
         const mpc::Comparison comparison = {x, mpc::ConstantLike(engine, x, 100, kFractionBits)};
         mpc::LessThan(engine, {&comparison, 1});
       }});
  all.push_back({"select", many, -1000, 1000, many.rows, [](Engine& engine, const Shared& x) {
                   // A condition that costs nothing: what is timed is the selection.
                   const mpc::SharedBits condition = engine.PublicBits(mpc::MakeBits(x.shape, 1));
                   const mpc::Selection selection = {condition, x, x};
                   mpc::Select(engine, {&selection, 1});
                 }});
  all.push_back({"row maximum", table, -50, 50, table.rows, [](Engine& engine, const Shared& x) {
                   mpc::RowMax(engine, {&x, 1});
                 }});
  all.push_back(
      {"column of row maximum", table, -50, 50, table.rows, [](Engine& engine, const Shared& x) {
         mpc::RowArgMax(engine, {&x, 1});
       }});
  all.push_back({"divide", thousand, 0.05, 50, thousand.rows, [](Engine& engine, const Shared& x) {
                   const mpc::Quotient value = {x, Positive(x, 0.05), 1000};
                   mpc::Divide(engine, {&value, 1}, kFractionBits);
                 }});
  for (const Shape& shape : {thousand, many}) {
    all.push_back({"reciprocal", shape, 0.05, 50, shape.rows, [](Engine& engine, const Shared& x) {
                     const mpc::PositiveValue value = Positive(x, 0.05);
                     mpc::Reciprocal(engine, {&value, 1}, kFractionBits);
                   }});
  }
  all.push_back({"inverse square root", thousand, 0.05, 50, thousand.rows,
                 [](Engine& engine, const Shared& x) {
                   const mpc::PositiveValue value = Positive(x, 0.05);
                   mpc::InverseRoot(engine, {&value, 1}, kFractionBits);
                 }});
  all.push_back(
      {"square root", thousand, 0.05, 50, thousand.rows, [](Engine& engine, const Shared& x) {
         const mpc::PositiveValue value = Positive(x, 0.05);
         mpc::Root(engine, {&value, 1}, kFractionBits);
       }});
  all.push_back({"exponential", many, -50, 0, many.rows, [](Engine& engine, const Shared& x) {
                   const mpc::BoundedAbove value = {x, 0};
                   mpc::Exponential(engine, {&value, 1}, kFractionBits);
                 }});
  all.push_back(
      {"logarithm", thousand, 0.05, 50, thousand.rows, [](Engine& engine, const Shared& x) {
         const mpc::PositiveValue value = Positive(x, 0.05);
         mpc::Log(engine, {&value, 1}, kFractionBits);
       }});
  all.push_back(
      {"logistic function", thousand, -50, 50, thousand.rows, [](Engine& engine, const Shared& x) {
         mpc::Sigmoid(engine, {&x, 1}, kFractionBits);
       }});
  all.push_back(
      {"row softmax", table, -50, 50, table.rows * table.cols, [](Engine& engine, const Shared& x) {
         mpc::RowSoftmax(engine, {&x, 1}, kFractionBits);
       }});
  all.push_back(
      {"row log-sum-exp", table, -50, 50, table.rows, [](Engine& engine, const Shared& x) {
         mpc::RowLogSumExp(engine, {&x, 1});
       }});
  all.push_back({"row norm", table, 0.05, 1, table.rows, [](Engine& engine, const Shared& x) {
                   const mpc::RowsWithNorm rows = {x, 0.1};
                   mpc::RowNorm(engine, {&rows, 1}, kFractionBits);
                 }});
  all.push_back(
      {"row clipping", table, -1, 1, table.rows * table.cols, [](Engine& engine, const Shared& x) {
         const mpc::RowsWithNorm rows = {x, 1};
         mpc::ClipRows(engine, {&rows, 1});
       }});
  // At least two, or there is nothing to eliminate.
  const auto few = std::max<size_t>(2, static_cast<size_t>(std::ceil(20 * std::sqrt(scale))));
  const Shape definite{few, few};
  all.push_back({"factor", definite, -0.01, 0.01, few * few, [](Engine& engine, const Shared& x) {
                   const mpc::DefiniteMatrix matrix = NearIdentity(engine, x);
                   mpc::FactorDefinite(engine, {&matrix, 1});
                 }});
  all.push_back({"inverse", definite, -0.01, 0.01, few * few, [](Engine& engine, const Shared& x) {
                   const mpc::DefiniteMatrix matrix = NearIdentity(engine, x);
                   mpc::InvertDefinite(engine, {&matrix, 1}, kFractionBits);
                 }});
  all.push_back({"inverse without pivots", definite, -0.01, 0.01, few * few,
                 [](Engine& engine, const Shared& x) {
                   const mpc::PositiveMatrix matrix = {NearIdentity(engine, x).matrix, 2, 0x1p-10};
                   mpc::InvertPositive(engine, {&matrix, 1}, kFractionBits);
                 }});
  all.push_back({"inverse with its check", definite, -0.01, 0.01, few * few, CheckedInverse});
  all.push_back({"log-determinant", definite, -0.01, 0.01, 1, [](Engine& engine, const Shared& x) {
                   const mpc::DefiniteMatrix matrix = NearIdentity(engine, x);
                   const mpc::Pivots pivots = {mpc::FactorDefinite(engine, {&matrix, 1})[0].pivots};
                   mpc::LogDeterminant(engine, {&pivots, 1}, kFractionBits);
                 }});
  all.push_back(
      {"solve", definite, -0.01, 0.01, few, [few](Engine& engine, const Shared& x) {
         const mpc::DefiniteMatrix matrix = NearIdentity(engine, x);
         const Shared inverse = mpc::InvertDefinite(engine, {&matrix, 1}, kFractionBits)[0].inverse;
         const mpc::LinearSystem system = {inverse, engine.Slice(x, 0, 0, {few, 1}), 1};
         mpc::Solve(engine, {&system, 1}, kFractionBits);
       }});
  all.push_back({"cumulative sums", many, -1, 1, many.rows,
                 [](Engine& engine, const Shared& x) { mpc::CumulativeSums(engine, x); }});
  all.push_back({"random bits", many, -1, 1, many.rows, [](Engine& engine, const Shared& x) {
                   crypto::SystemRandom own;
                   engine.RandomBits(x.shape, 1, own);
                 }});
  all.push_back(
      {"uniform variates", thousand, -1, 1, thousand.rows, [](Engine& engine, const Shared& x) {
         crypto::SystemRandom own;
         mpc::UniformVariates(engine, x.shape, own);
       }});
  all.push_back(
      {"exponential variates", thousand, -1, 1, thousand.rows, [](Engine& engine, const Shared& x) {
         crypto::SystemRandom own;
         mpc::ExponentialVariates(engine, x.shape, own, kFractionBits);
       }});
  all.push_back(
      {"logistic variates", thousand, -1, 1, thousand.rows, [](Engine& engine, const Shared& x) {
         crypto::SystemRandom own;
         mpc::LogisticVariates(engine, x.shape, own, kFractionBits);
       }});
  const Shape rows{std::max<size_t>(2, thousand.rows), 1};  // one row is in any order
  all.push_back({"shuffle", rows, -1, 1, rows.rows, [](Engine& engine, const Shared& x) {
                   crypto::SystemRandom own;
                   mpc::ShuffleRows(engine, x, own);
                 }});
  return all;
}

Shared WorkloadValues(Engine& engine, const MpcWorkload& workload) {
  const double bound = std::max(std::abs(workload.low), std::abs(workload.high));
  mpc::PrivateMatrix input{0, workload.shape, kFractionBits, bound, nullptr};
  if (engine.self() == mpc::PartyIndex{0}) {
    input.read = [&workload](size_t first, size_t count, Int128* out) {
      const size_t cols = workload.shape.cols;
      for (size_t i = 0; i < count * cols; ++i) {
        const uint64_t spread = (first * cols + i) * 0x9E3779B97F4A7C15u >> 11;
        const double unit = std::ldexp(static_cast<double>(spread), -53);
        out[i] =
            mpc::EncodeFixed(workload.low + (workload.high - workload.low) * unit, kFractionBits);
      }
    };
  }
  return engine.Input({&input, 1})[0];
}

std::vector<mpc::Release> WorkloadReleases() {
  return {{kRelease, "numbers of a benchmark", "all", "exact", uint64_t{1} << 40}};
}

}  // namespace partita::run
