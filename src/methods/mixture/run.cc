#include "methods/mixture/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "base/error.h"
#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "crypto/state_file.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/grid_variance.h"

namespace partita::methods::mixture {

using Eigen::ArrayXXd;

namespace {

// A share beyond that many standard deviations has a probability below 2^-2900.
constexpr double kLargestShare = 64;

stats::mixture::Batches MakeBatches(const RunPlan& plan, crypto::RandomSource& source) {
  const RunRequest& request = plan.request;
  const bool poisson = request.batch_mode == stats::mixture::BatchMode::kPoisson;
  return {request.batch_mode, request.num_rows, request.batch_size, poisson ? plan.max_batch : 0,
          source};
}

// The rows of this process, if it holds any, on the grid of statistics.
struct OwnRows {
  size_t holder = 0;
  stats::mixture::Rows rows;
};

std::optional<OwnRows> RowsOfSelf(const mpc::Engine& engine, const RunPlan& plan,
                                  const RunInputs& inputs) {
  for (size_t h = 0; h < plan.holders.size(); ++h) {
    if (engine.self() != plan.holders[h].party) continue;
    if (inputs.rows == nullptr || inputs.rows->num_rows != plan.request.num_rows) {
      throw Error(ErrorCode::kUsage, "a holder's rows are not there, or not as many as agreed");
    }
    return OwnRows{h, OnStatisticGrid(plan.holders[h].layout, *inputs.rows,
                                      plan.step.holders[h].statistic_bound)};
  }
  return {};
}

// Of one opening, in grid units; empty where no noise is added.
class NoiseOfSelf {
 public:
  NoiseOfSelf(const mpc::Engine& engine, const RunPlan& plan, const RunInputs& inputs)
      : random_(inputs.random) {
    const auto& parties = plan.step.noise_parties;
    const bool adds =
        engine.self() && std::find(parties.begin(), parties.end(), *engine.self()) != parties.end();
    if (!adds) return;
    if (random_ == nullptr) throw Error(ErrorCode::kUsage, "a noise party has no randomness");
    law_.emplace(plan.noise.share_variance);
    share_.resize(plan.step.num_values());
  }
  std::span<const Int128> Draw() {
    if (law_) law_->Sample(*random_, share_);
    return share_;
  }

 private:
  crypto::RandomSource* random_;
  std::optional<privacy::DiscreteGaussian> law_;
  std::vector<Int128> share_;
};

}  // namespace

double LargestNoise(const RunRequest& request) {
  return std::ldexp(1 - 0x1p-20, privacy::kMaxLog2Stddev - kGridBits) / request.clip;
}

RunPlan PlanRun(RunRequest request) {
  stats::mixture::CheckOptions(request.variational);
  if (request.noise_multiplier > LargestNoise(request)) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("noise of {:.6g} times `clip` = {:.6g} is more than a run can draw, "
                            "which is {:.6g} times",
                            request.noise_multiplier, request.clip, LargestNoise(request)),
                "take less noise, or a smaller clip");
  }
  RunPlan plan;
  plan.holders = HoldersOf(request.layout, request.party_index);
  StepDesign step;
  step.formulation = request.formulation;
  step.num_rows = request.num_rows;
  step.components = request.components;
  step.clip = request.clip;
  step.max_square = request.max_square;
  step.noise_parties = request.noise_parties;
  plan.step = DesignFor(plan.holders, std::move(step));
  plan.request = std::move(request);

  crypto::SystemRandom unused;  // batches are drawn when the run has its key
  const stats::mixture::Batches batches = MakeBatches(plan, unused);
  plan.sampling_rate = batches.sampling_rate();
  switch (plan.request.batch_mode) {
    case stats::mixture::BatchMode::kPoisson:
      plan.max_batch =
          stats::mixture::MaxBatch(plan.request.num_rows, plan.sampling_rate,
                                   plan.request.max_openings(), plan.request.redraw_probability);
      break;
    case stats::mixture::BatchMode::kDisjoint:
      plan.max_batch =
          static_cast<uint32_t>(std::ceil(plan.request.num_rows * plan.sampling_rate - 1e-9));
      break;
    case stats::mixture::BatchMode::kFull:
      plan.max_batch = plan.request.num_rows;
      break;
  }
  plan.step.batch_rows = plan.max_batch;
  const auto parties = static_cast<uint32_t>(plan.step.noise_parties.size());
  if (parties > 0) {
    const double sigma = std::ldexp(plan.request.noise_multiplier * plan.request.clip, kGridBits);
    plan.noise =
        privacy::ShareNoise(privacy::VarianceOfStddev(sigma), {parties, 0}, plan.step.num_values());
    plan.step.noise_bound = std::ldexp(
        kLargestShare * privacy::StddevUpperBound(plan.noise.share_variance), -kGridBits);
  }
  CheckDesign(plan.step);
  return plan;
}

mpc::Release GradientRelease(const RunPlan& plan) {
  return {kGradientRelease,
          "noisy sums of clipped gradients of a mixture model",
          "all",
          "discrete-gaussian",
          plan.request.max_openings(),
          mpc::kEverybody,
          plan.step.num_values()};
}

stats::mixture::VariationalState FirstState(const RunPlan& plan, const crypto::Key& public_key) {
  crypto::Prg prg(crypto::DeriveKey(public_key, "dpvi start"));
  stats::blr::Variates variates(prg);
  return stats::mixture::StartState(plan.request.layout, plan.request.components,
                                    plan.request.variational, variates);
}

RunResult RunSecureDpvi(mpc::Engine& engine, const RunPlan& plan, const RunInputs& inputs) {
  const stats::mixture::VariationalOptions& options = plan.request.variational;
  const bool knows = engine.self().has_value();
  if (inputs.batch_key == nullptr || (knows && inputs.public_key == nullptr)) {
    throw Error(ErrorCode::kUsage, "a run needs the keys that its parties agreed on");
  }
  const std::optional<OwnRows> own = RowsOfSelf(engine, plan, inputs);
  std::vector<StatisticReader> readers(plan.holders.size());
  if (own) readers[own->holder] = ReaderOf(plan.holders[own->holder].layout, own->rows);
  SecureStep step(engine, plan.step, readers);
  NoiseOfSelf noise(engine, plan, inputs);

  Checkpoint at;
  if (inputs.start) {
    at = *inputs.start;
  } else if (knows) {
    at.state = FirstState(plan, *inputs.public_key);
  }
  if (at.state.step > options.steps || at.state.step > at.openings ||
      at.openings > plan.request.max_openings()) {
    throw Error(ErrorCode::kBadInput, "the checkpoint of a run does not fit its plan");
  }
  crypto::Prg batch_prg(crypto::DeriveKey(*inputs.batch_key, "dpvi batches"));
  stats::mixture::Batches batches = MakeBatches(plan, batch_prg);
  for (uint64_t i = 0; i < at.openings; ++i) batches.Next();

  double step_seconds = 0;
  uint64_t begun = at.openings, marked = at.openings;
  const auto mark = [&](uint64_t openings) {
    if (inputs.mark && knows) inputs.mark(openings);
    marked = openings;
  };
  const std::function<void()> before_opening = [&] {
    begun = at.openings + 1;
    if (begun > marked) {
      mark(std::min(at.openings + crypto::StepsToCount(at.openings), plan.request.max_openings()));
    }
  };
  const auto timed_step = [&](const StepParameters& parameters,
                              const std::optional<HolderValues>& values,
                              std::span<const Int128> share) {
    const auto begin = SteadyClock::now();
    ArrayXXd sum = step.Run(parameters, values, share, before_opening);
    step_seconds += SecondsSince(begin);
    return sum;
  };
  // One opening, and what follows from it. If it throws, `at` is as before.
  const auto iterate = [&] {
    const std::vector<uint32_t>& batch = batches.Next();
    if (!knows) {
      StepParameters parameters = NoParameters(plan.holders, plan.request.components);
      parameters.batch = batch;
      timed_step(parameters, {}, {});
      ++at.state.step;
      ++at.openings;
      return;
    }
    // A stream of its own for every opening: a resume needs no other.
    ByteWriter number;
    number.U64(at.openings);
    crypto::Prg eta_prg(crypto::DeriveKey(*inputs.public_key, "dpvi eta", {number.bytes()}));
    stats::blr::Variates variates(eta_prg);
    const ArrayXXd eta = stats::mixture::DrawEta(at.state, variates);
    const ArrayXXd theta = stats::mixture::ThetaAt(at.state, eta);
    ModelAt model = MakeModelAt(plan.holders, theta);
    std::optional<HolderValues> values;
    if (own) {
      values = ValuesAt(plan.holders[own->holder], model.components[own->holder], own->rows, batch,
                        inputs.neutral);
    }
    model.parameters.batch = batch;
    const ArrayXXd sum =
        InModelOrder(plan.holders, timed_step(model.parameters, values, noise.Draw()));
    stats::mixture::VariationalState next = at.state;
    stats::mixture::Advance(plan.request.layout, options, plan.request.num_rows, plan.sampling_rate,
                            eta, theta, sum, next);
    at = {at.openings + 1, std::move(next)};
  };

  const auto store = [&] {
    if (inputs.store && knows) inputs.store(at);
  };
  const auto leave = [&] {
    store();
    if (marked > begun) mark(begun);
  };
  const uint64_t to_go =
      std::min(options.steps - at.state.step, plan.request.max_openings() - at.openings);
  try {
    for (uint64_t i = 1; i <= to_go; ++i) {
      iterate();
      if (i % plan.request.checkpoint_every == 0) store();
      if (inputs.after_opening) {
        inputs.after_opening(
            {at.openings, at.state.step, knows ? &at.state : nullptr, step_seconds});
      }
    }
  } catch (...) {
    // What this party knows is all that the others may have to go on with.
    try {
      leave();
    } catch (const Error&) {  // the error that ended the run says more
    }
    throw;
  }
  leave();
  return {std::move(at.state), at.openings, batches.max_uses()};
}

}  // namespace partita::methods::mixture
