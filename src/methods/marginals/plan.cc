// What the plan says of method `marginals`, and what a ledger is charged.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/memo.h"
#include "crypto/prg.h"
#include "methods/marginals/counts.h"
#include "methods/marginals/curves.h"
#include "methods/marginals/study.h"
#include "methods/marginals/table_one.h"
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
constexpr size_t kForecastShown = 5;  // tables of each kind, and the best

std::optional<stats::marginals::Selection> SelectionIfScored(const Task& task) {
  if (!task.scored) return std::nullopt;
  return SelectionOf(task);
}

// Where pairs are those with a group, of these.
stats::marginals::MeanVariation MeanOfCounted(const MarginalsStudy& study,
                                              const std::vector<double>& variations) {
  stats::marginals::MeanVariation mean = MeanOf(study.task.set, variations);
  if (!study.spec.group) return mean;
  const size_t columns = study.task.set.attributes.size();
  mean.pairs = 0;
  for (size_t t = columns; t < variations.size(); ++t)
    mean.pairs += LiftOf(study.task, t) > 0 ? variations[t] / static_cast<double>(columns - 1) : 0;
  return mean;
}

// By made-up table, by table.
std::vector<std::vector<double>> Forecasts(const MarginalsStudy& study) {
  crypto::Prg source(crypto::Key(std::array<uint8_t, 32>{1}));
  return stats::marginals::Forecast(study.task.set, static_cast<size_t>(study.ExpectedRows()),
                                    study.design.noise_stddev(), WeightsOf(study.task),
                                    study.spec.impossible, SelectionIfScored(study.task), source);
}

// The forecast by table, the worst first: its mean over the made-up tables.
std::string ForecastByTable(const MarginalsStudy& study,
                            const std::vector<std::vector<double>>& forecasts) {
  const stats::marginals::TableSet& set = study.task.set;
  struct Expected {
    double variation = 0;
    std::string name;
  };
  std::vector<Expected> columns, pairs, triples;
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const stats::marginals::CountTable& table = set.tables[t];
    if (!study.task.scored && LiftOf(study.task, t) == 0) continue;
    double mean = 0;
    for (const std::vector<double>& variations : forecasts)
      mean += variations[t] / static_cast<double>(forecasts.size());
    (table.one_way()   ? columns
     : table.two_way() ? pairs
                       : triples)
        .push_back({mean, table.one_way() ? TableName(set, table)
                                          : fmt::format("({})", TableName(set, table))});
  }
  const auto text = [](std::vector<Expected>& tables) {
    std::ranges::stable_sort(tables, std::greater<>(), &Expected::variation);
    std::string list;
    for (size_t i = 0; i < std::min(tables.size(), kForecastShown); ++i)
      list += fmt::format("{}{} {:.3f}", i > 0 ? ", " : "", tables[i].name, tables[i].variation);
    if (tables.size() > kForecastShown)
      list += fmt::format(", ..., {} {:.3f}", tables.back().name, tables.back().variation);
    return list;
  };
  std::string note =
      fmt::format("By table, in the mean of these made-up rows, the worst first: single columns {}",
                  text(columns));
  if (!pairs.empty()) note += fmt::format("; pairs {}", text(pairs));
  if (!triples.empty()) note += fmt::format("; triples {}", text(triples));
  return note + ".";
}

std::string MeasuredText(const MarginalsStudy& study) {
  const stats::marginals::TableSet& set = study.task.set;
  if (!study.task.scored) {
    return fmt::format("{}, {} cells, each with noise of standard deviation {} rows",
                       study.CountedText(), OpenedLast(study.task), study.NoiseText());
  }
  return fmt::format(
      "one-way tables of {} columns and two-way tables of the {} of {} pairs that noisy scores "
      "choose, with noise of standard deviation {} rows",
      study.spec.columns.size(), study.task.scored->pairs, stats::marginals::NumPairs(set),
      study.NoiseText());
}

// Of a Table 1: how wide its intervals will be.
run::Forecast TableForecast(const MarginalsStudy& study) {
  const ExpectedWidths widths = WidthsFor(study, study.ExpectedRows());
  run::Forecast forecast;
  std::string means;
  for (const ExpectedWidths::Mean& mean : widths.means) {
    const std::string& name = study.task.set.attributes[mean.column].name;
    means += std::isinf(mean.all)
                 ? fmt::format("; the mean of {} not at all", name)
                 : fmt::format("; the mean of {} within {:.3g} (bins alone: {:.3g})", name,
                               mean.all, mean.bins);
  }
  forecast.notes.push_back(fmt::format(
      "Forecast for {:.0f} rows{} (no data is read; rows spread evenly over all levels): with 95 % "
      "each, counts are within {:.3g} rows of the exact one, shares{} within {:.1f} percentage "
      "points{}. Fewer rows in a group, or values that are spread wider, make them worse.",
      study.ExpectedRows(), study.spec.group ? " in groups of equal size" : "", widths.count,
      study.spec.group ? " in a group" : "", 100 * widths.share, means));
  forecast.helps = "a larger epsilon, more rows, fewer variables, fewer groups and wider bins";
  const std::string lost = fmt::format(
      "shares would be off by {:.0f} percentage points or more even where groups are of equal size",
      100 * widths.share);
  if (widths.share > kUselessVariation) forecast.useless = lost;
  if (widths.share > kWarnVariation)
    forecast.notes.push_back(fmt::format("WARNING: {}. What helps: {}.", lost, forecast.helps));
  return forecast;
}

// Of survival at the last report time, beyond what sampling does.
run::Forecast CurveForecast(const MarginalsStudy& study) {
  const std::vector<CurveWidth> widths = CurveWidthsFor(study, study.ExpectedRows());
  const CurveCells& cells = *study.spec.curves;
  run::Forecast forecast;
  forecast.helps = "a larger epsilon, more rows, fewer groups, fewer report times and wider cells";
  std::string texts;
  size_t lost = 0;
  for (size_t r = 0; r < widths.size(); ++r) {
    const double time = cells.ends[cells.report[r]];
    if (std::isinf(widths[r].all)) {
      texts += fmt::format("; at {} it has no estimate", time);
      ++lost;
    } else {
      texts += fmt::format("; at {} within {:.3f}, {:.3f} of it the noise alone", time,
                           widths[r].all, widths[r].noise);
    }
  }
  forecast.notes.push_back(fmt::format(
      "Forecast for {:.0f} rows{} (no data is read; rows spread evenly over all intervals of time, "
      "with "
      "the event and without): half of the interval of survival{}. Fewer rows in a group, and "
      "later times "
      "than those at which most have left, make them worse.",
      study.ExpectedRows(), cells.num_groups() > 1 ? " in groups of equal size" : "", texts));
  const std::string what =
      lost == widths.size() ? "no report time would have an estimate"
      : lost > 0
          ? fmt::format("{} of {} report times would have no estimate", lost, widths.size())
          : fmt::format("the noise alone would move survival by {:.2f} at the last report time",
                        widths.back().noise);
  if (lost == widths.size() || (lost == 0 && widths.back().noise > kUselessVariation))
    forecast.useless = what;
  if (lost > 0 || widths.back().noise > kWarnVariation)
    forecast.notes.push_back(fmt::format("WARNING: {}. What helps: {}.", what, forecast.helps));
  return forecast;
}

// 0/1 columns of all holders of a row block, of the one with the most.
size_t Levels(const MarginalsStudy& study) {
  size_t most = 0;
  for (const RowBlock& block : study.task.blocks) {
    size_t levels = 0;
    for (const BlockPart& part : block.parts) levels += LevelsOfPart(study.task.set, part);
    most = std::max(most, levels);
  }
  return most;
}

}  // namespace

void MarginalsStudy::Describe(study::Plan& plan) const {
  plan.analyses.push_back(
      {file.analyses.front().name, kProtocol, MeasuredText(*this),
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
  if (spec.curves) {
    plan.notes.emplace_back(
        "One count changes by a row, or two where it is replaced, however many times and groups "
        "there are. "
        "Curves, medians, differences and their intervals are arithmetic on what opened and spend "
        "no privacy.");
    plan.notes.emplace_back(
        "There is no log-rank test and no count is withheld for being small: what protects single "
        "persons is "
        "the noise alone.");
    plan.notes.push_back(fmt::format("The curves are also written as {}.", kCurvesFile));
    return;
  }
  if (spec.describes) {
    const size_t tables = spec.columns.size() + (spec.group ? spec.columns.size() - 1 : 0);
    plan.notes.push_back(fmt::format(
        "One budget is split evenly over {} tables, opened once: each has 1/{} of the squared "
        "sensitivity. Shares, means, standard deviations, quartiles and differences are "
        "arithmetic on what opened and spend no privacy.",
        tables, tables));
    plan.notes.emplace_back(
        "There are no tests: those of means, counts and ranks have the law of exact counts, and "
        "under noise they would reject too often.");
    plan.notes.emplace_back(
        "No count is withheld for being small: what protects single persons is the noise alone.");
    plan.notes.push_back(fmt::format("The table is also written as {}.", kTableOneFile));
    return;
  }
  plan.notes.push_back(
      "Everything after the opening is arithmetic on what opened: the choice of a generator, its "
      "rows, and every further table of synthetic rows spend no privacy.");
}

std::vector<std::string> MarginalsStudy::AlsoLearns(size_t party) const {
  if (party >= num_computing) return {};
  if (!spec.draws_rows()) return {"its own share of the noise, which it can subtract"};
  return {"its own share of the noise, which it can subtract",
          "with the tables the generator, from which anybody draws"};
}

std::vector<study::PlanExposure> MarginalsStudy::Exposures() const {
  std::vector<study::PlanExposure> exposures;
  for (const mpc::Release& release : releases) {
    study::PlanExposure exposure;
    exposure.of = release.id;
    exposure.to = "all";
    exposure.opened = *release.num_values;
    exposure.statistics = static_cast<uint64_t>(ExpectedRows()) * spec.columns.size();
    exposure.level = run::kNoisedStatistics;
    exposures.push_back(std::move(exposure));
  }
  const auto counts = [&](const char* of) {
    return fmt::format("counts of {} with noise of {} rows", of, NoiseText());
  };
  if (!task.scored) {
    exposures[0].exposes = {counts(spec.curves ? "who leaves in each interval of time"
                                   : spec.describes && !spec.group ? "all levels of single columns"
                                   : spec.group ? "all levels, by the levels of the group"
                                   : spec.triples.empty()
                                       ? "all levels and pairs of levels"
                                       : "all levels, pairs of levels and named triples")};
    return exposures;
  }
  exposures[0].exposes = {counts("all levels of single columns")};
  exposures[1].exposes = {
      fmt::format("how far each pair of columns is from independence, with noise of {} rows",
                  privacy::RoundedText(design.noise_stddev() / SelectionOf(task).score, 4, false))};
  exposures[2].exposes = {counts("the pairs of levels of chosen pairs of columns")};
  return exposures;
}

run::Forecast MarginalsStudy::Utility() const {
  if (spec.curves) return CurveForecast(*this);
  if (spec.describes) return TableForecast(*this);
  static Memo<std::string, std::vector<std::vector<double>>> memo;
  const std::vector<std::vector<double>> forecasts =
      memo.Get(file.text, [&] { return Forecasts(*this); });
  std::vector<stats::marginals::MeanVariation> means;
  for (const std::vector<double>& variations : forecasts)
    means.push_back(MeanOfCounted(*this, variations));
  double best = 1;
  for (const stats::marginals::MeanVariation& mean : means) best = std::min(best, mean.pairs);
  run::Forecast forecast;
  forecast.notes.push_back(fmt::format(
      "Forecast on made-up rows (no data is read): the shares of pairs of levels in synthetic rows "
      "are off by a total variation of {:.3f} if columns are independent, {:.3f} if there are four "
      "groups of rows, {:.3f} if there are twelve, {:.3f} if columns are nearly functions of each "
      "other; those of single columns by {:.3f}, {:.3f}, {:.3f}, {:.3f}. 0 is equal, 1 is nothing "
      "in common; real rows may do better or worse.",
      means[0].pairs, means[1].pairs, means[2].pairs, means[3].pairs, means[0].one_way,
      means[1].one_way, means[2].one_way, means[3].one_way));
  forecast.notes.push_back(ForecastByTable(*this, forecasts));
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
  if (spec.describes) names.emplace_back(kTableOneFile);
  if (spec.curves) names.emplace_back(kCurvesFile);
  if (!spec.triples.empty()) names.emplace_back(kTriplesFile);
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
