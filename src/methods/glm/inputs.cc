#include "methods/glm/inputs.h"

#include <algorithm>
#include <cmath>

#include "methods/glm/firth.h"
#include "methods/glm/fit_numbers.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/sandwich.h"
#include "stats/glm/firth.h"
#include "stats/glm/gaussian_moments.h"
#include "stats/glm/robust.h"
#include "stats/glm/sites.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::PrivateMatrix;
using mpc::Shape;
using mpc::Shared;
using mpc::WithBound;

// After the point of a sum divided by 2^row_bits.
constexpr int kInformationBits = 64, kScoreBits = 54, kPearsonBits = 52;
// Of rows, a meat is at most this many times their information.
static_assert(stats::glm::kMostPearson <= mpc::kMostMeat);

// Numbers that holders add to one sum: by holder, its own at itself.
struct SumKind {
  Shape shape;
  int fraction_bits = 0;
  double most = 1;  // of a row
  std::vector<Int128> own;
  Shared* sum = nullptr;
};

PrivateMatrix HolderMatrix(const Engine& engine, const run::RowHolder& holder,
                           const SumKind& kind) {
  return run::SumsOfHolder(engine, holder, kind.shape, kind.fraction_bits, kind.most, kind.own);
}

void ShareKinds(Engine& engine, const Task& task, const std::vector<SumKind>& kinds) {
  std::vector<PrivateMatrix> inputs;
  for (const run::RowHolder& holder : task.holders) {
    for (const SumKind& kind : kinds) inputs.push_back(HolderMatrix(engine, holder, kind));
  }
  const std::vector<Shared> shared = engine.Input(inputs);
  for (size_t k = 0; k < kinds.size(); ++k) {
    Shared sum = shared[k];
    for (size_t h = 1; h < task.holders.size(); ++h)
      sum = engine.Add(sum, shared[h * kinds.size() + k]);
    *kinds[k].sum = WithBound(sum, kinds[k].most * static_cast<double>(task.max_rows()));
  }
}

// Within the bound of a holder's sum, which only rounding could pass.
std::vector<Int128> Encoded(const Eigen::VectorXd& values, double most, int fraction_bits) {
  std::vector<Int128> encoded;
  for (const double value : values)
    encoded.push_back(mpc::EncodeFixed(std::clamp(value, -most, most), fraction_bits));
  return encoded;
}

// The upper triangle, row by row.
Eigen::VectorXd Packed(const Eigen::MatrixXd& matrix) {
  const Eigen::Index p = matrix.rows();
  Eigen::VectorXd packed(p * (p + 1) / 2);
  Eigen::Index next = 0;
  for (Eigen::Index i = 0; i < p; ++i) {
    for (Eigen::Index j = i; j < p; ++j) packed[next++] = matrix(i, j);
  }
  return packed;
}

// Divided by 2^row_bits: the same shares.
Shared PerRow(const Task& task, const Shared& sum, double most) {
  return WithBound(mpc::TimesPowerOfTwo(sum, -task.units.row_bits), most);
}

struct OwnSums {
  Eigen::VectorXd score;
  Eigen::MatrixXd information;
  double pearson = 0;
  uint64_t outside = 0;
  Eigen::MatrixXd meat;
  Eigen::VectorXd third = {};
};

class PointInput {
 public:
  // own: nothing at parties without rows.
  PointInput(Engine& engine, const Task& task, const OwnSums* own)
      : engine_(engine), task_(task), own_(own) {}

  void AddSums(SharedSums& sums) {
    const Units& units = task_.units;
    const size_t p = task_.num_columns();
    const double unit = std::ldexp(1.0, -units.weight_bits);
    Add({p * (p + 1) / 2, 1}, kInformationBits, 1, sums.information,
        [&] { return Packed(own_->information * unit); });
    Add({p, 1}, kScoreBits, units.most_score, sums.score, [&] { return own_->score * unit; });
    if (task_.spec.robust()) {
      Add({p * (p + 1) / 2, 1}, mpc::kMeatBits, mpc::kMostMeat, sums.meat,
          [&] { return Packed(own_->meat * unit); });
    }
    if (HasDispersion(task_.spec.law)) {
      Add({1, 1}, kPearsonBits, units.most_pearson, sums.pearson,
          [&] { return Eigen::VectorXd::Constant(1, own_->pearson); });
    }
  }
  void AddOutside(SharedSums& sums) {
    // The other kinds are divided by the rows.
    // A row and what it adds to the meat.
    Add({1, 1}, task_.units.row_bits, 2, sums.outside,
        [&] { return Eigen::VectorXd::Constant(1, static_cast<double>(own_->outside)); });
  }
  void AddThird(SharedSums& sums) {
    Add({stats::glm::NumThirdMoments(task_.num_columns()), 1}, kThirdBits, kMostThird, sums.third,
        [&] { return own_->third; });
  }
  void AddFit(SharedSums& sums, const OwnFit& fit) {
    Add({NumFitInputs(task_.spec), 1}, kFitBits + task_.units.row_bits, task_.units.most_fit,
        sums.fit, [&] { return fit.numbers; });
    if (task_.spec.law.family == stats::glm::Family::kGaussian && NullOpens(task_.spec) &&
        task_.spec.intercept) {
      Add({1, 1}, kSquareBits + task_.units.row_bits, task_.units.most_fit, sums.squares,
          [&] { return Eigen::VectorXd::Constant(1, fit.squares); });
    }
  }

  void Share(SharedSums& sums) {
    ShareKinds(engine_, task_, kinds_);
    const Units& units = task_.units;
    sums.information =
        PerRow(task_, mpc::FromUpperTriangle(engine_, sums.information, task_.num_columns()), 1);
    sums.score = PerRow(task_, sums.score, units.most_score);
    if (task_.spec.robust()) {
      sums.meat = PerRow(task_, mpc::FromUpperTriangle(engine_, sums.meat, task_.num_columns()),
                         mpc::kMostMeat);
    }
    if (sums.third.payload != nullptr) sums.third = PerRow(task_, sums.third, kMostThird);
    if (HasDispersion(task_.spec.law))
      sums.pearson = PerRow(task_, sums.pearson, units.most_pearson);
  }

 private:
  // per_row_bits: after the point of the sum over 2^row_bits.
  template <typename Get>
  void Add(Shape shape, int per_row_bits, double most, Shared& sum, Get get) {
    SumKind kind{shape, per_row_bits - task_.units.row_bits, most, {}, &sum};
    const std::optional<mpc::PartyIndex> self = engine_.self();
    for (const run::RowHolder& holder : task_.holders) {
      if (self != holder.party || own_ == nullptr) continue;
      kind.own = Encoded(get(), most * static_cast<double>(holder.max_rows), kind.fraction_bits);
    }
    kinds_.push_back(std::move(kind));
  }

  Engine& engine_;
  const Task& task_;
  const OwnSums* own_;
  std::vector<SumKind> kinds_;
};

bool HoldsRows(const Engine& engine, const Task& task) {
  return engine.self() &&
         std::any_of(task.holders.begin(), task.holders.end(),
                     [&](const run::RowHolder& h) { return h.party == engine.self(); });
}

}  // namespace

std::vector<Shared> ShareCounts(Engine& engine, const Task& task, const OwnData& own) {
  std::vector<PrivateMatrix> inputs;
  SumKind kind{{NumCounts(task), 1}, 0, 1, own.counts, nullptr};
  for (const run::RowHolder& holder : task.holders)
    inputs.push_back(HolderMatrix(engine, holder, kind));
  return engine.Input(inputs);
}

std::vector<Shared> ShareWeights(Engine& engine, const Task& task, const OwnData& own) {
  constexpr int kWeightBits = 30;
  std::vector<PrivateMatrix> inputs;
  const Eigen::VectorXd& weights = own.rows.weights;
  const double sum = weights.size() == 0 ? 0 : weights.sum();
  const double most = weights.size() == 0 ? 0 : weights.maxCoeff();
  const SumKind kind{{2, 1},
                     kWeightBits,
                     1,
                     {mpc::EncodeFixed(sum, kWeightBits), mpc::EncodeFixed(most, kWeightBits)},
                     nullptr};
  for (const run::RowHolder& holder : task.holders)
    inputs.push_back(HolderMatrix(engine, holder, kind));
  return engine.Input(inputs);
}

stats::glm::Rows RowsAt(const Spec& spec, const stats::glm::Rows& rows,
                        const Eigen::VectorXd& point, const stats::glm::Limits& limits) {
  return spec.sites > 0 ? ProfiledRows(spec.law, rows, point, limits) : rows;
}

Eigen::VectorXd RidgeOf(const Spec& spec, double rows) {
  const auto p = static_cast<Eigen::Index>(spec.parameters.size());
  Eigen::VectorXd ridge = Eigen::VectorXd::Constant(p, rows * spec.ridge);
  if (spec.intercept && spec.sites == 0) ridge[0] = 0;
  return ridge;
}

Eigen::VectorXd LassoOf(const Spec& spec, double rows, double penalty) {
  const auto p = static_cast<Eigen::Index>(spec.parameters.size());
  Eigen::VectorXd lasso = Eigen::VectorXd::Constant(p, rows * penalty / spec.outcome.scale);
  if (spec.intercept) lasso[0] = 0;
  return lasso;
}

bool TakesDispersion(const Spec& spec) { return !spec.robust() && HasDispersion(spec.law); }

SharedSums ShareFirst(Engine& engine, const Task& task, const OwnData& own) {
  OwnSums sums;
  const bool holds = HoldsRows(engine, task);
  if (holds) {
    const stats::glm::Law& law = task.spec.law;
    const stats::glm::FirstSums first = own.moments ? FirstSumsOf(*own.moments)
                                        : task.spec.sites > 0
                                            ? FirstProfiledSums(law, own.rows, task.units.limits)
                                            : FirstSumsOf(law, own.rows, task.units.limits);
    sums = {first.weighted, first.information, first.pearson, 0, {}};
    sums.information.diagonal() += RidgeOf(task.spec, own.count());
    if (task.spec.robust()) {
      const stats::glm::Rows rows = RowsAt(task.spec, own.rows, first.own, task.units.limits);
      sums.meat = MeatAt(law, rows, first.own, task.units.limits).meat;
    }
  }
  PointInput input(engine, task, holds ? &sums : nullptr);
  SharedSums shared;
  input.AddSums(shared);
  input.Share(shared);
  return shared;
}

SharedSums ShareSums(Engine& engine, const Task& task, const OwnData& own,
                     const Eigen::VectorXd& point, bool last) {
  OwnSums sums;
  OwnFit fit;
  const bool holds = HoldsRows(engine, task);
  if (holds) {
    const stats::glm::Rows rows = RowsAt(task.spec, own.rows, point, task.units.limits);
    stats::glm::PointSums at =
        own.moments ? SumsAt(*own.moments, point, task.units.most_pearson)
                    : stats::glm::SumsAt(task.spec.law, rows, point, task.units.limits);
    AddRidge(at, point, RidgeOf(task.spec, own.count()));
    sums = {at.score, at.information, at.pearson, at.outside, {}};
    if (task.spec.firth) sums.third = stats::glm::ThirdMomentsAt(rows, point, task.units.limits);
    if (task.spec.robust()) {
      const stats::glm::Meat meat =
          stats::glm::MeatAt(task.spec.law, rows, point, task.units.limits);
      sums.meat = meat.meat;
      sums.outside += meat.outside;
    }
    if (last && NumTotals(task.spec) > 0) {
      fit = own.moments ? OwnFitOf(task.spec, *own.moments, at.deviance)
                        : OwnFitOf(task.spec, own.rows, at.deviance, point, task.units.limits);
    }
  }
  PointInput input(engine, task, holds ? &sums : nullptr);
  SharedSums shared;
  input.AddSums(shared);
  if (task.spec.firth) input.AddThird(shared);
  input.AddOutside(shared);
  if (last && NumTotals(task.spec) > 0) input.AddFit(shared, fit);
  input.Share(shared);
  return shared;
}

}  // namespace partita::methods::glm
