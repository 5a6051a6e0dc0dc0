#include "methods/mle/sealed/fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/error.h"
#include "methods/mle/sealed/end.h"
#include "methods/mle/sealed/point.h"
#include "methods/mle/sealed/scalars.h"
#include "methods/mle/sealed/trial.h"
#include "mpc/compare.h"
#include "mpc/together.h"

namespace partita::methods::mle {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using mpc::Engine;
using mpc::Shape;
using mpc::Shared;
using stats::RamCell;
using stats::RamGroup;
using stats::RamMatrix;

constexpr int kStartBits = 3;

std::string ConvergedRelease(const SealedOpenings& openings) {
  return "sealed-converged/" + openings.name;
}
std::string EstimatesRelease(const SealedOpenings& openings) {
  return "sealed-estimates/" + openings.name;
}
std::string GridsRelease(const SealedOpenings& openings) { return "sealed-grids/" + openings.name; }
std::string ErrorsRelease(const SealedOpenings& openings) {
  return "sealed-standard-errors/" + openings.name;
}
std::string ScalarsRelease(const SealedOpenings& openings) { return "sealed-fit/" + openings.name; }

class SealedFit {
 public:
  SealedFit(Engine& engine, const SealedModel& model, const std::vector<SealedSample>& samples,
            mpc::ReleaseGrid grid)
      : engine_(engine),
        model_(model),
        grid_(std::move(grid)),
        problem_(ScaleProblem(engine, model, samples)),
        k_(problem_.parameters()) {}

  SealedEstimates Run(const SealedOpenings& openings, Progress& progress) {
    SealedPoint current;
    current.theta = Start();
    SampleScalars sample;
    std::vector<mpc::Task> tasks = {
        [&](Engine& engine) { TakeSteps(problem_.On(engine), current, progress); }};
    if (openings.fit)
      tasks.emplace_back([&](Engine& engine) { sample = SampleScalarsOf(problem_.On(engine)); });
    mpc::Together(engine_, tasks);
    return Open(EndAt(problem_, current, sample, openings, grid_), openings);
  }

 private:
  // The units of a cell, secret, as two factors.
  std::pair<Shared, Shared> UnitsOf(const RamCell& cell) {
    const Shared one = Constant(engine_, {1, 1}, 1);
    const auto unit = [&](int variable, const Shared& units) {
      const int source = model_.unit_of[static_cast<size_t>(variable)];
      return source < 0 ? one : engine_.Slice(units, static_cast<size_t>(source), 0, {1, 1});
    };
    switch (cell.matrix) {
      case RamMatrix::kRegression:
        return {unit(cell.row, problem_.sd), unit(cell.column, problem_.inverse_sd)};
      case RamMatrix::kCovariance:
        return {unit(cell.row, problem_.sd), unit(cell.column, problem_.sd)};
      case RamMatrix::kMean:
        break;
    }
    const bool observed = cell.row < model_.ram.num_observed;
    return {observed ? engine_.Slice(problem_.mean, static_cast<size_t>(cell.row), 0, {1, 1}) : one,
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
    const MatrixXd numbers = model_.start.asDiagonal();
    return Clamp(engine_.MultiplyPublic(EncodeMatrix(numbers, kStartBits),
                                        engine_.Concatenate(starts, true)));
  }

  // Into the box, and onto kSealedBits.
  Shared Clamp(Shared theta) {
    mpc::CutRound cut(engine_);
    theta.bound = kLargestEntry;
    cut.Add(theta, kSealedBits, kLargestEntry);
    cut.Run();
    const std::vector<Shared> ends = {Bounded(Constant(engine_, {k_, 1}, kLargestParameter)),
                                      Bounded(Constant(engine_, {k_, 1}, -kLargestParameter))};
    const std::vector<mpc::Comparison> comparisons = {{ends[0], theta}, {theta, ends[1]}};
    const std::vector<Shared> outside = engine_.ToRing(mpc::LessThan(engine_, comparisons));
    mpc::ProductRound round(engine_);
    std::vector<Shared> moves(2);
    for (size_t i = 0; i < 2; ++i)
      round.Add(outside[i], Minus(engine_, ends[i], theta), kLargestEntry, moves[i]);
    round.Run();
    theta = Plus(engine_, theta, Plus(engine_, moves[0], moves[1]));  // never both
    return Bounded(theta, kLargestParameter);
  }

  void TakeSteps(const SealedProblem& problem, SealedPoint& current, Progress& progress) const {
    BeginSteps(problem, current);
    for (size_t t = 0; t < model_.iterations; ++t) {
      progress.Step(t, model_.iterations);
      progress.CheckCancelled();
      const bool scoring = t < model_.scoring_steps;
      TakeStep(
          problem,
          DirectionsAt(problem, current,
                       scoring ? stats::Information::kExpected : stats::Information::kObserved),
          current);
    }
  }

  SealedEstimates Open(const SealedEnd& end, const SealedOpenings& openings) {
    const mpc::BitMatrix bit =
        engine_
            .RevealBits(ConvergedRelease(openings), std::span(&end.converged, 1), openings.receiver)
            .front();
    const bool on_grid = grid_.bits > 0, here = !bit.words.empty();
    const auto k = static_cast<Index>(model_.opened.size());
    // The information of F is twice that of a row.
    VectorXd units = VectorXd::Ones(k), deviation_units = units;
    if (on_grid) {
      std::vector<Shared> reached;
      for (const mpc::GridMarks& mark : end.marks) reached.push_back(mark.reached);
      const VectorXd steps = Steps(
          end.marks, Reveal(GridsRelease(openings), engine_.Concatenate(reached, true), openings));
      if (here) units = steps.head(k);
      if (here) deviation_units = steps.tail(k);
    }
    SealedEstimates result;
    result.x = Reveal(EstimatesRelease(openings), end.estimates, openings);
    if (here) result.x.array() *= units.array();
    if (openings.standard_errors) {
      result.deviations = Reveal(ErrorsRelease(openings), end.deviations, openings);
      if (here) result.deviations.array() *= std::numbers::sqrt2 * deviation_units.array();
    }
    if (openings.fit) {
      VectorXd values = Reveal(ScalarsRelease(openings), end.scalars, openings);
      if (on_grid) values *= std::ldexp(1.0, -grid_.bits);
      if (here) result.scalars = SealedScalars{values[0], values[1], values[2]};
    }
    if (here) result.converged = mpc::GetBit(bit, 0, 0);
    return result;
  }

  // 2^e; not a number where no grid was reached, for the number is not there then.
  static VectorXd Steps(const std::vector<mpc::GridMarks>& marks, const VectorXd& reached) {
    VectorXd steps(reached.size());
    const auto k = reached.size() / static_cast<Index>(marks.size());
    for (Index i = 0; i < reached.size(); ++i) {
      const int lowest = marks[static_cast<size_t>(i / k)].range.lowest;
      steps(i) = reached(i) > 0 ? std::ldexp(1.0, lowest - 1 + static_cast<int>(reached(i)))
                                : std::numeric_limits<double>::quiet_NaN();
    }
    return steps;
  }

  VectorXd Reveal(const std::string& release, const Shared& column,
                  const SealedOpenings& openings) {
    const std::vector<Int128> values =
        engine_.Reveal(release, std::span(&column, 1), openings.receiver).front().values;
    VectorXd numbers(static_cast<Index>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) {
      numbers(static_cast<Index>(i)) = mpc::DecodeFixed(values[i], column.fraction_bits);
    }
    return numbers;
  }

  Engine& engine_;
  const SealedModel& model_;
  mpc::ReleaseGrid grid_;
  SealedProblem problem_;
  size_t k_;
};

}  // namespace

std::vector<mpc::Release> SealedReleases(const SealedModel& model, const SealedOpenings& openings,
                                         const std::string& receiver_name) {
  const size_t k = model.opened.size();
  const bool rounded = openings.grid_bits > 0;
  const std::string on_grid =
      rounded ? fmt::format(" on a grid of 2^-{}", openings.grid_bits) : std::string();
  std::vector<mpc::Release> releases = {
      {ConvergedRelease(openings), "whether the estimates are a stationary point", receiver_name,
       "exact", 1, openings.receiver, 1},
      {EstimatesRelease(openings),
       "the parameter estimates" + on_grid + (rounded ? " of their standard errors" : ""),
       receiver_name, "exact", 1, openings.receiver, k}};
  if (rounded) {
    releases.push_back(
        {GridsRelease(openings), "the power of two that each of these numbers is a multiple of",
         receiver_name, "exact", 1, openings.receiver, openings.standard_errors ? 2 * k : k});
  }
  if (openings.standard_errors) {
    releases.push_back(
        {ErrorsRelease(openings),
         "the standard errors of the estimates" + on_grid + (rounded ? " of themselves" : ""),
         receiver_name, "exact", 1, openings.receiver, k});
  }
  if (openings.fit) {
    releases.push_back({ScalarsRelease(openings),
                        "chi-square of the model and of the baseline model, and the "
                        "log-likelihood of the saturated model" +
                            on_grid,
                        receiver_name, "exact", 1, openings.receiver, 3});
  }
  return releases;
}

SealedEstimates FitSealed(Engine& engine, const SealedModel& model, const SealedOpenings& openings,
                          const std::vector<SealedSample>& samples, Progress& progress,
                          const Shared& rows, double max_rows) {
  const bool incomplete =
      std::any_of(samples.begin(), samples.end(),
                  [](const SealedSample& sample) { return !sample.observed.empty(); });
  if (incomplete && (!model.ram.meanstructure || openings.fit)) {
    throw Error(ErrorCode::kBadInput,
                "a sealed fit of incomplete rows needs a mean structure, and opens no fit measures",
                "set meanstructure = true, and leave \"fit\" out of the release list");
  }
  return SealedFit(engine, model, samples, {openings.grid_bits, rows, max_rows})
      .Run(openings, progress);
}

}  // namespace partita::methods::mle
