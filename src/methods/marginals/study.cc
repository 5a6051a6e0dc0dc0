#include "methods/marginals/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/bytes.h"
#include "base/error.h"
#include "data/design.h"
#include "methods/marginals/curves.h"
#include "methods/marginals/section.h"
#include "methods/marginals/section_promise.h"
#include "methods/marginals/table_one.h"
#include "privacy/sampling/release_statement.h"
#include "report/document_report.h"
#include "run/method/hidden_rows.h"
#include "run/method/plan_privacy.h"
#include "run/method/whole_rows.h"
#include "run/party/outcome.h"
#include "stats/marginals/noise.h"

namespace partita::methods::marginals {
namespace {

// Of engine `ot`: half an hour and 109 GB between two machines (mpc/ot/tasks.h).
constexpr double kMostTransferredProducts = 1e8, kBytesPerTransferredProduct = 1088;

// The columns of the study that a part of a block holds.
BlockPart PartOf(const MarginalsStudy& study, const data::SegmentPart& segment) {
  BlockPart part = {segment.party, {}};
  for (uint32_t a = 0; a < study.spec.columns.size(); ++a) {
    for (const size_t variable : segment.variables) {
      if (study.partition.variables[variable] == study.spec.columns[a].encoding.column.name) {
        part.attributes.push_back(a);
      }
    }
  }
  return part;
}

Task TaskOf(const MarginalsStudy& study) {
  Task task;
  task.set = TablesOfColumns(study.spec.columns, study.spec.triples);
  task.lifts = study.spec.group || !study.spec.draws_rows()
                   ? LiftsOfGroup(task.set, study.spec.group)
                   : LiftsFor(task.set, study.spec.targets);
  if (study.spec.pairs)
    task.scored = ScoredPairsFor(task.set, *study.spec.pairs, study.spec.adjacency);
  for (const data::Segment& segment : study.partition.segments) {
    const data::RowBlock& block = study.partition.blocks[segment.block];
    const uint64_t most = block.count.value_or(run::kMaxUndeclaredRows);
    RowBlock rows = {block.name, most - study.spec.utility.test_rows, {}};
    for (const data::SegmentPart& part : segment.parts) {
      rows.parts.push_back(PartOf(study, part));
      if (rows.parts.back().attributes.empty()) rows.parts.pop_back();
    }
    task.blocks.push_back(std::move(rows));
  }
  return task;
}

// In the order of the columns; of curves in that of the dictionary.
std::vector<std::string> UsedVariables(const MarginalsStudy& study) {
  std::vector<std::string> used;
  if (!study.spec.curves) {
    for (const LevelColumn& column : study.spec.columns)
      used.push_back(column.encoding.column.name);
    return used;
  }
  const std::vector<std::string> sources = SourcesOf(*study.spec.curves);
  for (const data::ColumnSchema& column : study.file.dictionary.columns) {
    if (std::ranges::find(sources, column.name) != sources.end()) used.push_back(column.name);
  }
  return used;
}

// A holder makes one level of time, event and group.
void RequireWholeRows(const MarginalsStudy& study) {
  const auto split = [](const data::Segment& segment) { return segment.parts.size() > 1; };
  if (std::ranges::none_of(study.partition.segments, split)) return;
  run::Refuse(study, study.file.analyses.front().position,
              "method 'survival' needs whole rows at each holder; here columns are split",
              "give every row block to one holder");
}

double ProductsOf(const Task& task) {
  double products = 0;
  for (const RowBlock& block : task.blocks)
    products += static_cast<double>(block.rows) * ProductsPerRow(task.set, block);
  return products;
}

void RequireTriplesOfTwoHolders(const MarginalsStudy& study) {
  for (const RowBlock& block : study.task.blocks) {
    const auto* triple = TripleOfThreeParts(study.task.set, block);
    if (triple == nullptr) continue;
    run::Refuse(study, study.file.analyses.front().position,
                fmt::format("the columns of the triple ({}) lie at three holders",
                            TableName(study.task.set, *triple)),
                "name triples of the columns of one or two holders");
  }
}

// Two parties without a third make every product by transfers of its own.
void RequireSmallForTransfers(const MarginalsStudy& study) {
  const double products = ProductsOf(study.task);
  if (study.file.engine.name != "ot" || products <= kMostTransferredProducts) return;
  run::Refuse(study, study.file.analyses.front().position,
              fmt::format("engine 'ot' would make {:.2g} products of a level of one holder and a "
                          "level of another, for each row, which sends {:.0f} GB; it is for tables "
                          "of {:.0g} at the most",
                          products, products * kBytesPerTransferredProduct * 1e-9,
                          kMostTransferredProducts),
              "use the engine dealer, with a third party that has no rows, or 'replicated'; or "
              "count fewer columns, wider bins or fewer rows");
}

std::string RepairCaveat(const MarginalsStudy& study) {
  const bool fill = study.file.design.missing == study::MissingPolicy::kRefuse;
  return fmt::format(
      "A number outside the bounds of the dictionary counts as the nearest bound, and a cell "
      "without a usable value {}; all of them are in the counts, which open with noise.",
      fill ? "as the middle of the bounds or the reference level" : "as missing");
}

std::string Capitalised(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

// What each opening takes of the squared sensitivity, and why later ones may depend on earlier ones.
std::string ScoredText(const MarginalsStudy& study) {
  const stats::marginals::Selection selection = SelectionOf(study.task);
  return fmt::format(
      " These are rows of weight 1: first all one-way tables open, multiplied by {:.4g} before "
      "noise; then of each of {} pairs a score, the distance of its counts from independence, "
      "multiplied by {:.4g}; then, chosen by what opened, the tables of {} pairs, multiplied by "
      "{:.4g}. They take {:.0f} %, {:.0f} % and {:.0f} % of the squared sensitivity, whichever "
      "pairs "
      "are chosen. Every opening has noise of its own.",
      selection.one_way, stats::marginals::NumPairs(study.task.set), selection.score,
      selection.pairs, selection.pair, 100 * stats::marginals::kOneWayShare,
      100 * stats::marginals::kScoreShare, 100 * stats::marginals::kPairShare);
}

privacy::Statement StatementOf(const MarginalsStudy& study) {
  std::vector<std::string> names = run::PartyNames(study);
  names.resize(study.num_computing);
  privacy::GaussianRelease release = {names,
                                      study.design.noise,
                                      run::StructureOf(study.file.engine),
                                      study.spec.adjacency,
                                      study.design.sensitivity,
                                      study.design.replace_sensitivity,
                                      privacy::Delta(study.spec.delta)};
  release.party_sensitivities = study.design.party_sensitivities;
  release.two_parties_sensitivity = study.design.two_parties_sensitivity;
  privacy::Statement statement = privacy::StateRelease(release);
  const double shares = study.design.noise.sharing.parties;
  const stats::marginals::TableWeights weights = WeightsOf(study.task);
  statement.mechanism = fmt::format(
      "{}: discrete Gaussian noise on {} cells, on a "
      "grid of 2^-{} rows: each of {} parties adds a share of standard deviation {} rows; {} "
      "changes {} by at "
      "most {} rows (L2 norm).",
      study.task.scored ? "Three openings, charged as one"
      : study.spec.group || !study.spec.draws_rows()
          ? Capitalised(study.CountedText()) + " in one opening"
      : study.spec.triples.empty() ? "All one-way and two-way tables in one opening"
                                   : "All " + study.CountedText() + ", in one opening",
      study.design.noise.dimension, stats::marginals::kNoiseGridBits, shares,
      privacy::RoundedText(study.design.noise_stddev() / std::sqrt(shares), 4, false),
      study.rows() ? "a row that is replaced" : "a row that is added or removed",
      study.task.scored ? "what opens" : "the tables",
      privacy::RoundedText(
          std::ldexp(study.design.sensitivity.value(), -stats::marginals::kNoiseGridBits), 4,
          true));
  if (!study.spec.targets.empty() && !weights.empty()) {
    const auto [least, most] = std::ranges::minmax(weights);
    statement.mechanism += fmt::format(
        " These are rows of weight 1: before noise is added counts of tables with a target column "
        "are multiplied by "
        "{:.4g}, those of other tables by {:.4g}, and divided again after the opening.",
        most, least);
  }
  if (study.task.scored) statement.mechanism += ScoredText(study);
  if (!study.rows()) {
    statement.caveats.emplace_back(
        "How many rows there are opens with noise only, as the sum of every table. Against parties "
        "the losses are those of "
        "a row of others that is replaced, which are more than those of one that is added or "
        "removed.");
  }
  if (study.spec.utility.test_rows > 0) {
    statement.caveats.emplace_back(
        "Rows are set aside by their place in the order of keys or of a holder's table, in public: "
        "the losses are those of rows whose values are replaced while places stay as they are, not "
        "of persons who are replaced by others with other keys. A row that is set aside is not "
        "counted, and nothing of its values is released.");
  }
  run::AddStudyCaveats(study, RepairCaveat(study), statement);
  return statement;
}

mpc::Release NoisyRelease(const char* id, std::string what, double stddev, uint64_t cells) {
  return {id,
          std::move(what),
          "all",
          fmt::format("discrete Gaussian, sigma = {} rows", privacy::RoundedText(stddev, 4, false)),
          1,
          mpc::kEverybody,
          cells};
}

std::vector<mpc::Release> ReleasesOf(const MarginalsStudy& study) {
  const stats::marginals::TableSet& set = study.task.set;
  const size_t columns = study.spec.columns.size();
  if (!study.task.scored) {
    const size_t cells = OpenedLast(study.task);
    return {{kTablesRelease, fmt::format("{}, {} cells", study.CountedText(), cells), "all",
             fmt::format("discrete Gaussian, sigma = {} rows", study.NoiseText()), 1,
             mpc::kEverybody, cells}};
  }
  const stats::marginals::Selection selection = SelectionOf(study.task);
  const size_t one_way = stats::marginals::OneWayCells(set),
               scores = stats::marginals::NumPairs(set), last = OpenedLast(study.task);
  const double stddev = study.design.noise_stddev();
  return {
      NoisyRelease(kOneWayRelease,
                   fmt::format("one-way tables of {} columns, {} cells", columns, one_way),
                   stddev / selection.one_way, one_way),
      NoisyRelease(kScoresRelease,
                   fmt::format("of each of {} pairs of columns the distance of its counts from "
                               "independence, in rows",
                               scores),
                   stddev / selection.score, scores),
      NoisyRelease(kTablesRelease,
                   fmt::format("two-way tables of the {} pairs that the scores choose, {} cells "
                               "with what fills them up",
                               selection.pairs, last),
                   stddev / selection.pair, last)};
}

}  // namespace

std::string SyntheticRowsFile(size_t set) { return fmt::format("synthetic_{}.csv", set + 1); }

MarginalsStudy PrepareMarginalsStudy(study::StudyFile file) {
  MarginalsStudy study;
  run::PrepareParties(std::move(file), study);
  const study::AnalysisSpec& analysis = study.file.analyses.front();
  run::RequireKnownRows(study, analysis.position, "noise on counts");
  study.spec = SpecOf(analysis);
  study.used = UsedVariables(study);
  if (study.spec.curves) RequireWholeRows(study);
  study.task = TaskOf(study);
  RequireTriplesOfTwoHolders(study);
  RequireSmallForTransfers(study);
  const uint32_t known = study.spec.against == Against::kParties ? 1 : 0;
  const auto rows_per_person = static_cast<uint32_t>(study.file.population.max_rows_per_person);
  study.design = DesignNoise(
      {study.spec.epsilon, study.spec.delta, study.spec.adjacency, known, rows_per_person},
      study.task, static_cast<uint32_t>(study.num_computing));
  study.statement = StatementOf(study);
  study.releases = ReleasesOf(study);
  return study;
}

std::string MarginalsStudy::NoiseText() const {
  const auto text = [](double stddev) { return privacy::RoundedText(stddev, 4, false); };
  const stats::marginals::TableWeights weights = WeightsOf(task);
  if (task.scored) {
    const stats::marginals::Selection selection = SelectionOf(task);
    return fmt::format("{} (single columns) or {} (chosen pairs)",
                       text(design.noise_stddev() / selection.one_way),
                       text(design.noise_stddev() / selection.pair));
  }
  if (spec.targets.empty() || weights.empty()) return text(design.noise_stddev());
  const auto [least, most] = std::ranges::minmax(weights);
  return fmt::format("{} (tables with a target) or {} (others)", text(design.noise_stddev() / most),
                     text(design.noise_stddev() / least));
}

std::string MarginalsStudy::CountedText() const {
  if (spec.curves) {
    return fmt::format(
        "one table of who leaves in each of {} intervals of time, with the event or without{}",
        spec.curves->ends.size(),
        spec.curves->groups ? fmt::format(", by '{}'", spec.curves->groups->schema.name) : "");
  }
  const size_t columns = spec.columns.size();
  if (!spec.group && spec.describes) return fmt::format("{} one-way tables", columns);
  if (!spec.group) {
    const auto triples = spec.triples.size();
    std::string text = fmt::format("{} one-way and two-way tables of {} columns",
                                   task.set.tables.size() - triples, columns);
    if (triples == 0) return text;
    for (const stats::marginals::CountTable& table : task.set.Triples()) {
      text += fmt::format(
          "{} {}",
          &table == task.set.Triples().data()
              ? (triples == 1 ? " and the three-way table of" : " and the three-way tables of")
              : ";",
          stats::marginals::TableName(task.set, table));
    }
    return text;
  }
  return fmt::format("{} one-way tables and {} two-way tables with '{}'", columns, columns - 1,
                     task.set.attributes[*spec.group].name);
}

std::optional<double> MarginalsStudy::rows() const {
  if (spec.adjacency == privacy::Adjacency::kAddRemove) return std::nullopt;
  double rows = 0;
  for (const RowBlock& block : task.blocks) rows += static_cast<double>(block.rows);
  return rows;
}

double MarginalsStudy::ExpectedRows() const {
  return rows().value_or(static_cast<double>(spec.expected_rows));
}

std::unique_ptr<run::MethodRows> MarginalsStudy::PrepareRows(size_t party,
                                                             const data::Holding& holding,
                                                             run::OwnRows& counts) const {
  run::RequireAssumedRows(*this, holding);
  counts.observed = holding.table->num_rows;
  auto own = std::make_unique<MarginalsRows>();
  own->blocks.resize(task.blocks.size());
  std::vector<OwnBlock> set_aside;
  for (size_t b = 0; b < task.blocks.size(); ++b) {
    for (const BlockPart& part : task.blocks[b].parts) {
      if (part.party != party) continue;
      const data::BlockRows& block = holding.Block(partition.segments[b].block);
      stats::marginals::Codes codes;
      for (const uint32_t a : part.attributes) {
        codes.push_back(
            LevelsOfAttribute(spec, a, *holding.table, block.first_row, block.num_rows));
      }
      if (spec.utility.test_rows > 0) {
        set_aside.push_back(SetAside(spec.utility, task.blocks[b].name, part.attributes, codes));
        codes = set_aside.back().counted;
        counts.neutral += spec.utility.test_rows;
      }
      own->blocks[b].codes = std::move(codes);
    }
  }
  if (!set_aside.empty())
    own->own = std::make_shared<const std::vector<OwnBlock>>(std::move(set_aside));
  return own;
}

void MarginalsStudy::DeriveColumns(data::Table& table) const {
  if (!spec.curves) return;
  data::AddDesignColumns(table, file.dictionary, file.derived, std::span<const std::string>());
}

data::TableCheckOptions MarginalsStudy::TableChecks() const {
  data::TableCheckOptions options = Study::TableChecks();
  for (const data::ColumnSchema& column : file.dictionary.columns)
    options.counted_of.push_back(column.name);
  return options;
}

std::unique_ptr<run::MethodRows> MarginalsStudy::NoRows() const {
  auto own = std::make_unique<MarginalsRows>();
  own->blocks.resize(task.blocks.size());
  return own;
}

std::unique_ptr<run::MethodResult> MarginalsStudy::Run(mpc::Engine& engine,
                                                       const run::RunInput& input,
                                                       Progress& progress) const {
  auto result = std::make_unique<MarginalsRun>();
  const MarginalsRows none;
  const MarginalsRows& own =
      input.rows == nullptr ? none : *static_cast<const MarginalsRows*>(input.rows);
  std::vector<Int128> noise;
  if (engine.self()) noise = DrawNoiseShare(design, *input.random);
  progress.Phase("counts");
  engine.BeginPhase("counts");
  const mpc::Shared counts = CountOnShares(engine, task, own.blocks);
  engine.AgreeToOpen();
  progress.Phase("tables");
  engine.BeginPhase("tables");
  if (task.scored) {
    std::optional<uint64_t> public_rows;
    if (rows()) public_rows = static_cast<uint64_t>(*rows());
    if (auto opening = OpenByScores(engine, task, public_rows, counts, design, noise)) {
      result->cells = std::move(opening->cells);
      result->scores = std::move(opening->scores);
      result->chosen = std::move(opening->chosen);
    }
  } else {
    result->cells = OpenTables(engine, task, counts, design, noise);
  }
  result->own = own.own;
  return result;
}

crypto::Digest MarginalsRun::Common() const {
  ByteWriter writer;
  writer.String("partita marginals: opened tables");
  for (const double cell : cells.value_or(std::vector<double>())) writer.F64(cell);
  for (const double score : scores) writer.F64(score);
  return crypto::Sha256Of(writer.bytes());
}

OpenedTables OpenedBy(const MarginalsStudy& study, const MarginalsRun& run) {
  const Task& task = study.task;
  OpenedTables opened = {study.spec.columns,
                         study.spec.triples,
                         {*run.cells, study.design.noise_stddev(), study.rows(),
                          study.spec.impossible, WeightsOf(task)},
                         privacy::StatementJson(study.statement)};
  if (task.scored) {
    const stats::marginals::Selection selection = SelectionOf(task);
    opened.noisy.weights = WeightsOfChosen(task.set, selection, run.chosen);
    opened.scores = {run.scores, study.design.noise_stddev() / selection.score};
  }
  return opened;
}

std::vector<study::DocumentFile> MarginalsStudy::FirstFiles(const run::MethodResult& result) const {
  const auto& run = static_cast<const MarginalsRun&>(result);
  if (!run.cells) return {};
  return {{kTablesFile, TablesJson(OpenedBy(*this, run))}};
}

void MarginalsStudy::Conclude(size_t party, run::MethodResult& result, run::PartyOutcome& outcome,
                              Progress& progress) const {
  const auto& run = static_cast<const MarginalsRun&>(result);
  if (party >= num_computing || !run.cells) return;
  progress.Phase(spec.curves ? "curves" : spec.describes ? "table" : "synthetic data");
  crypto::SystemRandom random;
  if (spec.curves) {
    outcome.result = std::make_unique<report::DocumentResult>(NoisedCurvesDocument(*this, run));
    return;
  }
  if (spec.describes) {
    outcome.result = std::make_unique<report::EstimatesResult>(TableOneDocument(*this, run));
    return;
  }
  outcome.result =
      std::make_unique<report::DocumentResult>(MarginalsDocument(*this, party, run, random));
}

}  // namespace partita::methods::marginals
