// What the plan says of method `marginals`, and what a ledger is charged.
#include <fmt/format.h>

#include <algorithm>

#include "base/memo.h"
#include "crypto/prg.h"
#include "methods/marginals/counts.h"
#include "methods/marginals/study.h"
#include "privacy/rounded_text.h"
#include "run/method/noise_charges.h"
#include "run/method/plan_privacy.h"
#include "stats/marginals/forecast.h"

namespace partita::methods::marginals {
namespace {

// Mean total variation of pairs of columns, of the best of the made-up tables.
constexpr double kWarnVariation = 0.1, kUselessVariation = 0.25;
// Of one pair of levels and row, counting and masking (docs/benchmarks.md); of one cell, fitting.
constexpr double kSecondsPerLevel = 1e-7, kSecondsPerCell = 1e-4;
constexpr uint64_t kBytesPerCell = 24;

std::vector<stats::marginals::MeanVariation> Forecasts(const MarginalsStudy& study) {
  crypto::Prg source(crypto::Key(std::array<uint8_t, 32>{1}));
  std::vector<stats::marginals::MeanVariation> means;
  for (const std::vector<double>& variations : stats::marginals::Forecast(
           study.task.set, static_cast<size_t>(study.ExpectedRows()), study.design.noise_stddev(),
           WeightsOf(study.task), study.spec.impossible, source)) {
    means.push_back(stats::marginals::MeanOf(study.task.set, variations));
  }
  return means;
}

size_t Levels(const MarginalsStudy& study) {
  size_t levels = 0;
  for (const stats::marginals::Attribute& attribute : study.task.set.attributes) {
    levels += attribute.levels;
  }
  return levels;
}

}  // namespace

void MarginalsStudy::Describe(study::Plan& plan) const {
  plan.analyses.push_back(
      {file.analyses.front().name, kProtocol,
       fmt::format("{} one-way and two-way tables of {} columns, {} cells, each with noise of "
                   "standard deviation {} rows",
                   task.set.tables.size(), spec.columns.size(), task.set.num_cells, NoiseText()),
       rows() ? fmt::format("over all {} rows", *rows())
              : fmt::format("over all rows, whose number is not public (forecast for {})",
                            spec.expected_rows),
       0});
  plan.leakage_level = run::kNoisedStatistics;
  plan.privacy = run::PlanPrivacyRows(statement);
  plan.privacy_statement = statement;
  plan.assumptions = run::PlanPrivacySentences(statement);
  const run::Forecast forecast = Utility();
  plan.notes.insert(plan.notes.end(), forecast.notes.begin(), forecast.notes.end());
  if (!spec.impossible.empty()) {
    plan.notes.push_back(fmt::format(
        "{} declared impossible: their counts open with noise like the others, and no synthetic "
        "row "
        "has one. Such a declaration comes from what the columns mean, never from the rows.",
        spec.impossible.size() == 1
            ? "One pair of levels is"
            : fmt::format("{} pairs of levels are", spec.impossible.size())));
  }
  if (!spec.targets.empty() && task.lifts.empty()) {
    plan.notes.emplace_back(
        "'targets' changes nothing: tables with a target have their part of the budget without "
        "it.");
  }
  if (spec.utility.test_rows > 0) plan.notes.push_back(SetAsideText(*this));
  plan.notes.push_back(
      "Everything after the opening is arithmetic on what opened: the choice of a generator, its "
      "rows, and every further table of synthetic rows spend no privacy.");
}

std::vector<std::string> MarginalsStudy::AlsoLearns(size_t party) const {
  if (party >= num_computing) return {};
  return {"its own share of the noise, which it can subtract",
          "with the tables the generator, from which anybody draws"};
}

std::vector<study::PlanExposure> MarginalsStudy::Exposures() const {
  study::PlanExposure exposure;
  exposure.of = kTablesRelease;
  exposure.to = "all";
  exposure.opened = task.set.num_cells;
  exposure.statistics = static_cast<uint64_t>(ExpectedRows()) * spec.columns.size();
  exposure.level = run::kNoisedStatistics;
  exposure.exposes = {
      fmt::format("counts of all levels and pairs of levels with noise of {} rows", NoiseText())};
  return {exposure};
}

run::Forecast MarginalsStudy::Utility() const {
  static Memo<std::string, std::vector<stats::marginals::MeanVariation>> memo;
  const std::vector<stats::marginals::MeanVariation> means =
      memo.Get(file.text, [&] { return Forecasts(*this); });
  double best = 1;
  for (const stats::marginals::MeanVariation& mean : means) best = std::min(best, mean.pairs);
  run::Forecast forecast;
  forecast.notes.push_back(fmt::format(
      "Forecast on made-up rows (no data is read): the shares of pairs of levels in synthetic rows "
      "are off by a total variation of {:.3f} if columns are independent, {:.3f} if there are four "
      "groups of rows, {:.3f} if there are twelve; those of single columns by {:.3f}, {:.3f}, "
      "{:.3f}. 0 is equal, 1 is nothing in common; real rows may do better or worse.",
      means[0].pairs, means[1].pairs, means[2].pairs, means[0].one_way, means[1].one_way,
      means[2].one_way));
  forecast.helps = "a larger epsilon, more rows, fewer columns, fewer levels and wider bins";
  const std::string lost = fmt::format(
      "synthetic rows would be off by a total variation of {:.2f} in pairs of columns even where "
      "that is least",
      best);
  if (best > kUselessVariation) forecast.useless = lost;
  if (best > kWarnVariation) {
    forecast.notes.push_back(fmt::format("WARNING: {}. What helps: {}.", lost, forecast.helps));
  }
  return forecast;
}

run::ComputeSeconds MarginalsStudy::Compute() const {
  return {ExpectedRows() * static_cast<double>(Levels(*this)) * kSecondsPerLevel,
          static_cast<double>(task.set.num_cells) * kSecondsPerCell};
}

uint64_t MarginalsStudy::NumbersPerRow() const { return Levels(*this); }

uint64_t MarginalsStudy::FileBytes() const {
  size_t longest = 0;  // of a line of counts
  for (const LevelColumn& column : spec.columns) {
    for (const std::string& name : LevelNames(column))
      longest = std::max(longest, 2 * (name.size() + column.encoding.column.name.size()));
  }
  return task.set.num_cells * (kBytesPerCell + 2 * longest + 3 * kBytesPerCell) +
         spec.synthetic_rows * spec.synthetic_sets * spec.columns.size() * kBytesPerCell;
}

std::vector<std::string> MarginalsStudy::FileNames() const {
  std::vector<std::string> names = {kTablesFile, kCountsFile};
  for (size_t set = 0; spec.synthetic_rows > 0 && set < spec.synthetic_sets; ++set) {
    names.push_back(SyntheticRowsFile(set));
  }
  return names;
}

std::vector<privacy::ledger::Charge> MarginalsStudy::Charges(
    const privacy::ledger::Policy& policy) const {
  return run::NoiseCharges(*this, policy,
                           {kTablesRelease, design.noise, design.promise.adjacency,
                            design.sensitivity, design.replace_sensitivity});
}

}  // namespace partita::methods::marginals
