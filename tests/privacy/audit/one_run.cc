#include "tests/privacy/audit/one_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace partita::privacy {
namespace {

constexpr double kLargestEpsilon = 50;
constexpr double kEpsilonWidth = 1e-9;

void CheckGuesses(const Guesses& guesses, double delta) {
  if (guesses.right <= guesses.made && guesses.made <= guesses.canaries && guesses.made > 0 &&
      delta >= 0 && delta < 1) {
    return;
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("{} right of {} guesses about {} canaries at delta {} make no audit",
                          guesses.right, guesses.made, guesses.canaries, delta));
}

}  // namespace

double OneRunPValue(const Guesses& guesses, double epsilon, double delta) {
  CheckGuesses(guesses, delta);
  if (!(epsilon >= 0)) throw Error(ErrorCode::kUsage, "epsilon is at least 0");
  if (guesses.right == 0) return 1;
  const auto right = static_cast<double>(guesses.right);
  const boost::math::binomial law(static_cast<double>(guesses.made), 1 / (1 + std::exp(-epsilon)));
  const double beta = boost::math::cdf(boost::math::complement(law, right - 1));
  if (delta == 0) return std::min(1.0, beta);
  double largest = 0;
  double sum = 0;
  for (uint64_t i = 1; i <= guesses.right; ++i) {
    const double mass = boost::math::pdf(law, right - static_cast<double>(i));
    sum += mass;
    largest = std::max(largest, sum / static_cast<double>(i));
    // Beyond the mode the masses fall, and the mean of all so far can only fall with them.
    if (mass < largest && right - static_cast<double>(i) < boost::math::mode(law)) break;
  }
  return std::min(1.0, beta + 2 * static_cast<double>(guesses.canaries) * delta * largest);
}

double OneRunEpsilonLower(const Guesses& guesses, double delta, double alpha) {
  if (!(OneRunPValue(guesses, 0, delta) < alpha)) return 0;
  double low = 0;
  double high = kLargestEpsilon;
  while (high - low > kEpsilonWidth) {
    const double middle = low + (high - low) / 2;
    (OneRunPValue(guesses, middle, delta) < alpha ? low : high) = middle;
  }
  return low;
}

Guesses GuessByScore(std::span<const double> scores, const std::vector<bool>& included,
                     uint64_t guesses) {
  if (scores.size() != included.size() || guesses < 2 || guesses > scores.size()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("{} guesses about {} scores and {} canaries make no audit", guesses,
                            scores.size(), included.size()));
  }
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&scores](size_t a, size_t b) { return scores[a] > scores[b]; });
  Guesses made{scores.size(), 0, 0};
  for (uint64_t i = 0; i < guesses / 2; ++i) {
    made.right += included[order[i]] ? 1 : 0;
    made.right += included[order[order.size() - 1 - i]] ? 0 : 1;
    made.made += 2;
  }
  return made;
}

}  // namespace partita::privacy
