#include "run/rehearse/agreement.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numbers>
#include <utility>

namespace partita::run {
namespace {

// Both tails of a standard normal number.
double TwoTails(double z) { return std::erfc(std::fabs(z) / std::numbers::sqrt2); }

double LargestOf(std::span<const double> z) {
  double largest = 0;
  for (const double value : z) largest = std::max(largest, std::fabs(value));
  return largest;
}

// With mean, deviation around 0 and largest; p_value of the largest alone.
RandomNumbers Described(std::string analysis, std::string name, std::span<const double> z) {
  RandomNumbers numbers{std::move(analysis), std::move(name), z.size()};
  if (z.empty()) return numbers;
  double squares = 0;
  bool finite = true;
  for (const double value : z) {
    finite = finite && std::isfinite(value);
    numbers.mean += value / static_cast<double>(z.size());
    squares += value * value;
  }
  numbers.deviation = std::sqrt(squares / static_cast<double>(z.size()));
  numbers.largest = LargestOf(z);
  numbers.p_value =
      finite ? std::min(1.0, static_cast<double>(z.size()) * TwoTails(numbers.largest)) : 0;
  return numbers;
}

// Chances this near to 0 and 1 are as good as certain; rounding on shares moves them as far.
constexpr double kCertain = 1e-15;

// What bet b says the chance of heads was.
double ChanceOfBet(size_t b, double chance) {
  constexpr std::array<double, 3> fair = {0.5, 0.05, 0.005};
  constexpr std::array<double, 4> odds = {0.5, 0.9, 1.1, 2};
  if (b < fair.size()) return (1 - fair[b]) * chance + fair[b] / 2;
  const double times = odds[b - fair.size()];
  return times * chance / (times * chance + 1 - chance);
}

}  // namespace

double DigitsOfAgreement(double run, double plain, double scale) {
  if (!std::isfinite(run) || !std::isfinite(plain)) return 0;
  const double difference = std::fabs(run - plain);
  if (difference == 0) return kAllDigits;
  const double of = std::max(std::fabs(plain), std::isfinite(scale) ? scale : 0.0);
  if (of == 0) return 0;
  return std::clamp(-std::log10(difference / of), 0.0, kAllDigits);
}

RandomNumbers IndependentNormals(std::string analysis, std::string name,
                                 std::span<const double> z) {
  RandomNumbers numbers = Described(std::move(analysis), std::move(name), z);
  if (z.empty() || numbers.p_value == 0) return numbers;
  const auto n = static_cast<double>(z.size());
  const boost::math::chi_squared law(n);
  const double squares = numbers.deviation * numbers.deviation * n;
  const double tail = std::min(boost::math::cdf(law, squares),
                               boost::math::cdf(boost::math::complement(law, squares)));
  const double least = std::min({numbers.p_value, TwoTails(numbers.mean * std::sqrt(n)), 2 * tail});
  numbers.p_value = std::min(1.0, 3 * least);
  return numbers;
}

RandomNumbers DependentNormals(std::string analysis, std::string name, std::span<const double> z) {
  return Described(std::move(analysis), std::move(name), z);
}

double NormalOfStudent(double t, double degrees) {
  if (!std::isfinite(t)) return t;
  const boost::math::students_t law(degrees);
  const double tail = boost::math::cdf(boost::math::complement(law, std::fabs(t)));
  if (tail < 1e-300) return std::copysign(37, t);  // the normal number with that tail
  const double z = boost::math::quantile(boost::math::complement(boost::math::normal(), tail));
  return std::copysign(z, t);
}

void Coins::Add(bool heads, double chance) {
  const double certain = std::clamp(chance, kCertain, 1 - kCertain);
  for (size_t b = 0; b < kBets; ++b) {
    const double bet = ChanceOfBet(b, certain);
    log_stake_[b] += heads ? std::log(bet / certain) : std::log1p((certain - bet) / (1 - certain));
  }
  ++count_;
  excess_ += (heads ? 1 : 0) - chance;
  variance_ += chance * (1 - chance);
}

RandomNumbers Coins::Result(std::string analysis, std::string name) const {
  RandomNumbers numbers{std::move(analysis), std::move(name), count_};
  if (variance_ > 0) numbers.mean = excess_ / std::sqrt(variance_);
  const double largest = *std::max_element(log_stake_.begin(), log_stake_.end());
  double stake = 0;
  for (const double log_stake : log_stake_) stake += std::exp(log_stake - largest) / kBets;
  const double log_p = -(largest + std::log(stake));
  numbers.p_value = std::isnan(log_p) ? 0 : std::exp(std::min(0.0, log_p));
  return numbers;
}

void Agreement::Add(std::string analysis, std::string name, double run, double plain,
                    double scale) {
  exact.push_back(
      {std::move(analysis), std::move(name), 1, run, plain, DigitsOfAgreement(run, plain, scale)});
}

void Agreement::AddAll(std::string analysis, std::string name, std::span<const double> run,
                       std::span<const double> plain, double scale) {
  ExactNumber worst{std::move(analysis), std::move(name), run.size(), 0, 0, kAllDigits};
  if (run.size() != plain.size()) worst.digits = 0;
  for (size_t i = 0; i < std::min(run.size(), plain.size()); ++i) {
    const double digits = DigitsOfAgreement(run[i], plain[i], scale);
    if (i > 0 && digits >= worst.digits) continue;
    worst.run = run[i];
    worst.plain = plain[i];
    worst.digits = std::min(worst.digits, digits);
  }
  exact.push_back(std::move(worst));
}

}  // namespace partita::run
