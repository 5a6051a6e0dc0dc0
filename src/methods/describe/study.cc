#include "methods/describe/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "data/condition.h"
#include "data/design.h"
#include "methods/describe/document.h"
#include "methods/describe/section.h"
#include "privacy/release_rule.h"
#include "report/document_report.h"
#include "run/method/covariate_table.h"
#include "run/party/finish.h"
#include "run/party/outcome.h"

namespace partita::methods::describe {
namespace {

using run::Refuse;

constexpr uint64_t kMostRows = uint64_t{1} << 32;  // squares of that many fit 128 bits (means.h)

struct DescribeRows : run::MethodRows {
  OwnNumbers numbers;
  std::vector<uint8_t> described;  // by row of the table
};

const study::AnalysisSpec& AnalysisOf(const run::Study& study) {
  return study.file.analyses.front();
}

void RequireDesign(const DescribeStudy& study) {
  const study::DesignSpec& design = study.file.design;
  if (study.partition.kind != data::PartitionKind::kHorizontal || !study.shared_blocks.empty()) {
    Refuse(study, AnalysisOf(study).position,
           "method 'describe' needs whole rows at each holder; here columns are split",
           "give every row block to one holder, or let the holder of a variable describe it alone");
  }
  if (design.site != study::SiteEffect::kIgnore) {
    Refuse(study, design.position, "method 'describe' has no effects of sites",
           "use site = \"ignore\"");
  }
  if (design.missing != study::MissingPolicy::kRefuse &&
      design.missing != study::MissingPolicy::kComplete) {
    Refuse(study, design.position, "method 'describe' imputes nothing",
           "use missing = \"complete\" (each variable is described by the rows that have it, and "
           "the others are counted) or \"refuse\"");
  }
  if (!design.weights.empty() || !design.cluster.empty()) {
    Refuse(study, design.position, "method 'describe' has neither weights nor clusters",
           "leave them out");
  }
  if (study.file.population.max_rows_per_person > 1) {
    Refuse(study, AnalysisOf(study).position,
           "method 'describe' compares numbers of rows with min_cell; here a person has several",
           "give one row per person");
  }
}

std::vector<RowHolder> HoldersOf(const DescribeStudy& study) {
  std::vector<RowHolder> holders;
  for (const data::Holder& holder : study.partition.holders) {
    RowHolder& rows = holders.emplace_back(RowHolder{holder.party, 0});
    for (const size_t block : study.partition.BlocksOf(holder.party))
      rows.max_rows += study.partition.blocks[block].count.value_or(run::kMaxUndeclaredRows);
  }
  return holders;
}

// As the grid is made coarser fewer bits open; what does not pass on the coarsest is refused.
void ChooseGrid(DescribeStudy& study) {
  const int asked = study.file.release.grid_bits;
  if (asked == 0) {
    Refuse(study, AnalysisOf(study).position,
           "method 'describe' opens means on a grid, not with all their digits",
           "leave `grid` out of [release]");
  }
  const int coarsest = std::min(asked, privacy::kCoarsestGridBits);
  for (study.task.grid_bits = asked; study.task.grid_bits >= coarsest; --study.task.grid_bits) {
    if (BitsOf(study).passes) return;
  }
  study.task.grid_bits = asked;
  if (study.file.release.accept != study::AcceptedRelease::kNone) return;
  const study::PlanBits bits = BitsOf(study);
  Refuse(study, AnalysisOf(study).position,
         fmt::format("the table would tell up to {} bits, more than half of the {} of the {}",
                     bits.opened, bits.table, run::kTableOfCovariates),
         "describe fewer variables, levels or quantiles, promise more rows (min_rows in "
         "[disclosure], and where none are left out their numbers in [[rows]]), or write in "
         "[release] accept = \"table of covariates\", which every holder then approves with the "
         "plan");
}

std::vector<std::string> UsedVariables(const DescribeStudy& study) {
  std::vector<std::string> wanted;
  for (const Variable& variable : study.spec.variables) wanted.push_back(variable.source);
  if (study.spec.group) wanted.push_back(study.spec.group->source);
  std::vector<std::string> used;
  for (const data::ColumnSchema& column : study.file.dictionary.columns) {
    if (std::find(wanted.begin(), wanted.end(), column.name) != wanted.end())
      used.push_back(column.name);
  }
  return used;
}

// The bounds of what is shared are those of the rows that a block may have.
void RequireAssumedRows(const DescribeStudy& study, const data::Holding& holding) {
  for (const data::BlockRows& rows : holding.blocks) {
    const data::RowBlock& block = study.partition.blocks[rows.block];
    if (block.count || rows.num_rows <= run::kMaxUndeclaredRows) continue;
    throw Error(ErrorCode::kBadData,
                fmt::format("block '{}' has {} rows, more than the {} assumed for a block without "
                            "a declared count",
                            block.name, rows.num_rows, run::kMaxUndeclaredRows),
                "agree on `count = ...` in its [[rows]] entry of the study file");
  }
}

// Nobody says how many there are.
void RequireEnoughRows(mpc::Engine& engine, const DescribeStudy& study, const SharedTable& table,
                       const run::RunInput& input, DescribeRun& run) {
  const uint64_t least = input.disclosure.min_rows;
  const std::optional<bool> enough = EnoughRows(engine, study.task, table, least);
  if (!enough) return;
  const std::string rule = fmt::format("at least min_rows = {} rows", least);
  run.checks.push_back({AnalysisOf(study).name, "rows", rule, *enough, false});
  if (*enough) return;
  if (input.channel != nullptr) run::ConfirmRefusal(*input.channel, study.num_computing);
  throw Error(ErrorCode::kRefused, "nothing was released, because this does not hold: " + rule,
              "find more rows");
}

}  // namespace

DescribeStudy PrepareDescribeStudy(study::StudyFile file) {
  DescribeStudy study;
  run::PrepareParties(std::move(file), study);
  study.spec = SpecOf(AnalysisOf(study));
  RequireDesign(study);
  study.used = UsedVariables(study);
  study.task.spec = study.spec;
  study.task.holders = HoldersOf(study);
  study.task.to = study.spec.told_to_all ? mpc::kEverybody : study.receiver;
  if (study.task.max_rows() > kMostRows) {
    Refuse(study, AnalysisOf(study).position, "method 'describe' takes 2^32 rows at most",
           "declare the numbers of rows as they are");
  }
  ChooseGrid(study);
  study.releases = ReleasesOf(study);
  return study;
}

run::MethodName DescribeStudy::Method() const { return {kMethodName, kMethodVersion, kProtocol}; }

std::vector<privacy::ledger::Charge> DescribeStudy::Charges(
    const privacy::ledger::Policy& policy) const {
  throw Error(ErrorCode::kRefused,
              fmt::format("the table of study '{}' opens without noise, so that no budget of table "
                          "{} covers it",
                          file.name, policy.table),
              "release it as an exact result, or use a method with noise");
}

void DescribeStudy::DeriveColumns(data::Table& table) const {
  data::AddDesignColumns(table, file.dictionary, file.derived, std::span<const std::string>());
}

std::unique_ptr<run::MethodRows> DescribeStudy::PrepareRows(size_t /*party*/,
                                                            const data::Holding& holding,
                                                            run::OwnRows& counts) const {
  RequireAssumedRows(*this, holding);
  const data::Table& table = *holding.table;
  const std::vector<uint8_t> population = data::SelectRows(table, file.population.subset);
  const std::vector<uint8_t> subset = data::SelectRows(table, AnalysisOf(*this).subset);
  std::vector<std::string> needed;
  if (spec.group) needed.push_back(spec.group->schema.name);
  const std::vector<uint8_t> has_group = data::CompleteRows(table, needed);
  auto rows = std::make_unique<DescribeRows>();
  rows->described.resize(table.num_rows, 0);
  std::vector<size_t> taken;
  counts.observed = table.num_rows;
  for (size_t r = 0; r < table.num_rows; ++r) {
    if (population[r] == 0) {
      ++counts.not_in_population;
    } else if (has_group[r] == 0) {
      ++counts.incomplete;
    } else if (subset[r] != 0) {
      taken.push_back(r);
      rows->described[r] = 1;
    }
  }
  rows->numbers = CountOwn(spec, table, taken);
  return rows;
}

std::unique_ptr<run::MethodRows> DescribeStudy::NoRows() const {
  return std::make_unique<DescribeRows>();
}

std::vector<std::vector<uint8_t>> DescribeStudy::ExactRowSets(
    const run::MethodRows& rows, const data::Holding& /*holding*/) const {
  return {static_cast<const DescribeRows&>(rows).described};
}

uint64_t DescribeStudy::LeastRowsApart() const {
  const Layout layout(spec);
  const uint64_t columns = layout.groups * (layout.num_rows() + layout.numbers.size());
  return std::max<uint64_t>(file.disclosure.min_cell, run::kRowsApartPerColumn * columns);
}

std::unique_ptr<run::MethodResult> DescribeStudy::Run(mpc::Engine& engine,
                                                      const run::RunInput& input,
                                                      Progress& progress) const {
  auto run = std::make_unique<DescribeRun>();
  run->min_cell = input.disclosure.min_cell;
  const DescribeRows none;
  const DescribeRows& own =
      input.rows == nullptr ? none : *static_cast<const DescribeRows*>(input.rows);
  progress.Phase("counts");
  engine.BeginPhase("counts");
  const SharedTable table = ShareTable(engine, task, own.numbers);
  engine.AgreeToOpen();
  progress.Phase("disclosure checks");
  engine.BeginPhase("disclosure");
  RequireEnoughRows(engine, *this, table, input, *run);
  progress.Phase("table");
  engine.BeginPhase("table");
  run->opened = OpenTable(engine, task, table, input.disclosure.min_cell);
  return run;
}

void DescribeStudy::Conclude(size_t /*party*/, run::MethodResult& result,
                             run::PartyOutcome& outcome, Progress& /*progress*/) const {
  const auto& run = static_cast<const DescribeRun&>(result);
  outcome.checks = run.checks;
  if (!run.opened) return;
  const std::string title = file.title.empty() ? "Description of " + file.name : file.title;
  outcome.result = std::make_unique<report::DocumentResult>(
      TableDocument(title, spec, Summarise(spec, *run.opened), run.min_cell));
}

}  // namespace partita::methods::describe
