#include "methods/classify/classification.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "methods/classify/level_descents.h"
#include "privacy/accounting/normal.h"
#include "stats/erm/objective_noise.h"

namespace partita::methods::classify {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using stats::erm::LabelledRows;
using stats::erm::LevelRows;

stats::erm::Loss LossOf(const Spec& spec) {
  if (spec.huber_width == 0) return {};
  return {stats::erm::LossKind::kHuber, spec.huber_width};
}

size_t Classifiers(const Spec& spec) { return spec.binary() ? 1 : spec.levels.size(); }

uint64_t Total(const std::vector<uint64_t>& rows) {
  return std::accumulate(rows.begin(), rows.end(), uint64_t{0});
}

// What objective perturbation fits is not the objective of the study file if most of the penalty is
// slack.
void RequireSmallSlack(const Spec& spec, double slack, double epsilon) {
  if (slack <= spec.lambda) return;
  throw Error(ErrorCode::kBudget,
              fmt::format("epsilon {:.4g} is too small for the penalty {:g} and these rows: the "
                          "objective needs the slack Delta = {:.6g}, more than the penalty itself",
                          epsilon, spec.lambda, slack),
              fmt::format("write lambda = {:.3g} or more, or a larger epsilon",
                          (spec.lambda + slack) / 2 * 1.01));
}

BaselineTask BaselineOf(const Classification& design) {
  const Spec& spec = design.spec;
  BaselineTask task;
  task.loss = LossOf(spec);
  task.lambda = spec.lambda;
  task.dimension = spec.dimension();
  task.rows = Total(design.train_rows);
  task.party_rows = *std::max_element(design.train_rows.begin(), design.train_rows.end());
  task.iterations = spec.iterations;
  task.parties = static_cast<uint32_t>(design.train_rows.size());
  return task;
}

void DesignFit(Classification& design, double epsilon, double delta) {
  const Spec& spec = design.spec;
  const auto parties = static_cast<uint32_t>(design.train_rows.size());
  const uint64_t rows = Total(design.train_rows);
  const uint64_t most = *std::max_element(design.train_rows.begin(), design.train_rows.end());
  const uint32_t known = design.promise.known_shares;
  FitDesign& fit = design.fit;
  switch (spec.protocol) {
    case Protocol::kDescent: {
      DescentTask task;
      task.options = {LossOf(spec),
                      spec.lambda,
                      spec.step,
                      spec.clip_norm,
                      spec.sampling_rate,
                      spec.iterations,
                      spec.adam ? stats::erm::Optimiser::kAdam : stats::erm::Optimiser::kSgd};
      task.rows = rows;
      task.party_rows = most;
      task.dimension = spec.dimension();
      task.parties = parties;
      task.known_shares = known;
      fit.noise_multiplier = CalibrateDescent(AllLevels(task, Classifiers(spec)), epsilon, delta);
      fit.sum = DesignDescent(task, fit.noise_multiplier);
      fit.descent = task;
      return;
    }
    case Protocol::kAggregation: {
      AggregationTask task;
      task.loss = LossOf(spec);
      task.lambda = spec.lambda;
      task.dimension = spec.dimension();
      task.parties = parties;
      // A party that only receives has no classifier of its own.
      task.smallest_rows = *std::min_element(design.train_rows.begin(), design.train_rows.end());
      task.largest_rows = most;
      task.known_shares = known;
      fit.sum = DesignAggregation(task, epsilon, delta);
      fit.aggregation = task;
      return;
    }
    case Protocol::kPsgd: {
      PsgdTask task;
      const stats::erm::Slack slack =
          stats::erm::SlackLeaving(0.7 * epsilon, privacy::Epsilon(epsilon), spec.lambda, rows,
                                   stats::erm::MaxCurvature(LossOf(spec)));
      RequireSmallSlack(spec, slack.delta_slack, epsilon);
      task.options = {LossOf(spec), spec.lambda, slack.delta_slack, spec.iterations};
      task.rows = rows;
      task.party_rows = most;
      task.dimension = spec.dimension();
      task.parties = parties;
      task.known_shares = known;
      task.eta_stddev =
          stats::erm::ObjectiveNoise(stats::erm::NoiseRule::kLinearModel, task.dimension,
                                     slack.epsilon_rest, privacy::Delta(delta));
      // Of the whole transcript; the margin pays for the grid.
      task.rho_stddev = 2 * std::sqrt(static_cast<double>(spec.iterations)) /
                        privacy::GaussianMu(epsilon, delta) * (1 + 1e-6);
      fit.psgd_noise = DesignPsgd(task);
      fit.psgd = task;
      return;
    }
    case Protocol::kMinimum: {
      fit.budget = {epsilon, delta, MinimumBudget{}.output_share, MinimumBudget{}.gaussian_share,
                    known};
      fit.minimum = DesignMinimum(fit.budget, spec.lambda, design.train_rows, spec.dimension());
      RequireSmallSlack(spec, fit.minimum->slack, epsilon);
      return;
    }
    case Protocol::kObjective: {
      fit.budget = {epsilon, delta, 0, MinimumBudget{}.gaussian_share, known};
      fit.minimum = DesignObjective(fit.budget, spec.lambda, design.train_rows, spec.dimension());
      RequireSmallSlack(spec, fit.minimum->slack, epsilon);
      return;
    }
    case Protocol::kAverage:
      fit.baseline = BaselineOf(design);
      fit.sum = DesignModelAverage(*fit.baseline);
      return;
    case Protocol::kFederated:
      fit.baseline = BaselineOf(design);
      fit.sum = DesignFederated(*fit.baseline);
      return;
    case Protocol::kOwn:
      fit.baseline = BaselineOf(design);
      return;
  }
}

privacy::Statement StateFit(const Classification& design, const Audience& audience) {
  const FitDesign& fit = design.fit;
  if (fit.descent) {
    return StateDescent(AllLevels(*fit.descent, Classifiers(design.spec)), fit.noise_multiplier,
                        audience);
  }
  if (fit.aggregation) return StateAggregation(*fit.aggregation, fit.sum, audience);
  if (fit.psgd) return StatePsgd(*fit.psgd, audience);
  if (design.spec.protocol == Protocol::kObjective) {
    return StateObjective(*fit.minimum, fit.budget, audience);
  }
  if (design.spec.protocol == Protocol::kAverage) {
    return StateExact("The average of the parties' own classifiers, without noise: NOT private.",
                      audience);
  }
  if (design.spec.protocol == Protocol::kFederated) {
    return StateExact(
        fmt::format("The sums of all gradients of {} iterations, without noise: NOT private.",
                    fit.baseline->iterations),
        audience);
  }
  return StateMinimum(*fit.minimum, fit.budget, audience);
}

std::vector<mpc::Release> FitReleases(const Classification& design) {
  const FitDesign& fit = design.fit;
  if (fit.descent) {
    return {ReleaseOf(fit.sum, "the sum of clipped gradients of an iteration, with noise", "all",
                      AllLevels(*fit.descent, Classifiers(design.spec)).options.iterations)};
  }
  if (fit.aggregation) {
    return {
        ReleaseOf(fit.sum, "the average of the parties' own coefficients, with noise", "all", 1)};
  }
  if (fit.psgd) {
    return {ReleaseOf(fit.psgd_noise->sum, "the sum of gradients of an iteration, with noise",
                      "all", fit.psgd->options.iterations)};
  }
  if (fit.baseline) {
    const bool average = design.spec.protocol == Protocol::kAverage;
    mpc::Release release = ReleaseOf(fit.sum,
                                     average ? "the average of the parties' own coefficients"
                                             : "the sum of all gradients of an iteration",
                                     "all", average ? 1 : fit.baseline->iterations);
    release.mechanism = "exact";
    return {std::move(release)};
  }
  std::vector<mpc::Release> releases = ReleasesOf(fit.minimum->task);
  if (design.spec.protocol == Protocol::kObjective) {
    // No output noise: no statement covers it, and "exact" is what uncovered releases are.
    releases.back().what = "the minimum of the objective with linear noise, as it was found";
    releases.back().mechanism = "exact";
  }
  return releases;
}

void State(Classification& design) {
  if (design.spec.protocol == Protocol::kOwn) return;  // nothing opens
  const double share = design.newton ? 1 - design.spec.interval_share : 1;
  Audience audience = design.audience;
  audience.delta = design.promise.delta * share;
  std::vector<privacy::Statement> statements = {StateFit(design, audience)};
  design.releases = FitReleases(design);
  if (design.newton) {
    audience.delta = design.promise.delta * design.spec.interval_share;
    statements.push_back(StateNewton(*design.newton, design.newton_sum, audience));
    design.releases.push_back(ReleaseOf(
        design.newton_sum, "gradient and curvature at the coefficients, with noise", "all", 1));
  }
  std::optional<privacy::Statement> counts;
  if (design.counts) {
    audience.delta = design.promise.delta;
    counts = StateCounts(*design.counts, design.counts_sum, audience);
    design.releases.push_back(ReleaseOf(
        design.counts_sum, "counts of test rows by score and label, with noise", "all", 1));
  }
  design.statement = Together(statements, counts ? &*counts : nullptr);
}

LevelRows Take(const LevelRows& rows, const std::vector<Index>& chosen) {
  LevelRows taken{rows.x(chosen, Eigen::all), {}, rows.levels};
  for (const Index i : chosen) taken.level.push_back(rows.level[static_cast<size_t>(i)]);
  return taken;
}

// Label 1 for the positive level.
LabelledRows Binary(const Spec& spec, const LevelRows& rows) {
  return stats::erm::OneAgainstRest(rows, spec.positive);
}

MatrixXd RunFit(mpc::Engine& engine, const Classification& design,
                const std::optional<OwnClassification>& own, crypto::RandomSource& random,
                Progress& progress) {
  const FitDesign& fit = design.fit;
  // A minimum is found on shares before anything opens, and what stays at its owner opens never.
  if (!fit.minimum && design.spec.protocol != Protocol::kOwn) engine.AgreeToOpen();
  if (!design.spec.binary()) {
    std::optional<LevelRows> rows;
    if (own) rows = own->train;
    return RunLevelDescents(engine, *fit.descent, design.spec.levels.size(), fit.sum, rows, random,
                            progress);
  }
  std::optional<LabelledRows> rows;
  if (own) rows = Binary(design.spec, own->train);
  if (fit.descent) return RunDescent(engine, *fit.descent, fit.sum, rows, random, progress);
  if (fit.aggregation) return RunAggregation(engine, *fit.aggregation, fit.sum, rows, random);
  if (fit.psgd) return RunPsgd(engine, *fit.psgd, *fit.psgd_noise, rows, random, progress);
  if (design.spec.protocol == Protocol::kAverage) {
    return RunModelAverage(engine, *fit.baseline, fit.sum, rows);
  }
  if (design.spec.protocol == Protocol::kFederated) {
    return RunFederated(engine, *fit.baseline, fit.sum, rows, progress);
  }
  if (design.spec.protocol == Protocol::kOwn) {
    return rows ? OwnFit(*fit.baseline, *rows) : VectorXd();
  }
  std::optional<OwnMinimum> part;
  if (rows) part = OwnPart(*fit.minimum, *std::move(rows), random);
  const PerturbedMinimum minimum =
      RunMinimum(engine, fit.minimum->task, fit.minimum->bounds, part, progress);
  if (engine.self() && !minimum.certified) {
    throw Error(ErrorCode::kNotConverged,
                "the certificate of the minimum failed, so the coefficients stay closed",
                "its budget is spent; please report this with the study file");
  }
  return minimum.w;
}

// d original columns and the intercept from scaled ones: linear, so that covariances follow.
MatrixXd ToOriginal(const stats::erm::UnitBallScaling& scaling, Index dimension) {
  MatrixXd map(static_cast<Index>(scaling.bounds.size()) + 1, dimension);
  for (Index j = 0; j < dimension; ++j) {
    map.col(j) = stats::erm::OriginalUnits(VectorXd::Unit(dimension, j), scaling);
  }
  return map;
}

stats::erm::CoefficientIntervals InOriginalUnits(const stats::erm::CoefficientIntervals& scaled,
                                                 const MatrixXd& map) {
  stats::erm::CoefficientIntervals original;
  original.covariance = map * scaled.covariance * map.transpose();
  original.estimate = map * scaled.estimate;
  const VectorXd reach_per_error =
      (scaled.upper - scaled.estimate).cwiseQuotient(scaled.covariance.diagonal().cwiseSqrt());
  const VectorXd reach = reach_per_error(0) * original.covariance.diagonal().cwiseSqrt();
  original.lower = original.estimate - reach;
  original.upper = original.estimate + reach;
  original.step = scaled.step;
  return original;
}

void EvaluateOwn(const Classification& design, const LevelRows& test,
                 ClassificationResult& result) {
  if (test.x.rows() == 0) return;
  if (design.spec.binary()) {
    const LabelledRows rows = Binary(design.spec, test);
    result.local = stats::erm::EvaluateCounts(
        stats::erm::CountScores(rows.x * result.w, rows.y, design.spec.score_bins));
    return;
  }
  result.local_confusion = stats::erm::ConfusionOfLevels(test, result.w);
}

}  // namespace

Classification DesignClassification(const Spec& spec, const Promise& promise,
                                    const std::vector<uint64_t>& rows, Audience audience) {
  Classification design;
  design.spec = spec;
  design.promise = promise;
  audience.delta = promise.delta;
  audience.known_shares = promise.known_shares;
  design.audience = std::move(audience);
  for (const uint64_t count : rows) {
    const auto test =
        static_cast<uint64_t>(std::llround(spec.test_share * static_cast<double>(count)));
    if (count == test) {
      throw Error(ErrorCode::kBadInput, "a party has no rows to train with",
                  "every computing party needs rows of its own; give it rows, or leave it out");
    }
    design.test_rows.push_back(test);
    design.train_rows.push_back(count - test);
  }
  if (DrawsNoise(spec.protocol)) RequireSmallDelta(promise.delta, Total(rows));
  for (const data::DesignColumn& column : spec.columns) {
    design.scaling.bounds.push_back({column.schema.lower, column.schema.upper});
  }
  design.scaling.intercept = spec.intercept;
  design.scaling.norm = spec.row_norm;
  const auto parties = static_cast<uint32_t>(rows.size());
  DesignFit(design, promise.epsilon * (1 - spec.interval_share),
            promise.delta * (1 - spec.interval_share));
  if (spec.interval_share > 0) {
    NewtonTask task;
    task.dimension = spec.dimension();
    task.party_rows = *std::max_element(design.train_rows.begin(), design.train_rows.end());
    task.parties = parties;
    task.known_shares = promise.known_shares;
    design.newton_sum = DesignNewton(task, promise.epsilon * spec.interval_share,
                                     promise.delta * spec.interval_share);
    design.newton = task;
  }
  if (spec.evaluation == Evaluation::kPrivate) {
    CountsTask task;
    task.bins = spec.score_bins;
    task.party_rows = *std::max_element(design.test_rows.begin(), design.test_rows.end());
    task.parties = parties;
    task.known_shares = promise.known_shares;
    design.counts_sum = DesignCounts(task, promise.epsilon, promise.delta);
    design.counts = task;
  }
  State(design);
  return design;
}

OwnClassification PrepareOwn(const Classification& design, const OwnTable& table,
                             crypto::RandomSource& random) {
  stats::erm::ScaledRows scaled = stats::erm::ScaleToUnitBall(table.x, design.scaling);
  const auto neutral = [&](Index row) {
    return !table.neutral.empty() && table.neutral[static_cast<size_t>(row)] != 0;
  };
  for (Index i = 0; i < scaled.x.rows(); ++i) {
    if (neutral(i)) scaled.x.row(i).setZero();
  }
  const LevelRows all{std::move(scaled.x), table.level, design.spec.levels.size()};
  stats::erm::CheckLevels(all);
  // Row numbers are held aside, not rows: nothing of a row decides.
  LabelledRows numbers{MatrixXd(all.x.rows(), 1), VectorXd::Ones(all.x.rows())};
  for (Index i = 0; i < all.x.rows(); ++i) numbers.x(i, 0) = static_cast<double>(i);
  const HeldAside parts = HoldAside(numbers, design.spec.test_share, random);
  const auto chosen = [](const LabelledRows& part) {
    std::vector<Index> rows;
    for (Index i = 0; i < part.x.rows(); ++i) rows.push_back(static_cast<Index>(part.x(i, 0)));
    return rows;
  };
  std::vector<Index> test = chosen(parts.test);
  std::erase_if(test, neutral);
  return {Take(all, chosen(parts.train)), Take(all, test), scaled.clipped_rows};
}

ClassificationResult RunClassification(mpc::Engine& engine, const Classification& design,
                                       const std::optional<OwnClassification>& own,
                                       crypto::RandomSource* random, Progress& progress) {
  crypto::SystemRandom unused;  // at the dealer and on the PlanEngine, where nothing is drawn
  crypto::RandomSource& source = random != nullptr ? *random : unused;
  ClassificationResult result;
  progress.Phase("fit");
  result.w = RunFit(engine, design, own, source, progress);
  const bool here = engine.self().has_value();
  const auto dimension = static_cast<Index>(design.spec.dimension());
  if (result.w.size() == 0) result.w = MatrixXd::Zero(dimension, 1);
  MatrixXd map;
  if (here) {
    map = ToOriginal(design.scaling, dimension);
    result.coefficients = map * result.w;
  }
  if (design.newton) {
    progress.Phase("intervals");
    std::optional<LabelledRows> rows;
    if (own) rows = Binary(design.spec, own->train);
    const VectorXd w = result.w.col(0);
    const stats::erm::NewtonSums sums =
        RunNewton(engine, *design.newton, design.newton_sum, rows, w, source);
    if (sums.gradient.size() > 0) {
      const auto intervals = stats::erm::NoiseAwareIntervals(w, sums, design.spec.level);
      result.hidden_curvature = !intervals;
      if (intervals) result.intervals = InOriginalUnits(*intervals, map);
    }
  }
  if (design.counts) {
    progress.Phase("evaluation");
    std::optional<LabelledRows> rows;
    if (own) rows = Binary(design.spec, own->test);
    const stats::erm::ScoreCounts counts =
        RunCounts(engine, *design.counts, design.counts_sum, rows, result.w.col(0), source);
    if (!counts.positive.empty()) {
      result.counts = counts;
      result.evaluation = stats::erm::EvaluateCounts(counts);
    }
  }
  if (own && design.spec.evaluation == Evaluation::kLocal) EvaluateOwn(design, own->test, result);
  return result;
}

}  // namespace partita::methods::classify
