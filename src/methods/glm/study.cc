#include "methods/glm/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "data/scaling.h"
#include "methods/glm/aggregates.h"
#include "methods/glm/document.h"
#include "methods/glm/hidden.h"
#include "methods/glm/model.h"
#include "methods/glm/nested.h"
#include "methods/glm/pushed_sums.h"
#include "methods/glm/sealed/clusters.h"
#include "methods/glm/sealed/fitter.h"
#include "methods/glm/sealed/plan_clusters.h"
#include "methods/glm/sealed/plan_layout.h"
#include "methods/glm/sealed/row_values.h"
#include "methods/glm/section.h"
#include "mpc/functions/covariance_grid.h"
#include "report/document_report.h"
#include "run/method/covariate_table.h"
#include "run/method/hidden_rows.h"
#include "run/method/remedies.h"

namespace partita::methods::glm {
namespace {

using run::Refuse;

constexpr uint64_t kMostRows = uint64_t{1} << 28;  // sums of that many fit (fit_numbers.h)

std::vector<run::RowHolder> HoldersOf(const GlmStudy& study) {
  std::vector<run::RowHolder> holders =
      study.task.spec.sealed ? study.layout.Holders() : RowHoldersOf(study, kMostRows);
  if (!study.task.spec.copies()) return holders;
  const auto most = static_cast<uint64_t>(study.task.spec.most_weight);
  uint64_t total = 0;
  for (run::RowHolder& holder : holders) {
    // Products of the bounds of a dictionary and of numbers of rows may be beyond 64 bits.
    holder.max_rows = holder.max_rows > kMostRows / most ? kMostRows + 1 : holder.max_rows * most;
    total += holder.max_rows;
  }
  if (total > kMostRows) {
    Refuse(study, study.file.design.position,
           fmt::format("the rows may stand for more than {} equal rows", kMostRows),
           "declare the numbers of rows (count in [[rows]]), and give the weights a closer upper "
           "bound");
  }
  return holders;
}

// Sums with all digits tell the table of covariates, which all have to accept; of continuous
// covariates they may determine as many rows as there are.
void RequireConsent(const GlmStudy& study) {
  if (study.file.release.accept != study::AcceptedRelease::kTableOfCovariates) {
    Refuse(study, study.Analysis().position,
           fmt::format("at level aggregates the sums tell the {}", run::kTableOfCovariates),
           "take protocol = \"iterates\", or write in [release] accept = \"table of covariates\", "
           "which every holder then approves with the plan");
  }
  const uint64_t determined = RowsDetermined(study.task);
  const std::optional<uint64_t> rows = study.partition.TotalRows();
  if (rows && *rows <= determined) {
    Refuse(study, study.Analysis().position,
           fmt::format("the sums at {} points determine up to {} rows, and there are {}",
                       study.task.spec.steps + 1, determined, *rows),
           "take fewer columns or steps, or protocol = \"iterates\"");
  }
}

constexpr run::WholeRowsTexts kTexts{
    "take protocol = \"sealed\", or give every row block to one holder",
    "rows that lack a variable of the model are left out", true};

// What is multiplied with columns twice has to fit.
void RequireWeightBits(const GlmStudy& study) {
  const Spec& spec = study.task.spec;
  const bool weights = spec.law.family != stats::glm::Family::kGaussian;
  if ((!weights || WeightBits(study.task) >= kFewestWeightBits) &&
      (!TakesSquares(spec) || SquareBits(study.task) >= kFewestSquareBits))
    return;
  Refuse(study, study.Analysis().position,
         "at level sealed sums over so many rows with these bounds of the outcome do not fit",
         spec.copies()
             ? "give the outcome or the weights a closer upper bound, take fewer rows, or "
               "leave errors out"
             : "give the outcome a closer upper bound, take fewer rows, or leave errors "
               "out");
}

void RequireUnits(GlmStudy& study) {
  try {
    SetUnits(study.task);
  } catch (const Error& error) {
    Refuse(study, study.Analysis().position, error.message(), error.hint());
  }
}

void AddSmaller(GlmStudy& study) {
  try {
    study.smaller = SmallerTask(study.task);
    if (study.task.spec.aggregates)
      study.task.rows_determined_beside = RowsDetermined(*study.smaller);
  } catch (const Error& error) {
    Refuse(study, study.Analysis().position, error.message(), error.hint());
  }
}

void SetGrids(GlmStudy& study, int grid_bits) {
  study.task.grid_bits = grid_bits;
  if (study.smaller) study.smaller->grid_bits = grid_bits;
}

std::vector<run::CheckOutcome> CheckOutcomes(const GlmStudy& study, const CountAnswers& answers,
                                             const study::DisclosureSpec& disclosure) {
  const std::string& name = study.Analysis().name;
  std::vector<run::CheckOutcome> checks = {
      {name, "rows", fmt::format("at least {} rows", LeastRows(study.task, disclosure.min_rows)),
       answers.rows, false}};
  if (study.task.hidden_rows) return checks;
  const std::string by_outcome = study.task.classes > 1 ? " with one outcome" : "";
  for (size_t t = 0; t < study.checked.size(); ++t) {
    checks.push_back(
        {name, study.checked[t],
         fmt::format("each count of {}{} is 0 or at least min_cell = {}{}", study.checked[t],
                     by_outcome, disclosure.min_cell, BesideOwnText(study)),
         answers.tables[t], false});
  }
  if (study.task.classes > 1) {
    checks.push_back({name, study.task.spec.outcome.name,
                      fmt::format("at least min_cell = {} rows with each outcome{}",
                                  disclosure.min_cell, BesideOwnText(study)),
                      answers.outcome, false});
  }
  const Spec& spec = study.task.spec;
  if (spec.clustered()) {
    checks.push_back({name, spec.cluster,
                      ClustersRule(study.task, disclosure.min_cell, BesideOwnText(study)),
                      answers.clusters, false});
  }
  if (spec.seals_clusters()) {
    checks.push_back({name, spec.cluster, LargestClusterRule(BesideOwnText(study)),
                      answers.largest_cluster, false});
  }
  if (ComparesWeights(spec))
    checks.push_back({name, spec.weights, WeightsRule(study), answers.weights, false});
  return checks;
}

// What helps against the checks that failed.
std::string CountsHint(const CountAnswers& answers) {
  const bool few = !answers.clusters, large = !answers.largest_cluster,
             tables = run::AnyFailed(answers.tables);
  return run::HelpsOf(
      {{tables, run::kRareLevels},
       {!answers.outcome && !tables,
        "find more rows of the rarer outcome, or join outcomes where there are several"},
       {!answers.rows && !tables, run::kFewRows},
       {few && !large, run::kFewClusters},
       {large, fmt::format("take a variable of {}smaller clusters, or errors = \"robust\" without "
                           "cluster in [design]",
                           few ? "more and " : "")},
       {!answers.weights,
        "bound the largest weights before the study, find more rows, or leave the weights out"}});
}

// answers: empty where engine.self() is.
void RequireCounts(const GlmStudy& study, const std::optional<CountAnswers>& answers,
                   const run::RunInput& input, GlmRun& run) {
  if (!answers) return;
  run.checks = CheckOutcomes(study, *answers, input.disclosure);
  std::string failed;
  for (const run::CheckOutcome& check : run.checks) {
    if (!check.passed) failed += (failed.empty() ? "" : "; ") + check.rule;
  }
  if (failed.empty()) return;
  RefuseTogether(study, input, "nothing was released, because this does not hold: " + failed,
                 CountsHint(*answers));
}

// spec: of the model, or of the smaller one.
void RequireIndependent(const GlmStudy& study, const Spec& spec, const Collinear& collinear,
                        const run::RunInput& input) {
  if (collinear.columns.empty()) return;
  std::string names;
  bool effects = false;
  for (const size_t c : collinear.columns) {
    names += (names.empty() ? "" : ", ") + spec.parameters[c].name;
    effects = effects || spec.parameters[c].effect;
  }
  if (!effects && spec.law.family == stats::glm::Family::kNegativeBinomial) {
    RefuseTogether(
        study, input,
        "no estimate was released, because the counts vary hardly more than a Poisson "
        "law says: " +
            names + " cannot be told from these rows",
        "take family = \"poisson\"; where the number of rows of each block is declared "
        "(count in [[rows]]; a million is assumed of one that is not), more can be told");
  }
  if (!effects && spec.law.family == stats::glm::Family::kOrdinal) {
    RefuseTogether(
        study, input,
        "no estimate was released, because too little is known of these cut points: " + names,
        "declare the number of rows of each block (count in [[rows]]): a million is "
        "assumed of one that does not. Where they are declared, join levels of the "
        "outcome");
  }
  RefuseTogether(
      study, input,
      "no estimate was released, because these columns follow from those before them: " + names,
      "leave them out of the formula");
}

}  // namespace

GlmStudy PrepareGlmStudy(study::StudyFile file) {
  GlmStudy study;
  run::PrepareParties(std::move(file), study);
  study.task.spec = SpecOf(study.Analysis());
  RequireSupportedHidden(study);
  study.task.hidden_rows = run::HasHiddenRows(study);
  run::WholeRowsTexts texts = kTexts;
  texts.split_columns = study.task.spec.sealed;
  RequireWholeRows(study, texts);
  if (study.file.design.site == study::SiteEffect::kFixed) {
    try {
      TakeSiteEffects(study.task.spec, study.partition.holders.size());
    } catch (const Error& error) {
      Refuse(study, study.Analysis().position, error.message(), error.hint());
    }
  }
  const Spec& spec = study.task.spec;
  study.used = spec.variables;
  for (const std::string& name : {spec.weights, spec.cluster}) {
    const bool known = std::find(study.used.begin(), study.used.end(), name) != study.used.end();
    if (!name.empty() && !known) study.used.push_back(name);
  }
  study.derived = study.file.derived;
  study.derived.insert(study.derived.end(), spec.made.begin(), spec.made.end());
  study.factors = data::WithDerivedFactors(study.file.dictionary, study.derived);
  const CountTables tables(spec, study.factors);
  study.checked = tables.names;
  study.task.table_sizes = tables.sizes;
  study.task.classes = tables.classes;
  if (spec.sealed) {
    RequireSealed(study);
    study.layout = LayoutOf(study);
    RequireEnoughClusters(study);
  }
  study.task.holders = HoldersOf(study);
  if (TakesMoments(study) && study.file.engine.input_bits)
    study.task.input_bits =
        std::min(*study.file.engine.input_bits, data::MomentFractionBits(study.task.max_rows()));
  study.task.to = spec.told_to_all ? mpc::kEverybody : study.receiver;
  RequireUnits(study);
  if (spec.sealed) RequireWeightBits(study);
  if (!spec.dropped.empty()) AddSmaller(study);
  if (spec.aggregates) {
    RequireConsent(study);
    SetGrids(study, 0);
  } else {
    study.task.grid_bits = FinestGrid(
        study, {"estimates", "the fit", "take fewer columns or steps"}, [&](int grid_bits) {
          SetGrids(study, grid_bits);
          return BitsOf(study, OpenedBits(study));
        });
  }
  study.releases = ReleasesOf(study);
  return study;
}

std::string BesideOwnText(const GlmStudy& study) {
  if (study.shared_blocks.empty()) return ", also without each holder's own rows";
  if (study.layout.groups.size() == 1) return "";
  return ", also without the rows that the same holders have";
}

std::string WeightsRule(const GlmStudy& study) {
  return "no weight is above a tenth of their sum" + BesideOwnText(study);
}

run::MethodName GlmStudy::Method() const {
  return {kMethodName, kMethodVersion, task.spec.level()};
}

run::StudySize GlmStudy::Size() const { return {used.size(), task.num_columns()}; }

void GlmStudy::DeriveColumns(data::Table& table) const {
  data::AddDesignColumns(table, file.dictionary, derived, NeededColumns(task.spec));
}

std::vector<size_t> RowsTaken(const GlmStudy& study, const data::Table& table, run::TakenRows& rows,
                              run::OwnRows& counts) {
  std::vector<size_t> taken =
      TakeRows(study, table, study.used, rows, counts, study.task.spec.sealed);
  const Spec& spec = study.task.spec;
  // Of split columns one party knows them.
  const auto column =
      std::find_if(table.columns.begin(), table.columns.end(),
                   [&](const data::Column& one) { return one.schema.name == spec.weights; });
  if (spec.weights.empty() || column == table.columns.end()) return taken;
  const std::vector<double>& weights = column->numbers;
  const auto weightless = [&](size_t row) { return weights[row] == 0; };
  for (const size_t row : taken) rows.taken[row] = weightless(row) ? 0 : 1;
  counts.not_in_population += std::erase_if(taken, weightless);
  return taken;
}

std::unique_ptr<run::MethodRows> GlmStudy::PrepareRows(size_t party, const data::Holding& holding,
                                                       run::OwnRows& counts) const {
  run::RequireAssumedRows(*this, holding);
  auto rows = std::make_unique<GlmRows>();
  const std::vector<size_t> taken = RowsTaken(*this, *holding.table, *rows, counts);
  if (task.spec.sealed) {
    rows->blocks = OwnBlocksOf(task.spec, layout, party, holding, rows->taken);
    if (partition.SharesRows(party)) {
      rows->own = NoData(task.spec, CountTables(task.spec, factors));
      return rows;
    }
  }
  rows->own = OwnDataOf(task.spec, CountTables(task.spec, factors), *holding.table, taken);
  if (task.input_bits > 0) TakeMoments(task.spec, task.input_bits, rows->own);
  return rows;
}

std::unique_ptr<run::MethodRows> GlmStudy::NoRows() const {
  auto rows = std::make_unique<GlmRows>();
  rows->own = NoData(task.spec, CountTables(task.spec, factors));
  return rows;
}

uint64_t GlmStudy::LeastRowsApart() const {
  const size_t estimates =
      task.spec.covariance ? mpc::NumCovariances(task.num_columns()) : task.num_columns();
  return std::max<uint64_t>(file.disclosure.min_cell,
                            run::kRowsApartPerColumn * (estimates + NumRiskNumbers(task.spec)));
}

std::unique_ptr<run::MethodResult> GlmStudy::Run(mpc::Engine& engine, const run::RunInput& input,
                                                 Progress& progress) const {
  auto run = std::make_unique<GlmRun>();
  const auto phase = [&](const std::string& name) {
    progress.Phase(name);
    engine.BeginPhase(name);
  };
  const GlmRows none;
  const GlmRows& rows = input.rows == nullptr ? none : *static_cast<const GlmRows*>(input.rows);
  std::vector<SharedBlock> blocks;
  if (task.spec.sealed) {
    phase("rows");
    blocks = ShareBlocks(engine, task, layout, rows.blocks);
  }
  phase("counts");
  const std::vector<mpc::Shared> counts =
      task.spec.sealed ? CountsByGroup(engine, task, layout, blocks, rows.blocks, rows.own.counts)
                       : ShareCounts(engine, task, rows.own);
  std::vector<mpc::Shared> weights;
  if (ComparesWeights(task.spec))
    weights = task.spec.sealed ? RoomOfWeights(engine, task, layout, blocks)
                               : RoomOfWeights(engine, task, ShareWeights(engine, task, rows.own));
  SealedClusters clusters;
  if (task.spec.seals_clusters())
    clusters = CountClusters(engine, task, layout, blocks, rows.blocks, counts);
  engine.AgreeToOpen();
  phase("disclosure");
  mpc::Shared failures;  // of hidden rows
  if (task.hidden_rows) {
    const HiddenAnswers answers = CheckHiddenCounts(engine, task, counts, input.disclosure.min_rows,
                                                    input.disclosure.min_cell);
    failures = answers.failures;
    std::optional<CountAnswers> rows_alone;
    if (answers.rows) rows_alone.emplace().rows = *answers.rows;
    RequireCounts(*this, rows_alone, input, *run);
  } else {
    RequireCounts(*this,
                  CheckCounts(engine, task, counts, weights, input.disclosure.min_rows,
                              input.disclosure.min_cell, clusters),
                  input, *run);
  }
  const SharedTotals totals = TotalsFrom(engine, task, counts, clusters);
  if (task.spec.sealed) {
    phase("first point");
    SealedSums sums(engine, task, layout, blocks, totals);
    SealedFitter fitter(engine, task, sums, totals, failures);
    RequireIndependent(*this, task.spec, fitter.First(), input);
    for (int step = 1; step <= task.spec.steps; ++step) {
      phase(fmt::format("step {}", step));
      fitter.Step();
    }
    phase("fit");
    std::optional<SealedRisk> risk;
    if (!task.spec.cuts.empty())
      risk = SealedRiskOf(engine, task, layout, blocks, counts, input.disclosure.min_cell);
    run->fitted = fitter.Finish(risk ? &*risk : nullptr);
    return run;
  }
  const auto steps_of = [&](auto fitter, const Spec& spec, const std::string& of) {
    phase(of + "first point");
    RequireIndependent(*this, spec, fitter.First(), input);
    fitter.OpenPoint(0);
    for (int step = 1; step <= task.spec.steps; ++step) {
      phase(fmt::format("{}step {}", of, step));
      fitter.OpenPoint(step);
    }
    phase(of + "fit");
    return fitter.Finish();
  };
  const auto fit = [&](const Task& of, const OwnData& own, const std::string& name) {
    return of.spec.aggregates ? steps_of(AggregateFitter(engine, of, own, totals, receiver,
                                                         input.disclosure.min_cell),
                                         of.spec, name)
                              : steps_of(Fitter(engine, of, own, totals, input.disclosure.min_cell),
                                         of.spec, name);
  };
  run->fitted = fit(task, rows.own, "");
  if (!smaller) return run;
  run->smaller = fit(*smaller, SmallerData(task.spec, rows.own), "smaller model, ");
  return run;
}

void GlmStudy::Conclude(size_t /*party*/, run::MethodResult& result, run::PartyOutcome& outcome,
                        Progress& /*progress*/) const {
  const auto& run = static_cast<const GlmRun&>(result);
  outcome.checks = run.checks;
  if (!run.fitted.model) return;
  outcome.used = {{Analysis().name, run.fitted.model->rows}};
  Regression regression = RegressionOf(task, run.fitted);
  if (smaller) AddNested(task.spec, RegressionOf(*smaller, run.smaller), regression);
  const std::string title = file.title.empty() ? "Regression of " + file.name : file.title;
  outcome.result = std::make_unique<report::DocumentResult>(
      RegressionDocument(title, task, factors, regression));
}

}  // namespace partita::methods::glm
