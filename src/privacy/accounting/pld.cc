#include "privacy/accounting/pld.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "privacy/accounting/normal.h"
#include "privacy/accounting/one_use.h"
#include "privacy/accounting/types.h"
#include "privacy/rounded_text.h"

namespace partita::privacy {
namespace {

constexpr int kMaxRounds = 16;
constexpr double kLargestGaussianPart = 4;  // mu of one use of what Gaussians are combined to
constexpr int kSubdivisions = 2;
// What a round costs: a point of a law enters some hundreds of sums, one of a transform a few dozen
// steps; of a single use every cell is looked at once for each of some hundred epsilons.
constexpr double kWorkOfPoint = 1200, kWorkOfTransform = 200, kWorkOfCell = 2000;
// The law of one use may be longer than the window of the composed one, to where it has no mass.
constexpr size_t kPointsPerCell = 4;
// So many points a law of one use may have however little work is left: some answer in a moment.
constexpr double kLeastPoints = 1 << 15;
// Of the composed law likewise, unless so many do not do: after as many tries work counts no more.
constexpr double kLeastCells = 1 << 17;
constexpr int kThriftyTries = 2;
constexpr double kDecidingWidth = 0.05;  // where a search for a decision begins
// Shares of the width that the window and the tails may take, relative to delta.
constexpr double kWindowShare = 0.02;
constexpr double kTailShare = 0.01;

struct Use {
  std::shared_ptr<const LossPair> pair;
  uint64_t count = 1;
};

// What is asked: epsilon at this delta, or delta at this epsilon.
struct Question {
  std::optional<double> delta;
  std::optional<double> epsilon;
};

void CheckOptions(const PldOptions& options) {
  const bool good = options.relative_width >= 1e-7 && options.relative_width <= 0.5 &&
                    options.absolute_width >= 0 && options.max_cells >= 1024 &&
                    options.max_cells <= (size_t{1} << 28);
  if (!good) {
    throw Error(ErrorCode::kUsage, "the accountant's options are out of range",
                "relative width 1e-7 to 0.5, absolute width not negative, 1024 to 2^28 cells");
  }
}

// Unsampled Gaussians together are one of mu = sqrt(sum T mu^2), which is split into equal parts
// again so that e^loss stays in range.
std::vector<Event> CombineGaussians(const std::vector<Event>& events) {
  std::vector<Event> rest;
  double square = 0;
  uint64_t gaussians = 0;
  for (const Event& event : events) {
    if (!event.mechanism.forward || !event.mechanism.backward)
      throw Error(ErrorCode::kUsage, "a mechanism without laws cannot be accounted");
    RequireCount(event.count);
    if (event.mechanism.gaussian_mu > 0) {
      square += event.mechanism.gaussian_mu * event.mechanism.gaussian_mu *
                static_cast<double>(event.count);
      gaussians += event.count;
    } else {
      rest.push_back(event);
    }
  }
  if (gaussians == 0) return rest;
  const double parts =
      std::max(1.0, std::ceil(square / (kLargestGaussianPart * kLargestGaussianPart)));
  if (!(parts <= 1e9)) {
    throw Error(ErrorCode::kUsage, "the Gaussian noise is too small to say anything about privacy",
                "its total mu is above 1e5");
  }
  const double mu = std::sqrt(square / parts);
  rest.push_back({GaussianMechanism(1 / mu, {}), static_cast<uint64_t>(parts)});
  return rest;
}

std::vector<Use> Direct(const std::vector<Event>& events, bool forward) {
  std::vector<Use> uses;
  for (const Event& event : events) {
    const auto& pair = forward ? event.mechanism.forward : event.mechanism.backward;
    const auto same =
        std::find_if(uses.begin(), uses.end(), [&](const Use& use) { return use.pair == pair; });
    if (same != uses.end()) {
      same->count += event.count;
    } else {
      uses.push_back({pair, event.count});
    }
  }
  return uses;
}

bool Symmetric(const std::vector<Event>& events) {
  return std::all_of(events.begin(), events.end(), [](const Event& event) {
    return event.mechanism.forward == event.mechanism.backward;
  });
}

struct Round {
  Interval value;
  double upper_delta = 1;  // about the delta in question
  double tilt = 0;
  size_t cells = 0;
  double work = 0;
};

class Accountant {
 public:
  Accountant(std::vector<Use> uses, const Question& question, const PldOptions& options,
             FftWorkspace& fft)
      : uses_(std::move(uses)), question_(question), options_(options), fft_(fft) {}

  // Refines until narrow enough, or until the upper end is below `irrelevant_below`. Where one
  // direction had to begin anew with a wider spacing (grown_to), the other begins there.
  void Run(double irrelevant_below, PldResult& result, Interval& value, double& grown_to) {
    value = {0, kInfinity};
    double wanted = std::max(FirstSpacing(), grown_to);
    size_t cells_before = 0;
    std::optional<Round> best;
    double tail = question_.delta.value_or(1e-9) * kTailShare * options_.relative_width / Uses();
    const double grown_before = grown_to;
    bool grew = grown_to > 0;
    int thrifty_tries = 0;
    for (int round = 0; round < kMaxRounds; ++round) {
      if (options_.check_cancelled) options_.check_cancelled();
      std::optional<Round> next = Try(wanted, tail, best ? best->tilt : 0);
      if (!next) {  // too long a transform
        if (best) break;
        wanted *= 3;
        if (thrifty_ && ++thrifty_tries == kThriftyTries) {
          if (options_.decide && options_.work) return;  // undecided
          thrifty_ = false;
          wanted = std::max(FirstSpacing(), grown_before);
        }
        grew = true;
        grown_to = wanted;
        continue;
      }
      if (best) {
        next->value.lower = std::max(next->value.lower, best->value.lower);
        next->value.upper = std::min(next->value.upper, best->value.upper);
      }
      best = next;
      if (options_.work) *options_.work -= best->work;
      result.spacing = wanted;
      result.cells = std::max(result.cells, best->cells);
      const double width = best->value.upper - best->value.lower;
      const double allowed =
          std::max(options_.absolute_width, options_.relative_width * best->value.upper);
      if (width <= allowed || best->value.lower == kInfinity ||
          best->value.upper < irrelevant_below || Decided(best->value))
        break;
      // The cells of some pairs are given.
      if (grew || (IsOneUse() && best->cells == cells_before)) break;
      cells_before = best->cells;
      if (!question_.delta)
        tail = std::min(tail, std::max(best->upper_delta, 1e-280) * kTailShare *
                                  options_.relative_width / Uses());
      // The width falls with the square of the spacing.
      const double ratio = std::isfinite(width) ? std::sqrt(0.8 * allowed / width) : 0.25;
      const double finer = std::clamp(ratio, 1.0 / 16, 0.75);
      if (options_.work && best->work / finer > *options_.work) break;
      wanted *= finer;
    }
    if (!best) {
      throw Error(ErrorCode::kUsage,
                  "the privacy loss cannot be composed within the permitted memory",
                  "allow more cells, or ask for a wider interval");
    }
    value = best->value;
  }

 private:
  bool IsOneUse() const { return uses_.size() == 1 && uses_[0].count == 1; }

  bool Decided(const Interval& value) const {
    return options_.decide && (value.upper <= *options_.decide || value.lower > *options_.decide);
  }

  double Uses() const {
    double sum = 0;
    for (const Use& use : uses_) sum += static_cast<double>(use.count);
    return sum;
  }

  // With the spacing s h per use the variance is off by a share h^2/4 of itself, so that h about
  // 2.5 sqrt(relative width) is near what will be needed.
  double FirstSpacing() const {
    double square = 0;
    for (const Use& use : uses_)
      square += use.pair->loss_scale * use.pair->loss_scale * static_cast<double>(use.count);
    const double width = options_.decide ? std::max(kDecidingWidth, options_.relative_width)
                                         : options_.relative_width;
    return std::max(1e-12, std::sqrt(square / Uses()) * 2.5 * std::sqrt(width));
  }

  // Nothing if the grid or the transform would be too long.
  std::optional<Round> Try(double wanted, double tail, double guess) {
    try {
      return AtSpacing(wanted, tail, guess);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUsage) throw;
      return std::nullopt;
    }
  }

  CellRequest RequestOf(const LossPair& pair, double spacing, double tail) const {
    CellRequest request;
    // Without atoms to meet, an anchor of 0 keeps the grid points exact.
    request.anchor = pair.period > 0 ? pair.anchor : 0;
    request.spacing = spacing;
    request.subdivisions = kSubdivisions;
    request.tail_mass = tail;
    request.max_cells = MostPoints();
    request.check_cancelled = &options_.check_cancelled;
    return request;
  }

  // Of the law of one use, so that one round takes half of the work that is left at most.
  double MostPoints() const {
    const double most = static_cast<double>(kPointsPerCell * options_.max_cells);
    if (!options_.work) return most;
    const double affordable = *options_.work / 2 / kWorkOfPoint / static_cast<double>(uses_.size());
    return std::clamp(affordable, kLeastPoints, most);
  }

  // Of the composed law, whose two sides are transformed, likewise.
  size_t MostCells() const {
    const double most = static_cast<double>(options_.max_cells);
    if (!options_.work || !thrifty_) return options_.max_cells;
    const double affordable = *options_.work / 2 / (2 * kWorkOfTransform);
    return std::bit_floor(
        static_cast<size_t>(std::clamp(affordable, std::min(kLeastCells, most), most)));
  }

  Round Single(const std::vector<LossCell>& cells) const {
    Round round;
    round.cells = cells.size();
    round.work = kWorkOfCell * static_cast<double>(cells.size());
    round.value = question_.delta ? OneUseEpsilon(cells, *question_.delta)
                                  : OneUseDelta(cells, *question_.epsilon);
    round.upper_delta = question_.delta.value_or(round.value.upper);
    return round;
  }

  Round AtSpacing(double wanted, double tail, double guess) {
    double period = 0;
    for (const Use& use : uses_) {
      if (period == 0) period = use.pair->period;
    }
    const double spacing = FittingSpacing(wanted, period);
    if (IsOneUse()) return Single(uses_[0].pair->cells(RequestOf(*uses_[0].pair, spacing, tail)));
    std::vector<LossPmf> upper, lower;
    for (const Use& use : uses_) {
      if (options_.check_cancelled) options_.check_cancelled();
      const CellRequest request = RequestOf(*use.pair, spacing, tail);
      const LossGrid grid{request.anchor, spacing, static_cast<size_t>(request.max_cells)};
      const std::vector<LossCell> cells = use.pair->cells(request);
      upper.push_back(Dominating(cells, grid));
      lower.push_back(Dominated(cells, grid, use.pair->period > 0));
    }
    std::vector<WeightedPmf> upper_parts, lower_parts;
    for (size_t i = 0; i < uses_.size(); ++i) {
      upper_parts.push_back({&upper[i], uses_[i].count});
      lower_parts.push_back({&lower[i], uses_[i].count});
    }
    Round round;
    CompositionPlan plan;
    if (std::none_of(upper.begin(), upper.end(),
                     [](const LossPmf& pmf) { return pmf.mass.empty(); })) {
      round.tilt = question_.delta ? TiltForDelta(upper_parts, *question_.delta, guess)
                                   : TiltForEpsilon(upper_parts, *question_.epsilon, guess);
      plan = PlanComposition(upper_parts, round.tilt, kWindowShare * options_.relative_width);
    }
    if (options_.check_cancelled) options_.check_cancelled();
    const size_t most = MostCells();
    const ComposedLoss above = Compose(upper_parts, Side::kUpper, plan, most, fft_);
    const ComposedLoss below = Compose(lower_parts, Side::kLower, plan, most, fft_);
    round.cells = above.size();
    round.work = kWorkOfTransform * static_cast<double>(above.size() + below.size());
    for (const LossPmf& pmf : upper)
      round.work += kWorkOfPoint * static_cast<double>(pmf.mass.size());
    if (question_.delta) {
      round.value = {below.Epsilon(*question_.delta), above.Epsilon(*question_.delta)};
      round.upper_delta = *question_.delta;
    } else {
      round.value = {below.Delta(*question_.epsilon), above.Delta(*question_.epsilon)};
      round.upper_delta = round.value.upper;
    }
    return round;
  }

  std::vector<Use> uses_;
  Question question_;
  PldOptions options_;
  FftWorkspace& fft_;
  bool thrifty_ = true;  // a transform takes half of the work that is left at most
};

PldResult Answer(const std::vector<Event>& given, const Question& question,
                 const PldOptions& options) {
  CheckOptions(options);
  if (given.empty()) {
    throw Error(ErrorCode::kUsage, "there is no mechanism to account", "give at least one event");
  }
  const std::vector<Event> events = CombineGaussians(given);
  FftWorkspace fft;
  PldResult result;
  double grown_to = 0;
  Accountant(Direct(events, true), question, options, fft)
      .Run(-1, result, result.forward, grown_to);
  result.backward = result.forward;
  const bool decided = options.decide && result.forward.lower > *options.decide;
  if (!Symmetric(events) && !decided)
    Accountant(Direct(events, false), question, options, fft)
        .Run(result.forward.lower, result, result.backward, grown_to);
  result.value = {std::max(result.forward.lower, result.backward.lower),
                  std::max(result.forward.upper, result.backward.upper)};
  const double width = result.value.upper - result.value.lower;
  result.reached =
      width <= std::max(options.absolute_width, options.relative_width * result.value.upper) ||
      result.value.lower == kInfinity ||
      (options.decide && (result.value.upper <= *options.decide || decided));
  return result;
}

}  // namespace

PldResult PldEpsilon(const std::vector<Event>& events, double delta, const PldOptions& options) {
  return Answer(events, {AccountedDelta(RequireDelta(delta)), std::nullopt}, options);
}

PldResult PldDelta(const std::vector<Event>& events, double epsilon, const PldOptions& options) {
  return Answer(events, {std::nullopt, RequireEpsilon(epsilon)}, options);
}

}  // namespace partita::privacy
