#include "mpc/functions/division.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/reciprocal.h"

namespace partita::mpc {
namespace {

constexpr int kRingBits = 124;  // of products, with their whole digits

// Where the digits of one quotient are, from public facts alone.
struct Digits {
  int numerator_exponent = 0;  // |a| <= 2^this
  int reciprocal_bits = 0;
  int product_bits = 0;  // of a / (2^numerator_exponent c), after its cut
  int weight_bits = 0;   // of 2^(numerator_exponent - e - 1)
};

Digits DigitsOf(const Quotient& quotient, int fraction_bits) {
  Digits digits;
  const auto& [numerator, denominator, largest] = quotient;
  digits.numerator_exponent =
      static_cast<int>(std::ceil(std::log2(std::max(numerator.bound, 1.0))));
  const int numerator_bits = numerator.fraction_bits + digits.numerator_exponent;
  digits.reciprocal_bits = std::min(kMantissaBits, kRingBits - 2 - numerator_bits);
  const int first = std::ilogb(denominator.smallest);
  const int last = std::ilogb(denominator.value.bound) + 1;
  digits.weight_bits = std::clamp(last + 1 - digits.numerator_exponent, 0, fraction_bits + 6);
  digits.product_bits = std::clamp(fraction_bits + 2 + digits.numerator_exponent - first, 0,
                                   numerator_bits + digits.reciprocal_bits);
  const double needed = digits.product_bits + digits.weight_bits + std::log2(largest);
  if (digits.reciprocal_bits >= 45 && largest > 0 && needed < kRingBits) return digits;
  throw Error(ErrorCode::kBadInput,
              fmt::format("quotients of values up to {:.6g} at {} fraction bits by values between "
                          "{:.6g} and {:.6g}, up to {:.6g} at {} fraction bits, do not fit",
                          numerator.bound, numerator.fraction_bits, denominator.smallest,
                          denominator.value.bound, largest, fraction_bits),
              "use tighter bounds or fewer fraction bits");
}

}  // namespace

std::vector<Shared> Divide(Engine& engine, std::span<const Quotient> quotients, int fraction_bits) {
  std::vector<Digits> digits;
  std::vector<PositiveValue> denominators;
  for (const Quotient& quotient : quotients) {
    digits.push_back(DigitsOf(quotient, fraction_bits));
    denominators.push_back(quotient.denominator);
  }
  std::vector<OfMantissa> reciprocals = ReciprocalParts(engine, denominators);
  CutRound cuts(engine);
  ProductRound products(engine);
  for (size_t i = 0; i < reciprocals.size(); ++i) {
    if (digits[i].reciprocal_bits == kMantissaBits) continue;
    cuts.Add(reciprocals[i].value, digits[i].reciprocal_bits, 2);
  }
  cuts.Run();
  std::vector<Shared> results(quotients.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const Shared scaled = TimesPowerOfTwo(quotients[i].numerator, -digits[i].numerator_exponent);
    products.AddCut(scaled, reciprocals[i].value, 2, digits[i].product_bits, results[i]);
  }
  products.Run();
  for (size_t i = 0; i < results.size(); ++i) {
    const int exponent = digits[i].numerator_exponent;
    const Shared weight = WeightOfExponent(
        engine, reciprocals[i].argument,
        [exponent](int e) { return std::ldexp(1.0, exponent - e - 1); }, digits[i].weight_bits);
    const double largest = quotients[i].largest;
    products.AddCut(results[i], weight, largest, fraction_bits, results[i]);
  }
  products.Run();
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].bound = quotients[i].largest * (1 + 0x1p-40) + std::ldexp(2.0, -fraction_bits);
  }
  return results;
}

}  // namespace partita::mpc
