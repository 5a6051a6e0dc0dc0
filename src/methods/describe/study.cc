#include "methods/describe/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/error.h"
#include "data/design.h"
#include "methods/describe/document.h"
#include "methods/describe/section.h"
#include "report/document_report.h"
#include "run/party/outcome.h"

namespace partita::methods::describe {
namespace {

constexpr uint64_t kMostRows = uint64_t{1} << 32;  // squares of that many fit 128 bits (means.h)

struct DescribeRows : run::TakenRows {
  OwnNumbers numbers;
};

DescribeRows RowsOf(const DescribeStudy& study, size_t party, const data::Table& table,
                    run::OwnRows& counts) {
  const Spec& spec = study.spec;
  std::vector<std::string> needed;
  if (spec.group && !spec.by_site) needed.push_back(spec.group->schema.name);
  DescribeRows rows;
  const std::vector<size_t> taken = TakeRows(study, table, needed, rows, counts);
  const std::vector<run::RowHolder>& holders = study.task.holders;
  const auto holder = std::find_if(holders.begin(), holders.end(),
                                   [&](const run::RowHolder& one) { return one.party == party; });
  rows.numbers = CountOwn(spec, table, taken, static_cast<size_t>(holder - holders.begin()));
  return rows;
}

// Counts and sums of pieces are added up; of each row only whether it takes part is kept.
class PassingRows final : public run::RowsInPieces {
 public:
  PassingRows(const DescribeStudy& study, size_t party, run::OwnRows& counts)
      : study_(study), party_(party), counts_(counts), rows_(std::make_unique<DescribeRows>()) {
    counts_ = {};
    rows_->numbers = NoNumbers(study.spec);
  }

  void Add(const data::Holding& piece) override {
    run::OwnRows counts;
    const DescribeRows rows = RowsOf(study_, party_, *piece.table, counts);
    counts_ += counts;
    rows_->taken.insert(rows_->taken.end(), rows.taken.begin(), rows.taken.end());
    AddNumbers(study_.spec, rows.numbers, rows_->numbers);
  }

  std::unique_ptr<run::MethodRows> Finish() override {
    run::RequireAssumedRows(study_, study_.partition.BlocksOf(party_).front(), counts_.observed);
    return std::move(rows_);
  }

 private:
  const DescribeStudy& study_;
  size_t party_;
  run::OwnRows& counts_;
  std::unique_ptr<DescribeRows> rows_;
};

constexpr run::WholeRowsTexts kTexts{
    "give every row block to one holder, or let the holder of a variable describe it alone",
    "each variable is described by the rows that have it, and the others are counted"};

std::vector<std::string> UsedVariables(const DescribeStudy& study) {
  std::vector<std::string> wanted;
  for (const Variable& variable : study.spec.variables) wanted.push_back(variable.source);
  if (study.spec.group && !study.spec.by_site) wanted.push_back(study.spec.group->source);
  std::vector<std::string> used;
  for (const data::ColumnSchema& column : study.file.dictionary.columns) {
    if (std::find(wanted.begin(), wanted.end(), column.name) != wanted.end())
      used.push_back(column.name);
  }
  return used;
}

// Nobody says how many there are.
void RequireEnoughRows(mpc::Engine& engine, const DescribeStudy& study, const SharedTable& table,
                       const run::RunInput& input, DescribeRun& run) {
  const uint64_t least = input.disclosure.min_rows;
  const std::optional<bool> enough = EnoughRows(engine, study.task, table, least);
  if (!enough) return;
  const std::string rule = RowsRule(study.spec, least);
  run.checks.push_back({study.Analysis().name, "rows", rule, *enough, false});
  if (*enough) return;
  RefuseTogether(study, input, "nothing was released, because this does not hold: " + rule,
                 "find more rows");
}

void RequireSites(const DescribeStudy& study) {
  if (study.task.holders.size() > 1 || !(study.spec.by_site || study.spec.compared.mantel_haenszel))
    return;
  run::Refuse(study, study.Analysis().position,
              "one holder has all rows, and sites are what is compared",
              "take another group, and leave \"mantel-haenszel\" out");
}

}  // namespace

DescribeStudy PrepareDescribeStudy(study::StudyFile file) {
  DescribeStudy study;
  run::PrepareParties(std::move(file), study);
  study.spec = SpecOf(study.Analysis());
  RequireWholeRows(study, kTexts);
  RequireUnweighted(study, "leave them out");
  study.used = UsedVariables(study);
  study.task.spec = study.spec;
  study.task.holders = RowHoldersOf(study, kMostRows);
  RequireSites(study);
  study.task.to = study.spec.told_to_all ? mpc::kEverybody : study.receiver;
  study.task.grid_bits =
      FinestGrid(study, {"means", "the table", "describe fewer variables, levels or quantiles"},
                 [&](int grid_bits) {
                   study.task.grid_bits = grid_bits;
                   return BitsOf(study);
                 });
  study.releases = ReleasesOf(study);
  return study;
}

run::MethodName DescribeStudy::Method() const { return {kMethodName, kMethodVersion, kProtocol}; }

void DescribeStudy::DeriveColumns(data::Table& table) const {
  data::AddDesignColumns(table, file.dictionary, file.derived, std::span<const std::string>());
}

std::unique_ptr<run::MethodRows> DescribeStudy::PrepareRows(size_t party,
                                                            const data::Holding& holding,
                                                            run::OwnRows& counts) const {
  run::RequireAssumedRows(*this, holding);
  return std::make_unique<DescribeRows>(RowsOf(*this, party, *holding.table, counts));
}

std::unique_ptr<run::RowsInPieces> DescribeStudy::PassRows(size_t party,
                                                           run::OwnRows& counts) const {
  return std::make_unique<PassingRows>(*this, party, counts);
}

data::TableCheckOptions DescribeStudy::TableChecks() const {
  data::TableCheckOptions options = Study::TableChecks();
  for (const Variable& variable : spec.variables) options.counted_of.push_back(variable.source);
  return options;
}

std::unique_ptr<run::MethodRows> DescribeStudy::NoRows() const {
  return std::make_unique<DescribeRows>();
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
