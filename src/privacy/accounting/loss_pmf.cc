#include "privacy/accounting/loss_pmf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "privacy/accounting/normal.h"

namespace partita::privacy {
namespace {

constexpr double kTiny = 1e-290;    // masses below are not trusted relatively
constexpr double kMaxIndex = 1e15;  // grid indices are exact doubles far beyond
constexpr int kReachSteps = 3;      // how far below its grid point a merged cell may reach
constexpr double kHair = 1e-9;      // of a step: losses so near to a grid point are taken as there

double Point(const LossGrid& grid, double index) { return grid.anchor + grid.spacing * index; }

double CheckedIndex(double index) {
  if (!(std::abs(index) < kMaxIndex)) {
    throw Error(ErrorCode::kUsage, "a privacy loss lies beyond the grid",
                "the loss is too large to be composed; treat it as infinite");
  }
  return index;
}

double FloorIndex(const LossGrid& grid, double loss) {
  double index = CheckedIndex(std::floor((loss - grid.anchor) / grid.spacing));
  while (Point(grid, index) > loss) index -= 1;
  while (Point(grid, index + 1) <= loss) index += 1;
  return index;
}

double CeilIndex(const LossGrid& grid, double loss) {
  const double index = FloorIndex(grid, loss);
  return Point(grid, index) < loss ? index + 1 : index;
}

// Adds to a map from indices to masses that grows at both ends.
class Sparse {
 public:
  explicit Sparse(size_t max_points) : max_points_(max_points) {}

  void Add(double index, double mass) {
    if (!(mass > 0)) return;
    const int64_t at = static_cast<int64_t>(index);
    if (mass_.empty()) first_ = at;
    if (at < first_) {
      const size_t more = static_cast<size_t>(first_ - at);
      Check(mass_.size() + more);
      // Room to grow: cells come in order, so that this is rare or always at the same end.
      const size_t room = std::max(more, std::min(mass_.size(), max_points_ - mass_.size()));
      mass_.insert(mass_.begin(), room, 0.0);
      first_ -= static_cast<int64_t>(room);
    }
    const size_t offset = static_cast<size_t>(at - first_);
    if (offset >= mass_.size()) {
      Check(offset + 1);
      mass_.resize(offset + 1);
    }
    mass_[offset] += mass;
  }

  void MoveTo(LossPmf& pmf) {
    const auto used = [](double mass) { return mass > 0; };
    const auto begin = std::find_if(mass_.begin(), mass_.end(), used);
    const auto end = std::find_if(mass_.rbegin(), mass_.rend(), used).base();
    if (begin >= end) return;
    pmf.first = first_ + (begin - mass_.begin());
    pmf.mass.assign(begin, end);
  }

 private:
  void Check(size_t points) const {
    if (points > max_points_) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("the privacy loss needs more than {} grid points", max_points_),
                  "ask for a wider interval");
    }
  }

  size_t max_points_;
  int64_t first_ = 0;
  std::vector<double> mass_;
};

// Grid points are real numbers: exact if they are multiples of a short spacing, else rounded.
double GridSlack(const LossPmf& pmf) {
  const double lowest = std::abs(pmf.Loss(0));
  const double highest = std::abs(pmf.Loss(static_cast<int64_t>(pmf.mass.size())));
  const bool exact =
      pmf.anchor == 0 && static_cast<double>(static_cast<float>(pmf.spacing)) == pmf.spacing;
  return exact ? 0 : 4 * kRounding * (std::max(lowest, highest) + std::abs(pmf.anchor));
}

LossPmf Finish(const LossGrid& grid, Sparse& sparse, double infinity, double slack) {
  LossPmf pmf;
  pmf.anchor = grid.anchor;
  pmf.spacing = grid.spacing;
  pmf.infinity = infinity;
  sparse.MoveTo(pmf);
  pmf.loss_slack = slack + GridSlack(pmf);
  return pmf;
}

// Where the two walks below meet: beyond the bulk, at the first cell of little mass.
size_t Junction(const std::vector<LossCell>& cells) {
  const auto largest = std::max_element(
      cells.begin(), cells.end(), [](const LossCell& a, const LossCell& b) { return a.p < b.p; });
  const auto light = std::find_if(largest, cells.end(),
                                  [&](const LossCell& cell) { return cell.p < 1e-6 * largest->p; });
  return static_cast<size_t>(light - cells.begin());
}

// Collects cells into blocks whose merged loss is a grid point, in two walks. Where atoms fix the
// grid the walks go from both ends to the junction: a walk towards larger masses keeps blocks of
// even width, and what is left over at its end has little mass. Else the grid is put where the
// heaviest cells merge to and the walks go outwards from there, so that nothing is lost of a bulk
// that is narrower than the grid.
class Merger {
 public:
  Merger(const std::vector<LossCell>& cells, const LossGrid& grid)
      : cells_(cells), grid_(grid), sparse_(grid.max_points) {}

  LossPmf Run(bool fixed_anchor) {
    size_t low = Junction(cells_), high = low;
    if (!fixed_anchor && PlaceBulk(low, high)) {
      Walk(-1, low, 0);
      Walk(+1, high, cells_.size());
    } else {
      Walk(+1, 0, low);
      Walk(-1, cells_.size(), low);
    }
    return Finish(grid_, sparse_, infinity_, slack_);
  }

 private:
  // A lower bound of the cell's mass with losses above `point`, less e^point times Q: its excess.
  static double Excess(const LossCell& cell, double point) {
    const double error = cell.error + RaisedError(point);
    return cell.p * (1 - error) - RaisedMass(point, cell.q * (1 + error));
  }

  static double LowP(const LossCell& cell) { return cell.p * (1 - cell.error); }
  static bool Reliable(const LossCell& cell) {
    return cell.p >= kTiny && cell.q >= kTiny && cell.error <= 0.5;
  }

  // The cells within half a step of the heaviest one become one block, whose merged loss (errors on
  // the low side) becomes the anchor. False if that cell has no finite loss.
  bool PlaceBulk(size_t& low, size_t& high) {
    const auto heaviest =
        std::max_element(cells_.begin(), cells_.end(),
                         [](const LossCell& a, const LossCell& b) { return a.p < b.p; });
    if (heaviest == cells_.end() || !Reliable(*heaviest)) return false;
    const double loss = std::log(heaviest->p / heaviest->q);
    const auto near = [&](const LossCell& cell) {
      return Reliable(cell) && std::abs(std::log(cell.p / cell.q) - loss) <= grid_.spacing / 2;
    };
    low = static_cast<size_t>(heaviest - cells_.begin());
    high = low + 1;
    while (low > 0 && near(cells_[low - 1])) --low;
    while (high < cells_.size() && near(cells_[high])) ++high;
    double p = 0, q = 0;
    for (size_t i = low; i < high; ++i) {
      p += LowP(cells_[i]);
      q += cells_[i].q * (1 + cells_[i].error);
    }
    const double count = static_cast<double>(high - low);
    const double merged = std::log(p / q);
    grid_.anchor = merged - (2 * count + 8 + 8 * std::abs(merged)) * kRounding;
    sparse_.Add(0, p * (1 - count * kRounding));
    return true;
  }

  // side +1: cells at, at+1, ... end-1; side -1: cells at-1, ... end.
  void Walk(int side, size_t at, size_t end) {
    side_ = side;
    end_ = end;
    at_ = at;
    left_ = 1;
    while (at_ != end_) {
      const LossCell& cell = Cell(at_);
      if (Reliable(cell)) {
        Collect(cell);
        continue;
      }
      if (cell.p >= kTiny && cell.error <= 0.5) {
        if (std::isinf(cell.low) && cell.low > 0) infinity_ += LowP(cell);
        if (std::isfinite(cell.low)) sparse_.Add(FloorIndex(grid_, cell.low), LowP(cell));
      }
      Next(1);  // what is left is dropped (L2)
    }
  }

  const LossCell& Cell(size_t at) const { return cells_[side_ > 0 ? at : at - 1]; }
  void Next(double left) {
    at_ = side_ > 0 ? at_ + 1 : at_ - 1;
    left_ = left;
  }

  double Tolerance(const LossCell& cell, double loss) const {
    return 4 * cell.error + 16 * kRounding * (1 + std::abs(loss) + std::abs(grid_.anchor));
  }

  // Hands out what is left of a cell whose merged loss is a grid point, as far as is known.
  bool TakeAtPoint(const LossCell& cell) {
    const double loss = std::log(cell.p / cell.q);
    const double tolerance = Tolerance(cell, loss);
    const double nearest = CheckedIndex(std::round((loss - grid_.anchor) / grid_.spacing));
    if (std::abs(loss - Point(grid_, nearest)) > tolerance) return false;
    slack_ = std::max(slack_, 2 * tolerance);
    sparse_.Add(nearest, left_ * LowP(cell));
    Next(1);
    return true;
  }

  // Output by output the same loss, known well enough to tell it from the neighbouring grid points.
  bool IsAtom(const LossCell& cell) const {
    const double width = cell.high - cell.low;
    return width <= kHair * grid_.spacing && 4 * cell.error <= kHair * grid_.spacing;
  }

  void Collect(const LossCell& cell) {
    if (TakeAtPoint(cell)) return;
    const double loss = std::log(cell.p / cell.q);
    const double index = FloorIndex(grid_, loss) + (side_ > 0 ? 1 : 0);
    Block(index);
  }

  // Going down, a block starts above its grid point and takes cells below until its excess would be
  // negative; going up, it starts below and takes cells until the excess is not negative any more.
  // Atoms at grid points are passed over: they cannot balance anything, and merged with the block
  // they would be lowered with it where the law ends in one (a flat part of the likelihood ratio).
  void Block(double index) {
    const double point = Point(grid_, index);
    double mass = 0, q = 0, excess = 0;
    while (at_ != end_) {
      const LossCell& cell = Cell(at_);
      const bool too_far = side_ > 0 ? cell.low > point + kReachSteps * grid_.spacing
                                     : cell.high < point - kReachSteps * grid_.spacing;
      if (mass > 0 && (!Reliable(cell) || too_far)) break;
      if (mass > 0 && IsAtom(cell) && TakeAtPoint(cell)) continue;
      const double more = Excess(cell, point), all = excess + left_ * more;
      const bool done = side_ > 0 ? all >= 0 : all < 0 && mass > 0;
      if (done) {
        const double exact = std::clamp(-excess / more, 0.0, left_);
        const double part = std::min(left_, exact * (1 + side_ * 8 * kRounding));
        mass += part * LowP(cell);
        left_ -= part;
        excess = 0;
        if (left_ <= 0) Next(1);
        break;
      }
      excess = all;
      mass += left_ * LowP(cell);
      q += left_ * cell.q * (1 + cell.error);
      Next(1);
    }
    if (excess >= 0) {
      sparse_.Add(index, mass);
    } else {  // the walk or the bulk ended before the balance: lower it (L2)
      sparse_.Add(FloorIndex(grid_, std::log(mass / q) - 64 * kRounding), mass);
    }
  }

  const std::vector<LossCell>& cells_;
  LossGrid grid_;
  Sparse sparse_;
  double infinity_ = 0;
  double slack_ = 0;
  int side_ = 1;
  size_t at_ = 0, end_ = 0;
  double left_ = 1;  // how much of the current cell is not yet handed out
};

}  // namespace

double RaisedMass(double loss, double mass) {
  if (mass == 0) return 0;
  return std::abs(loss) < 600 ? std::exp(loss) * mass : std::exp(loss + std::log(mass));
}

double RaisedError(double loss) {
  return (std::abs(loss) < 600 ? 6 : 6 + 4 * std::abs(loss)) * kRounding;
}

LossPmf Dominating(const std::vector<LossCell>& cells, const LossGrid& grid) {
  Sparse sparse(grid.max_points);
  double infinity = 0, slack = 0;
  for (const LossCell& cell : cells) {
    const double error = cell.error + 8 * kRounding;
    const double all = cell.p * (1 + error);
    if (!(cell.p > 0)) {
      infinity += 1e-300;  // underflow is mass too
      continue;
    }
    if (std::isinf(cell.high) && (std::isinf(cell.low) || cell.q < kTiny)) {
      infinity += all;
      continue;
    }
    double top = std::isinf(cell.high) ? cell.high : CeilIndex(grid, cell.high);
    // An atom that lies above a grid point by its rounding alone stays at that point, which is then
    // read as lying so much higher: spread to the next point it would dominate small deltas.
    const double above = cell.high - Point(grid, top - 1), hair = kHair * grid.spacing;
    if (cell.high - cell.low <= hair && above <= hair) {
      top -= 1;
      slack = std::max(slack, above + 4 * kRounding * (std::abs(cell.high) + above));
    }
    if (std::isinf(cell.low) || cell.q < kTiny || cell.error > 0.5) {
      if (std::isinf(top))
        infinity += all;
      else
        sparse.Add(top, all);
      continue;
    }
    // A low end within a hair of the next grid point is raised to it (U2).
    double bottom = FloorIndex(grid, cell.low);
    if ((cell.low - Point(grid, bottom)) > (1 - 1e-6) * grid.spacing) bottom += 1;
    if (bottom >= top) {
      sparse.Add(top, all);
      continue;
    }
    const double from = std::min(cell.low, Point(grid, bottom));
    const double raised = RaisedError(from);
    const double excess = all - RaisedMass(from, cell.q * (1 - error - raised));
    const double share = std::isinf(top) ? 1 : -std::expm1(from - Point(grid, top));
    const double up = std::clamp(excess / share * (1 + 8 * kRounding), 0.0, all);
    if (std::isinf(top))
      infinity += up;
    else
      sparse.Add(top, up);
    sparse.Add(bottom, all - up);
  }
  return Finish(grid, sparse, infinity, slack);
}

LossPmf Dominated(const std::vector<LossCell>& cells, const LossGrid& grid, bool fixed_anchor) {
  return Merger(cells, grid).Run(fixed_anchor);
}

double FittingSpacing(double wanted, double period) {
  if (period >= wanted) return period / std::ceil(period / wanted);
  return static_cast<double>(std::nextafter(static_cast<float>(wanted), 0.0f));
}

}  // namespace partita::privacy
