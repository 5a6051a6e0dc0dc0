#include "run/simulate/mock_tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "data/csv_reader.h"
#include "match/key_list.h"
#include "run/matching/matched_rows.h"
#include "run/matching/matching_file.h"
#include "study/file/toml_text.h"

namespace partita::run {
namespace {

// Rows of a mock table that only this holder has.
constexpr size_t kUnmatchedRows = 5;
constexpr char kMatchedKeys[] = "mock";  // what MakeMockStudy begins keys with

const study::RowBlock* MatchedBlock(const Study& study, size_t party) {
  for (const study::RowBlock& block : study.file.blocks) {
    const std::vector<std::string>& rows = study.parties[party].rows;
    if (block.match && std::find(rows.begin(), rows.end(), block.name) != rows.end()) return &block;
  }
  return nullptr;
}

const std::string& MockKeyColumn(const Study& study) {
  static const std::string mock = kMockKey;
  return study.row_columns.key.empty() ? mock : study.row_columns.key;
}

// The first rows once more, with keys of this holder's own: so they are no copies of persons.
std::string WithUnmatchedRows(const Study& study, const data::MockTable& table) {
  std::string csv = table.csv;
  size_t line = csv.find('\n') + 1;
  for (size_t i = 0; i < kUnmatchedRows; ++i) {
    const size_t end = table.csv.find('\n', line);
    if (end == std::string::npos) break;
    std::string copy = table.csv.substr(line, end - line);
    const size_t key = copy.rfind(kMatchedKeys);
    if (key == std::string::npos) break;
    copy.replace(key, std::string(kMatchedKeys).size(), study.parties[table.party].name + "-");
    csv.insert(csv.find('\n') + 1, copy + "\n");
    line = end + 1;
  }
  return csv;
}

// What `partita match run` would have left.
void WriteMockMatching(const Study& study, const study::RowMatch& match, size_t party,
                       const std::filesystem::path& table) {
  MatchedRows matched;
  matched.matching = match.matching;
  matched.party = study.parties[party].name;
  matched.unicode = match::UnicodeVersion();
  matched.record = match.record;
  matched.linker = match.linker;
  matched.common = crypto::Sha256().Field("partita mock matching").Field(match.record).Finish();
  matched.separator = study.file.table.separator;
  matched.file_text = fmt::format(
      "matching = 1\nname = \"{}\"\nkeys = [[\"key\"]]\n[[column]]\nname = \"key\"\n"
      "rule = \"exact\"\n",
      match.matching);
  for (const study::Party& holder : study.parties) {
    const bool shares = holder.rows == study.parties[party].rows;
    if (!holder.holder || !shares) continue;
    if (holder.name != matched.party) matched.partners.push_back(holder.name);
    matched.file_text += fmt::format(
        "[[party]]\nname = \"{}\"\nrows = {}\n[[party.column]]\nname = \"key\"\nheader = {}\n",
        holder.name, kMostMatchedRows, study::TomlText(MockKeyColumn(study)));
  }
  if (!match.linker.empty()) {
    matched.file_text += fmt::format("[[party]]\nname = \"{}\"\nrole = \"linker\"\n", match.linker);
  }
  const MatchingFile file = ParseMatchingFile(matched.file_text, "the made-up matching");
  const MatchingParty& own = MatchingPartyByName(file, matched.party);
  data::CsvOptions options;
  options.separator = matched.separator;
  const match::KeyCells cells =
      match::ReadKeyColumns(data::OpenFile(table), table.string(), own.headers, options);
  const match::KeyList list = match::MakeKeyList(own.keys, cells);
  const std::vector<std::string>& keys = cells.columns[0];
  for (uint32_t row = 0; row < keys.size(); ++row) {
    if (keys[row].starts_with(kMatchedKeys)) matched.rows.push_back(row);
  }
  std::sort(matched.rows.begin(), matched.rows.end(),
            [&](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
  matched.table_rows = list.report.rows;
  matched.counts = {matched.rows.size()};
  matched.commitment = match::CommitToKeys(list, matched.salt);
  const std::filesystem::path result = MatchedRowsPath(table, match.matching);
  const Bytes content = EncodeMatchedRows(matched);
  WriteNewFile(result, {reinterpret_cast<const char*>(content.data()), content.size()}, 0600,
               "the made-up result of a matching");
}

}  // namespace

data::MockStudy MakeMockTables(const Study& study, uint64_t rows_per_block, uint64_t seed) {
  data::MockOptions options;
  options.rows_per_block = rows_per_block;
  options.seed = seed;
  options.patterns = study.file.design.patterns;
  if (study.file.design.missing == study::MissingPolicy::kComplete)
    options.missing_rate = kMockMissingRate;
  options.clusters = study.MockClusters();
  options.separator = study.file.table.separator;
  options.decimal = study.file.table.decimal;
  data::Partition partition = study.partition;
  data::RowColumns columns = study.row_columns;
  for (data::RowBlock& block : partition.blocks) {
    if (block.matched && columns.key.empty()) columns.key = kMockKey;
    block.matched = false;
  }
  return data::MakeMockStudy(study.file.dictionary, partition, columns, options);
}

std::vector<std::filesystem::path> WriteMockTables(const Study& study, const data::MockStudy& mock,
                                                   const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths(study.parties.size());
  for (const data::MockTable& table : mock.tables) {
    const std::filesystem::path home = folder / study.parties[table.party].name;
    std::filesystem::create_directories(home);
    paths[table.party] = home / "data.csv";
    const study::RowBlock* matched = MatchedBlock(study, table.party);
    WriteNewFile(paths[table.party],
                 matched == nullptr ? table.csv : WithUnmatchedRows(study, table), 0644,
                 "the table");
    if (matched != nullptr)
      WriteMockMatching(study, *matched->match, table.party, paths[table.party]);
  }
  return paths;
}

}  // namespace partita::run
