#include "methods/meta/study.h"

#include <fmt/format.h>

#include "base/error.h"
#include "methods/meta/document.h"
#include "methods/meta/section.h"
#include "report/document_report.h"

namespace partita::methods::meta {
namespace {

using run::Refuse;

struct MetaRows : run::TakenRows {
  SiteEstimate own;
};

constexpr run::WholeRowsTexts kTexts{"give every site its own row, with both numbers",
                                     "sites that lack a number have no estimate"};

void RequireOneRowEach(const MetaStudy& study) {
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
  for (const data::RowBlock& block : study.partition.blocks) {
    if (block.count == 1) continue;
    Refuse(
        study, study.Analysis().position, fmt::format("block '{}' is not of one row", block.name),
        "a site brings one row, its estimate and standard error: write count = 1 in its [[rows]]");
  }
  for (const data::Holder& holder : study.partition.holders) {
    if (study.partition.BlocksOf(holder.party).size() == 1) continue;
    Refuse(study, study.Analysis().position,
           fmt::format("{} holds several rows", study.parties[holder.party].name),
           "a site brings one row; who has estimates of several sites pools them first");
  }
}

uint64_t RequireSites(mpc::Engine& engine, const MetaStudy& study, const SiteEstimate& own,
                      const run::RunInput& input, MetaRun& run) {
  const uint64_t sites = OpenSites(engine, study.task, own), least = study.task.min_sites();
  const std::string rule = fmt::format("at least {} sites have an estimate", least);
  run.checks.push_back({study.Analysis().name, "sites", rule, sites >= least, false});
  if (sites >= least) return sites;
  RefuseTogether(study, input,
                 fmt::format("nothing was released, because {} of {} sites have an estimate and "
                             "standard error, and {} are needed",
                             sites, study.task.holders.size(), least),
                 fmt::format("each holder sees in its own table whether it has both; where a model "
                             "cannot be estimated, leave the site out by min_sites = {} in a new "
                             "study, or let the sites fit a simpler model",
                             std::max(kFewestSites, sites)));
}

}  // namespace

MetaStudy PrepareMetaStudy(study::StudyFile file) {
  MetaStudy study;
  run::PrepareParties(std::move(file), study);
  study.task.spec = SpecOf(study.Analysis());
  RequireWholeRows(study, kTexts);
  RequireUnweighted(study, "leave them out: sites weigh by their standard errors");
  RequireOneRowEach(study);
  const Spec& spec = study.task.spec;
  for (const data::ColumnSchema& column : study.file.dictionary.columns) {
    if (column.name == spec.estimate.name || column.name == spec.standard_error.name)
      study.used.push_back(column.name);
  }
  study.task.holders = RowHoldersOf(study, study.partition.holders.size());
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

SiteEstimate EstimateOf(const Spec& spec, const data::Table& table,
                        const std::vector<size_t>& taken) {
  if (taken.empty()) return {};
  const size_t row = taken.front();
  return {true, table.Get(spec.estimate.name).numbers[row],
          table.Get(spec.standard_error.name).numbers[row]};
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

std::unique_ptr<run::MethodRows> MetaStudy::PrepareRows(size_t /*party*/,
                                                        const data::Holding& holding,
                                                        run::OwnRows& counts) const {
  auto rows = std::make_unique<MetaRows>();
  const std::vector<size_t> taken = TakeRows(*this, *holding.table, used, *rows, counts);
  rows->own = EstimateOf(task.spec, *holding.table, taken);
  return rows;
}

std::unique_ptr<run::MethodRows> MetaStudy::NoRows() const { return std::make_unique<MetaRows>(); }

std::vector<std::vector<uint8_t>> MetaStudy::ExactRowSets(const run::MethodRows& /*rows*/,
                                                          const data::Holding& /*holding*/) const {
  return {};
}

std::unique_ptr<run::MethodResult> MetaStudy::Run(mpc::Engine& engine, const run::RunInput& input,
                                                  Progress& progress) const {
  auto run = std::make_unique<MetaRun>();
  const MetaRows none;
  const MetaRows& rows = input.rows == nullptr ? none : *static_cast<const MetaRows*>(input.rows);
  engine.AgreeToOpen();
  progress.Phase("sites");
  engine.BeginPhase("sites");
  const uint64_t sites = RequireSites(engine, *this, rows.own, input, *run);
  progress.Phase("pooling");
  engine.BeginPhase("pooling");
  if (task.spec.site_estimates) {
    run->sites = OpenSiteEstimates(engine, task, rows.own);
    if (run->sites) run->pool = PoolOfSites(task.spec, *run->sites);
  } else {
    run->pool = OpenPooled(engine, task, rows.own, sites);
  }
  return run;
}

void MetaStudy::Conclude(size_t /*party*/, run::MethodResult& result, run::PartyOutcome& outcome,
                         Progress& /*progress*/) const {
  const auto& run = static_cast<const MetaRun&>(result);
  outcome.checks = run.checks;
  if (!run.pool) return;
  const std::string title = file.title.empty() ? "Meta-analysis of " + file.name : file.title;
  outcome.result = std::make_unique<report::DocumentResult>(
      MetaDocument(title, task, SiteNames(), *run.pool, run.sites));
}

}  // namespace partita::methods::meta
