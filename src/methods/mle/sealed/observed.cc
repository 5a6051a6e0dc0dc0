#include "methods/mle/sealed/observed.h"

#include <utility>

namespace partita::methods::mle {
namespace {

using stats::RamCell;
using stats::RamMatrix;

// The terms of one group. Named as stats/sem/objective.cc: half is the weight, pull is tau.
class Terms {
 public:
  Terms(const SealedModel& model, size_t group)
      : cells_(model.ram.groups[group].cells),
        v_(model.ram.num_variables),
        means_(model.ram.meanstructure) {
    for (const RamCell& cell : cells_) effects_.push_back(EffectOf(cell, v_));
  }

  std::vector<ObservedTerm> Run() {
    for (size_t c = 0; c < cells_.size(); ++c) {
      for (size_t d = c; d < cells_.size(); ++d) {
        first_ = effects_[c].parameter;
        second_ = effects_[d].parameter;
        twice_ = c != d;
        Weighted(effects_[c], effects_[d]);
        Residual(c, d);
        Residual(d, c);
        if (cells_[c].matrix == RamMatrix::kRegression) {
          Curvature(c, d);
        } else if (cells_[d].matrix == RamMatrix::kRegression) {
          Curvature(d, c);
        }
      }
    }
    return std::move(result_);
  }

 private:
  int Gram(int i, int j) const { return i * 2 * v_ + j; }
  int Effect(int i, int j) const { return 4 * v_ * v_ + i * v_ + j; }
  int Covariance(int i, int j) const { return 5 * v_ * v_ + i * v_ + j; }
  int Excess(int i, int j) const { return i * 2 * v_ + j; }
  int Pull(int i, size_t cell) const {
    return 4 * v_ * v_ + i * static_cast<int>(cells_.size()) + static_cast<int>(cell);
  }

  void Add(double factor, int left, int right) {
    if (factor == 0 || (right >= 4 * v_ * v_ && !means_)) return;
    result_.push_back({first_, second_, twice_, factor, left, right});
  }

  // tr(V_c V_d R^-1 (T - R)).
  void Weighted(const CellEffect& c, const CellEffect& d) {
    const double both = c.weight * d.weight;
    Add(both, Gram(c.b, d.a), Excess(d.b, c.a));
    Add(both, Gram(c.b, d.b), Excess(d.a, c.a));
    Add(both, Gram(c.a, d.a), Excess(d.b, c.b));
    Add(both, Gram(c.a, d.b), Excess(d.a, c.b));
  }

  // The residual, moved by Sigma of c and mu of d.
  void Residual(size_t c, size_t d) {
    if (!MovesMean(d)) return;
    const CellEffect &x = effects_[c], &y = effects_[d];
    Add(x.weight, Gram(x.b, y.a), Pull(x.a, d));
    Add(x.weight, Gram(x.a, y.a), Pull(x.b, d));
  }

  // 1/2 tr(Omega d2Sigma) - residual' d2mu, of a regression and any cell; Omega is -H.
  void Curvature(size_t first, size_t second) {
    const RamCell &a = cells_[first], &b = cells_[second];
    const int down = Effect(a.column, b.row);
    switch (b.matrix) {
      case RamMatrix::kMean:
        Add(-1, down, Pull(a.row, second));
        return;
      case RamMatrix::kCovariance: {
        const double half = b.row == b.column ? 0.5 : 1;
        Add(-half, down, Excess(a.row, b.column));
        Add(-half, Effect(a.column, b.column), Excess(a.row, b.row));
        return;
      }
      case RamMatrix::kRegression: {
        const int up = Effect(b.column, a.row);
        Add(-1, down, Excess(a.row, v_ + b.column));
        Add(-1, up, Excess(b.row, v_ + a.column));
        Add(-1, Covariance(a.column, b.column), Excess(a.row, b.row));
        Add(-1, down, Pull(a.row, second));
        Add(-1, up, Pull(b.row, first));
        return;
      }
    }
  }

  bool MovesMean(size_t cell) const {
    return effects_[cell].tau != 0 || effects_[cell].tau_of >= 0;
  }

  const std::vector<RamCell>& cells_;
  int v_;
  bool means_;
  std::vector<CellEffect> effects_;
  int first_ = 0, second_ = 0;
  bool twice_ = false;
  std::vector<ObservedTerm> result_;
};

}  // namespace

CellEffect EffectOf(const RamCell& cell, int num_variables) {
  switch (cell.matrix) {
    case RamMatrix::kRegression:
      return {cell.row, num_variables + cell.column, 1, 0, cell.column, cell.parameter};
    case RamMatrix::kCovariance:
      return {cell.row, cell.column, cell.row == cell.column ? 0.5 : 1, 0, -1, cell.parameter};
    case RamMatrix::kMean:
      return {cell.row, cell.row, 0, 1, -1, cell.parameter};
  }
  return {};
}

std::vector<ObservedTerm> ObservedTermsOf(const SealedModel& model, size_t group) {
  return Terms(model, group).Run();
}

}  // namespace partita::methods::mle
