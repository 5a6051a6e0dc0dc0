#include "privacy/accounting/mechanism.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "privacy/accounting/noise_law.h"
#include "privacy/accounting/types.h"

namespace partita::privacy {
namespace {

std::string Suffix(const SamplingSpec& spec) {
  const std::string rate =
      spec.sampling_rate == 1 ? "" : fmt::format(", sampling rate {:.6g}", spec.sampling_rate);
  return fmt::format("{}, {}", rate, AdjacencyName(spec.adjacency));
}

Mechanism FromNoise(const NoiseLaw& law, const SamplingSpec& spec, const std::string& name) {
  const double rate = RequireSamplingRate(spec.sampling_rate);
  Mechanism mechanism;
  mechanism.name = name + Suffix(spec);
  if (spec.adjacency == Adjacency::kReplace) {
    mechanism.forward = mechanism.backward = NoisePair(law, Direction::kReplace, rate);
    return mechanism;
  }
  mechanism.forward = NoisePair(law, Direction::kRemove, rate);
  // Without sampling the add pair is the remove pair mirrored.
  mechanism.backward = rate == 1 ? mechanism.forward : NoisePair(law, Direction::kAdd, rate);
  return mechanism;
}

// The largest loss of a mechanism whose unsampled losses stay within `loss`.
double PureEpsilon(double loss, const SamplingSpec& spec) {
  const bool sampled_pair = spec.adjacency == Adjacency::kAddRemove && spec.sampling_rate < 1;
  return sampled_pair ? MixedLogRatio(loss, spec.sampling_rate) : loss;
}

struct Atom {
  double p = 0, q = 0;
  double error = 0;
};

double AtomLoss(const Atom& atom) {
  if (atom.q == 0) return kInfinity;
  return std::log(atom.p) - std::log(atom.q);
}

// Atoms of finite loss in increasing order, those of infinite loss last; the grid is anchored at
// the largest, and divides the smallest gap if all gaps are multiples of it, else the whole width.
std::shared_ptr<const LossPair> FromAtoms(std::vector<Atom> atoms) {
  std::erase_if(atoms, [](const Atom& atom) { return atom.p == 0; });
  std::sort(atoms.begin(), atoms.end(),
            [](const Atom& a, const Atom& b) { return AtomLoss(a) < AtomLoss(b); });
  std::vector<LossCell> cells;
  std::vector<double> losses;
  for (const Atom& atom : atoms) {
    const double loss = AtomLoss(atom);
    const double slack =
        std::isinf(loss)
            ? 0
            : 2 * atom.error +
                  4 * kRounding * (1 + std::abs(std::log(atom.p)) + std::abs(std::log(atom.q)));
    cells.push_back({atom.p, atom.q, atom.error + kRounding, loss - slack, loss + slack});
    if (std::isfinite(loss)) losses.push_back(loss);
  }
  auto pair = std::make_shared<LossPair>();
  if (!losses.empty()) {
    const double width = losses.back() - losses.front();
    pair->anchor = losses.back();
    double gap = width;
    for (size_t i = 1; i < losses.size(); ++i) {
      if (losses[i] - losses[i - 1] > 1e-12 * width) gap = std::min(gap, losses[i] - losses[i - 1]);
    }
    const bool lattice = gap > 0 && std::all_of(losses.begin(), losses.end(), [&](double loss) {
                           const double steps = (loss - losses.front()) / gap;
                           return std::abs(steps - std::round(steps)) < 1e-11;
                         });
    pair->period = lattice ? gap : width > 1e-12 ? width : 0;
    pair->loss_scale = std::max(width / 4, 1e-6);
  }
  pair->cells = [cells = std::move(cells)](const CellRequest&) { return cells; };
  return pair;
}

std::vector<Atom> Exchanged(std::vector<Atom> atoms) {
  for (Atom& atom : atoms) std::swap(atom.p, atom.q);
  return atoms;
}

void RequirePmf(std::span<const double> pmf, const char* which) {
  double sum = 0;
  for (double value : pmf) {
    if (!(value >= 0 && value <= 1)) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("the {} law has the probability {}", which, value),
                  "probabilities lie in [0, 1]");
    }
    sum += value;
  }
  if (!(std::abs(sum - 1) <= 1e-9)) {
    throw Error(ErrorCode::kBadInput, fmt::format("the {} law sums to {}, not 1", which, sum),
                "give all outputs, and enough digits");
  }
}

std::vector<Atom> Zip(std::span<const double> p, std::span<const double> q, double p_from_q) {
  if (p.size() != q.size() || p.empty()) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the two laws have {} and {} outputs", p.size(), q.size()),
                "give both on the same outputs, with zeros where needed");
  }
  RequirePmf(p, "first");
  RequirePmf(q, "second");
  std::vector<Atom> atoms;
  for (size_t i = 0; i < p.size(); ++i) {
    const double error = p_from_q == 0 ? 0 : 4 * kRounding;
    atoms.push_back({(1 - p_from_q) * p[i] + p_from_q * q[i], q[i], error});
  }
  return atoms;
}

// Of one step of many (Bu, Dong, Long & Su 2020), whose mu grows with the root of their number.
double SampledCltMu(double noise_multiplier, double sampling_rate) {
  return sampling_rate * std::sqrt(std::expm1(1 / (noise_multiplier * noise_multiplier)));
}

}  // namespace

Mechanism GaussianMechanism(double noise_multiplier, const SamplingSpec& spec) {
  Mechanism mechanism =
      FromNoise(GaussianNoise(noise_multiplier), spec,
                fmt::format("Gaussian, noise {:.6g} x sensitivity", noise_multiplier));
  const bool replace = spec.adjacency == Adjacency::kReplace;
  if (spec.sampling_rate == 1) mechanism.gaussian_mu = (replace ? 2 : 1) / noise_multiplier;
  if (spec.sampling_rate == 1) {
    mechanism.rdp = GaussianRdp(1 / mechanism.gaussian_mu);
    mechanism.clt_mu = mechanism.gaussian_mu;
  } else if (!replace) {
    mechanism.rdp = SampledGaussianRdp(noise_multiplier, spec.sampling_rate);
    mechanism.clt_mu = SampledCltMu(noise_multiplier, spec.sampling_rate);
  }
  return mechanism;
}

Mechanism LaplaceMechanism(double noise_multiplier, const SamplingSpec& spec) {
  Mechanism mechanism =
      FromNoise(LaplaceNoise(noise_multiplier), spec,
                fmt::format("Laplace, scale {:.6g} x sensitivity", noise_multiplier));
  const double loss = (spec.adjacency == Adjacency::kReplace ? 2 : 1) / noise_multiplier;
  mechanism.pure_epsilon = PureEpsilon(loss, spec);
  mechanism.rdp =
      spec.sampling_rate == 1 ? LaplaceRdp(1 / loss) : PureDpRdp(mechanism.pure_epsilon);
  return mechanism;
}

Mechanism DiscreteGaussianMechanism(double sigma, uint64_t sensitivity, const SamplingSpec& spec) {
  Mechanism mechanism =
      FromNoise(DiscreteGaussianNoiseLaw(sigma, sensitivity), spec,
                fmt::format("discrete Gaussian, sigma {:.6g}, sensitivity {}", sigma, sensitivity));
  const double shift =
      (spec.adjacency == Adjacency::kReplace ? 2.0 : 1.0) * static_cast<double>(sensitivity);
  if (spec.sampling_rate == 1) mechanism.rdp = GaussianRdp(sigma / shift);
  return mechanism;
}

Mechanism DiscreteGaussianSumMechanism(double share_sigma, uint32_t shares, uint64_t sensitivity,
                                       const SamplingSpec& spec) {
  return FromNoise(DiscreteGaussianSumNoise(share_sigma, shares, sensitivity), spec,
                   fmt::format("sum of {} discrete Gaussians, sigma {:.6g} each, sensitivity {}",
                               shares, share_sigma, sensitivity));
}

Mechanism DiscreteLaplaceMechanism(double scale, uint64_t sensitivity, const SamplingSpec& spec) {
  Mechanism mechanism =
      FromNoise(DiscreteLaplaceNoise(scale, sensitivity), spec,
                fmt::format("discrete Laplace, scale {:.6g}, sensitivity {}", scale, sensitivity));
  const double shift =
      (spec.adjacency == Adjacency::kReplace ? 2.0 : 1.0) * static_cast<double>(sensitivity);
  mechanism.pure_epsilon = PureEpsilon(shift / scale, spec);
  mechanism.rdp = PureDpRdp(mechanism.pure_epsilon);
  return mechanism;
}

Mechanism RandomisedResponse(double epsilon, const SamplingSpec& spec) {
  RequirePositive(RequireEpsilon(epsilon), "the epsilon of randomised response");
  const double rate = RequireSamplingRate(spec.sampling_rate);
  if (epsilon > 600)
    throw Error(ErrorCode::kUsage, "randomised response is offered up to epsilon 600");
  if (spec.adjacency == Adjacency::kReplace && rate < 1) {
    throw Error(ErrorCode::kUsage, "sampled randomised response has no replacement adjacency here",
                "use add-remove, or no sampling");
  }
  const double lie = 1 / (1 + std::exp(epsilon)), truth = 1 / (1 + std::exp(-epsilon));
  const double error = (4 + epsilon) * 2 * kRounding;
  std::vector<Atom> atoms = {{(1 - rate) * lie + rate * truth, lie, error},
                             {(1 - rate) * truth + rate * lie, truth, error}};
  Mechanism mechanism;
  mechanism.name = fmt::format("randomised response, epsilon {:.6g}", epsilon) + Suffix(spec);
  mechanism.forward = FromAtoms(atoms);
  mechanism.backward = rate == 1 ? mechanism.forward : FromAtoms(Exchanged(atoms));
  mechanism.pure_epsilon = PureEpsilon(epsilon, spec);
  mechanism.rdp = rate == 1 ? RandomisedResponseRdp(epsilon) : PureDpRdp(mechanism.pure_epsilon);
  return mechanism;
}

Mechanism ApproximateDpMechanism(const EpsilonDelta& guarantee) {
  const double epsilon = RequireEpsilon(guarantee.epsilon), delta = guarantee.delta;
  if (epsilon > 600)
    throw Error(ErrorCode::kUsage, "guarantees are composed up to epsilon 600 each");
  if (delta != 0) RequireDelta(delta);
  const double up = (1 - delta) / (1 + std::exp(-epsilon));
  const double down = (1 - delta) / (1 + std::exp(epsilon));
  const double error = (6 + epsilon) * 2 * kRounding;
  std::vector<Atom> atoms = {{delta, 0, 0}, {up, down, error}};
  if (epsilon > 0) {
    atoms.push_back({down, up, error});
  } else {
    atoms[1] = {1 - delta, 1 - delta, error};
  }
  atoms.push_back({0, delta, 0});
  Mechanism mechanism;
  mechanism.name = fmt::format("any ({:.6g}, {:.6g})-private mechanism", epsilon, delta);
  mechanism.forward = mechanism.backward = FromAtoms(atoms);
  return mechanism;
}

Mechanism PmfMechanism(std::span<const double> p, std::span<const double> q, std::string name) {
  const std::vector<Atom> atoms = Zip(p, q, 0);
  Mechanism mechanism;
  mechanism.name = std::move(name);
  mechanism.forward = FromAtoms(atoms);
  mechanism.backward = FromAtoms(Exchanged(atoms));
  return mechanism;
}

Mechanism SampledPmfMechanism(std::span<const double> with, std::span<const double> without,
                              double sampling_rate, std::string name) {
  const std::vector<Atom> atoms = Zip(with, without, 1 - RequireSamplingRate(sampling_rate));
  Mechanism mechanism;
  mechanism.name = fmt::format("{}, sampling rate {:.6g}, add-remove", name, sampling_rate);
  mechanism.forward = FromAtoms(atoms);
  mechanism.backward = FromAtoms(Exchanged(atoms));
  return mechanism;
}

namespace {

// Masses with absolute errors: a mass that cancelled to 0 is not known to be 0.
struct Piece {
  double p = 0, q = 0;
  double p_error = 0, q_error = 0;

  double Error() const { return std::max(Relative(p_error, p), Relative(q_error, q)); }
  static double Relative(double error, double mass) {
    if (error == 0) return 0;
    return mass > 0 ? error / mass : kInfinity;
  }
};

// The mass in (a, b] with its absolute error, from the tail that is smaller.
Mass PieceMass(const LineLaw& law, double a, double b, double relative_error) {
  const double above_a = a == -kInfinity ? 1 : law.survival(a),
               below_b = b == kInfinity ? 1 : law.cdf(b);
  const bool upper = above_a < below_b;
  const double outer = upper ? above_a : below_b;
  const double inner =
      upper ? (b == kInfinity ? 0 : law.survival(b)) : (a == -kInfinity ? 0 : law.cdf(a));
  const double mass = outer - inner;
  if (!(mass >= 0) || !std::isfinite(mass)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("a distribution function decreases between {} and {}", a, b),
                "cdf must not decrease, survival not increase");
  }
  return {mass, (relative_error + 2 * kRounding) * (outer + inner)};
}

// Pieces that are known to better than a per mille; poorer ones are joined to their left neighbour.
std::vector<Piece> Pieces(const LinePair& pair, size_t count) {
  std::vector<Piece> pieces;
  const double step = (pair.high - pair.low) / static_cast<double>(count);
  for (size_t i = 0; i <= count + 1; ++i) {
    const double a = i == 0 ? -kInfinity : pair.low + step * static_cast<double>(i - 1);
    const double b = i == count + 1 ? kInfinity : pair.low + step * static_cast<double>(i);
    const Mass p = PieceMass(pair.p, a, b, pair.relative_error);
    const Mass q = PieceMass(pair.q, a, b, pair.relative_error);
    const Piece piece{p.value, q.value, p.error, q.error};
    if (piece.p == 0 && piece.q == 0 && piece.Error() == 0) continue;
    if (!pieces.empty() && (piece.Error() > 1e-3 || pieces.back().Error() > 1e-3)) {
      Piece& last = pieces.back();
      last.p += piece.p;
      last.q += piece.q;
      last.p_error += piece.p_error;
      last.q_error += piece.q_error;
    } else {
      pieces.push_back(piece);
    }
  }
  return pieces;
}

std::shared_ptr<const LossPair> FromPieces(const std::vector<Piece>& pieces) {
  std::vector<LossCell> cells;
  const auto loss = [&](size_t i) { return AtomLoss({pieces[i].p, pieces[i].q, 0}); };
  const auto slack = [&](size_t i) {
    return std::isinf(loss(i)) ? 0 : 2.01 * pieces[i].Error() + 1e-15 * (1 + std::abs(loss(i)));
  };
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i > 0 && loss(i) + slack(i) < loss(i - 1) - slack(i - 1)) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("the likelihood ratio falls between pieces {} and {}", i - 1, i),
                  "order the line so that the ratio increases, or give the pair as probabilities "
                  "of outputs");
    }
    const double low = i == 0 ? -kInfinity : loss(i - 1) - slack(i - 1);
    const double high = i + 1 == pieces.size() ? kInfinity : loss(i + 1) + slack(i + 1);
    cells.push_back({pieces[i].p, pieces[i].q, pieces[i].Error(), low, high});
  }
  auto pair = std::make_shared<LossPair>();
  double mean = 0, square = 0, lowest = kInfinity, highest = -kInfinity;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].p == 0 || pieces[i].q == 0) continue;
    lowest = std::min(lowest, loss(i));
    highest = std::max(highest, loss(i));
    mean += pieces[i].p * loss(i);
    square += pieces[i].p * loss(i) * loss(i);
  }
  const double scale = std::sqrt(std::max(0.0, square - mean * mean));
  pair->loss_scale = std::max({scale, (highest - lowest) / 1e4, 1e-4});
  pair->cells = [cells](const CellRequest&) { return cells; };
  return pair;
}

}  // namespace

Mechanism DistributionMechanism(const LinePair& pair, size_t cells, std::string name) {
  if (!(pair.low < pair.high) || !std::isfinite(pair.low) || !std::isfinite(pair.high) ||
      cells < 2 || cells > 10'000'000 ||
      !(pair.relative_error >= 0 && pair.relative_error < 1e-3)) {
    throw Error(ErrorCode::kUsage, "a pair of laws on the line needs low < high and 2 to 1e7 cells",
                "low and high should leave out about 1e-20 of both laws");
  }
  for (const LineLaw& law : {pair.p, pair.q}) {
    for (double x : {pair.low, 0.5 * (pair.low + pair.high), pair.high}) {
      if (!(std::abs(law.cdf(x) + law.survival(x) - 1) <= 1e-9)) {
        throw Error(ErrorCode::kBadInput,
                    fmt::format("cdf and survival do not add up to 1 at {}", x),
                    "give P(X <= x) and P(X > x) of the same law");
      }
    }
  }
  std::vector<Piece> pieces = Pieces(pair, cells);
  Mechanism mechanism;
  mechanism.name = std::move(name);
  mechanism.forward = FromPieces(pieces);
  std::reverse(pieces.begin(), pieces.end());
  for (Piece& piece : pieces) {
    std::swap(piece.p, piece.q);
    std::swap(piece.p_error, piece.q_error);
  }
  mechanism.backward = FromPieces(pieces);
  return mechanism;
}

}  // namespace partita::privacy
