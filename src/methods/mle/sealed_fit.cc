#include "methods/mle/sealed_fit.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/definite.h"
#include "mpc/functions/reciprocal.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::IntMatrix;
using mpc::Product;
using mpc::PublicMatrix;
using mpc::Shape;
using mpc::Shared;
using mpc::SharedBits;
using stats::RamCell;
using stats::RamGroup;
using stats::RamMatrix;

constexpr int kBits = kSealedBits;
constexpr int kWeightBits = 30;  // of public weights of groups
// Bounds of what the steps go through, in units of half-widths and of standard deviations.
constexpr double kLargestParameter = 0x1p8;
constexpr double kLargestEntry = 0x1p30;       // of A, S, B, Gram matrices and information
constexpr double kLargestCorrelation = 16;     // of R; beyond, a candidate is not taken
constexpr double kSmallestVariance = 0x1p-16;  // of a variable, in units of its half-width squared
constexpr double kSmallestPivot = 0x1p-14;     // of R
constexpr double kSmallestInformation = 0x1p-20, kSmallestScaledPivot = 0x1p-18;
constexpr double kWorst = 0x1p30;  // F of a candidate that is not taken
constexpr std::array<double, 3> kStepSizes = {1, 0.5, 0.125};
constexpr int kStepBits = 3;

PublicMatrix Encode(const MatrixXd& values, int bits) {
  IntMatrix encoded{{static_cast<size_t>(values.rows()), static_cast<size_t>(values.cols())}, {}};
  for (Index r = 0; r < values.rows(); ++r) {
    for (Index c = 0; c < values.cols(); ++c) {
      encoded.values.push_back(mpc::EncodeFixed(values(r, c), bits));
    }
  }
  return {std::move(encoded), bits};
}

// Products of independent operands, cut to kBits.
class Products {
 public:
  explicit Products(Engine& engine) : round_(engine) {}
  void Matrix(const Shared& a, const Shared& b, Shared& result, double bound = kLargestEntry) {
    Add(Product::Kind::kMatrix, a, b, result, bound);
  }
  // a' b.
  void Gram(const Shared& a, const Shared& b, Shared& result, double bound = kLargestEntry) {
    Add(Product::Kind::kGram, a, b, result, bound);
  }
  void Elementwise(const Shared& a, const Shared& b, Shared& result, double bound = kLargestEntry) {
    Add(Product::Kind::kElementwise, a, b, result, bound);
  }
  void Run() { round_.Run(); }

 private:
  void Add(Product::Kind kind, const Shared& a, const Shared& b, Shared& result, double bound) {
    round_.AddCut(kind, a, b, bound, kBits, result);
  }

  mpc::ProductRound round_;
};

// How a cell moves R: by weight (a b' + b a'), a and b columns of [U V]; and the mean: by a times
// tau.
struct CellEffect {
  int a = 0, b = 0;   // 0 .. v - 1: of U; v .. 2 v - 1: of V
  double weight = 0;  // 1/2 of a variance, 0 of a mean
  double tau = 0;     // 1 of a mean
  int tau_of = -1;    // of a regression: eta[tau_of]
  int parameter = 0;
};

CellEffect EffectOf(const RamCell& cell, int v) {
  switch (cell.matrix) {
    case RamMatrix::kRegression:
      return {cell.row, v + cell.column, 1, 0, cell.column, cell.parameter};
    case RamMatrix::kCovariance:
      return {cell.row, cell.column, cell.row == cell.column ? 0.5 : 1, 0, -1, cell.parameter};
    case RamMatrix::kMean:
      return {cell.row, cell.row, 0, 1, -1, cell.parameter};
  }
  return {};
}

// The cells of the matrix, row by row, that move with each parameter.
MatrixXd Pattern(const RamGroup& group, RamMatrix matrix, int v, int parameters) {
  const int columns = matrix == RamMatrix::kMean ? 1 : v;
  MatrixXd pattern = MatrixXd::Zero(v * columns, parameters);
  for (const RamCell& cell : group.cells) {
    if (cell.matrix != matrix) continue;
    pattern(cell.row * columns + cell.column, cell.parameter) = 1;
    if (matrix == RamMatrix::kCovariance) pattern(cell.column * v + cell.row, cell.parameter) = 1;
  }
  return pattern;
}

// Everything of one group at one theta.
struct GroupAt {
  Shared regression, covariance, mean;  // A, S, M
  Shared b;                             // B = (I - A)^-1
  Shared bs, full;                      // B S, B S B'
  Shared eta;                           // B M, v x 1
  Shared r;                             // p x p
  Shared distance;                      // e = d (ybar - mu), p x 1
  Shared inverse;                       // R^-1
  Shared usable;                        // 1 or 0, no fraction bits: R is within its bound
};

struct At {
  Shared theta;  // k x 1
  Shared value;  // F, 1 x 1
  std::vector<GroupAt> groups;
};

class SealedFit {
 public:
  SealedFit(Engine& engine, const SealedModel& model, const std::vector<SealedSample>& samples)
      : engine_(engine),
        model_(model),
        samples_(samples),
        p_(static_cast<size_t>(model.ram.num_observed)),
        v_(static_cast<size_t>(model.ram.num_variables)),
        k_(static_cast<size_t>(model.ram.num_parameters)) {
    for (const SealedSample& sample : samples) total_ += sample.n;
  }

  SealedEstimates Run(Progress& progress) {
    Scale();
    std::vector<At> at(1);
    at.front().theta = Start();
    Evaluate(at);
    At current = std::move(at.front());
    for (size_t t = 0; t < model_.iterations; ++t) {
      progress.Step(t, model_.iterations);
      progress.CheckCancelled();
      const Shared step = SlopeAt(current).step;
      std::vector<At> tried;
      for (const double size : kStepSizes) {
        tried.emplace_back();
        const Shared part = mpc::TimesConstant(engine_, step, size, kStepBits);
        tried.back().theta =
            engine_.Subtract(mpc::Lift(engine_, current.theta, kBits + kStepBits), part);
      }
      Clamp(tried);
      Evaluate(tried);
      Choose(tried, current);
    }
    return Open(current);
  }

 private:
  struct Slope {
    Shared step;    // k x 1: what scoring subtracts
    Shared scaled;  // k x 1: gradient / sqrt(information)
  };

  bool Means() const { return model_.ram.meanstructure; }

  Shared Constant(Shape shape, double value, int bits = kBits) {
    return engine_.Public(Encode(
        MatrixXd::Constant(static_cast<Index>(shape.rows), static_cast<Index>(shape.cols), value),
        bits));
  }
  static Shared Bounded(Shared value, double bound = kLargestEntry) {
    return mpc::WithBound(std::move(value), bound);
  }
  Shared Plus(const Shared& a, const Shared& b, double bound = kLargestEntry) {
    return Bounded(engine_.Add(Bounded(a, bound / 2), Bounded(b, bound / 2)), bound);
  }
  Shared Minus(const Shared& a, const Shared& b, double bound = kLargestEntry) {
    return Bounded(engine_.Subtract(Bounded(a, bound / 2), Bounded(b, bound / 2)), bound);
  }
  Shared Diagonal(const Shared& square) {
    std::vector<Shared> entries;
    for (size_t j = 0; j < square.shape.rows; ++j) {
      entries.push_back(engine_.Slice(square, j, j, {1, 1}));
    }
    return engine_.Concatenate(entries, true);
  }
  static Shared AsRow(const Shared& value) { return mpc::Reshape(value, {1, value.shape.size()}); }
  Shared SumAll(const Shared& value, double bound) {
    return mpc::SumOfRows(engine_, AsRow(value), bound);
  }
  template <typename F>
  static void ForGroups(std::vector<At>& all, F body) {
    for (At& at : all) {
      for (size_t g = 0; g < at.groups.size(); ++g) body(at.groups[g], g, at);
    }
  }

  // d, d d' and the scaled sample covariances. The first group's deviations scale all groups.
  void Scale() {
    const mpc::PositiveValue variances{Bounded(Diagonal(samples_.front().covariance), 1),
                                       kSmallestVariance};
    const double largest = 1 / std::sqrt(kSmallestVariance);
    inverse_sd_ =
        Bounded(mpc::InverseRoot(engine_, std::span(&variances, 1), kBits).front(), largest);
    sd_ = Bounded(mpc::Root(engine_, std::span(&variances, 1), kBits).front(), 1);
    Products products(engine_);
    products.Matrix(inverse_sd_, engine_.Transpose(inverse_sd_), outer_, largest * largest);
    products.Run();
    sample_.resize(samples_.size());
    for (size_t g = 0; g < samples_.size(); ++g) {
      products.Elementwise(samples_[g].covariance, outer_, sample_[g], kLargestCorrelation);
    }
    products.Run();
  }

  Shared SampleMean(size_t group) {
    return Plus(samples_[group].mean, engine_.Public(Encode(model_.shift, kBits)));
  }

  // The units of a cell, secret, as two factors.
  std::pair<Shared, Shared> UnitsOf(const RamCell& cell) {
    const Shared one = Constant({1, 1}, 1);
    const auto unit = [&](int variable, const Shared& units) {
      const int source = model_.unit_of[static_cast<size_t>(variable)];
      return source < 0 ? one : engine_.Slice(units, static_cast<size_t>(source), 0, {1, 1});
    };
    switch (cell.matrix) {
      case RamMatrix::kRegression:
        return {unit(cell.row, sd_), unit(cell.column, inverse_sd_)};
      case RamMatrix::kCovariance:
        return {unit(cell.row, sd_), unit(cell.column, sd_)};
      case RamMatrix::kMean:
        break;
    }
    const bool observed = cell.row < model_.ram.num_observed;
    return {observed ? engine_.Slice(SampleMean(0), static_cast<size_t>(cell.row), 0, {1, 1}) : one,
            one};
  }

  Shared Start() {
    std::vector<Shared> starts(k_);
    std::vector<bool> known(k_, false);
    Products products(engine_);
    for (const RamGroup& group : model_.ram.groups) {
      for (const RamCell& cell : group.cells) {
        const auto k = static_cast<size_t>(cell.parameter);
        if (known[k]) continue;
        known[k] = true;
        const auto [left, right] = UnitsOf(cell);
        products.Elementwise(left, right, starts[k], kLargestParameter);
      }
    }
    products.Run();
    std::vector<At> at(1);
    const MatrixXd numbers = model_.start.asDiagonal();
    at.front().theta = Bounded(
        engine_.MultiplyPublic(Encode(numbers, kStepBits), engine_.Concatenate(starts, true)));
    Clamp(at);
    return at.front().theta;
  }

  // Into the box, and from kBits + kStepBits onto kBits.
  void Clamp(std::vector<At>& all) {
    mpc::CutRound cut(engine_);
    for (At& at : all) {
      at.theta.bound = kLargestEntry;
      cut.Add(at.theta, kBits, kLargestEntry);
    }
    cut.Run();
    const Shared top = Bounded(Constant({k_, 1}, kLargestParameter));
    const Shared bottom = Bounded(Constant({k_, 1}, -kLargestParameter));
    for (const bool upper : {true, false}) {
      std::vector<mpc::Comparison> comparisons;
      for (const At& at : all) {
        comparisons.push_back(upper ? mpc::Comparison{top, at.theta}
                                    : mpc::Comparison{at.theta, bottom});
      }
      const std::vector<SharedBits> outside = mpc::LessThan(engine_, comparisons);
      std::vector<mpc::Selection> selections;
      for (size_t c = 0; c < all.size(); ++c) {
        selections.push_back({outside[c], upper ? top : bottom, all[c].theta});
      }
      const std::vector<Shared> clamped = mpc::Select(engine_, selections);
      for (size_t c = 0; c < all.size(); ++c) all[c].theta = Bounded(clamped[c]);
    }
    for (At& at : all) at.theta.bound = kLargestParameter;
  }

  Shared Fill(const MatrixXd& fixed, const MatrixXd& pattern, const Shared& theta) {
    const Shared moved = engine_.MultiplyPublic(Encode(pattern, 0), theta);
    const Shape shape{static_cast<size_t>(fixed.rows()), static_cast<size_t>(fixed.cols())};
    return Plus(mpc::Reshape(moved, shape), engine_.Public(Encode(fixed, kBits)));
  }

  // All thetas and groups in the same rounds.
  void Evaluate(std::vector<At>& all) {
    const int v = model_.ram.num_variables, k = model_.ram.num_parameters;
    for (At& at : all) at.groups.resize(samples_.size());
    ForGroups(all, [&](GroupAt& group, size_t g, const At& at) {
      const RamGroup& ram = model_.ram.groups[g];
      group.regression = Fill(ram.regression, Pattern(ram, RamMatrix::kRegression, v, k), at.theta);
      group.covariance = Fill(ram.covariance, Pattern(ram, RamMatrix::kCovariance, v, k), at.theta);
      group.mean = Fill(ram.mean, Pattern(ram, RamMatrix::kMean, v, k), at.theta);
    });
    SumPaths(all);
    Products products(engine_);
    ForGroups(all, [&](GroupAt& group, size_t, const At&) {
      products.Matrix(group.b, group.covariance, group.bs);
      if (Means()) products.Matrix(group.b, group.mean, group.eta);
    });
    products.Run();
    ForGroups(all, [&](GroupAt& group, size_t, const At&) {
      products.Matrix(group.bs, engine_.Transpose(group.b), group.full);
    });
    products.Run();
    ForGroups(all, [&](GroupAt& group, size_t g, const At&) {
      products.Elementwise(engine_.Slice(group.full, 0, 0, {p_, p_}), outer_, group.r);
      if (!Means()) return;
      const Shared residual = Minus(SampleMean(g), engine_.Slice(group.eta, 0, 0, {p_, 1}));
      products.Elementwise(residual, inverse_sd_, group.distance);
    });
    products.Run();
    KeepUsable(all);
    Discrepancy(all);
  }

  // B = I + A + A^2 + ... by Horner's rule.
  void SumPaths(std::vector<At>& all) {
    const Shared identity = engine_.Public(
        Encode(MatrixXd::Identity(static_cast<Index>(v_), static_cast<Index>(v_)), kBits));
    ForGroups(all, [&](GroupAt& group, size_t, const At&) {
      group.b = Plus(identity, group.regression);
    });
    for (size_t step = 1; step < model_.path_length; ++step) {
      Products products(engine_);
      std::vector<Shared> next(all.size() * samples_.size());
      size_t i = 0;
      ForGroups(all, [&](GroupAt& group, size_t, const At&) {
        products.Matrix(group.regression, group.b, next[i++]);
      });
      products.Run();
      i = 0;
      ForGroups(all,
                [&](GroupAt& group, size_t, const At&) { group.b = Plus(identity, next[i++]); });
    }
  }

  // Where an |R_ij| exceeds its bound R becomes the identity, so that nothing overflows, and usable
  // 0.
  void KeepUsable(std::vector<At>& all) {
    const Shared limit = Bounded(Constant({p_, p_}, kLargestCorrelation));
    std::vector<mpc::Comparison> comparisons;
    ForGroups(all, [&](GroupAt& group, size_t, const At&) {
      comparisons.push_back({limit, group.r});
      comparisons.push_back({group.r, Bounded(engine_.Scale(limit, -1))});
    });
    const std::vector<SharedBits> beyond = mpc::LessThan(engine_, comparisons);
    std::vector<SharedBits> either;
    for (size_t i = 0; i < beyond.size(); i += 2) {
      either.push_back(engine_.Xor(beyond[i], beyond[i + 1]));  // never both
    }
    std::vector<Shared> violations;
    for (const Shared& bits : engine_.ToRing(either)) {
      violations.push_back(SumAll(bits, static_cast<double>(p_ * p_)));
    }
    const std::vector<Shared> usable = engine_.ToRing(mpc::IsZero(engine_, violations));
    const Shared identity = engine_.Public(
        Encode(MatrixXd::Identity(static_cast<Index>(p_), static_cast<Index>(p_)), kBits));
    mpc::ProductRound round(engine_);
    std::vector<Shared> kept(usable.size());
    size_t i = 0;
    ForGroups(all, [&](GroupAt& group, size_t, const At&) {
      group.usable = usable[i];
      round.Add(group.usable, AsRow(Minus(group.r, identity)), kLargestCorrelation, kept[i]);
      ++i;
    });
    round.Run();
    i = 0;
    ForGroups(all, [&](GroupAt& group, size_t, const At&) {
      group.r = Plus(mpc::Reshape(kept[i++], {p_, p_}), identity, kLargestCorrelation);
    });
  }

  // R^-1 and F; kWorst where R is no covariance or was not usable.
  void Discrepancy(std::vector<At>& all) {
    std::vector<mpc::DefiniteMatrix> matrices;
    ForGroups(all, [&](GroupAt& group, size_t, const At&) {
      matrices.push_back({group.r, kSmallestPivot});
    });
    const std::vector<mpc::DefiniteInverse> inverses =
        mpc::InvertDefinite(engine_, matrices, kBits);
    std::vector<mpc::Pivots> pivots;
    for (const mpc::DefiniteInverse& inverse : inverses) {
      pivots.push_back({inverse.pivots, kSmallestPivot});
    }
    const std::vector<Shared> log_dets = mpc::LogDeterminant(engine_, pivots, kBits);

    Products products(engine_);
    std::vector<Shared> trace(inverses.size()), solved(inverses.size()), form(inverses.size());
    size_t i = 0;
    ForGroups(all, [&](GroupAt& group, size_t g, const At&) {
      group.inverse = inverses[i].inverse;
      products.Elementwise(sample_[g], group.inverse, trace[i], kWorst / 64);
      if (Means()) products.Matrix(group.inverse, group.distance, solved[i], kWorst / 64);
      ++i;
    });
    products.Run();
    if (Means()) {
      i = 0;
      ForGroups(all, [&](GroupAt& group, size_t, const At&) {
        products.Gram(group.distance, solved[i], form[i], kWorst / 64);
        ++i;
      });
      products.Run();
    }
    std::vector<Shared> faults, values;
    i = 0;
    ForGroups(all, [&](GroupAt& group, size_t, const At&) {
      Shared value = Plus(SumAll(trace[i], kWorst / 64), log_dets[i], kWorst / 4);
      if (Means()) value = Plus(value, form[i], kWorst / 2);
      values.push_back(value);
      const Shared unusable = engine_.Subtract(Constant({1, 1}, 1, 0), group.usable);
      faults.push_back(
          Bounded(engine_.Add(SumAll(inverses[i].collinear, static_cast<double>(p_)), unusable),
                  static_cast<double>(p_ + 1)));
      ++i;
    });
    Weigh(all, values, faults);
  }

  // F of all groups, by their shares of the rows.
  void Weigh(std::vector<At>& all, const std::vector<Shared>& values,
             const std::vector<Shared>& faults) {
    const size_t groups = samples_.size();
    std::vector<Shared> sums, counts;
    for (size_t c = 0; c < all.size(); ++c) {
      sums.push_back(Weighted(std::span(values).subspan(c * groups, groups), kWorst / 2));
      Shared count = faults[c * groups];
      for (size_t g = 1; g < groups; ++g) count = engine_.Add(count, faults[c * groups + g]);
      counts.push_back(count);
    }
    CutIfWeighted(sums, kWorst / 2);
    const std::vector<Shared> good = engine_.ToRing(mpc::IsZero(engine_, counts));
    const Shared worst = Constant({1, 1}, kWorst);
    mpc::ProductRound round(engine_);
    std::vector<Shared> better(all.size());
    for (size_t c = 0; c < all.size(); ++c) {
      round.Add(good[c], Minus(sums[c], worst, 4 * kWorst), 4 * kWorst, better[c]);
    }
    round.Run();
    for (size_t c = 0; c < all.size(); ++c) {
      all[c].value = Plus(better[c], worst, 8 * kWorst);
    }
  }

  // sum_g n_g / n x_g; with several groups at kWeightBits more fraction bits.
  Shared Weighted(std::span<const Shared> terms, double bound) {
    if (terms.size() == 1) return terms.front();
    Shared sum = mpc::TimesConstant(engine_, terms[0], samples_[0].n / total_, kWeightBits);
    for (size_t g = 1; g < terms.size(); ++g) {
      sum = engine_.Add(sum,
                        mpc::TimesConstant(engine_, terms[g], samples_[g].n / total_, kWeightBits));
    }
    return Bounded(sum, bound);
  }
  void CutIfWeighted(std::vector<Shared>& sums, double bound) {
    if (samples_.size() == 1) return;
    mpc::CutRound cut(engine_);
    for (Shared& sum : sums) cut.Add(sum, kBits, bound);
    cut.Run();
  }

  Slope SlopeAt(const At& at) {
    std::vector<Shared> gradients, informations;
    for (size_t g = 0; g < samples_.size(); ++g) {
      auto [gradient, information] = Derivatives(at.groups[g], g);
      gradients.push_back(std::move(gradient));
      informations.push_back(std::move(information));
    }
    std::vector<Shared> sums = {Weighted(gradients, kLargestEntry),
                                Weighted(informations, kLargestEntry)};
    CutIfWeighted(sums, kLargestEntry);
    const Shared gradient = mpc::Reshape(sums[0], {k_, 1});
    const Shared information = mpc::Reshape(sums[1], {k_, k_});

    const mpc::PositiveValue diagonal{Bounded(Diagonal(information)), kSmallestInformation};
    const double largest = 1 / std::sqrt(kSmallestInformation);
    const Shared scale =
        Bounded(mpc::InverseRoot(engine_, std::span(&diagonal, 1), kBits).front(), largest);
    Products products(engine_);
    Shared outer, unit_diagonal, inner, step;
    Slope slope;
    products.Matrix(scale, engine_.Transpose(scale), outer, largest * largest);
    products.Elementwise(gradient, scale, slope.scaled);
    products.Run();
    products.Elementwise(information, outer, unit_diagonal, 1.125);
    products.Run();
    const mpc::DefiniteMatrix matrix{unit_diagonal, kSmallestScaledPivot};
    const Shared inverse =
        mpc::InvertDefinite(engine_, std::span(&matrix, 1), kBits).front().inverse;
    products.Matrix(inverse, slope.scaled, inner);
    products.Run();
    products.Elementwise(inner, scale, slope.step);
    products.Run();
    return slope;
  }

  // 1 x k and 1 x k^2.
  std::pair<Shared, Shared> Derivatives(const GroupAt& at, size_t g) {
    const int v = model_.ram.num_variables;
    std::vector<CellEffect> cells;
    for (const RamCell& cell : model_.ram.groups[g].cells) cells.push_back(EffectOf(cell, v));

    Products products(engine_);
    Shared u, w, solved, gram, spread, moved, slope, pull;
    products.Elementwise(engine_.Slice(at.b, 0, 0, {p_, v_}), inverse_sd_, u);
    products.Elementwise(engine_.Slice(at.full, 0, 0, {p_, v_}), inverse_sd_, w);
    if (Means()) products.Matrix(at.distance, engine_.Transpose(at.distance), spread);
    products.Run();
    const std::vector<Shared> both = {u, w};
    const Shared vectors = engine_.Concatenate(both, false);  // p x 2v
    Shared difference = Minus(sample_[g], at.r);
    if (Means()) difference = Plus(difference, spread);
    products.Matrix(at.inverse, vectors, solved);
    products.Run();
    products.Gram(vectors, solved, gram);
    products.Matrix(difference, solved, moved);
    if (Means()) products.Gram(solved, at.distance, pull);  // 2v x 1
    products.Run();
    products.Gram(solved, moved, slope);
    products.Run();

    const Shared grams = AsRow(gram), slopes = AsRow(slope);
    const int width = 2 * v;
    const auto at_pairs = [&](const Shared& row, auto&& place, Index count) {
      MatrixXd selection = MatrixXd::Zero(static_cast<Index>(row.shape.cols), count);
      for (Index c = 0; c < count; ++c) {
        const int entry = place(static_cast<size_t>(c));
        if (entry >= 0) selection(entry, c) = 1;
      }
      return Bounded(engine_.MultiplyPublic(row, Encode(selection, 0)));
    };
    const auto count = static_cast<Index>(cells.size());
    std::vector<std::pair<size_t, size_t>> pairs;
    for (size_t i = 0; i < cells.size(); ++i) {
      for (size_t j = i; j < cells.size(); ++j) pairs.emplace_back(i, j);
    }
    const auto num_pairs = static_cast<Index>(pairs.size());
    const auto of_pair = [&](auto first, auto second) {
      return at_pairs(
          grams,
          [&](size_t c) {
            return first(cells[pairs[c].first]) * width + second(cells[pairs[c].second]);
          },
          num_pairs);
    };
    const auto a = [](const CellEffect& cell) { return cell.a; };
    const auto b = [](const CellEffect& cell) { return cell.b; };
    const Shared aa = of_pair(a, a), ab = of_pair(a, b), ba = of_pair(b, a), bb = of_pair(b, b);
    Shared crossed, straight;
    products.Elementwise(ab, ba, crossed);
    products.Elementwise(aa, bb, straight);

    // tau of every cell, and what the mean adds.
    Shared tau, pulled, tau_pairs, mean_information;
    if (Means()) {
      tau = at_pairs(
          AsRow(at.eta), [&](size_t c) { return cells[c].tau_of; }, count);
      MatrixXd ones(1, count);
      for (Index c = 0; c < count; ++c) ones(0, c) = cells[static_cast<size_t>(c)].tau;
      tau = Plus(tau, engine_.Public(Encode(ones, kBits)));
      const Shared pulls = at_pairs(
          AsRow(pull), [&](size_t c) { return cells[c].a; }, count);
      products.Elementwise(pulls, tau, pulled);
      const auto tau_at = [&](bool second) {
        return at_pairs(
            tau,
            [&](size_t c) { return static_cast<int>(second ? pairs[c].second : pairs[c].first); },
            num_pairs);
      };
      products.Elementwise(tau_at(false), tau_at(true), tau_pairs);
    }
    products.Run();
    if (Means()) {
      products.Elementwise(tau_pairs, aa, mean_information);
      products.Run();
    }

    // To parameters; weights are multiples of 1/4.
    constexpr int kQuarters = 2;
    const auto k = static_cast<Index>(k_);
    MatrixXd slope_to = MatrixXd::Zero(count, k), pull_to = MatrixXd::Zero(count, k);
    for (Index c = 0; c < count; ++c) {
      const CellEffect& cell = cells[static_cast<size_t>(c)];
      slope_to(c, cell.parameter) = -2 * cell.weight;
      pull_to(c, cell.parameter) = -2;
    }
    MatrixXd pairs_to = MatrixXd::Zero(num_pairs, k * k), means_to = pairs_to;
    for (Index c = 0; c < num_pairs; ++c) {
      const auto& [i, j] = pairs[static_cast<size_t>(c)];
      const CellEffect &x = cells[i], &y = cells[j];
      const auto add = [&](int row, int column) {
        pairs_to(c, row * k + column) += 2 * x.weight * y.weight;
        means_to(c, row * k + column) += 2;
      };
      add(x.parameter, y.parameter);
      if (i != j) add(y.parameter, x.parameter);
    }
    const auto to = [&](const Shared& row, const MatrixXd& matrix) {
      return Bounded(engine_.MultiplyPublic(row, Encode(matrix, kQuarters)), kLargestEntry / 2);
    };
    const Shared at_cells = at_pairs(
        slopes, [&](size_t c) { return cells[c].a * width + cells[c].b; }, count);
    std::vector<Shared> results = {to(at_cells, slope_to), to(Plus(crossed, straight), pairs_to)};
    if (Means()) {
      results[0] = Bounded(engine_.Add(results[0], to(pulled, pull_to)));
      results[1] = Bounded(engine_.Add(results[1], to(mean_information, means_to)));
    }
    mpc::CutRound cut(engine_);
    for (Shared& result : results) cut.Add(result, kBits, kLargestEntry);
    cut.Run();
    return {results[0], results[1]};
  }

  // What a step needs of a point, as one row.
  Shared Flat(const At& at) {
    std::vector<Shared> parts = {AsRow(at.theta), at.value};
    for (const GroupAt& group : at.groups) {
      for (const Shared* matrix : {&group.b, &group.full, &group.r, &group.inverse}) {
        parts.push_back(AsRow(*matrix));
      }
      if (!Means()) continue;
      parts.push_back(AsRow(group.eta));
      parts.push_back(AsRow(group.distance));
    }
    for (Shared& part : parts) part.bound = 8 * kWorst;
    return engine_.Concatenate(parts, false);
  }
  void Unflatten(const Shared& row, At& at) {
    size_t next = 0;
    const auto take = [&](Shared& into, Shape shape, double bound) {
      into = Bounded(mpc::Reshape(engine_.Slice(row, 0, next, {1, shape.size()}), shape), bound);
      next += shape.size();
    };
    take(at.theta, {k_, 1}, kLargestParameter);
    take(at.value, {1, 1}, 8 * kWorst);
    for (GroupAt& group : at.groups) {
      take(group.b, {v_, v_}, kLargestEntry);
      take(group.full, {v_, v_}, kLargestEntry);
      take(group.r, {p_, p_}, kLargestCorrelation);
      take(group.inverse, {p_, p_}, 1 / kSmallestPivot);
      if (!Means()) continue;
      take(group.eta, {v_, 1}, kLargestEntry);
      take(group.distance, {p_, 1}, kLargestEntry);
    }
  }

  // The longest of the steps that lowers F; none of them: stays.
  void Choose(const std::vector<At>& tried, At& current) {
    std::vector<mpc::Comparison> comparisons;
    for (const At& at : tried) comparisons.push_back({at.value, current.value});
    const std::vector<SharedBits> lower = mpc::LessThan(engine_, comparisons);
    std::vector<SharedBits> taken = {lower.front()};
    SharedBits none = engine_.Not(lower.front());
    for (size_t c = 1; c < tried.size(); ++c) {
      const std::vector<mpc::BitProduct> both = {{none, lower[c]}, {none, engine_.Not(lower[c])}};
      const std::vector<SharedBits> bits = engine_.And(both);
      taken.push_back(bits[0]);
      none = bits[1];
    }
    const std::vector<Shared> marks = engine_.ToRing(taken);
    const Shared here = Flat(current);
    mpc::ProductRound round(engine_);
    std::vector<Shared> moves(tried.size());
    for (size_t c = 0; c < tried.size(); ++c) {
      round.Add(marks[c], Minus(Flat(tried[c]), here, 32 * kWorst), 32 * kWorst, moves[c]);
    }
    round.Run();
    Shared chosen = here;
    for (const Shared& move : moves) chosen = Bounded(engine_.Add(chosen, move), 8 * kWorst);
    Unflatten(chosen, current);
  }

  SealedEstimates Open(const At& at) {
    const Shared scaled = SlopeAt(at).scaled;
    const Shared limit = Bounded(Constant({k_, 1}, model_.tolerance));
    const std::vector<mpc::Comparison> comparisons = {{limit, scaled},
                                                      {scaled, Bounded(engine_.Scale(limit, -1))}};
    const std::vector<SharedBits> beyond = mpc::LessThan(engine_, comparisons);
    const SharedBits either = engine_.Xor(beyond[0], beyond[1]);
    const Shared violations =
        SumAll(engine_.ToRing(std::span(&either, 1)).front(), static_cast<double>(k_));
    const SharedBits converged = mpc::IsZero(engine_, std::span(&violations, 1)).front();
    const mpc::BitMatrix bit =
        engine_.RevealBits(kSealedConverged, std::span(&converged, 1), model_.receiver).front();

    std::vector<Shared> opened;
    for (const int k : model_.opened) {
      opened.push_back(engine_.Slice(at.theta, static_cast<size_t>(k), 0, {1, 1}));
    }
    const Shared estimates = engine_.Concatenate(opened, true);
    const std::vector<Int128> values =
        engine_.Reveal(kSealedEstimates, std::span(&estimates, 1), model_.receiver).front().values;
    SealedEstimates result;
    if (values.empty()) return result;
    result.converged = mpc::GetBit(bit, 0, 0);
    result.x.resize(static_cast<Index>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      result.x(static_cast<Index>(i)) = mpc::DecodeFixed(values[i], kBits);
    }
    return result;
  }

  Engine& engine_;
  const SealedModel& model_;
  const std::vector<SealedSample>& samples_;
  size_t p_, v_, k_;
  double total_ = 0;
  Shared inverse_sd_, sd_, outer_;
  std::vector<Shared> sample_;  // scaled, by group
};

}  // namespace

SealedEstimates FitSealed(Engine& engine, const SealedModel& model,
                          const std::vector<SealedSample>& samples, Progress& progress) {
  engine.BeginPhase("sealed fit");
  return SealedFit(engine, model, samples).Run(progress);
}

}  // namespace partita::methods::mle
