#include "methods/meta/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "methods/meta/document.h"
#include "methods/meta/section.h"
#include "report/document_report.h"

namespace partita::methods::meta {
namespace {

using run::Refuse;

struct MetaRows : run::TakenRows {
  OwnFit own;
};

constexpr uint64_t kMostRows = uint64_t{1} << 28;  // of all sites
constexpr run::WholeRowsTexts kTexts{"give every site its own rows, whole",
                                     "rows that lack a variable are left out"};

void RequireSitesOfOneRow(const MetaStudy& study) {
  for (const data::RowBlock& block : study.partition.blocks) {
    if (block.count == 1) continue;
    Refuse(study, study.Analysis().position,
           fmt::format("block '{}' is not of one row", block.name),
           "a site brings one row, its estimate and standard error: write count = 1 in its "
           "[[rows]]; for a model of rows write a formula");
  }
}

void RequireEnoughSites(const MetaStudy& study) {
  const uint64_t holders = study.partition.holders.size();
  if (holders < kFewestSites) {
    Refuse(study, study.Analysis().position,
           fmt::format("there are {} sites, and method 'meta' pools {} at least", holders,
                       kFewestSites),
           "find another site: of two, each computes the other's estimate from the pooled one");
  }
  if (study.task.min_sites() > holders) {
    Refuse(study, study.Analysis().position,
           fmt::format("min_sites is {}, and there are {} sites", study.task.min_sites(), holders),
           "write a smaller min_sites, or leave it out: then all are needed");
  }
  for (const data::Holder& holder : study.partition.holders) {
    if (study.partition.BlocksOf(holder.party).size() == 1) continue;
    Refuse(study, study.Analysis().position,
           fmt::format("{} holds several blocks", study.parties[holder.party].name),
           "a site has one block; who has estimates of several sites pools them first");
  }
}

uint64_t RequireSites(mpc::Engine& engine, const MetaStudy& study, const OwnFit& own,
                      const run::RunInput& input, MetaRun& run) {
  const uint64_t sites = OpenSites(engine, study.task, own.estimate),
                 least = study.task.min_sites();
  const std::string rule = fmt::format("at least {} sites have an estimate", least);
  run.checks.push_back({study.Analysis().name, "sites", rule, sites >= least, false});
  if (sites >= least) return sites;
  // What this site lacks is said to its holder only.
  const std::string here =
      own.reason.empty() ? "" : fmt::format("; this site has none: {}", own.reason);
  RefuseTogether(
      study, input,
      fmt::format("nothing was released, because {} of {} sites have an estimate and "
                  "standard error, and {} are needed{}",
                  sites, study.task.holders.size(), least, here),
      fmt::format("each holder is told why its own site has none; where a model cannot "
                  "be estimated, {}take a simpler model at all sites, or method 'glm', "
                  "which pools rows",
                  sites < kFewestSites
                      ? ""
                      : fmt::format("leave sites out by min_sites = {} in a new study, ", sites)));
}

}  // namespace

MetaStudy PrepareMetaStudy(study::StudyFile file) {
  MetaStudy study;
  run::PrepareParties(std::move(file), study);
  study.task.spec = SpecOf(study.Analysis());
  RequireWholeRows(study, kTexts);
  RequireUnweighted(study, "leave them out: sites weigh by their standard errors");
  const Spec& spec = study.task.spec;
  study.derived = study.file.derived;
  if (spec.model) {
    study.used = spec.model->variables;
    study.derived.insert(study.derived.end(), spec.model->made.begin(), spec.model->made.end());
    study.factors = data::WithDerivedFactors(study.file.dictionary, study.derived);
  } else {
    RequireSitesOfOneRow(study);
    for (const data::ColumnSchema& column : study.file.dictionary.columns) {
      if (column.name == spec.estimate.name || column.name == spec.standard_error.name)
        study.used.push_back(column.name);
    }
  }
  study.task.holders = RowHoldersOf(study, kMostRows);
  for (run::RowHolder& holder : study.task.holders) holder.max_rows = 1;  // of what it shares
  RequireEnoughSites(study);
  study.task.to = spec.told_to_all ? mpc::kEverybody : study.receiver;
  study.task.grid_bits =
      FinestGrid(study,
                 {"estimates", "the pooled result",
                  "pool more sites, or ask for more of them (min_sites), take a fixed effect"},
                 [&](int grid_bits) {
                   study.task.grid_bits = grid_bits;
                   return BitsOf(study);
                 });
  study.releases = ReleasesOf(study);
  return study;
}

OwnFit EstimateOf(const MetaStudy& study, const data::Table& table,
                  const std::vector<size_t>& taken) {
  const Spec& spec = study.task.spec;
  if (spec.model) return FitOwn(*spec.model, study.factors, spec.largest, table, taken);
  OwnFit own;
  if (taken.empty()) {
    own.reason = "its row lacks a number, or is not in the population";
    return own;
  }
  const size_t row = taken.front();
  own.estimate = {true, table.Get(spec.estimate.name).numbers[row],
                  table.Get(spec.standard_error.name).numbers[row]};
  return own;
}

run::MethodName MetaStudy::Method() const { return {kMethodName, kMethodVersion, level()}; }

const std::string& MetaStudy::told() const {
  static const std::string all = "all";
  return task.to == mpc::kEverybody ? all : parties[receiver].name;
}

std::vector<std::string> MetaStudy::SiteNames() const {
  std::vector<std::string> names;
  for (const run::RowHolder& holder : task.holders) names.push_back(parties[holder.party].name);
  return names;
}

void MetaStudy::DeriveColumns(data::Table& table) const {
  if (!task.spec.model) return;
  std::vector<std::string> names = data::NeededColumns(*task.spec.model);
  if (!task.spec.model->outcome_levels) names.push_back(task.spec.model->outcome);
  data::AddDesignColumns(table, file.dictionary, derived, names);
}

std::unique_ptr<run::MethodRows> MetaStudy::PrepareRows(size_t /*party*/,
                                                        const data::Holding& holding,
                                                        run::OwnRows& counts) const {
  run::RequireAssumedRows(*this, holding);
  auto rows = std::make_unique<MetaRows>();
  const std::vector<size_t> taken = TakeRows(*this, *holding.table, used, *rows, counts);
  rows->own = EstimateOf(*this, *holding.table, taken);
  return rows;
}

std::unique_ptr<run::MethodRows> MetaStudy::NoRows() const { return std::make_unique<MetaRows>(); }

std::vector<std::vector<uint8_t>> MetaStudy::ExactRowSets(const run::MethodRows& rows,
                                                          const data::Holding& holding) const {
  if (!task.spec.model) return {};
  return run::WholeRowsStudy::ExactRowSets(rows, holding);
}

uint64_t MetaStudy::LeastRowsApart() const {
  if (!task.spec.model) return 0;
  return std::max<uint64_t>(file.disclosure.min_cell,
                            run::kRowsApartPerColumn * task.spec.model->columns.size());
}

std::unique_ptr<run::MethodResult> MetaStudy::Run(mpc::Engine& engine, const run::RunInput& input,
                                                  Progress& progress) const {
  auto run = std::make_unique<MetaRun>();
  const MetaRows none;
  const MetaRows& rows = input.rows == nullptr ? none : *static_cast<const MetaRows*>(input.rows);
  const OwnFit own = task.spec.model ? Decide(rows.own, input.disclosure) : rows.own;
  run->reason = own.reason;
  engine.AgreeToOpen();
  progress.Phase("sites");
  engine.BeginPhase("sites");
  const uint64_t sites = RequireSites(engine, *this, own, input, *run);
  progress.Phase("pooling");
  engine.BeginPhase("pooling");
  if (task.spec.site_estimates) {
    run->sites = OpenSiteEstimates(engine, task, own.estimate);
    if (run->sites) run->pool = PoolOfSites(task.spec, *run->sites);
  } else {
    run->pool = OpenPooled(engine, task, own.estimate, sites);
  }
  return run;
}

void MetaStudy::Conclude(size_t /*party*/, run::MethodResult& result, run::PartyOutcome& outcome,
                         Progress& /*progress*/) const {
  const auto& run = static_cast<const MetaRun&>(result);
  outcome.checks = run.checks;
  if (!run.reason.empty()) {
    outcome.checks.push_back(
        {Analysis().name, "own estimate", "this site has an estimate: " + run.reason, false, true});
  }
  if (!run.pool) return;
  const std::string title = file.title.empty() ? "Meta-analysis of " + file.name : file.title;
  outcome.result = std::make_unique<report::DocumentResult>(
      MetaDocument(title, task, SiteNames(), *run.pool, run.sites));
}

}  // namespace partita::methods::meta
