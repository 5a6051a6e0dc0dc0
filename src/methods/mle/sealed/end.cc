#include "methods/mle/sealed/end.h"

#include "methods/mle/sealed/last_inverse.h"
#include "methods/mle/sealed/slope.h"
#include "methods/mle/sealed/values.h"
#include "mpc/compare.h"
#include "mpc/together.h"

namespace partita::methods::mle {
namespace {

using mpc::Engine;
using mpc::Shared;

constexpr double kLargestScalar = 16 * kWorst;

class LastPoint {
 public:
  LastPoint(const SealedProblem& problem, SealedPoint& at, const SampleScalars& sample,
            const SealedOpenings& openings, const mpc::ReleaseGrid& grid)
      : problem_(problem), at_(at), sample_(sample), openings_(openings), grid_(grid) {}

  SealedEnd Run() {
    std::vector<mpc::Task> tasks = {[&](Engine& engine) { Slope(problem_.On(engine)); }};
    if (openings_.fit)
      tasks.emplace_back([&](Engine& engine) { pivots_ = PivotsAt(problem_.On(engine), at_); });
    mpc::Together(problem_.engine, tasks);

    tasks = {[&](Engine& engine) { RoundEstimates(engine); }};
    if (openings_.fit) {
      tasks.emplace_back([&](Engine& engine) {
        discrepancy_ = DiscrepancyOf(problem_.On(engine), pivots_, traces_);
      });
      tasks.emplace_back([&](Engine& engine) {
        const Shared faults = engine.Add(pivots_.faults, slope_.faults);
        good_ = engine.ToRing(mpc::IsZero(engine, std::span(&faults, 1))).front();
      });
    }
    mpc::Together(problem_.engine, tasks);
    if (openings_.fit) Scalars();
    return std::move(end_);
  }

 private:
  Shared OfOpened(Engine& engine, const Shared& column) {
    const std::vector<int>& opened = problem_.model.opened;
    return engine.SelectRows(column, std::vector<size_t>(opened.begin(), opened.end()));
  }

  void Slope(const SealedProblem& problem) {
    Engine& engine = problem.engine;
    const std::vector<Limit> proof = InvertLast(problem, at_);
    slope_ = SlopeAt(
        problem, at_,
        openings_.standard_errors ? openings_.information : stats::Information::kExpected, proof);
    end_.converged = slope_.stationary;
    end_.estimates = OfOpened(engine, at_.theta);
    std::vector<mpc::Task> tasks;
    if (openings_.standard_errors) {
      tasks.emplace_back([&](Engine& own) {
        end_.deviations = OfOpened(own, DeviationsAt(problem.On(own), slope_));
      });
    }
    if (grid_.bits > 0) {
      tasks.emplace_back([&](Engine& own) {
        end_.marks = mpc::MarkGrids(own, Variances(own), grid_, openings_.standard_errors);
      });
    }
    if (openings_.fit)
      tasks.emplace_back([&](Engine& own) { traces_ = TracesAt(problem.On(own), at_); });
    mpc::Together(engine, tasks);
  }

  // v of mpc/functions/release_grid.h.
  Shared Variances(Engine& engine) {
    const double largest = 1 / kSmallestInformation;
    Shared square, variances;
    Products products(engine);
    products.Elementwise(slope_.scale, slope_.scale, square, largest);
    products.Run();
    products.Elementwise(slope_.inflation, square, variances, largest / kSmallestScaledPivot);
    products.Run();
    return OfOpened(engine, variances);
  }

  void RoundEstimates(Engine& engine) {
    if (grid_.bits == 0) return;
    std::vector<mpc::GridNumbers> numbers = {
        {end_.estimates, kLargestParameter, end_.marks.front()}};
    if (openings_.standard_errors)
      numbers.push_back({end_.deviations, kLargestEntry, end_.marks.back()});
    const std::vector<Shared> rounded =
        mpc::RoundToGrids(engine, std::move(numbers), nullptr, 0, grid_.bits);
    end_.estimates = rounded.front();
    if (openings_.standard_errors) end_.deviations = rounded.back();
  }

  void Scalars() {
    Engine& engine = problem_.engine;
    end_.scalars = ScalarsOf(problem_, sample_, discrepancy_, good_);
    if (grid_.bits == 0) return;
    const double largest = kLargestScalar * grid_.max_rows;
    const std::vector<size_t> repeated(end_.scalars.shape.rows, 0);
    Shared totals;
    mpc::ProductRound round(engine);
    round.Add(end_.scalars, engine.SelectRows(grid_.rows, repeated), largest, totals);
    round.Run();
    end_.scalars = mpc::RoundToGrids(engine, {}, &totals, largest, grid_.bits).front();
  }

  const SealedProblem& problem_;
  SealedPoint& at_;
  const SampleScalars& sample_;
  const SealedOpenings& openings_;
  const mpc::ReleaseGrid& grid_;
  SealedEnd end_;
  SealedSlope slope_;
  LastPivots pivots_;
  std::vector<Shared> traces_;
  Shared discrepancy_, good_;
};

}  // namespace

SealedEnd EndAt(const SealedProblem& problem, SealedPoint& at, const SampleScalars& sample,
                const SealedOpenings& openings, const mpc::ReleaseGrid& grid) {
  return LastPoint(problem, at, sample, openings, grid).Run();
}

}  // namespace partita::methods::mle
