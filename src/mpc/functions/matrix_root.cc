#include "mpc/functions/matrix_root.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "mpc/functions/arithmetic.h"

namespace partita::mpc {
namespace {

constexpr int kRootBits = 46, kRootWeightBits = 14;
constexpr double kRootResidual = 0x1p-30;  // of roots, after the last step
constexpr double kLargestRootRatio = 0x1p24;
// M, and what half a step makes of it, where an eigenvalue may be a little beyond the domain.
constexpr double kRootSlack = 6;

// x (a - b x^2) on roots x in [low, high].
struct RootStep {
  double a = 0, b = 0;
  double low = 0, high = 0;  // where it takes them
};

struct RootPlan {
  int half_exponent = 0;  // M begins as A / 4^h
  std::vector<RootStep> steps;
  std::vector<double> bounds;  // of X before each step and after the last, whatever A is
  double residual = 0;         // of M before the last step
};

double RoundedWeight(double value) {
  return std::ldexp(std::nearbyint(std::ldexp(value, kRootWeightBits)), -kRootWeightBits);
}

// With the image of [low, high].
RootStep WithImage(double a, double b, double low, double high) {
  const auto at = [&](double x) { return x * (a - b * x * x); };
  const double top = std::clamp(std::sqrt(a / (3 * b)), low, high);
  return {a, b, std::min(at(low), at(high)), std::max({at(low), at(high), at(top)})};
}

double DistanceToOne(const RootStep& step) { return std::max(1 - step.low, step.high - 1); }

// Equal values at both ends, as far below 1 as the largest is above; or Newton's, near 1.
RootStep BestStep(double low, double high) {
  const double squares = low * low + low * high + high * high, top = std::sqrt(squares / 3);
  const double end = low * (squares - low * low), most = top * (squares - top * top);
  const double scale = 2 / (end + most);
  const RootStep best = WithImage(RoundedWeight(scale * squares), RoundedWeight(scale), low, high);
  const RootStep newton = WithImage(1.5, 0.5, low, high);
  return DistanceToOne(newton) <= DistanceToOne(best) ? newton : best;
}

RootPlan PlanRoot(double largest, double smallest) {
  RootPlan plan;
  plan.half_exponent = static_cast<int>(std::ceil(std::log2(largest) / 2));
  double low = std::ldexp(std::sqrt(smallest), -plan.half_exponent);
  double high = std::ldexp(std::sqrt(largest), -plan.half_exponent);
  double bound = std::ldexp(1.0, -plan.half_exponent);
  plan.bounds.push_back(bound);
  do {
    plan.residual = std::max(1 - low * low, high * high - 1);
    plan.steps.push_back(BestStep(low, high));
    low = plan.steps.back().low;
    high = plan.steps.back().high;
    bound *= plan.steps.back().a;  // where an eigenvalue is 0
    plan.bounds.push_back(bound);
  } while (DistanceToOne(plan.steps.back()) > kRootResidual);
  return plan;
}

struct RootWork {
  RootPlan plan;
  Shared matrix, product;
  Shared half, next_matrix, next_product;
  double right = 0;  // bound of B's columns
};

RootWork BeginRoot(const RootedMatrix& rooted) {
  const auto& [matrix, largest, smallest, right] = rooted;
  const size_t size = matrix.shape.rows;
  if (size == 0 || size != matrix.shape.cols || right.shape.rows != size) {
    Misuse(fmt::format("the root of {} x {} times {} x {}", size, matrix.shape.cols,
                       right.shape.rows, right.shape.cols));
  }
  if (!(smallest > 0) || !(largest >= smallest) || !(largest <= smallest * kLargestRootRatio)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("a matrix of eigenvalues up to {:.6g} has no inverse root down to "
                            "eigenvalues of {:.6g}",
                            largest, smallest),
                "state a smallest eigenvalue of at least 2^-24 times the largest");
  }
  RootWork work;
  work.plan = PlanRoot(largest, smallest);
  work.matrix = WithBound(TimesPowerOfTwo(matrix, -2 * work.plan.half_exponent), kRootSlack);
  work.product = TimesPowerOfTwo(right, -work.plan.half_exponent);
  work.right = right.bound;
  return work;
}

// Q = a I - b M.
Shared FactorOf(Engine& engine, const RootWork& work, const RootStep& step) {
  const Shared scaled = TimesConstant(engine, work.matrix, -step.b, kRootWeightBits);
  PublicMatrix identity{{scaled.shape, std::vector<Int128>(scaled.shape.size())},
                        scaled.fraction_bits};
  for (size_t i = 0; i < scaled.shape.rows; ++i)
    identity.values.values[i * scaled.shape.cols + i] = EncodeFixed(step.a, scaled.fraction_bits);
  return WithBound(engine.Add(WithBound(scaled, 0), engine.Public(identity)), kRootSlack);
}

// The polynomials of one matrix commute, so M Q and then (M Q) Q; Q X beside the first.
void RunStep(Engine& engine, std::vector<RootWork>& all, size_t at, int fraction_bits) {
  ProductRound round(engine);
  std::vector<Shared> factors(all.size());
  const auto multiply = [&](const Shared& a, const Shared& b, double bound, int bits, Shared& to) {
    round.AddCut(Product::Kind::kMatrix, a, b, bound, bits, to);
  };
  for (size_t i = 0; i < all.size(); ++i) {
    RootWork& work = all[i];
    if (at >= work.plan.steps.size()) continue;
    factors[i] = FactorOf(engine, work, work.plan.steps[at]);
    multiply(factors[i], work.product, work.plan.bounds[at + 1] * work.right, fraction_bits,
             work.next_product);
    if (at + 1 < work.plan.steps.size())
      multiply(work.matrix, factors[i], kRootSlack, kRootBits, work.half);
  }
  round.Run();
  for (size_t i = 0; i < all.size(); ++i) {
    if (at + 1 < all[i].plan.steps.size())
      multiply(all[i].half, factors[i], kRootSlack, kRootBits, all[i].next_matrix);
  }
  round.Run();
  for (RootWork& work : all) {
    if (at < work.plan.steps.size()) work.product = work.next_product;
    if (at + 1 < work.plan.steps.size()) work.matrix = work.next_matrix;
  }
}

Shared ResidualOf(Engine& engine, const Shared& matrix) {
  const size_t size = matrix.shape.rows;
  PublicMatrix identity{{matrix.shape, std::vector<Int128>(size * size)}, matrix.fraction_bits};
  for (size_t i = 0; i < size; ++i)
    identity.values.values[i * size + i] = Int128{1} << matrix.fraction_bits;
  return WithBound(engine.Subtract(engine.Public(identity), matrix), kRootSlack + 1);
}

}  // namespace

int RootSteps(double largest, double smallest) {
  return static_cast<int>(PlanRoot(largest, smallest).steps.size());
}

double ResidualOf(double largest, double smallest) { return PlanRoot(largest, smallest).residual; }

std::vector<InverseRootProduct> InverseRootTimes(Engine& engine,
                                                 std::span<const RootedMatrix> matrices,
                                                 int fraction_bits) {
  CheckCarriesFractions(engine, "inverse roots");
  std::vector<RootWork> all;
  size_t steps = 0;
  for (const RootedMatrix& matrix : matrices) {
    all.push_back(BeginRoot(matrix));
    steps = std::max(steps, all.back().plan.steps.size());
  }
  for (size_t at = 0; at < steps; ++at) RunStep(engine, all, at, fraction_bits);
  std::vector<InverseRootProduct> results;
  for (const RootWork& work : all)
    results.push_back({work.product, ResidualOf(engine, work.matrix)});
  return results;
}

}  // namespace partita::mpc
