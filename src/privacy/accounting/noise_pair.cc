// Cuts the outputs of a noise law into cells whose ends lie on a grid of losses.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "privacy/accounting/noise_law.h"
#include "privacy/accounting/types.h"

namespace partita::privacy {
namespace {

constexpr size_t kCellsPerCheck = size_t{1} << 15;

void CheckCancelled(const CellRequest& request, size_t number) {
  const bool can = request.check_cancelled != nullptr && *request.check_cancelled;
  if (can && number % kCellsPerCheck == 0) (*request.check_cancelled)();
}

struct Cutter {
  NoiseLaw law;
  Direction direction = Direction::kRemove;
  double rate = 1;

  // The add pair is cut on the mirrored line x -> -x, so that its loss increases too.
  double Ratio(double x) const { return law.log_ratio(direction == Direction::kAdd ? -x : x); }
  double RatioError(double x) const {
    return std::isinf(x) ? 0 : law.log_ratio_error(direction == Direction::kAdd ? -x : x);
  }

  double Loss(double x) const {
    const double mixed = MixedLogRatio(Ratio(x), rate);
    if (direction == Direction::kRemove) return mixed;
    if (direction == Direction::kAdd) return -mixed;
    return mixed - MixedLogRatio(law.log_ratio(-x), rate);
  }

  double LossError(double x) const {
    double error = MixedLogRatioError(Ratio(x), RatioError(x), rate);
    if (direction == Direction::kReplace)
      error += MixedLogRatioError(law.log_ratio(-x), RatioError(-x), rate);
    return error + 4 * kRounding * std::abs(Loss(x));
  }

  double Snap(double x) const { return law.integer ? std::floor(x) + 0.5 : x; }

  // The outputs of an integer law next to a half-integer cut.
  double LossBelow(double cut) const { return law.integer ? Loss(cut - 0.5) : Loss(cut); }
  double LossAbove(double cut) const { return law.integer ? Loss(cut + 0.5) : Loss(cut); }
  double ErrorBelow(double cut) const {
    return law.integer ? LossError(cut - 0.5) : LossError(cut);
  }
  double ErrorAbove(double cut) const {
    return law.integer ? LossError(cut + 0.5) : LossError(cut);
  }

  double Bisect(double level, double low, double high) const {
    for (int i = 0; i < 200 && low < high; ++i) {
      const double middle = 0.5 * (low + high);
      if (middle <= low || middle >= high || (law.integer && high - low < 0.25)) break;
      (Loss(middle) <= level ? low : high) = middle;
    }
    return low;
  }

  // An output whose loss is about `level`.
  double At(double level, double low, double high) const {
    if (direction == Direction::kReplace) {
      if (!law.at_replace_loss) return Bisect(level, low, high);
      return level < 0 ? -law.at_replace_loss(-level, rate) : law.at_replace_loss(level, rate);
    }
    const double mixed = direction == Direction::kAdd ? -level : level;
    double ratio = mixed;
    if (rate < 1) {
      ratio = mixed < 30 ? std::log1p(std::expm1(mixed) / rate)
                         : mixed - std::log(rate) + std::log1p(-(1 - rate) * std::exp(-mixed));
    }
    const double x = law.at_log_ratio(ratio);
    return direction == Direction::kAdd ? -x : x;
  }

  // The last cut whose outputs below it certainly have losses of at most `level`, as far as a few
  // steps get there; where they do not, the cell's own bounds tell.
  double CutAt(double level, double low, double high) const {
    double x = At(level, low, high);
    if (!std::isfinite(x)) return x;
    if (law.integer) {
      double cut = Snap(x);
      if (LossBelow(cut) + ErrorBelow(cut) > level) cut -= 1;
      return cut;
    }
    double step = 4 * kRounding * std::max(std::abs(x), 1e-300);
    for (int i = 0; i < 6 && Loss(x) + LossError(x) > level; ++i, step *= 4) x -= step;
    return x;
  }

  std::vector<double> Cuts(const CellRequest& request) const {
    const double reach = law.reach(request.tail_mass);
    double low = -reach, high = reach;
    (direction == Direction::kAdd ? low : high) +=
        direction == Direction::kAdd ? -law.shift : law.shift;
    if (direction == Direction::kReplace) low -= law.shift;
    low = Snap(low);
    high = Snap(high);
    if (law.flat_ends) {  // beyond the kinks there is one loss
      low = std::max(low, Snap(-law.shift - 1));
      high = std::min(high, Snap(law.shift + 1));
    }
    const double step = request.spacing / request.subdivisions;
    const double first = std::ceil((Loss(low) - request.anchor) / step);
    const double last = std::floor((Loss(high) - request.anchor) / step);
    // On the integers there are no more cuts than outputs.
    const bool every_output = law.integer && high - low <= last - first;
    const double count = every_output ? high - low : last - first;
    if (count > request.max_cells) {
      throw Error(
          ErrorCode::kUsage,
          fmt::format("the privacy loss would have more than {:.0f} cells", request.max_cells),
          "ask for a wider interval, or combine fewer unlike mechanisms");
    }
    std::vector<double> cuts;
    cuts.reserve(static_cast<size_t>(std::max(0.0, count)) + 8);
    for (double cut = low; every_output && cut <= high; ++cut) cuts.push_back(cut);
    for (double i = first; !every_output && i <= last; ++i) {
      CheckCancelled(request, cuts.size());
      const double level = request.anchor + step * i;
      cuts.push_back(CutAt(level, low, high));
    }
    for (double kink : law.kinks) {
      for (double x : {kink, -kink}) {
        // Flat parts are separated from the rest: an integer kink belongs to them.
        cuts.push_back(law.integer ? x - 0.5 : x);
        if (law.integer) cuts.push_back(x + 0.5);
      }
    }
    std::erase_if(cuts, [](double x) { return !std::isfinite(x); });
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    return cuts;
  }

  // Masses of the three laws that may occur: noise at 0, at +shift, at -shift, in (a, b).
  LossCell Cell(double a, double b) const {
    const Mass at_zero = law.mass(a, b, 0);
    const double to = direction == Direction::kAdd ? -law.shift : law.shift;
    const Mass shifted = law.mass(a, b, to);
    LossCell cell;
    const double mixed = (1 - rate) * at_zero.value + rate * shifted.value;
    cell.error = std::max(at_zero.error, shifted.error) + 4 * kRounding;
    if (direction == Direction::kRemove) {
      cell.p = mixed;
      cell.q = at_zero.value;
    } else if (direction == Direction::kAdd) {
      cell.p = at_zero.value;
      cell.q = mixed;
    } else {
      const Mass other = law.mass(a, b, -law.shift);
      cell.p = mixed;
      cell.q = (1 - rate) * at_zero.value + rate * other.value;
      cell.error = std::max(cell.error, other.error + 4 * kRounding);
    }
    return cell;
  }

  std::vector<LossCell> operator()(const CellRequest& request) const {
    const std::vector<double> cuts = Cuts(request);
    std::vector<LossCell> cells;
    cells.reserve(cuts.size() + 1);
    double a = -kInfinity;
    double low = Loss(-kInfinity) - LossError(-kInfinity);
    if (std::isnan(low)) low = -kInfinity;
    for (size_t i = 0; i <= cuts.size(); ++i) {
      CheckCancelled(request, i);
      const double b = i < cuts.size() ? cuts[i] : kInfinity;
      LossCell cell = Cell(a, b);
      cell.low = low;
      if (std::isfinite(b)) {
        cell.high = LossBelow(b) + ErrorBelow(b);
        low = LossAbove(b) - ErrorAbove(b);
      } else {
        cell.high = Loss(b) + LossError(b);
        if (std::isnan(cell.high)) cell.high = kInfinity;
      }
      a = b;
      if (cell.p > 0 || cell.q > 0) cells.push_back(cell);
    }
    return cells;
  }
};

}  // namespace

double MixedLogRatio(double ratio, double rate) {
  if (rate == 1) return ratio;
  if (ratio > 30) return ratio + std::log(rate) + std::log1p((1 - rate) / rate * std::exp(-ratio));
  return std::log1p(rate * std::expm1(ratio));
}

double MixedLogRatioError(double ratio, double ratio_error, double rate) {
  if (rate == 1) return ratio_error;
  if (ratio > 30) return ratio_error + 4 * kRounding * (ratio + std::abs(std::log(rate)) + 1);
  const double excess = rate * std::expm1(ratio);  // the slope in the ratio is below 1
  return ratio_error + 4 * kRounding * std::abs(excess) / (1 + excess) +
         2 * kRounding * std::abs(std::log1p(excess));
}

std::shared_ptr<const LossPair> NoisePair(const NoiseLaw& law, Direction direction, double rate) {
  auto pair = std::make_shared<LossPair>();
  const Cutter cutter{law, direction, rate};
  pair->loss_scale =
      rate == 1 ? law.ratio_scale : std::min(law.ratio_scale, rate * law.sampled_scale);
  if (direction == Direction::kReplace) pair->loss_scale *= 2;
  if (rate == 1 && law.ratio_period > 0) {
    const bool replace = direction == Direction::kReplace;
    pair->anchor = replace ? 0 : law.ratio_anchor;
    // The two ratios of a replace pair move together, but where one of them is flat.
    pair->period = replace && !law.flat_ends ? 2 * law.ratio_period : law.ratio_period;
  } else if (law.flat_ends) {
    // Atoms at both ends, and of a replace pair at 0 where an integer law has one. Where the
    // spacing is another mechanism's, the upper end at least is a grid point: small deltas are
    // about it.
    pair->anchor = cutter.Loss(kInfinity);
    pair->period =
        direction == Direction::kReplace ? pair->anchor : pair->anchor - cutter.Loss(-kInfinity);
  }
  pair->cells = cutter;
  return pair;
}

}  // namespace partita::privacy
