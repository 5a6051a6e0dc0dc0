#include "privacy/accounting/composition.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "privacy/accounting/normal.h"
#include "privacy/accounting/types.h"

namespace partita::privacy {
namespace {

constexpr size_t kBlock = 32;  // powers are restarted by exp() this often: errors below 40 u
constexpr double kMaxExponent = 600;

// Calls use(i, e^(step i + start)) for i in [0, size).
template <class Use>
void ForPowers(size_t size, double start, double step, Use use) {
  const double ratio = std::exp(step);
  for (size_t block = 0; block < size; block += kBlock) {
    double power = std::exp(start + step * static_cast<double>(block));
    const size_t end = std::min(size, block + kBlock);
    for (size_t i = block; i < end; ++i, power *= ratio) use(i, power);
  }
}

// log M(c) and the tilted moments of the index, with exponents kept at or below 0 by the shift c *
// top.
struct PartMoments {
  double log_mass = 0;  // log sum mass e^(c loss)
  double mean = 0;
  double variance = 0;
};

double TopLoss(const LossPmf& pmf) { return pmf.Loss(static_cast<int64_t>(pmf.mass.size()) - 1); }

// Exponents c * loss are taken relative to the end where they are largest.
double Reference(const LossPmf& pmf, double tilt) { return tilt >= 0 ? TopLoss(pmf) : pmf.Loss(0); }

PartMoments Moments(const LossPmf& pmf, double tilt) {
  const double reference = Reference(pmf, tilt);
  const double step = tilt * pmf.spacing;
  double total = 0, first = 0, second = 0;
  const double middle = 0.5 * static_cast<double>(pmf.mass.size());
  ForPowers(pmf.mass.size(), tilt * (pmf.Loss(0) - reference), step, [&](size_t i, double power) {
    const double weight = pmf.mass[i] * power;
    const double x = static_cast<double>(i) - middle;
    total += weight;
    first += weight * x;
    second += weight * x * x;
  });
  if (!(total > 0)) return {-kInfinity, reference, 0};
  const double mean = first / total;
  return {std::log(total) + tilt * reference, pmf.Loss(0) + pmf.spacing * (mean + middle),
          pmf.spacing * pmf.spacing * std::max(0.0, second / total - mean * mean)};
}

double Width(const WeightedPmf& part) {
  return part.pmf->spacing * static_cast<double>(std::max<size_t>(1, part.pmf->mass.size() - 1));
}

double LargestTilt(const std::vector<WeightedPmf>& parts) {
  double width = 0;
  for (const WeightedPmf& part : parts) width = std::max(width, Width(part));
  return kMaxExponent / width;
}

// Where the integrand M(s)^T e^(-s eps) / (s (s + 1)) has its saddle for this tilt.
double SaddleEpsilon(const Cumulants& k, double tilt) { return k.mean - 1 / tilt - 1 / (tilt + 1); }

double SaddleLogDelta(const Cumulants& k, double tilt) {
  const double curvature = k.variance + 1 / (tilt * tilt) + 1 / ((tilt + 1) * (tilt + 1));
  return k.value - tilt * SaddleEpsilon(k, tilt) - std::log(tilt * (tilt + 1)) -
         0.5 * std::log(2 * 3.14159265358979 * curvature);
}

// A root of an increasing function of log tilt, to a few per cent.
template <class F>
double SolveTilt(const std::vector<WeightedPmf>& parts, double guess, F f) {
  const double largest = LargestTilt(parts);
  double low = std::log(std::min(1e-3, largest / 2)), high = std::log(largest);
  double x = guess > 0 ? std::clamp(std::log(guess), low, high) : 0.5 * (low + high);
  double step = guess > 0 ? 0.05 : 1.5;
  double value = f(std::exp(x));
  // Bracket around the guess, then bisect.
  const double direction = value > 0 ? -1 : 1;
  double other = x;
  for (int i = 0; i < 12; ++i, step *= 2) {
    other = std::clamp(x + direction * step, low, high);
    const double there = f(std::exp(other));
    if ((there > 0) != (value > 0) || other == low || other == high) break;
    x = other;
  }
  double a = std::min(x, other), b = std::max(x, other);
  while (b - a > 0.02) {
    const double middle = 0.5 * (a + b);
    (f(std::exp(middle)) > 0 ? b : a) = middle;
  }
  return std::exp(0.5 * (a + b));
}

// Cells of the composed law, numbered by the sum of the parts' indices.
struct Window {
  double low = 0;      // first index kept
  double size = 0;     // how many
  double missing = 0;  // tilted mass outside, at most
};

struct Problem {
  const std::vector<WeightedPmf>& parts;
  double tilt;
  Cumulants at;  // at the tilt
  double spacing;
  double base =
      0;  // index sum of the parts' first cells, as a loss: sum T (anchor + spacing first)
  double last = 0;  // sum T (size - 1)
  uint64_t uses = 0;
};

Problem MakeProblem(const std::vector<WeightedPmf>& parts, double tilt) {
  Problem problem{parts, tilt, TiltedCumulants(parts, tilt), parts.front().pmf->spacing};
  long double anchor = 0, first = 0;
  for (const WeightedPmf& part : parts) {
    anchor += static_cast<long double>(part.pmf->anchor) * part.count;
    first += static_cast<long double>(part.pmf->first) * part.count;
    problem.last +=
        static_cast<double>(part.pmf->mass.size() - 1) * static_cast<double>(part.count);
    problem.uses += part.count;
  }
  problem.base = static_cast<double>(anchor + first * problem.spacing);
  return problem;
}

// Chernoff: the loss beyond which (side +1: above, -1: below) at most `mass` of the tilted law
// lies, and the bound that holds there.
struct Chernoff {
  double loss = 0;
  double a = 0;
  double rise = 0;  // K(c + side a) - K(c)
};

Chernoff ChernoffEnd(const Problem& problem, double mass, int side) {
  const double largest = LargestTilt(problem.parts);
  const double sd = std::sqrt(std::max(problem.at.variance, problem.spacing * problem.spacing));
  // Beyond, powers underflow: sums without the masses that they belong to would be no bounds.
  const double limit = side > 0 ? std::max(largest * 1.1 - problem.tilt, largest * 0.1) : largest;
  const double a = std::min(limit, std::sqrt(-2 * std::log(mass)) / sd);
  const auto end = [&](double x) {
    const double rise =
        TiltedCumulants(problem.parts, problem.tilt + side * x).value - problem.at.value;
    return Chernoff{side * (rise - std::log(mass)) / x, x, rise};
  };
  Chernoff best = end(a);
  // Shorter is better; a heavy side wants a smaller exponent.
  for (double factor : {0.6, 1.5}) {
    for (int i = 0; i < 8; ++i) {
      const Chernoff next = end(std::min(limit, best.a * factor));
      if (!(side * next.loss < side * best.loss)) break;
      best = next;
    }
  }
  return best;
}

Window ChooseWindow(const Problem& problem, double outside) {
  Window window;
  window.size = problem.last + 1;
  if (problem.uses == 1 || window.size <= 4096) return window;  // the whole law
  const Chernoff above = ChernoffEnd(problem, outside / 2, +1),
                 below = ChernoffEnd(problem, outside / 2, -1);
  const double low = std::floor((below.loss - problem.base) / problem.spacing);
  const double high = std::ceil((above.loss - problem.base) / problem.spacing);
  if (!(low > 0) && !(high < problem.last)) return window;
  window.low = std::max(0.0, low);
  window.size = std::min(problem.last, high) - window.low + 1;
  // The bounds at these ends, whatever the search found, with the rounding of the cumulants.
  const double top = problem.base + problem.spacing * (window.low + window.size - 1);
  const double bottom = problem.base + problem.spacing * window.low;
  double rounding = 0;
  for (const WeightedPmf& part : problem.parts) {
    rounding += static_cast<double>(part.count) * 4 * kRounding *
                (static_cast<double>(part.pmf->mass.size()) + 4000);
  }
  // Beyond an end of the law itself there is nothing: a bound there would be no small one where the
  // tilted law reaches that end, and no spacing would make up for it.
  const bool cut_above = problem.last > high;
  const bool cut_below = low > 0;
  window.missing = 1.01 * std::exp(rounding) *
                   ((cut_above ? std::exp(above.rise - above.a * top) : 0) +
                    (cut_below ? std::exp(below.rise + below.a * bottom) : 0));
  return window;
}

using Spectrum = std::vector<std::complex<double>>;

// product *= factor^count; bound *= max(|factor|^2, 1/4)^count, the square of the header's Z.
void MultiplyPower(Spectrum& product, std::vector<double>& bound, const Spectrum& factor,
                   uint64_t count) {
  for (size_t i = 0; i < product.size(); ++i) {
    double x = factor[i].real(), y = factor[i].imag();
    double re = product[i].real(), im = product[i].imag();
    double square = std::max(x * x + y * y, 0.25), squares = bound[i];
    for (uint64_t n = count; n > 0; n >>= 1) {
      if (n & 1) {
        const double old = re;
        re = old * x - im * y;
        im = old * y + im * x;
        squares *= square;
      }
      const double old = x;
      x = old * old - y * y;
      y = 2 * old * y;
      square *= square;
    }
    product[i] = {re, im};
    bound[i] = squares;
  }
}

// sqrt of the mean over all frequencies of min(1, 2Z)^2.
double SpectralShare(const std::vector<double>& bound) {
  double sum = 0;
  for (double square : bound) sum += std::min(1.0, 4 * square);
  return std::sqrt(std::min(1.0, sum / static_cast<double>(bound.size() - 1))) * (1 + 1e-6);
}

// The stored weights of one part: p e^(c loss) / M with M rounded up and their own rounding
// charged.
std::vector<double> TiltedWeights(const LossPmf& pmf, double tilt, Side side, double log_mass) {
  std::vector<double> weights(pmf.mass.size());
  const double sign = side == Side::kUpper ? 1 : -1;
  const double reference = Reference(pmf, tilt);
  const double width = pmf.spacing * static_cast<double>(pmf.mass.size());
  const double error = (6 * tilt * width + 8 * std::abs(tilt * reference) + 256) * kRounding;
  const double factor = std::exp(tilt * reference - log_mass) * (1 + sign * error);
  ForPowers(pmf.mass.size(), tilt * (pmf.Loss(0) - reference), tilt * pmf.spacing,
            [&](size_t i, double power) { weights[i] = pmf.mass[i] * power * factor; });
  return weights;
}

}  // namespace

Cumulants TiltedCumulants(const std::vector<WeightedPmf>& parts, double tilt) {
  Cumulants sum;
  for (const WeightedPmf& part : parts) {
    const PartMoments moments = Moments(*part.pmf, tilt);
    const double count = static_cast<double>(part.count);
    sum.value += count * moments.log_mass;
    sum.mean += count * moments.mean;
    sum.variance += count * moments.variance;
  }
  return sum;
}

double TiltForDelta(const std::vector<WeightedPmf>& parts, double delta, double guess) {
  const double target = std::log(delta);
  return SolveTilt(parts, guess, [&](double tilt) {
    const Cumulants k = TiltedCumulants(parts, tilt);
    // Never aim below epsilon 0.
    if (SaddleEpsilon(k, tilt) < 0) return -1.0;
    return target - SaddleLogDelta(k, tilt);
  });
}

double TiltForEpsilon(const std::vector<WeightedPmf>& parts, double epsilon, double guess) {
  return SolveTilt(parts, guess, [&](double tilt) {
    return SaddleEpsilon(TiltedCumulants(parts, tilt), tilt) - epsilon;
  });
}

CompositionPlan PlanComposition(const std::vector<WeightedPmf>& parts, double saddle,
                                double accuracy) {
  const Cumulants k = TiltedCumulants(parts, saddle);
  const double epsilon = std::max(0.0, SaddleEpsilon(k, saddle));
  const double log_delta = std::min(0.0, SaddleLogDelta(k, saddle));
  CompositionPlan best;
  double best_size = kInfinity;
  for (double factor : {1.0, 0.8, 0.6, 0.4, 0.2, 0.05}) {
    const double tilt = saddle * factor;
    const Problem problem = MakeProblem(parts, tilt);
    // The charge for the mass outside, relative to delta (v in the header is at most this).
    const double log_charge = problem.at.value - tilt * epsilon +
                              tilt * std::log(tilt / (1 + tilt)) - std::log1p(tilt) - log_delta;
    const double room = std::log(accuracy) - log_charge;
    // The same for the rounding of the transform, about: it must stay below the accuracy too.
    const double cells = std::sqrt(problem.at.variance) / problem.spacing;
    const double rounding = static_cast<double>(problem.uses) * 400 * kRounding /
                            std::sqrt(tilt * problem.spacing * (1 + 3.5 * cells));
    if (factor < 1 && (room < -80 || std::log(rounding) > room)) break;
    const double outside = std::exp(std::clamp(room, -80.0, -5.0));
    const double size = ChooseWindow(problem, outside).size;
    if (size < 0.7 * best_size) {
      best = {tilt, outside};
      best_size = size;
    }
    if (best_size <= 32768) break;
  }
  return best;
}

ComposedLoss Compose(const std::vector<WeightedPmf>& parts, Side side, const CompositionPlan& plan,
                     size_t max_size, FftWorkspace& fft) {
  const double tilt = plan.tilt;
  ComposedLoss out;
  out.side_ = side;
  out.tilt_ = tilt;
  // Infinite mass: one minus the chance that no use is infinite, of total masses that need not
  // be 1.
  double log_finite = 0, log_all = 0, uses = 0;
  for (const WeightedPmf& part : parts) {
    long double finite = 0;
    for (double mass : part.pmf->mass) finite += mass;
    const double count = static_cast<double>(part.count), share = static_cast<double>(finite);
    const double all = share + part.pmf->infinity;
    if (all > 0) log_finite += count * std::log1p(-std::min(1.0, part.pmf->infinity / all));
    if (all > 0) log_all += count * std::log(side == Side::kUpper ? std::max(1.0, all) : all);
    out.loss_slack_ += count * part.pmf->loss_slack;
    uses += count;
  }
  const double rounding = 4 * kRounding * (uses + 4 * (1 + std::abs(log_all)));
  out.infinity_ = -std::expm1(log_finite) * std::exp(log_all);
  out.infinity_ *= side == Side::kUpper ? 1 + rounding : 1 - rounding;
  const bool empty = std::any_of(parts.begin(), parts.end(),
                                 [](const WeightedPmf& part) { return part.pmf->mass.empty(); });
  if (empty) return out;

  Problem problem = MakeProblem(parts, tilt);
  const Window window = ChooseWindow(problem, plan.outside);
  if (window.size > static_cast<double>(max_size)) {
    throw Error(ErrorCode::kUsage,
                "the composed privacy loss needs a transform of more than the permitted length",
                "allow more memory, or ask for a wider interval");
  }
  const bool direct = problem.uses == 1;
  const size_t size = direct ? static_cast<size_t>(window.size)
                             : std::bit_ceil(std::max<size_t>(4, static_cast<size_t>(window.size)));
  const double log_size = std::log2(static_cast<double>(size));

  // What underflows when tilted is added to what is missing.
  out.missing_ = window.missing;
  double log_scale = 0, log_scale_error = 0, transform_error = 0, back_error = 0;
  std::vector<double> composed;
  Spectrum product, spectrum;
  std::vector<double> bound;
  for (const WeightedPmf& part : parts) {
    const LossPmf& pmf = *part.pmf;
    const double count = static_cast<double>(part.count);
    // Rounded up a little, so that the weights sum to at most 1.
    const double reference = Reference(pmf, tilt);
    const double log_mass =
        Moments(pmf, tilt).log_mass + (16 * std::abs(tilt * reference) + 12 * tilt * Width(part) +
                                       1024 + static_cast<double>(pmf.mass.size())) *
                                          kRounding;
    log_scale += count * log_mass;
    log_scale_error += count * 8 * kRounding * std::abs(log_mass);
    out.missing_ += count * static_cast<double>(pmf.mass.size()) * 1e-290 *
                    std::exp(std::min(700.0, tilt * reference - log_mass));
    std::vector<double> weights = TiltedWeights(pmf, tilt, side, log_mass);
    if (direct) {
      composed = std::move(weights);
      break;
    }
    std::vector<double> wrapped(size, 0.0);
    for (size_t i = 0; i < weights.size(); ++i) wrapped[i & (size - 1)] += weights[i];
    fft.Forward(wrapped, spectrum);
    if (product.empty()) {
      product.assign(spectrum.size(), 1.0);
      bound.assign(spectrum.size(), 1.0);
    }
    MultiplyPower(product, bound, spectrum, part.count);
    const double wraps = std::ceil(static_cast<double>(weights.size()) / static_cast<double>(size));
    transform_error += count * (2 * (8 * log_size + 24) + 4 + wraps) * kRounding;
  }
  if (!direct) {
    const double power_error =
        transform_error * std::exp(3 * transform_error) * SpectralShare(bound);
    back_error = (power_error + 2 * (8 * log_size + 24) * kRounding) * (1 + power_error);
    fft.Inverse(product, composed);
  }

  out.spacing_ = problem.spacing;
  const double first_loss = problem.base + problem.spacing * window.low;
  const double target = std::max(0.0, SaddleEpsilon(problem.at, std::max(tilt, 1e-3)));
  out.reference_ = target;
  // Only losses above 0 matter, and only those whose weights do not overflow.
  const double lowest = std::max(0.0, target - 500 / (tilt + 1));
  const double skip = std::clamp(std::floor((lowest - first_loss) / problem.spacing), 0.0,
                                 static_cast<double>(size) - 1);
  const size_t start = static_cast<size_t>(skip), kept = size - start;
  out.bottom_ = first_loss + problem.spacing * skip;
  out.cut_below_ = lowest > 0 && skip > 0;
  out.suffix_p_.resize(kept);
  out.suffix_q_.resize(kept);
  const size_t offset =
      direct ? start
             : static_cast<size_t>(std::fmod(window.low, static_cast<double>(size))) + start;
  const size_t mask = direct ? std::numeric_limits<size_t>::max() : size - 1;
  ForPowers(kept, -tilt * (out.bottom_ - target), -tilt * problem.spacing,
            [&](size_t j, double power) {
              out.suffix_p_[j] = std::max(0.0, composed[(offset + j) & mask]) * power;
            });
  ForPowers(kept, -(out.bottom_ - target), -problem.spacing,
            [&](size_t j, double power) { out.suffix_q_[j] = out.suffix_p_[j] * power; });
  long double sum_p = 0, sum_q = 0;
  for (size_t j = kept; j-- > 0;) {
    out.suffix_p_[j] = static_cast<double>(sum_p += out.suffix_p_[j]);
    out.suffix_q_[j] = static_cast<double>(sum_q += out.suffix_q_[j]);
  }
  out.l2_error_ = back_error;
  out.scale_ = std::exp(log_scale - tilt * target);
  out.scale_error_ = log_scale_error + 8 * kRounding * (std::abs(log_scale) + tilt * target + 4);
  // Sums of count * loss and of indices are rounded.
  out.loss_slack_ += 8 * kRounding *
                     (std::abs(problem.base) + std::abs(first_loss) +
                      problem.spacing * (problem.last < 1e15 ? static_cast<double>(size) : 1e15));
  return out;
}

double ComposedLoss::top() const {
  return bottom_ + spacing_ * static_cast<double>(suffix_p_.size());
}

double ComposedLoss::RawDelta(double epsilon) const {
  const bool upper = side_ == Side::kUpper;
  if (suffix_p_.empty()) return infinity_;
  if (upper && cut_below_ && epsilon < bottom_) return 1;
  const double index = std::floor((epsilon - bottom_) / spacing_) + 1;
  const double above = epsilon - reference_;
  double sum = 0, parts = 0;
  if (index < static_cast<double>(suffix_p_.size())) {
    const size_t j = static_cast<size_t>(std::max(0.0, index));
    const double q = std::exp(above) * suffix_q_[j];
    sum = suffix_p_[j] - q;
    parts = suffix_p_[j] + q;
  }
  const double decay = std::exp(-tilt_ * above);
  const double largest =
      tilt_ > 0 ? std::exp(tilt_ * std::log(tilt_ / (1 + tilt_))) / (1 + tilt_) : 1;
  const double cells = static_cast<double>(suffix_p_.size());
  double norm = std::sqrt(cells);
  if (tilt_ > 0) {
    const double beta = 2 / (2 * tilt_ * (2 * tilt_ + 1) * (2 * tilt_ + 2));
    norm = std::min(norm * largest, std::sqrt(beta / spacing_ + largest * largest));
  }
  const double span = spacing_ * cells + std::abs(reference_ - bottom_) + std::abs(above);
  const double charge = decay * (missing_ * largest + l2_error_ * norm) * 1.000001 +
                        parts * (4 * (tilt_ + 1) * span + 512) * kRounding;
  if (upper) {
    const double delta = scale_ * (std::max(0.0, sum) + charge) * (1 + scale_error_) + infinity_;
    return std::isnan(delta) ? 1 : std::clamp(delta, 1e-300, 1.0);
  }
  const double delta = scale_ * std::max(0.0, sum - charge) * (1 - scale_error_) + infinity_;
  return std::isnan(delta) ? 0 : std::clamp(delta, 0.0, 1.0);
}

double ComposedLoss::Delta(double epsilon) const {
  // The upper law lies higher by the slack, the lower one lower.
  const double slack = loss_slack_ + 4 * kRounding * epsilon;
  return RawDelta(side_ == Side::kUpper ? std::max(0.0, epsilon - slack) : epsilon + slack);
}

double ComposedLoss::Epsilon(double delta) const {
  const bool upper = side_ == Side::kUpper;
  if (infinity_ > delta) return kInfinity;
  double low = 0, high = suffix_p_.empty() ? 0 : std::max(0.0, top()) + loss_slack_ + spacing_;
  if (Delta(high) > delta) return upper ? kInfinity : high;
  if (upper) {
    if (Delta(0) <= delta) return 0;
  } else {
    // Far below its target a lower bound is lost in the charges: begin where it is not.
    constexpr int kSteps = 64;
    int step = 0;
    while (step < kSteps && !(Delta(reference_ * (1 - step / double{kSteps})) > delta)) ++step;
    low = reference_ * (1 - step / double{kSteps});
    if (!(Delta(low) > delta)) return 0;
  }
  for (int i = 0; i < 200; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    (Delta(middle) > delta ? low : high) = middle;
  }
  return upper ? high : low;
}

}  // namespace partita::privacy
