// What the plan says of method `mixture`, and what a ledger is charged.
#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "base/memo.h"
#include "methods/mixture/forecast.h"
#include "methods/mixture/study.h"
#include "mpc/plan_engine.h"
#include "privacy/rounded_text.h"
#include "run/method/plan_privacy.h"

namespace partita::methods::mixture {

namespace {

// Of one iteration: per row, component and statistic (dpvi_bench; docs/benchmarks.md).
constexpr double kEntrySeconds = 2.6e-8;

std::string EpsilonText(const privacy::PrivacyLoss& loss) {
  if (loss.infinite) return "no bound";
  return "eps <= " + privacy::RoundedText(loss.epsilon_upper, 4, true);
}

std::string NoiseText(const RunPlan& plan) {
  return privacy::GivenText(plan.request.noise_multiplier, 6, false);
}

std::string ChoiceText(const MixtureStudy& study, const BatchChoice& choice) {
  return fmt::format(
      "Batches {}: {} iterations, a row in at most {} of them; {} for who sees the model, {} for a "
      "party (delta = {}).",
      stats::mixture::BatchModeName(choice.mode), choice.steps, choice.max_uses,
      EpsilonText(choice.outside), EpsilonText(choice.party),
      privacy::DeltaText(study.audience.delta));
}

// Bytes that the masked statistics of one row take on all links together.
double MaskingBytesPerRow(const MixtureStudy& study) {
  mpc::PlanEngine engine(study.file.engine.name, study.num_computing);
  SecureStep step(engine, study.plan.step, std::vector<StatisticReader>(study.plan.holders.size()));
  const StepParameters shapes = NoParameters(study.plan.holders, study.spec().components);
  for (const char* phase : {kFirstIteration, kIterations}) {
    engine.BeginPhase(phase);
    step.Run(shapes, {}, {});
  }
  const std::vector<mpc::PhaseCost> phases = engine.phases();
  const uint64_t first = phases[0].Total().bytes, later = phases[1].Total().bytes;
  return first < later ? 0
                       : static_cast<double>(first - later) /
                             static_cast<double>(study.plan.request.num_rows);
}

std::string MaskingText(const MixtureStudy& study) {
  const double per_row = MaskingBytesPerRow(study);
  const auto rows = static_cast<double>(study.plan.request.num_rows);
  const double afresh = per_row * static_cast<double>(study.plan.max_batch) *
                        static_cast<double>(study.spec().iterations);
  return fmt::format(
      "The statistics of all rows are masked once: {:.0f} bytes on all links together. Masked "
      "afresh "
      "for every batch they would take {:.0f}.",
      per_row * rows, afresh);
}

std::string BatchText(const MixtureStudy& study) {
  const RunPlan& plan = study.plan;
  if (plan.request.batch_mode != stats::mixture::BatchMode::kPoisson) {
    return fmt::format("Batches are {}, of {} rows.",
                       stats::mixture::BatchModeName(plan.request.batch_mode), plan.max_batch);
  }
  return fmt::format(
      "A row is in a batch with probability {:.6g}; batches are padded to {} rows, and the larger "
      "ones, of which there is any with a probability below {:.1g}, are drawn again.",
      plan.sampling_rate, plan.max_batch, plan.request.redraw_probability);
}

std::string RestartText(const MixtureStudy& study) {
  const uint64_t reserve = study.plan.request.reserve;
  const std::string lost =
      "A run that is interrupted goes on where all parties join again, and opens nothing twice: an "
      "opening that may have happened without anybody having kept it is lost, which is one at "
      "most, "
      "or a thousandth of those before it, where one party is killed. ";
  if (reserve == 0) {
    return lost +
           "None is in reserve: a model that lost any is called not trained, and no synthetic "
           "tables are drawn from it unless the receiver asks for them.";
  }
  return lost + fmt::format(
                    "{} openings beyond the {} iterations are charged with them and made only in "
                    "the place of lost ones; a model that lost more is called not trained, and no "
                    "synthetic tables are drawn from it unless the receiver asks for them.",
                    reserve, study.spec().iterations);
}

std::string TestRowsText(const MixtureStudy& study) {
  const MixtureUtility& utility = study.spec().utility;
  std::string text = fmt::format(
      "{} of {} rows are set aside by the public seed {} and never trained on; they stay with "
      "their holders, who judge the model of their own columns by them, each for itself.",
      utility.test_rows, uint64_t{study.plan.request.num_rows} + utility.test_rows, utility.seed);
  for (const MixtureTarget& target : utility.targets) {
    text += fmt::format(" The holder of '{0}' predicts whether it is '{1}' from its other columns.",
                        target.variable, target.level);
  }
  return text;
}

}  // namespace

std::vector<study::PlanPrivacy> StatementRowsOf(const privacy::Statement& statement) {
  std::vector<study::PlanPrivacy> rows;
  for (const privacy::StatementRow& row : statement.rows) {
    const std::string loss =
        row.loss.infinite
            ? "no bound: " + row.reason
            : fmt::format("{} at delta = {}, if all computing parties follow the protocol; {}{}",
                          EpsilonText(row.loss), privacy::DeltaText(row.loss.delta), row.reason,
                          privacy::WeaknessText(row.loss));
    rows.push_back({privacy::AdversaryText(row.adversary),
                    row.loss.infinite ? "" : std::string(AdjacencyName(row.adjacency)), loss});
  }
  return rows;
}

run::StudySize MixtureStudy::Size() const { return {columns.size(), plan.step.num_values()}; }

void MixtureStudy::Describe(study::Plan& described) const {
  const MixtureSpec& of = spec();
  described.analyses.push_back(
      {file.analyses.front().name, "dpvi",
       fmt::format("mixture of {} components over {} columns, {} iterations, noise {} times the "
                   "clipping norm {:g}{}{}",
                   of.components, columns.size(), of.iterations, NoiseText(plan), of.privacy.clip,
                   of.paper_schedule ? ", the paper's schedule" : "",
                   of.paper_formulation ? ", the paper's formulation" : ""),
       of.utility.test_rows == 0 ? "over all rows"
                                 : fmt::format("over {} rows; {} are set aside",
                                               plan.request.num_rows, of.utility.test_rows),
       plan.step.num_values()});
  described.leakage_level = run::kNoisedStatistics;
  described.privacy = StatementRowsOf(statement);
  described.privacy_statement = statement;
  described.assumptions.push_back(statement.mechanism);
  described.assumptions.insert(described.assumptions.end(), statement.caveats.begin(),
                               statement.caveats.end());
  const run::Forecast forecast = Utility();
  described.notes.insert(described.notes.end(), forecast.notes.begin(), forecast.notes.end());
  if (of.utility.test_rows > 0) described.notes.push_back(TestRowsText(*this));
  described.notes.push_back(BatchText(*this));
  described.notes.push_back("With the same noise and as many passes through the rows:");
  for (const BatchChoice& choice : choices) described.notes.push_back(ChoiceText(*this, choice));
  described.notes.push_back(MaskingText(*this));
  described.notes.push_back(RestartText(*this));
}

std::vector<std::string> MixtureStudy::AlsoLearns(size_t party) const {
  if (party >= num_computing)
    return {"which rows each batch has, for it makes masks for these rows"};
  std::vector<std::string> learns = {"which rows each batch has",
                                     "with the sums the fitted model, from which anybody draws"};
  for (const mpc::PartyIndex adds : plan.step.noise_parties) {
    if (adds != party) continue;
    learns.emplace_back(plan.step.noise_parties.size() == 1
                            ? "all of the noise, which it can subtract"
                            : "its own share of the noise, which it can subtract");
  }
  return learns;
}

std::vector<study::PlanExposure> MixtureStudy::Exposures() const {
  study::PlanExposure exposure;
  exposure.of = kGradientRelease;
  exposure.to = "all";
  exposure.opened = plan.step.num_values() * max_openings();
  exposure.statistics = uint64_t{plan.request.num_rows} * columns.size();
  exposure.level = run::kNoisedStatistics;
  exposure.exposes = {fmt::format(
      "sums of clipped gradients with noise of {} times the clipping norm on each iteration",
      NoiseText(plan))};
  return {exposure};
}

MixtureForecast MixtureStudy::ForecastOnce() const {
  static Memo<std::string, MixtureForecast> memo;
  return memo.Get(file.text, [&] { return ForecastMixture(plan.request); });
}

run::Forecast MixtureStudy::Utility() const { return ForecastTexts(plan.request, ForecastOnce()); }

run::ComputeSeconds MixtureStudy::Compute() const {
  const double entries =
      static_cast<double>(plan.max_batch) * static_cast<double>(plan.step.num_values());
  return {static_cast<double>(spec().iterations) * entries * kEntrySeconds, 0};
}

std::vector<privacy::ledger::Charge> MixtureStudy::Charges(
    const privacy::ledger::Policy& policy) const {
  if (policy.outside.adjacency != privacy::Adjacency::kReplace) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the budget of table {} is for the adjacency add-remove, but study "
                            "'{}' takes the number of rows as public (replace)",
                            policy.table, file.name),
                "open an account under the adjacency replace");
  }
  return ChargesOf(plan, audience, policy.insider ? policy.coalition : 0);
}

}  // namespace partita::methods::mixture
