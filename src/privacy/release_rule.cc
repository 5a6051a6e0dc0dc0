#include "privacy/release_rule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace partita::privacy {
namespace {

// Terms of the product that are multiplied one by one; beyond, by logarithms of gamma functions.
constexpr double kMostTerms = 65536;
// With so many patterns K + i is as good as K, and not above it: log2 of K^n / n!. More terms than
// kMostTerms take it earlier, where logarithms of gamma functions lose whole bits.
constexpr double kLog2ManyPatterns = 52, kLog2TooManyForGamma = 40;

// Far more than logarithms of two libraries differ by: plans have to be equal to the bit.
constexpr double kSlack = 1e-6;

double Log2Factorial(double n) { return std::lgamma(n + 1) / std::numbers::ln2; }

}  // namespace

double TableBits(uint64_t rows, double log2_patterns) {
  const auto n = static_cast<double>(rows);
  const double many = n <= kMostTerms ? kLog2ManyPatterns : kLog2TooManyForGamma;
  if (log2_patterns >= many) return n * log2_patterns - Log2Factorial(n);
  // C(n + K - 1, m), m the smaller of n and K - 1.
  // Patterns are whole, but for the rounding of their logarithm.
  const double others = std::round(std::exp2(log2_patterns)) - 1;
  const double most = std::max(n, others), least = std::min(n, others);
  if (least <= kMostTerms) {
    double bits = 0;
    for (double i = 1; i <= least; ++i) bits += std::log2((most + i) / i);
    return bits;
  }
  return Log2Factorial(n + others) - Log2Factorial(n) - Log2Factorial(others);
}

double CountBits(uint64_t rows, double steps) {
  const double n = std::max<double>(1, static_cast<double>(rows));
  return std::min(kDoubleBits, std::log2(n) / 2 + 2 + std::log2(std::max(1.0, steps)));
}

double NumberBits(uint64_t numbers, int grid_bits) {
  return static_cast<double>(numbers) * (grid_bits > 0 ? grid_bits : kDoubleBits);
}

double TableBits(const std::vector<UnknownRows>& unknown) {
  double bits = 0;
  for (const UnknownRows& part : unknown) bits += TableBits(part.rows, part.log2_patterns);
  return bits;
}

uint64_t WholeBitsUp(double bits) { return static_cast<uint64_t>(std::ceil(bits - kSlack)); }
uint64_t WholeBitsDown(double bits) { return static_cast<uint64_t>(std::floor(bits + kSlack)); }

bool Passes(uint64_t opened_bits, uint64_t table_bits) { return 2 * opened_bits <= table_bits; }

int GridExponent(double standard_error, int grid_bits) {
  return std::ilogb(standard_error) - grid_bits;
}

double OnGrid(double value, int exponent) {
  return std::ldexp(std::round(std::ldexp(value, -exponent)), exponent);
}

}  // namespace partita::privacy
