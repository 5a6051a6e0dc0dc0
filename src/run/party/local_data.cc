#include "run/party/local_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/clock.h"
#include "base/error.h"
#include "data/csv_reader.h"
#include "run/matching/matched_rows.h"
#include "run/matching/matching_file.h"
#include "run/party/pushed_sums.h"
#include "study/file/text.h"

namespace partita::run {

namespace {

// Of the party's matched block; null: it has none.
struct BlockMatch {
  const study::RowMatch* match = nullptr;
  std::vector<std::string> partners;  // who else holds the block, by name
};

BlockMatch MatchOf(const Study& study, size_t party) {
  for (const size_t block : study.partition.BlocksOf(party)) {
    for (const study::RowBlock& spec : study.file.blocks) {
      if (spec.name != study.partition.blocks[block].name || !spec.match) continue;
      BlockMatch found{&*spec.match, {}};
      for (const data::SegmentPart& part : study.partition.segments[block].parts) {
        if (part.party != party) found.partners.push_back(study.parties[part.party].name);
      }
      std::sort(found.partners.begin(), found.partners.end());
      return found;
    }
  }
  return {};
}

// The result of the matching that the study names, if it is of this party, its partners and table.
MatchedRows LoadMatched(const Study& study, const BlockMatch& of_block, size_t party,
                        const std::filesystem::path& table) {
  const study::RowMatch& match = *of_block.match;
  const std::filesystem::path file = MatchedRowsPath(table, match.matching);
  MatchedRows matched = LoadMatchedRows(file);
  const std::string& name = study.parties[party].name;
  if (matched.party != name) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} is of party {}, not of {}", file.string(), matched.party, name),
                "put the result of this party's own matching beside its table");
  }
  std::vector<std::string> partners = matched.partners;
  std::sort(partners.begin(), partners.end());
  if (partners != of_block.partners) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} is of a matching with {}, and this study's rows are shared with {}",
                            file.string(), study::Join(partners), study::Join(of_block.partners)),
                "put the result of the matching with these parties beside the table");
  }
  if (matched.linker != match.linker) {
    const auto by = [](const std::string& linker) {
      return linker.empty() ? std::string("without a linker") : "linked by " + linker;
    };
    throw Error(ErrorCode::kRefused,
                fmt::format("{} is of a matching {}, and the study says {}", file.string(),
                            by(matched.linker), by(match.linker)),
                "write the linker into [rows.match] as partita match run printed it: the plan says "
                "what it learnt");
  }
  const match::Level level = LevelOf(match);
  if (matched.level != level) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("{} is of a matching at another level, or with another count, than the "
                    "study says",
                    file.string()),
        "write level and count into [rows.match] as partita match run printed them: the plan "
        "says what they mean");
  }
  if (matched.record != match.record) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} is of another matching than the study names: its record begins {}, "
                            "the study's {}",
                            file.string(), ToHex(matched.record).substr(0, 16),
                            ToHex(match.record).substr(0, 16)),
                "write the record that all holders got into [rows.match], or bring back the result "
                "of that matching");
  }
  return matched;
}

// Where noise is sized for one row of a hidden join, one row of this list may change no more of it: with
// several passes, or keys that two rows have left out, it could.
void RequireOneRowEach(const MatchedRows& matched) {
  const MatchingFile file = ParseMatchingFile(matched.file_text, "the file of the matching");
  const match::KeySpec& keys = MatchingPartyByName(file, matched.party).keys;
  if (keys.passes.size() == 1 && keys.duplicates == match::Unusable::kRefuse) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("the matching '{}' has {}: one person could change several rows of the "
                          "join, and the noise of the study is sized for one",
                          matched.matching,
                          keys.passes.size() > 1 ? "several passes" : "duplicates = \"leave-out\""),
              "match the lists with one pass and duplicates = \"refuse\"");
}

static_assert(match::kNoRow == data::kAbsentRow);

// Which of the table's rows are among them.
std::vector<bool> RecordsOf(const std::vector<uint32_t>& rows, uint64_t table_rows) {
  std::vector<bool> records(table_rows, false);
  for (const uint32_t row : rows) {
    if (row != match::kNoRow) records[row] = true;
  }
  return records;
}

// Rows of a table as rows of the table that has no others.
std::vector<uint32_t> AmongThemselves(const std::vector<uint32_t>& rows, uint64_t table_rows) {
  std::vector<uint32_t> rank(table_rows, 0);
  for (const uint32_t row : rows) {
    if (row != match::kNoRow) rank[row] = 1;
  }
  std::exclusive_scan(rank.begin(), rank.end(), rank.begin(), uint32_t{0});
  std::vector<uint32_t> order;
  order.reserve(rows.size());
  for (const uint32_t row : rows)
    order.push_back(row == match::kNoRow ? data::kAbsentRow : rank[row]);
  return order;
}

// How the study has its tables read.
data::CsvOptions CsvOf(const Study& study) {
  data::CsvOptions csv;
  csv.separator = study.file.table.separator;
  csv.decimal = study.file.table.decimal;
  csv.repair = study.IsPrivate();
  return csv;
}

bool MayBeIncomplete(const Study& study) {
  return study.file.design.missing != study::MissingPolicy::kRefuse;
}

data::CheckRules RulesOf(const Study& study) {
  data::CheckRules rules;
  rules.allow_missing = MayBeIncomplete(study);
  // A holder of some of the rows may have a constant column where the whole does not.
  rules.allow_constant = study.partition.kind != data::PartitionKind::kVertical;
  if (study.IsPrivate()) rules.repaired = rules.allow_missing = rules.allow_constant = true;
  return rules;
}

void FillWhereAsked(const Study& study, data::Table& table) {
  if (!study.IsPrivate() || MayBeIncomplete(study)) return;
  const bool fill = study.file.design.faulty_rows == study::FaultyRowsRule::kFill;
  data::FillMissing(table, study.used, fill ? data::FaultyRows::kFill : data::FaultyRows::kNeutral);
}

data::RepairedCells CheckedCells(const Study& study, const data::CheckReport& report,
                                 const data::CheckRules& rules) {
  if (study.IsPrivate()) return data::CountRepaired(report, MayBeIncomplete(study));
  data::RequireClean(report, rules);
  return {};
}

// Whether no cell so far is one that RequireClean refuses.
bool CleanSoFar(const data::CheckReport& report, const data::CheckRules& rules) {
  return rules.repaired ||
         std::all_of(
             report.columns.begin(), report.columns.end(), [&](const data::ColumnCheck& column) {
               return column.out_of_bounds == 0 && (rules.allow_missing || column.missing == 0);
             });
}

void CountCells(const data::Table& table, const data::Schema& schema, OwnCells& cells) {
  std::vector<uint8_t> there(table.num_rows);
  for (size_t row = 0; row < table.num_rows; ++row) there[row] = table.Absent(row) ? 0 : 1;
  cells.rows += static_cast<uint64_t>(std::count(there.begin(), there.end(), 1));
  for (const data::ColumnSchema& of : schema.columns) {
    const data::Column& column = table.Get(of.name);
    const bool numbers = column.numbers.size() == table.num_rows;
    const bool codes = column.codes.size() == table.num_rows;
    for (size_t row = 0; row < table.num_rows; ++row) {
      const bool missing =
          (numbers && std::isnan(column.numbers[row])) || (codes && column.codes[row] < 0);
      cells.missing += missing && there[row] != 0 ? 1 : 0;
    }
  }
}

LocalData PassRows(const Study& study, size_t party, const std::filesystem::path& path,
                   const data::Schema& schema, const data::ByteObserver& observer) {
  const SteadyClock::time_point start = SteadyClock::now();
  const data::CheckRules rules = RulesOf(study);
  LocalData local;
  std::unique_ptr<RowsInPieces> pieces = study.PassRows(party, local.rows);
  const auto take = [&](data::Table piece, const data::CheckReport& so_far) {
    // All that is wrong is said at the end.
    if (!CleanSoFar(so_far, rules)) return;
    FillWhereAsked(study, piece);
    study.DeriveColumns(piece);
    CountCells(piece, schema, local.cells);
    pieces->Add(data::HoldingOfPiece(std::move(piece), study.partition, party, rules));
  };
  const data::CheckReport report =
      data::ReadCsvFileInPieces(path, schema, CsvOf(study), kRowsOfPiece, take, observer);
  local.repaired = CheckedCells(study, report, rules);
  data::RequireRowsOfWhole(report.num_rows, study.partition, party, rules);
  local.holding = {.party = party,
                   .table = std::make_shared<const data::Table>(),
                   .blocks = {{study.partition.BlocksOf(party).front(), 0, 0, false}},
                   .key_column = {}};
  local.row_order.resize(study.shared_blocks.size());
  local.method = pieces->Finish();
  local.seconds_read = SecondsSince(start);
  return local;
}

}  // namespace

LocalData LoadLocalData(const Study& study, size_t party, const std::filesystem::path& path,
                        const crypto::Key& salt, Progress& progress, Rows rows) {
  if (data::IsSumFile(path)) return LoadSums(study, party, path, salt);
  const SteadyClock::time_point start = SteadyClock::now();
  const data::Schema schema =
      data::SchemaForParty(study.file.dictionary, study.partition, party, study.row_columns);
  data::SnapshotHasher snapshot(salt);
  const data::ByteObserver observer = [&](ByteView bytes) {
    snapshot.Update(bytes);
    progress.CheckCancelled();
  };
  OwnRows counts;
  if (rows == Rows::kPass && data::HoldsOneBlockAlone(study.partition, party) &&
      study.PassRows(party, counts) != nullptr) {
    LocalData local = PassRows(study, party, path, schema, observer);
    local.snapshot = snapshot.Finish();
    return local;
  }
  data::CsvOptions csv = CsvOf(study);
  // Of rows that do not match nothing is used, so nothing is checked.
  const BlockMatch of_block = MatchOf(study, party);
  MatchedRows matched;
  std::vector<bool> records;
  if (of_block.match != nullptr) {
    matched = LoadMatched(study, of_block, party, path);
    if (study.IsPrivate() && matched.hidden()) RequireOneRowEach(matched);
    records = RecordsOf(matched.rows, matched.table_rows);
    csv.records = &records;
  }
  data::CsvContents contents = data::ReadCsvFile(path, schema, csv, observer);
  const data::CheckRules rules = RulesOf(study);
  LocalData local;
  local.repaired = CheckedCells(study, contents.report, rules);
  FillWhereAsked(study, contents.table);
  study.DeriveColumns(contents.table);

  local.snapshot = snapshot.Finish();
  std::vector<uint32_t> order;
  if (of_block.match != nullptr) {
    RequireSameKeys(matched, path, progress);
    const auto wanted = static_cast<size_t>(std::count(records.begin(), records.end(), true));
    if (wanted != contents.table.num_rows) {
      throw Error(ErrorCode::kBadData, path.string() + " changed while it was read", "start again");
    }
    if (wanted == 0)
      throw Error(ErrorCode::kBadData, path.string() + " has no row with a key",
                  "nothing of it takes part: look at partita match check");
    order = AmongThemselves(matched.rows, matched.table_rows);
    local.matched = std::move(matched.rows);
  }
  local.seconds_read = SecondsSince(start);
  local.holding = data::MakeHolding(std::move(contents.table), study.partition, party,
                                    study.row_columns, rules, order);
  CountCells(*local.holding.table, schema, local.cells);
  local.row_order = match::RowOrderDigests(study.partition, local.holding, matched.common);
  local.seconds_order = SecondsSince(start) - local.seconds_read;
  local.method = study.PrepareRows(party, local.holding, local.rows);
  local.rows.match_is_hidden = of_block.match != nullptr && matched.hidden();
  return local;
}

void RequireOwnersResult(const Study& study, size_t party, const std::filesystem::path& table) {
  if (!study.parties[party].holder) return;
  const BlockMatch of_block = MatchOf(study, party);
  if (of_block.match != nullptr)
    RequireOwnersResult(MatchedRowsPath(table, of_block.match->matching));
}

LocalData NoLocalData(const Study& study) {
  LocalData local;
  local.row_order.resize(study.shared_blocks.size());
  local.method = study.NoRows();
  return local;
}

}  // namespace partita::run
