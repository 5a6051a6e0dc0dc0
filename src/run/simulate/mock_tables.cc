#include "run/simulate/mock_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "data/csv_reader.h"
#include "match/key_list.h"
#include "run/matching/matched_rows.h"
#include "run/matching/matching_file.h"
#include "run/rehearse/rehearsal.h"
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

std::vector<std::string> HoldersOf(const Study& study, const std::string& block) {
  std::vector<std::string> names;
  for (const study::Party& party : study.parties) {
    if (party.holder && std::find(party.rows.begin(), party.rows.end(), block) != party.rows.end())
      names.push_back(party.name);
  }
  return names;
}

// Level hidden: every holder lacks the rows of another digit, as if they had no key there.
bool Lacks(const std::string& key, size_t holder) {
  return static_cast<size_t>(key.back() - '0') == holder;
}
bool AllHave(const std::string& key, size_t holders) {
  for (size_t holder = 0; holder < holders; ++holder) {
    if (Lacks(key, holder)) return false;
  }
  return true;
}

void HideMockRows(const Study& study, const study::RowBlock& block,
                  const std::vector<std::string>& keys, MatchedRows& matched) {
  const std::vector<std::string> holders = HoldersOf(study, block.name);
  const auto own = static_cast<size_t>(std::find(holders.begin(), holders.end(), matched.party) -
                                       holders.begin());
  uint64_t everywhere = 0;
  for (uint32_t& row : matched.rows) {
    everywhere += AllHave(keys[row], holders.size()) ? 1 : 0;
    if (Lacks(keys[row], own)) row = match::kNoRow;
  }
  matched.level = LevelOf(*block.match);
  matched.counts.clear();
  if (matched.level != match::Level::kHiddenNobody) matched.counts = {everywhere};
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
void WriteMockMatching(const Study& study, const study::RowBlock& block, size_t party,
                       const std::filesystem::path& table) {
  const study::RowMatch& match = *block.match;
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
  if (match.hidden) HideMockRows(study, block, keys, matched);
  matched.commitment = match::CommitToKeys(list, matched.salt);
  const std::filesystem::path result = MatchedRowsPath(table, match.matching);
  const Bytes content = EncodeMatchedRows(matched);
  WriteNewFile(result, {reinterpret_cast<const char*>(content.data()), content.size()}, 0600,
               "the made-up result of a matching");
}

// Of rows whose matches are hidden, those that all holders have: what the clear is computed on.
void KeepJoined(const Study& study, data::MockStudy& mock) {
  std::map<std::string, size_t> holders;  // by hidden block
  for (const study::RowBlock& block : study.file.blocks) {
    if (block.match && block.match->hidden)
      holders[block.name] = HoldersOf(study, block.name).size();
  }
  if (holders.empty()) return;
  std::vector<size_t> joined;
  for (size_t i = 0; i < mock.row_keys.size(); ++i) {
    const auto hidden = holders.find(mock.row_blocks[i]);
    if (hidden == holders.end() || AllHave(mock.row_keys[i], hidden->second)) joined.push_back(i);
  }
  mock.pooled = TakeRows(mock.pooled, joined);
  std::vector<std::string> blocks, keys;
  for (const size_t i : joined) {
    blocks.push_back(mock.row_blocks[i]);
    keys.push_back(mock.row_keys[i]);
  }
  mock.row_blocks = std::move(blocks);
  mock.row_keys = std::move(keys);
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
  data::MockStudy mock = data::MakeMockStudy(study.file.dictionary, partition, columns, options);
  KeepJoined(study, mock);
  return mock;
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
    if (matched != nullptr) WriteMockMatching(study, *matched, table.party, paths[table.party]);
  }
  return paths;
}

}  // namespace partita::run
