#include "methods/describe/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "base/error.h"
#include "data/design.h"
#include "methods/describe/document.h"
#include "methods/describe/group_bits.h"
#include "methods/describe/hidden.h"
#include "methods/describe/section.h"
#include "methods/describe/study_rows.h"
#include "report/document_report.h"
#include "run/party/outcome.h"

namespace partita::methods::describe {
namespace {

// What a party brings to rows that it holds with others, all of its table in the agreed order.
void AddSplitRows(const DescribeStudy& study, const PlaceOfParty& place, const data::Table& table,
                  const std::vector<size_t>& taken, DescribeRows& rows) {
  std::vector<size_t> all(table.num_rows);
  std::iota(all.begin(), all.end(), size_t{0});
  const Spec spec = PartSpec(study.spec, *place.part, place.selects);
  if (place.by_product) {
    rows.columns = DescribedColumns(spec, table, all);
    if (place.rows->hidden)
      rows.columns.groups = SelectingColumns(spec, table, all, rows.taken).groups;
    return;
  }
  rows.numbers = CountOwn(spec, table, taken);
  if (place.selects) rows.columns = SelectingColumns(study.spec, table, all, rows.taken);
}

DescribeRows RowsOf(const DescribeStudy& study, size_t party, const data::Table& table,
                    run::OwnRows& counts) {
  const Spec& spec = study.spec;
  std::vector<std::string> needed;
  if (spec.group && !spec.by_site) needed.push_back(spec.group->schema.name);
  DescribeRows rows;
  const std::vector<size_t> taken = TakeRows(study, table, needed, rows, counts, study.task.named);
  const PlaceOfParty place = PlaceOf(study.task, party);
  if (place.part != nullptr) AddSplitRows(study, place, table, taken, rows);
  if (place.rows == nullptr || place.part != nullptr) return rows;
  const auto site = static_cast<size_t>(place.rows - study.task.holders.data());
  rows.numbers = CountOwn(spec, table, taken, site);
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
    "", "each variable is described by the rows that have it, and the others are counted", false,
    true};

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
  RequireSupportedHidden(study);
  RequireWholeRows(study, kTexts);
  RequireUnweighted(study, "leave them out");
  if (study.file.engine.input_bits.value_or(kValueBits) != kValueBits) {
    run::Refuse(study, study.file.engine.input_bits_position,
                fmt::format("method '{}' rounds values to 2^-{} of the half-width of their bounds",
                            kMethodName, kValueBits),
                fmt::format("write input_bits = {}, or remove it", kValueBits));
  }
  study.used = UsedVariables(study);
  study.task.named = !study.shared_blocks.empty();
  if (study.task.named) study.spec.most_cells = kMaxSplitCells;
  study.task.spec = study.spec;
  study.task.holders = HoldersOf(study);
  RequireSites(study);
  study.task.to = study.spec.told_to_all ? mpc::kEverybody : study.receiver;
  RequireGroupBits(study);
  study.task.grid_bits =
      FinestGrid(study, {"means", "the table", "describe fewer variables, levels or quantiles"},
                 [&](int grid_bits) {
                   study.task.grid_bits = grid_bits;
                   study::PlanBits bits = BitsOf(study);
                   bits.passes = bits.passes && GroupsPass(study);
                   return bits;
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
  const SharedTable table = ShareTable(engine, task, own.numbers, own.columns);
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
