// Rehearsals of method `mcmc`: the chains once more from their record, each decision beside the
// chance that it had by all rows in the clear.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "crypto/kdf.h"
#include "crypto/prg.h"
#include "data/condition.h"
#include "methods/mcmc/section.h"
#include "methods/mcmc/study.h"
#include "run/rehearse/rehearsal.h"

namespace partita::methods::mcmc {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using stats::mcmc::TargetPtr;

// The likelihood of all rows: a factor of each party, which for Cox's model is a stratum.
class PooledTarget {
 public:
  void Add(TargetPtr target) { parties_.push_back(std::move(target)); }

  // By chain, from the columns of `from` to those of `to`.
  VectorXd Difference(const MatrixXd& from, const MatrixXd& to) const {
    VectorXd difference = VectorXd::Zero(from.cols());
    for (const TargetPtr& party : parties_) {
      const Eigen::MatrixX2d before = party->Parts(from), after = party->Parts(to);
      difference += (after.col(0) - before.col(0)) + (after.col(1) - before.col(1));
    }
    return difference;
  }

 private:
  std::vector<TargetPtr> parties_;
};

// The rows of one party that take part, by the study file.
ChainRows RowsOfParty(const McmcStudy& study, const run::RehearsedRun& run,
                      const data::Table& pooled, size_t party) {
  const std::vector<uint8_t> population = data::SelectRows(pooled, study.file.population.subset);
  const std::vector<uint8_t> subset = data::SelectRows(pooled, study.file.analyses.front().subset);
  const std::vector<uint8_t> complete = data::CompleteRows(pooled, study.used);
  const std::vector<double>& outcome = pooled.Get(study.spec.outcome).numbers;
  std::vector<size_t> rows = run::PooledRowsOf(study, run, party);
  std::erase_if(rows, [&](size_t row) {
    return population[row] == 0 || subset[row] == 0 || complete[row] == 0 ||
           (study.IsPrivate() && !TakesOutcome(study.spec.model, outcome[row]));
  });
  return ChainRowsOf(study, pooled, rows);
}

double ChanceOf(stats::mcmc::Acceptance rule, double log_ratio) {
  if (rule == stats::mcmc::Acceptance::kBarker) return 1 / (1 + std::exp(-log_ratio));
  return std::exp(std::min(0.0, log_ratio));
}

double NormalBelow(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

// Of the penalty method: E min(1, exp(log_ratio + s z - s^2 / 2)) over the noise z.
double PenaltyChanceOf(double log_ratio, double s) {
  if (std::isinf(log_ratio)) return log_ratio > 0 ? 1 : 0;
  const double below = NormalBelow(-log_ratio / s - s / 2);
  const double penalised = below > 0 ? std::exp(log_ratio + std::log(below)) : 0;
  return std::min(1.0, NormalBelow(log_ratio / s - s / 2) + penalised);
}

// The decisions of the record, one after the other, and what chance they had.
class Replay {
 public:
  Replay(const McmcStudy& study, const ChainRecord& record) : study_(study), record_(record) {}

  void AddRows(const ChainRows& rows) {
    if (!study_.chain.staged) {
      all_.Add(TargetOf(study_.spec, rows));
      return;
    }
    const StagedRows stages = SplitStages(rows, study_.spec.first_stage);
    all_.Add(TargetOf(study_.spec, stages.first));
    later_.Add(TargetOf(study_.spec, stages.later));
  }

  std::vector<std::vector<bool>> Decide(MatrixXd state, const std::vector<MatrixXd>& steps) {
    std::vector<std::vector<bool>> bits;
    for (const MatrixXd& step : steps) {
      const std::vector<bool>& accepted = record_.decisions.at(at_++).accepted;
      const MatrixXd proposed = state + step;
      const VectorXd chances = Chances(state, proposed, step);
      for (Index c = 0; c < state.cols(); ++c) {
        const bool moves = accepted.at(static_cast<size_t>(c));
        coins_.Add(moves, chances(c));
        if (moves) state.col(c) = proposed.col(c);
      }
      bits.push_back(accepted);
    }
    return bits;
  }

  const run::Coins& coins() const { return coins_; }

 private:
  VectorXd Chances(const MatrixXd& state, const MatrixXd& proposed, const MatrixXd& step) const {
    const ChainPlan& plan = study_.chain;
    VectorXd chances = stats::mcmc::PriorDifferences(plan.priors, state, {step}).row(0).transpose();
    chances += all_.Difference(state, proposed);
    const stats::mcmc::Acceptance rule = plan.options.acceptance;
    if (plan.rule == Rule::kPenalty) {
      const VectorXd scale = ScaleOf(plan.penalty, step);
      for (Index c = 0; c < chances.size(); ++c) chances(c) = PenaltyChanceOf(chances(c), scale(c));
      return chances;
    }
    for (double& chance : chances) chance = ChanceOf(rule, chance);
    if (!plan.staged) return chances;
    const VectorXd later = later_.Difference(state, proposed);
    for (Index c = 0; c < chances.size(); ++c) chances(c) *= ChanceOf(rule, later(c));
    return chances;
  }

  const McmcStudy& study_;
  const ChainRecord& record_;
  PooledTarget all_, later_;  // of a staged plan the rows of the first stage and of the second
  size_t at_ = 0;
  run::Coins coins_;
};

std::vector<double> NumbersOf(const stats::mcmc::Draws& draws) {
  std::vector<double> numbers;
  for (const MatrixXd& chain : draws.chains)
    numbers.insert(numbers.end(), chain.data(), chain.data() + chain.size());
  return numbers;
}

}  // namespace

std::unique_ptr<const run::Study> McmcStudy::ForRehearsal(
    uint64_t max_steps, std::vector<std::string>& shortened) const {
  const uint64_t whole = stats::mcmc::DecisionsOf(spec.options), block = spec.options.speculation;
  // A report takes four draws.
  const uint64_t steps = std::max<uint64_t>(max_steps, 8) / block * block;
  if (whole <= steps) return nullptr;
  ChainSpec shorter = spec;
  shorter.options.warmup = std::min<size_t>(spec.options.warmup, steps / 4);
  shorter.options.draws = steps - shorter.options.warmup;
  shorter.options.thin = 1;
  shorter.options.most_decisions = 0;
  shortened.push_back(
      fmt::format("{} of the {} steps of each chain are rehearsed, {} of them before the draws; so "
                  "few say nothing of convergence.",
                  steps, whole, shorter.options.warmup));
  study::StudyFile copy = file;
  copy.analyses.front().section = std::make_shared<const McmcSection>(std::move(shorter));
  return std::make_unique<const McmcStudy>(PrepareMcmcStudy(std::move(copy)));
}

void McmcStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                        Progress& progress) const {
  const auto& result = dynamic_cast<const McmcResult&>(*run.outcome(receiver).protocol);
  const ChainRecord& record = result.chain.record;
  data::Table pooled = run.mock.pooled;
  DeriveColumns(pooled);
  Replay replay(*this, record);
  for (const data::Holder& holder : partition.holders)
    replay.AddRows(RowsOfParty(*this, run, pooled, holder.party));
  crypto::Prg proposals(crypto::DeriveKey(record.seed, "chain proposals"));
  const stats::mcmc::Draws draws = stats::mcmc::RunChains(
      chain.start, chain.options,
      [&](const MatrixXd& current, const std::vector<MatrixXd>& steps) {
        return replay.Decide(current, steps);
      },
      proposals, progress);
  const std::string& analysis = file.analyses.front().name;
  agreement.Add(analysis, "decisions", static_cast<double>(record.decisions.size()),
                static_cast<double>(stats::mcmc::DecisionsOf(chain.options)));
  agreement.AddAll(analysis, "draws, from the opened decisions", NumbersOf(result.chain.draws),
                   NumbersOf(draws), 1);
  agreement.random.push_back(
      replay.coins().Result(analysis, "decisions, by their chances of all rows in the clear"));
}

}  // namespace partita::methods::mcmc
