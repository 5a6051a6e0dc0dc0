// Rehearsals of method `survival`: every number that opened beside the same in plain code.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "methods/survival/medians.h"
#include "methods/survival/plain_curves.h"
#include "methods/survival/study.h"
#include "run/rehearse/rehearsal.h"

namespace partita::methods::survival {
namespace {

// Of an opened number in steps of its grid: half a step, the guard bits, and what the arithmetic
// errs before it is rounded.
constexpr double kRounding = 0.5 + 0x1p-9 + 0x1p-8;
// Of the binary logarithm of a grid's step.
constexpr double kGridError = 0x1p-6;

std::vector<OwnCounts> CountsOf(const SurvivalStudy& study, const run::RehearsedRun& run) {
  data::Table pooled = run.mock.pooled;
  study.DeriveColumns(pooled);
  run::TakenRows taken;
  run::OwnRows counts;
  TakeRows(study, pooled, NeededVariables(study.task.spec), taken, counts);
  std::vector<OwnCounts> own;
  for (const run::RowHolder& holder : study.task.holders) {
    std::vector<size_t> rows = run::PooledRowsOf(study, run, holder.party);
    std::erase_if(rows, [&](size_t row) { return taken.taken[row] == 0; });
    own.push_back(CountOwn(study.task.spec, pooled, rows));
  }
  return own;
}

class Comparison {
 public:
  Comparison(const SurvivalStudy& study, const OpenedCurves& opened, const PlainCurves& plain,
             run::Agreement& agreement)
      : analysis_(study.Analysis().name),
        task_(study.task),
        spec_(study.task.spec),
        opened_(opened),
        plain_(plain),
        agreement_(agreement) {}

  void Run() {
    for (size_t g = 0; g < spec_.num_groups(); ++g) CompareGroup(g);
    if (opened_.log_rank) CompareTest(*opened_.log_rank);
  }

 private:
  void Add(const std::string& name, double run, double plain) {
    agreement_.Add(analysis_, name, run, plain);
  }
  // Opened on a grid: equal if the number in the clear rounds to what opened.
  void AddOnGrid(const std::string& name, double run, double plain, double error) {
    agreement_.Add(analysis_, name, run, std::fabs(run - plain) <= error ? run : plain, error);
  }
  // 2^floor(log2(2^-bits standard errors)).
  void AddStep(const std::string& name, double step, double error) {
    const double wanted = std::log2(error) - task_.grid_bits, exponent = std::log2(step);
    const bool fits = exponent <= wanted + kGridError && exponent > wanted - 1 - kGridError;
    agreement_.Add(analysis_, name + ", step of the grid", exponent, fits ? exponent : wanted, 1);
  }

  std::string NameOf(size_t group) const {
    return spec_.group ? spec_.group->schema.levels[group] : "all";
  }

  void CompareGroup(size_t group) {
    const std::string name = NameOf(group);
    Add(name + ", whether it opens", opened_.passes[group] ? 1 : 0,
        plain_.CurvePasses(group) ? 1 : 0);
    const std::vector<uint64_t> medians = plain_.MedianPlaces(group);
    for (size_t m = 0; m < kMediansOfGroup; ++m) {
      Add(name + ", place of the median and of its interval",
          static_cast<double>(opened_.medians[group * kMediansOfGroup + m]),
          static_cast<double>(medians[m]));
    }
    if (!opened_.passes[group]) return;
    Add(name + ", rows", static_cast<double>(opened_.rows[group]),
        static_cast<double>(plain_.Rows(group)));
    const auto curve = stats::survival::KaplanMeier(plain_.RowsOf(group));
    for (size_t r = 0; r < spec_.report.size(); ++r) ComparePoint(name, r, group, curve);
  }

  void ComparePoint(const std::string& group_name, size_t report, size_t group,
                    const std::vector<stats::survival::CurveStep>& curve) {
    const size_t entry = report * spec_.num_groups() + group;
    const double time = spec_.grid.End(spec_.report[report]);
    const std::string name = fmt::format("{} at {:g}", group_name, time);
    Add(name + ", events", static_cast<double>(opened_.events[entry]),
        static_cast<double>(plain_.Events(report, group)));
    Add(name + ", followed further", static_cast<double>(opened_.remaining[entry]),
        static_cast<double>(plain_.Remaining(report, group)));
    stats::survival::CurveStep at;
    for (const auto& step : curve) {
      if (step.time <= time) at = step;
    }
    const bool shown = plain_.Remaining(report, group) > 0 && at.variance > 0;
    Add(name + ", whether survival opens", opened_.steps[entry] > 0 ? 1 : 0, shown ? 1 : 0);
    if (!shown || opened_.steps[entry] == 0) return;
    const double error = std::sqrt(at.variance), step = opened_.steps[entry];
    AddOnGrid(name + ", log survival", opened_.log_survival[entry], at.log_survival,
              kRounding * step);
    AddOnGrid(name + ", standard error", opened_.errors[entry], error, kRounding * step);
    AddStep(name, step, error);
  }

  void CompareTest(const OpenedLogRank& test) {
    Add("log-rank, whether it opens", test.passes ? 1 : 0, plain_.LogRankPasses() ? 1 : 0);
    if (!test.passes) return;
    const stats::survival::LogRank plain = plain_.LogRank();
    for (size_t g = 0; g < spec_.num_groups(); ++g) {
      const std::string name = "log-rank, " + NameOf(g);
      const auto i = static_cast<Eigen::Index>(g);
      const auto observed = static_cast<double>(plain.observed[g]);
      Add(name + ", observed", static_cast<double>(test.observed[g]),
          plain_.ShowsObserved() ? observed : 0);
      if (test.steps[g] == 0) continue;
      const double error = std::sqrt(plain.variance(i, i));
      AddOnGrid(name + ", observed less expected", test.differences[g],
                observed - plain.expected[i], kRounding * test.steps[g]);
      AddOnGrid(name + ", standard error", test.errors[g], error, kRounding * test.steps[g]);
      AddStep(name, test.steps[g], error);
    }
    AddOnGrid("log-rank, chi-square", test.chi_square, plain.chi_square,
              std::ldexp(kRounding, -task_.grid_bits));
  }

  const std::string& analysis_;
  const Task& task_;
  const Spec& spec_;
  const OpenedCurves& opened_;
  const PlainCurves& plain_;
  run::Agreement& agreement_;
};

}  // namespace

void SurvivalStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                            Progress& /*progress*/) const {
  const auto& result = dynamic_cast<const SurvivalRun&>(*run.outcome(receiver).protocol);
  const std::vector<OwnCounts> own = CountsOf(*this, run);
  const PlainCurves plain(task.spec, own, result.min_cell);
  Comparison(*this, *result.opened, plain, agreement).Run();
}

}  // namespace partita::methods::survival
