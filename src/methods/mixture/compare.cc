// Rehearsals of method `mixture`: every opened sum beside the clipped gradient of the same batch at
// the same parameters in the clear, and the model beside the one that follows from these sums.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "methods/mixture/study.h"
#include "run/rehearse/rehearsal.h"
#include "stats/mixture/gradient.h"
#include "stats/mixture/held_out_rows.h"

namespace partita::methods::mixture {
namespace {

using Eigen::ArrayXXd;
using Eigen::Index;

// All rows to train on, in the order of their keys.
stats::mixture::Rows RowsInOrder(const MixtureStudy& study, const data::MockStudy& mock) {
  std::vector<size_t> order(mock.row_keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return mock.row_keys[a] < mock.row_keys[b]; });
  const stats::mixture::Values values =
      EncodeValues(study.columns, run::TakeRows(mock.pooled, order));
  const MixtureUtility& utility = study.spec().utility;
  const stats::mixture::RowSplit split = stats::mixture::SplitRows(
      static_cast<uint32_t>(order.size()), utility.test_rows, utility.seed);
  return stats::mixture::MakeRows(study.plan.request.layout,
                                  stats::mixture::SelectRows(values, split.train));
}

ArrayXXd SumOf(const run::Opening& opening, const RunPlan& plan) {
  const auto components = static_cast<Index>(plan.request.components);
  const auto columns = static_cast<Index>(1 + plan.step.num_columns());
  ArrayXXd sum(components, columns);
  for (Index k = 0; k < components; ++k) {
    for (Index j = 0; j < columns; ++j) {
      sum(k, j) = mpc::DecodeFixed(opening.values[0].values[static_cast<size_t>(k * columns + j)],
                                   kGridBits);
    }
  }
  return InModelOrder(plan.holders, sum);
}

double NoiseStddevOf(const RunPlan& plan) {
  const auto parties = static_cast<double>(plan.step.noise_parties.size());
  return std::ldexp(std::sqrt(parties) * privacy::StddevLowerBound(plan.noise.share_variance),
                    -kGridBits);
}

std::span<const double> EntriesOf(const ArrayXXd& array) {
  return {array.data(), static_cast<size_t>(array.size())};
}

}  // namespace

std::unique_ptr<const run::Study> MixtureStudy::ForRehearsal(
    uint64_t max_steps, std::vector<std::string>& shortened) const {
  if (spec().iterations <= max_steps) return nullptr;
  MixtureSpec shorter = spec();
  shorter.iterations = max_steps;
  shorter.reserve = 0;
  shorter.privacy.epsilon.reset();
  shorter.privacy.noise_multiplier = plan.request.noise_multiplier;
  study::StudyFile copy = file;
  copy.analyses.front().section = std::make_shared<const MixtureSection>(std::move(shorter));
  shortened.push_back(
      fmt::format("{} of the {} iterations are rehearsed, with the noise of the whole run.",
                  max_steps, spec().iterations));
  return std::make_unique<const MixtureStudy>(PrepareMixtureStudy(std::move(copy)));
}

void MixtureStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                           Progress& progress) const {
  const run::PartyOutcome& outcome = run.outcome(receiver);
  const auto& result = dynamic_cast<const MixtureResult&>(*outcome.protocol);
  const RunRequest& request = plan.request;
  const stats::mixture::Rows rows = RowsInOrder(*this, run.mock);
  const double stddev = NoiseStddevOf(plan), clip = FormatOf(plan.step).clip_to;
  crypto::Prg batch_stream(crypto::DeriveKey(result.keys.batch, "dpvi batches"));
  const bool poisson = request.batch_mode == stats::mixture::BatchMode::kPoisson;
  stats::mixture::Batches batches(request.batch_mode, request.num_rows, request.batch_size,
                                  poisson ? plan.max_batch : 0, batch_stream);
  stats::mixture::VariationalState state = FirstState(plan, result.keys.public_key);
  std::vector<double> noise;
  uint64_t opened = 0;
  for (const run::Opening& opening : outcome.openings) {
    if (opening.release_id != kGradientRelease) continue;
    progress.Step(opened, spec().iterations);
    progress.CheckCancelled();
    ByteWriter number;
    number.U64(opened++);
    crypto::Prg eta_stream(crypto::DeriveKey(result.keys.public_key, "dpvi eta", {number.bytes()}));
    stats::blr::Variates variates(eta_stream);
    const ArrayXXd eta = stats::mixture::DrawEta(state, variates);
    const ArrayXXd theta = stats::mixture::ThetaAt(state, eta);
    const ArrayXXd sum = SumOf(opening, plan);
    const ArrayXXd difference = (sum - stats::mixture::ClippedGradientSum(
                                           request.layout, rows, batches.Next(), theta, clip)) /
                                stddev;
    noise.insert(noise.end(), difference.data(), difference.data() + difference.size());
    stats::mixture::Advance(request.layout, request.variational, request.num_rows,
                            plan.sampling_rate, eta, theta, sum, state);
  }
  const std::string& analysis = file.analyses.front().name;
  agreement.Add(analysis, "iterations", static_cast<double>(result.run.state.step),
                static_cast<double>(spec().iterations));
  agreement.AddAll(analysis, "means of the model, from the opened sums",
                   EntriesOf(result.run.state.mean), EntriesOf(state.mean), 1);
  agreement.AddAll(analysis, "log scales of the model, from the opened sums",
                   EntriesOf(result.run.state.log_scale), EntriesOf(state.log_scale), 1);
  agreement.random.push_back(run::IndependentNormals(
      analysis,
      fmt::format("noise of {} sums of gradients, of standard deviation {:.4g}", opened, stddev),
      noise));
}

}  // namespace partita::methods::mixture
