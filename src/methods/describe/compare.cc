// Rehearsals of method `describe`: the opened table beside the one in plain code.
#include <algorithm>
#include <cmath>

#include "data/condition.h"
#include "data/design.h"
#include "methods/describe/plain_table.h"
#include "methods/describe/result.h"
#include "methods/describe/study.h"
#include "run/rehearse/rehearsal.h"

namespace partita::methods::describe {
namespace {

// Of an opened number in steps of its grid: half a step, the guard bits, and what the arithmetic
// errs before it is rounded.
constexpr double kRounding = 0.5 + 0x1p-9 + 0x1p-8;

constexpr double kRankError = 0x1p-11;  // before rounding (ranks.h)

// The rows of those who hold the same ones: those that take part, and of split columns the others.
struct PooledRows {
  std::vector<data::Table> taken, left_out;
};

PooledRows TablesOf(const DescribeStudy& study, const run::RehearsedRun& run) {
  data::Table pooled = run.mock.pooled;
  data::AddDesignColumns(pooled, study.file.dictionary, study.file.derived,
                         std::span<const std::string>());
  const std::vector<uint8_t> population = data::SelectRows(pooled, study.file.population.subset);
  const std::vector<uint8_t> subset = data::SelectRows(pooled, study.file.analyses.front().subset);
  std::vector<std::string> needed;
  if (study.spec.group && !study.spec.by_site) needed.push_back(study.spec.group->schema.name);
  const std::vector<uint8_t> has_group = data::CompleteRows(pooled, needed);
  PooledRows tables;
  for (const Rows& holder : study.task.holders) {
    const std::vector<size_t> rows = run::PooledRowsOf(study, run, holder.party);
    std::vector<size_t> taken, left_out;
    for (const size_t row : rows) {
      const bool takes_part = population[row] != 0 && subset[row] != 0 && has_group[row] != 0;
      (takes_part ? taken : left_out).push_back(row);
    }
    if (!study.task.compares_left_out() || holder.parts.empty()) left_out.clear();
    tables.taken.push_back(run::TakeRows(pooled, taken));
    tables.left_out.push_back(run::TakeRows(pooled, left_out));
  }
  return tables;
}

class Comparison {
 public:
  Comparison(const DescribeStudy& study, const DescribedTable& opened, const PlainTable& plain,
             run::Agreement& agreement)
      : study_(study), layout_(study.spec), opened_(opened), plain_(plain), agreement_(agreement) {}

  void CompareVariable(size_t v) {
    const bool by_group = layout_.grouped && plain_.Passes(v, true);
    const bool all = plain_.Passes(v, false);
    for (size_t arm = 0; arm < layout_.arms; ++arm) {
      const bool last = arm + 1 == layout_.arms;
      const bool opens = last ? all : by_group;
      const Summary& summary = opened_.variables[v][arm];
      const std::string name = NameOf(v, arm);
      agreement_.Add(Analysis(), name + ", whether withheld", summary.withheld ? 1 : 0,
                     opens ? 0 : 1);
      if (!opens || summary.withheld) continue;
      const PlainColumn column = plain_.Column(v, arm);
      CompareCounts(name, summary, column);
      if (!column.counts.empty()) continue;
      CompareMoments(v, name, summary, column, last && by_group);
      CompareQuantiles(v, arm, name, summary, column);
    }
    if (by_group && study_.spec.compared.ranks &&
        CountedValues(study_.spec.variables[v].schema).empty())
      CompareRanks(v);
    if (by_group && !opened_.strata.empty() && opened_.strata[v]) CompareStrata(v);
  }

 private:
  const std::string& Analysis() const { return study_.file.analyses.front().name; }

  std::string NameOf(size_t v, size_t arm) const {
    const std::string& name = study_.spec.variables[v].schema.name;
    if (arm + 1 == layout_.arms) return name;
    return name + " [" + study_.spec.group->schema.levels[arm] + "]";
  }

  void CompareCounts(const std::string& name, const Summary& summary, const PlainColumn& column) {
    std::vector<double> run = {static_cast<double>(summary.n),
                               static_cast<double>(summary.missing)};
    std::vector<double> plain = {static_cast<double>(column.n),
                                 static_cast<double>(column.missing)};
    run.insert(run.end(), summary.counts.begin(), summary.counts.end());
    plain.insert(plain.end(), column.counts.begin(), column.counts.end());
    agreement_.AddAll(Analysis(), name + ", counts", run, plain);
  }

  // Opened on a grid: equal if the number in the clear rounds to what opened.
  void AddOnGrid(const std::string& name, double run, double plain, double error) {
    agreement_.Add(Analysis(), name, run, std::fabs(run - plain) <= error ? run : plain, error);
  }

  void CompareMoments(size_t v, const std::string& name, const Summary& summary,
                      const PlainColumn& column, bool from_groups) {
    const data::ColumnSchema& schema = study_.spec.variables[v].schema;
    const double half = (schema.upper - schema.lower) / 2;
    if (!from_groups) {
      // Below the least variance that there is a grid for nothing opens.
      const bool varies = column.n >= 2 && column.sd > 0x1p-14 * half;
      agreement_.Add(Analysis(), name + ", whether it varies", summary.mean ? 1 : 0,
                     varies ? 1 : 0);
    }
    if (!summary.mean || column.n < 2) return;
    const auto n = static_cast<double>(column.n);
    const double error = kRounding * summary.step;
    AddOnGrid(name + ", mean", *summary.mean, column.mean, error);
    // Over groups a deviation errs as the length of a vector of theirs and of twice the means'
    // errors.
    AddOnGrid(name + ", deviation", *summary.sd, column.sd,
              from_groups ? error * std::sqrt(5 * n / (n - 1)) : error);
    if (from_groups) return;
    // The grid is 2^floor(log2(2^-bits standard errors)), whose argument errs by 2^-9 at most.
    const double wanted = std::log2(column.sd / std::sqrt(n)) - study_.task.grid_bits;
    const double exponent = std::log2(summary.step / half) + std::log2(half);
    const bool fits = exponent <= wanted + 0x1p-9 && exponent > wanted - 1 - 0x1p-9;
    agreement_.Add(Analysis(), name + ", step of the grid", exponent, fits ? exponent : wanted, 1);
  }

  void CompareQuantiles(size_t v, size_t arm, const std::string& name, const Summary& summary,
                        const PlainColumn& column) {
    if (summary.quantiles.empty()) return;
    const Cells cells = CellsOf(study_.spec.variables[v].schema, study_.spec.most_cells);
    std::vector<double> run, plain;
    for (size_t q = 0; q < summary.quantiles.size(); ++q) {
      const bool opens = column.n > 0 && plain_.QuantileOpens(v, arm, column.quantiles[q]);
      run.push_back(summary.quantiles[q] ? 1 : 0);
      plain.push_back(opens ? 1 : 0);
      run.push_back(summary.quantiles[q].value_or(0));
      plain.push_back(opens ? cells.Middle(cells.Of(column.quantiles[q])) : 0);
    }
    agreement_.AddAll(Analysis(), name + ", quantiles", run, plain);
  }

  void CompareRanks(size_t v) {
    const std::optional<double> plain = plain_.RankRoot(v), opened = opened_.rank_roots[v];
    const std::string name = study_.spec.variables[v].schema.name + ", ranks";
    agreement_.Add(Analysis(), name + ", whether withheld", opened ? 0 : 1, plain ? 0 : 1);
    if (opened && plain) {
      AddOnGrid(name, *opened, *plain, std::ldexp(kRounding, -study_.task.grid_bits) + kRankError);
    }
  }

  void CompareStrata(size_t v) {
    const stats::tables::MantelHaenszel plain = plain_.OverTables(v),
                                        opened = OverStrata(*opened_.strata[v]);
    const std::string name = study_.spec.variables[v].schema.name + ", odds ratio within holders";
    const bool has = plain.odds_ratio.lower.has_value();
    agreement_.Add(Analysis(), name + ", whether there is one", opened.odds_ratio.lower ? 1 : 0,
                   has ? 1 : 0);
    if (has && opened.odds_ratio.lower) {
      const double error = opened_.strata[v]->error;
      AddOnGrid(name, std::log(*opened.odds_ratio.estimate), std::log(*plain.odds_ratio.estimate),
                std::ldexp(kRounding * error, -study_.task.grid_bits) * (1 + 0x1p-5));
    }
    if (plain.test && opened.test) {
      AddOnGrid(name + ", root of the test", std::sqrt(opened.test->statistic),
                std::sqrt(plain.test->statistic),
                2 * std::ldexp(kRounding, -study_.task.grid_bits));
    }
  }

  const DescribeStudy& study_;
  const Layout layout_;
  const DescribedTable& opened_;
  const PlainTable& plain_;
  run::Agreement& agreement_;
};

}  // namespace

void DescribeStudy::Compare(const run::RehearsedRun& run, run::Agreement& agreement,
                            Progress& /*progress*/) const {
  const auto& result = dynamic_cast<const DescribeRun&>(*run.outcome(receiver).protocol);
  const DescribedTable opened = Summarise(spec, *result.opened);
  const PooledRows tables = TablesOf(*this, run);
  PlainTable plain(spec, tables.taken, result.min_cell);
  if (task.named) {
    std::vector<std::vector<uint8_t>> crossed;
    for (const Rows& rows : task.holders) crossed.push_back(task.Crossed(rows));
    plain.HoldToNames(std::move(crossed), tables.left_out);
  }
  Comparison comparison(*this, opened, plain, agreement);
  for (size_t v = 0; v < spec.variables.size(); ++v) comparison.CompareVariable(v);
}

}  // namespace partita::methods::describe
