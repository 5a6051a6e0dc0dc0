#include "methods/mle/sealed/trial.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "methods/mle/sealed/values.h"
#include "mpc/compare.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::Product;
using mpc::Shape;
using mpc::Shared;
using mpc::SharedBits;
using stats::RamCell;
using stats::RamGroup;
using stats::RamMatrix;

constexpr double kNewtonSizes[] = {1, 0.5};
constexpr double kScoringSizes[] = {1, 0.5, 0.25, 0.0625};
constexpr int kSizeBits = 4;
constexpr double kMostRise = 0x1p-24, kMeansDrop = 0x1p-4;

constexpr double kMostPowerSquares = 0.25;
// Of powers of an E with |E| <= 4, and of sums of them.
constexpr double kLargestSquare = 0x1p4, kLargestCube = 0x1p6, kLargestFourth = 0x1p8,
                 kLargestSeventh = 0x1p12, kLargestEighth = 0x1p16;
constexpr int kSeriesBits = 20;  // of 1 / k
constexpr double kLargestTrace = 0x1p44;

// An inverse on its way, of one sample at one point.
struct Near {
  Shared e, e2, e3, e4, e8;
  Shared e5_to_e7;             // E^5 / 13 + E^6 / 14 + E^7 / 15
  Shared first, fourth, last;  // what E, E^4 and E^8 are multiplied with in the series
  Shared inverse, next;
};

// What is tried. Points that keep R have no inverses of their own.
struct Candidate {
  SealedPoint at;
  bool newton = false, means = false;
  std::vector<Near> near = {};  // by sample
  std::vector<Limit> limits = {};
};

// Numbers whose squares are to add up to at most so much.
struct Squares {
  Candidate* of;
  Shared numbers;
  double bound, most;
};

std::vector<bool> MovesMeansAlone(const stats::RamModel& ram) {
  std::vector<bool> alone(static_cast<size_t>(ram.num_parameters), true);
  for (const RamGroup& group : ram.groups) {
    for (const RamCell& cell : group.cells) {
      if (cell.matrix != RamMatrix::kMean) alone[static_cast<size_t>(cell.parameter)] = false;
    }
  }
  return alone;
}

class Trial {
 public:
  Trial(const SealedProblem& problem, const SealedDirections& directions, SealedPoint& current)
      : problem_(problem),
        engine_(problem.engine),
        directions_(directions),
        current_(current),
        p_(problem.observed()),
        v_(problem.variables()),
        k_(problem.parameters()) {}

  void Run() {
    Propose();
    Residuals();
    Powers();
    Compare(Discrepancies());
    Choose();
  }

 private:
  void Propose() {
    for (const double size : kNewtonSizes) {
      if (directions_.newton.shape.size() > 0) Add(directions_.newton, size).newton = true;
    }
    for (const double size : kScoringSizes) {
      Add(directions_.scoring, size);
      if (size == 1 && problem_.means()) Add(OfMeans(directions_.scoring), 1).means = true;
    }
    mpc::CutRound cut(engine_);
    for (Candidate& candidate : tried_) cut.Add(candidate.at.theta, kSealedBits, kLargestEntry);
    cut.Run();
    std::vector<SealedPoint> points;
    for (Candidate& candidate : tried_) {
      const Shared& theta = candidate.at.theta;
      candidate.limits = {{theta, kLargestParameter},
                          {engine_.Scale(theta, -1), kLargestParameter}};
      points.emplace_back();
      points.back().theta = Bounded(theta, kLargestParameter);
    }
    Imply(problem_, points);
    for (size_t c = 0; c < tried_.size(); ++c) tried_[c].at = std::move(points[c]);
    here_.at = current_;
  }

  Candidate& Add(const Shared& direction, double size) {
    const Shared here = mpc::Lift(engine_, current_.theta, kDirectionBits + kSizeBits);
    tried_.emplace_back();
    tried_.back().at.theta =
        Minus(engine_, here, mpc::TimesConstant(engine_, direction, size, kSizeBits));
    return tried_.back();
  }

  Shared OfMeans(const Shared& direction) {
    const std::vector<bool> alone = MovesMeansAlone(problem_.model.ram);
    MatrixXd selected = MatrixXd::Zero(static_cast<Index>(k_), static_cast<Index>(k_));
    for (size_t k = 0; k < k_; ++k)
      selected(static_cast<Index>(k), static_cast<Index>(k)) = alone[k] ? 1 : 0;
    return engine_.MultiplyPublic(EncodeMatrix(selected, 0), direction);
  }

  // E, and what has to be small for it to be true.
  void Residuals() {
    mpc::ProductRound round(engine_);
    ForNear([&](Candidate& candidate, size_t s, Near& near) {
      round.AddCut(Product::Kind::kMatrix, current_.samples[s].inverse, candidate.at.samples[s].r,
                   kLargestResidual, kSealedBits, near.e);
    });
    std::vector<Squares> squares;
    const double correlations = kLargestCorrelation * static_cast<double>(p_);
    for (Candidate& candidate : tried_) {
      for (const GroupAt& group : candidate.at.groups) {
        for (size_t i = 1; i < group.paths.size(); ++i)
          squares.push_back({&candidate, group.paths[i], kLargestEntry, kLargestPath});
        const Shared full = engine_.Slice(group.full, 0, 0, {p_, p_});
        squares.push_back({&candidate, full, kLargestImplied, correlations});
        squares.push_back({&candidate, group.r, kLargestEntry, correlations});
        candidate.limits.push_back({Diagonal(engine_, group.r), kLargestCorrelation});
      }
      for (const SampleAt& sample : candidate.at.samples) {
        if (problem_.means())
          squares.push_back({&candidate, sample.distance, kLargestImplied, kLargestDistance});
      }
    }
    for (Squares& square : squares) {
      square.most *= square.most;
      round.AddCut(square.numbers, square.bound, kCoarseBits, square.numbers);
    }
    round.Run();
    ForNear([&](Candidate&, size_t, Near& near) {
      near.e = PlusIdentity(engine_, engine_.Scale(near.e, -1), 1, 2 * kLargestResidual);
    });
    squares_ = std::move(squares);
  }

  // sum_i weights[i] terms[i], at kSeriesBits more.
  Shared Sum(const std::vector<std::pair<double, const Shared*>>& terms, double bound) {
    Shared sum;
    for (const auto& [divisor, term] : terms) {
      const Shared part =
          Bounded(mpc::TimesConstant(engine_, *term, 1 / divisor, kSeriesBits), bound / 8);
      sum = sum.shape.size() == 0 ? part : engine_.Add(sum, part);
    }
    return Bounded(sum, bound);
  }

  // The powers of E and, beside them, the products with I + E, I + E^2, I + E^4 and I + E^8.
  void Powers() {
    constexpr auto kMatrix = Product::Kind::kMatrix;
    mpc::ProductRound round(engine_);
    const auto times = [&](const Shared& power, const Shared& inverse, int bits, Near& near) {
      round.AddCut(kMatrix, PlusIdentity(engine_, power, 1, 2 * power.bound), inverse,
                   kLargestEntry, bits, near.next);
    };
    std::vector<Shared> residuals;
    ForNear([&](Candidate&, size_t, Near&) { residuals.emplace_back(); });
    auto residual = residuals.begin();
    ForNear([&](Candidate& candidate, size_t s, Near& near) {
      round.AddCut(kMatrix, near.e, near.e, kLargestSquare, kSealedBits, near.e2);
      times(near.e, current_.samples[s].inverse, kSealedBits, near);
      if (&candidate != &here_)
        round.AddCut(near.e, 2 * kLargestResidual, kCoarseBits, *residual++);
    });
    round.Run();
    residual = residuals.begin();
    ForNear([&](Candidate& candidate, size_t, Near& near) {
      if (&candidate != &here_)
        squares_.push_back({&candidate, *residual++, 2 * kLargestResidual, kMostResidualSquares});
      near.inverse = near.next;
      round.AddCut(kMatrix, near.e, near.e2, kLargestCube, kSealedBits, near.e3);
      round.AddCut(kMatrix, near.e2, near.e2, kLargestFourth, kSealedBits, near.e4);
      times(near.e2, near.inverse, kSealedBits, near);
    });
    round.Run();
    ForNear([&](Candidate& candidate, size_t, Near& near) {
      if (&candidate != &here_)
        squares_.push_back({&candidate, near.e4, kLargestFourth, kMostPowerSquares});
      near.inverse = near.next;
      const auto& [e, e2, e3, e4] = std::tie(near.e, near.e2, near.e3, near.e4);
      round.AddCut(kMatrix, e4, Sum({{13, &e}, {14, &e2}, {15, &e3}}, kLargestCube),
                   kLargestSeventh, kSealedBits, near.e5_to_e7);
      round.AddCut(kMatrix, e4, e4, kLargestEighth, kSealedBits, near.e8);
      times(e4, near.inverse, kSealedBits, near);
      round.AddCut(Sum({{2, &e}, {3, &e2}, {4, &e3}}, 8 * kLargestResidual), 8 * kLargestResidual,
                   kSealedBits, near.first);
      round.AddCut(Sum({{5, &e}, {6, &e2}, {7, &e3}, {8, &e4}}, 8 * kLargestResidual),
                   8 * kLargestResidual, kSealedBits, near.fourth);
    });
    round.Run();
    ForNear([&](Candidate&, size_t, Near& near) {
      near.inverse = near.next;
      times(near.e8, near.inverse, kSealedBits - 1, near);
      round.AddCut(Sum({{9, &near.e},
                        {10, &near.e2},
                        {11, &near.e3},
                        {12, &near.e4},
                        {1, &near.e5_to_e7},
                        {16, &near.e8}},
                       8 * kLargestResidual),
                   8 * kLargestResidual, kSealedBits, near.last);
    });
    for (Squares& square : squares_) {
      round.Add(square.numbers, square.numbers, square.bound * square.bound, square.numbers);
    }
    round.Run();
    for (const Squares& square : squares_) {
      square.of->limits.push_back(
          {SumAll(engine_, square.numbers, square.numbers.bound), square.most});
    }
    ForNear([&](Candidate& candidate, size_t s, Near& near) {
      Shared& inverse = candidate.at.samples[s].inverse;
      inverse =
          Bounded(mpc::TimesPowerOfTwo(engine_.Add(near.next, engine_.Transpose(near.next)), -1),
                  kLargestEntry);
      candidate.limits.push_back({Diagonal(engine_, inverse), kLargestInverse});
    });
    for (Candidate& candidate : tried_) {
      for (size_t s = 0; candidate.means && s < candidate.at.samples.size(); ++s)
        candidate.at.samples[s].inverse = here_.at.samples[s].inverse;
    }
  }

  // log|R| - log|X^-1| + tr((S + spread) R^-1) of one sample, by one product; the trace of E is
  // added when it is there.
  void AddDiscrepancy(mpc::ProductRound& round, const SampleAt& at, size_t sample, const Near& near,
                      bool cut, Shared& result) {
    std::vector<Shared> left = {AsRow(SecondMoment(problem_, at, sample))};
    std::vector<Shared> right = {AsRow(at.inverse)};
    for (const Shared* power : {&near.e, &near.e4, &near.e8})
      left.push_back(AsRow(engine_.Scale(*power, -1)));
    for (const Shared* series : {&near.first, &near.fourth, &near.last})
      right.push_back(AsRow(engine_.Transpose(*series)));
    for (Shared& part : left) part.bound = kLargestEntry;
    for (Shared& part : right) part.bound = kLargestEntry;
    const Shared row = engine_.Concatenate(left, false);
    const Shared column = engine_.Transpose(engine_.Concatenate(right, false));
    if (cut) {
      round.AddCut(Product::Kind::kMatrix, row, column, kLargestTrace, kSealedBits, result);
    } else {
      round.Add(Product::Kind::kMatrix, row, column, kLargestTrace, result);
    }
  }

  // F of every candidate and, last, of the current point, up to a number that they have in common.
  std::vector<Shared> Discrepancies() {
    std::vector<Candidate*> all;
    for (Candidate& candidate : tried_) all.push_back(&candidate);
    all.push_back(&here_);
    const size_t num_samples = problem_.samples.size();
    std::vector<std::vector<Shared>> lists(all.size(), std::vector<Shared>(num_samples));
    const auto near_of = [&](const Candidate& candidate, size_t s) -> const Near& {
      return candidate.means ? here_.near[s] : candidate.near[s];
    };
    mpc::ProductRound round(engine_);
    for (size_t c = 0; c < all.size(); ++c) {
      for (size_t s = 0; s < num_samples; ++s) {
        AddDiscrepancy(round, all[c]->at.samples[s], s, near_of(*all[c], s), num_samples > 1,
                       lists[c][s]);
      }
    }
    round.Run();
    for (size_t c = 0; c < all.size(); ++c) {
      for (size_t s = 0; s < num_samples; ++s) {
        Shared& value = lists[c][s];
        const Shared trace =
            SumAll(engine_, Diagonal(engine_, near_of(*all[c], s).e), kLargestTrace / 2);
        value =
            Minus(engine_, value, mpc::Lift(engine_, trace, value.fraction_bits), kLargestTrace);
      }
    }
    return OverSamples(problem_, lists, kLargestTrace);
  }

  // Which candidates are within all limits and not above the current point.
  void Compare(const std::vector<Shared>& values) {
    std::vector<std::vector<Limit>> lists;
    for (size_t c = 0; c < tried_.size(); ++c) {
      Candidate& candidate = tried_[c];
      candidate.limits.push_back({Minus(engine_, values[c], values.back(), kLargestTrace),
                                  candidate.means ? -kMeansDrop : kMostRise});
      if (candidate.newton) {
        for (const Limit& limit : directions_.proof) candidate.limits.push_back(limit);
      }
      lists.push_back(std::move(candidate.limits));
    }
    passes_ = mpc::IsZero(engine_, CountBeyond(engine_, lists));
  }

  // 1 for the first that passes, else 0.
  std::vector<Shared> Marks() {
    // That none up to this one passes.
    std::vector<SharedBits> none;
    for (const SharedBits& passes : passes_) none.push_back(engine_.Not(passes));
    for (size_t step = 1; step < none.size(); step *= 2) {
      std::vector<mpc::BitProduct> products;
      for (size_t c = step; c < none.size(); ++c) products.push_back({none[c], none[c - step]});
      const std::vector<SharedBits> joined = engine_.And(products);
      std::copy(joined.begin(), joined.end(), none.begin() + static_cast<Index>(step));
    }
    std::vector<SharedBits> first = {engine_.Not(none.front())};
    for (size_t c = 1; c < none.size(); ++c) first.push_back(engine_.Xor(none[c - 1], none[c]));
    return engine_.ToRing(first);
  }

  void Choose() {
    const std::vector<Shared> marks = Marks();
    const Shared here = Flat(here_.at);
    mpc::ProductRound round(engine_);
    std::vector<Shared> moves(tried_.size());
    for (size_t c = 0; c < tried_.size(); ++c) {
      round.Add(marks[c], Minus(engine_, Flat(tried_[c].at), here, 2 * kLargestImplied),
                2 * kLargestImplied, moves[c]);
    }
    round.Run();
    Shared chosen = here;
    for (const Shared& move : moves) chosen = Bounded(engine_.Add(chosen, move), kLargestImplied);
    Unflatten(chosen);
  }

  // What the next step needs of a point, as one row.
  Shared Flat(const SealedPoint& at) {
    std::vector<Shared> parts = {AsRow(at.theta)};
    for (const GroupAt& group : at.groups) {
      for (const Shared* matrix : {&group.b, &group.full, &group.r, &group.vectors})
        parts.push_back(AsRow(*matrix));
      if (problem_.means()) parts.push_back(AsRow(group.eta));
    }
    for (const SampleAt& sample : at.samples) {
      parts.push_back(AsRow(sample.inverse));
      if (!problem_.means()) continue;
      parts.push_back(AsRow(sample.distance));
      parts.push_back(AsRow(sample.spread));
    }
    for (Shared& part : parts) part.bound = kLargestImplied;
    return engine_.Concatenate(parts, false);
  }

  void Unflatten(const Shared& row) {
    size_t next = 0;
    const auto take = [&](Shared& into, Shape shape, double bound) {
      into = Bounded(mpc::Reshape(engine_.Slice(row, 0, next, {1, shape.size()}), shape), bound);
      next += shape.size();
    };
    take(current_.theta, {k_, 1}, kLargestParameter);
    for (GroupAt& group : current_.groups) {
      take(group.b, {v_, v_}, kLargestEntry);
      take(group.full, {v_, v_}, kLargestEntry);
      take(group.r, {p_, p_}, kLargestCorrelation);
      take(group.vectors, {p_, 2 * v_}, kLargestEntry);
      if (problem_.means()) take(group.eta, {v_, 1}, kLargestEntry);
    }
    for (size_t s = 0; s < current_.samples.size(); ++s) {
      const std::vector<size_t> observed = problem_.ObservedOf(s);
      const size_t p = observed.size();
      SampleAt& sample = current_.samples[s];
      sample.r = SelectBoth(engine_, current_.groups[problem_.samples[s].group].r, observed);
      take(sample.inverse, {p, p}, kLargestInverse);
      if (!problem_.means()) continue;
      take(sample.distance, {p, 1}, kLargestEntry);
      take(sample.spread, {p, p}, kLargestEntry);
    }
  }

  // Every inverse that is made, those of the current point last.
  template <typename F>
  void ForNear(F body) {
    const auto of = [&](Candidate& candidate) {
      candidate.near.resize(problem_.samples.size());
      for (size_t s = 0; s < candidate.near.size(); ++s) body(candidate, s, candidate.near[s]);
    };
    for (Candidate& candidate : tried_) {
      if (!candidate.means) of(candidate);
    }
    of(here_);
  }

  const SealedProblem& problem_;
  Engine& engine_;
  const SealedDirections& directions_;
  SealedPoint& current_;
  size_t p_, v_, k_;
  std::vector<Candidate> tried_;
  Candidate here_;
  std::vector<Squares> squares_;
  std::vector<SharedBits> passes_;
};

}  // namespace

void BeginSteps(const SealedProblem& problem, SealedPoint& at) {
  std::vector<SealedPoint> points(1);
  points.front().theta = at.theta;
  Imply(problem, points);
  at = std::move(points.front());
  std::vector<Shared> matrices;
  for (const SampleAt& sample : at.samples) matrices.push_back(sample.r);
  const std::vector<Shared> inverses = InvertScaled(problem.engine, matrices);
  for (size_t s = 0; s < inverses.size(); ++s) at.samples[s].inverse = inverses[s];
}

void TakeStep(const SealedProblem& problem, const SealedDirections& directions,
              SealedPoint& current) {
  Trial(problem, directions, current).Run();
}

}  // namespace partita::methods::mle
