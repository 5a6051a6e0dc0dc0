#include "data/table_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/date.h"
#include "data/csv_tokenizer.h"
#include "data/missing_codes.h"
#include "data/number_text.h"
#include "data/suggest.h"
#include "data/utf8.h"

namespace partita::data {

namespace {

std::string Count(uint64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// Where a kind of problem was met.
struct Sightings {
  uint64_t count = 0;
  std::vector<uint64_t> lines;
  std::string first_text;

  void Add(uint64_t line, std::string_view text) {
    if (count++ == 0) first_text = Printable(text);
    if (lines.size() < kMaxProblemLines && (lines.empty() || lines.back() != line))
      lines.push_back(line);
  }
};

bool IsFactor(const ColumnSchema& schema) {
  return schema.type == ColumnType::kFactor || schema.type == ColumnType::kOrdered;
}

// The two columns of a survival variable as columns of their own.
void AppendColumns(const ColumnSchema& schema, std::vector<ColumnSchema>& columns) {
  if (schema.type != ColumnType::kSurvival) {
    columns.push_back(schema);
    return;
  }
  ColumnSchema time = schema, event = schema;
  time.name = schema.time_column;
  time.type = ColumnType::kNumeric;
  event.name = schema.event_column;
  event.type = ColumnType::kInteger;
  event.lower = 0;
  event.upper = 1;
  columns.push_back(std::move(time));
  columns.push_back(std::move(event));
}

// The cells of one column.
class ColumnChecker {
 public:
  ColumnChecker(ColumnSchema schema, char decimal)
      : missing_codes_(schema, decimal), decimal_(decimal) {
    facts_.schema = std::move(schema);
    facts_.level_counts.resize(facts_.schema.levels.size());
    for (size_t i = 0; i < facts_.schema.levels.size(); ++i)
      level_index_[facts_.schema.levels[i]] = i;
  }

  const ColumnSchema& schema() const { return facts_.schema; }
  ColumnFacts& facts() { return facts_; }

  void Add(std::string_view text, uint64_t line) {
    ++facts_.cells;
    if (!IsUtf8(text)) return not_utf8_.Add(line, text);
    if (facts_.schema.type == ColumnType::kKey) return AddKey(text, line);
    if (missing_codes_.Has(text)) {
      ++facts_.missing;
      return missing_.Add(line, text);
    }
    if (IsFactor(facts_.schema)) return AddLevel(text, line);
    if (facts_.schema.type == ColumnType::kDate) return AddDay(text, line);
    AddNumber(text, line);
  }

  void Report(const TableCheckOptions& options, bool allow_constant,
              std::vector<TableProblem>& problems) const;

 private:
  void AddKey(std::string_view text, uint64_t line) {
    if (text.empty()) {
      ++facts_.missing;
      return missing_.Add(line, text);
    }
    const bool outer =
        text.front() == ' ' || text.front() == '\t' || text.back() == ' ' || text.back() == '\t';
    if (outer) outer_space_.Add(line, text);
    const bool digits =
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (digits) ++facts_.digit_keys;
    const size_t length = CountCodePoints(text);
    facts_.shortest_key = facts_.longest_key == 0 ? length : std::min(facts_.shortest_key, length);
    facts_.longest_key = std::max(facts_.longest_key, length);
  }

  void AddStrange(std::string_view text, uint64_t line) {
    ++facts_.unreadable;
    unreadable_.Add(line, text);
    const std::string shown = Printable(text);
    const auto known = facts_.strange.find(shown);
    if (known != facts_.strange.end()) {
      ++known->second;
    } else if (facts_.strange.size() < kMaxStrangeTexts) {
      facts_.strange[shown] = 1;
    }
  }

  void AddLevel(std::string_view text, uint64_t line) {
    const auto found = level_index_.find(text);
    if (found != level_index_.end()) {
      ++facts_.level_counts[found->second];
      return;
    }
    const std::optional<double> number = ParseNumber(text, decimal_);
    if (number && std::trunc(*number) == *number) ++facts_.strange_numbers;
    AddStrange(text, line);
  }

  void AddDay(std::string_view text, uint64_t line) {
    const std::optional<double> day = ParseDate(text);
    if (!day) return AddStrange(text, line);
    CheckBounds(*day, text, line);
  }

  void AddNumber(std::string_view text, uint64_t line) {
    const std::optional<double> number = ParseNumber(text, decimal_);
    if (!number) {
      if (ParseNumber(text, decimal_ == '.' ? ',' : '.')) ++facts_.other_decimal;
      return AddStrange(text, line);
    }
    const bool whole = std::trunc(*number) == *number;
    ++(whole ? facts_.whole : facts_.fractional);
    if (!whole && facts_.schema.type == ColumnType::kInteger) {
      ++facts_.not_whole;
      not_whole_.Add(line, text);
    }
    if (*number != 0) {
      const int half = static_cast<int>(std::floor(2 * std::log10(std::fabs(*number))));
      ++facts_.half_decades[static_cast<size_t>(std::clamp(half, kMinHalfDecade, kMaxHalfDecade) -
                                                kMinHalfDecade)];
    }
    CheckBounds(*number, text, line);
  }

  void CheckBounds(double value, std::string_view text, uint64_t line) {
    if (value < facts_.schema.lower) {
      ++facts_.below;
      out_of_bounds_.Add(line, text);
    } else if (value > facts_.schema.upper) {
      ++facts_.above;
      out_of_bounds_.Add(line, text);
    }
    // Whether a unit that is ten, a hundred or a thousand times smaller would explain it.
    for (size_t k = 0; k < shifted_inside_.size(); ++k) {
      const double shifted = value / kFactors[k];
      if (shifted >= facts_.schema.lower && shifted <= facts_.schema.upper) ++shifted_inside_[k];
    }
    Observe(value);
  }

  void Observe(double value) {
    if (!any_) first_ = value;
    varies_ = varies_ || (any_ && value != first_);
    any_ = true;
  }

  std::string UnitSuspicion() const;
  void ReportStrange(std::vector<TableProblem>& problems) const;

  static constexpr std::array<double, 6> kFactors = {10, 100, 1000, 0.1, 0.01, 0.001};

  ColumnFacts facts_;
  std::map<std::string, size_t, std::less<>> level_index_;
  MissingRule missing_codes_;
  char decimal_;
  Sightings missing_, not_utf8_, outer_space_, unreadable_, not_whole_, out_of_bounds_;
  std::array<uint64_t, kFactors.size()> shifted_inside_{};
  double first_ = 0;
  bool any_ = false, varies_ = false;
};

TableProblem Problem(Severity severity, const std::string& column, std::string what,
                     std::string fix, const Sightings& where) {
  return {severity, column, std::move(what), std::move(fix), where.count, where.lines};
}

// If three quarters of the cells, and not just two, lie outside of the bounds and a power of ten
// would bring nearly all inside.
std::string ColumnChecker::UnitSuspicion() const {
  const uint64_t numbers = facts_.whole + facts_.fractional, outside = facts_.below + facts_.above;
  if (outside < 3 || 4 * outside < 3 * numbers) return "";
  for (size_t k = 0; k < shifted_inside_.size(); ++k) {
    if (10 * shifted_inside_[k] < 9 * numbers) continue;
    const std::string scaled = kFactors[k] > 1 ? fmt::format("divided by {:g}", kFactors[k])
                                               : fmt::format("times {:g}", 1 / kFactors[k]);
    return fmt::format("; {} nearly all would fit: is the unit {}?", scaled,
                       facts_.schema.unit.empty() ? "right" : "really " + facts_.schema.unit);
  }
  return "";
}

std::string LevelList(const std::vector<std::string>& levels) {
  constexpr size_t kShown = 10;
  std::string list;
  for (size_t i = 0; i < std::min(kShown, levels.size()); ++i)
    list += fmt::format("{}'{}'", i == 0 ? "" : ", ", levels[i]);
  return levels.size() > kShown ? list + ", ..." : list;
}

void ColumnChecker::ReportStrange(std::vector<TableProblem>& problems) const {
  std::string what, fix;
  if (IsFactor(facts_.schema)) {
    std::string texts;
    for (const auto& [text, count] : facts_.strange)
      texts += fmt::format("{}'{}' ({})", texts.empty() ? "" : ", ", text, count);
    what = fmt::format("{} not among the levels: {}", Count(facts_.unreadable, "cell"), texts);
    fix = "write the levels of the dictionary: " + LevelList(facts_.schema.levels) +
          "; or, where these can occur, have them listed in the study file (levels)";
  } else if (facts_.schema.type == ColumnType::kDate) {
    what = fmt::format("{} not dates, the first is '{}'", Count(facts_.unreadable, "cell"),
                       unreadable_.first_text);
    fix = "write dates as YYYY-MM-DD";
  } else {
    what = fmt::format("{} not numbers, the first is '{}'", Count(facts_.unreadable, "cell"),
                       unreadable_.first_text);
    fix = facts_.other_decimal > 0
              ? fmt::format(
                    "the study reads '{}' as the decimal mark and {} of these use the "
                    "other one: export the table again",
                    decimal_, facts_.other_decimal)
              : "correct the cells, or add their text to the missing_codes of the variable";
  }
  problems.push_back(Problem(Severity::kProblem, facts_.schema.name, what, fix, unreadable_));
}

void ColumnChecker::Report(const TableCheckOptions& options, bool allow_constant,
                           std::vector<TableProblem>& problems) const {
  const ColumnSchema& schema = facts_.schema;
  const auto add = [&](Severity severity, std::string what, std::string fix,
                       const Sightings& where) {
    if (where.count > 0)
      problems.push_back(Problem(severity, schema.name, std::move(what), std::move(fix), where));
  };
  const bool key = schema.type == ColumnType::kKey;
  add(Severity::kProblem, Count(not_utf8_.count, "cell") + " not valid UTF-8",
      "export the table as UTF-8 (not Latin-1 or Windows-1252)", not_utf8_);
  add(Severity::kProblem,
      Count(outer_space_.count, "key") + " with a space at the beginning or end",
      "remove the spaces: keys must be written alike by all holders", outer_space_);
  if (unreadable_.count > 0) ReportStrange(problems);
  add(Severity::kProblem,
      fmt::format("{} not whole, the first is '{}'", Count(not_whole_.count, "number"),
                  not_whole_.first_text),
      "correct the cells, or make the variable numeric in the study file", not_whole_);
  add(Severity::kProblem,
      fmt::format("{} out of bounds, the first is '{}'{}", Count(out_of_bounds_.count, "cell"),
                  out_of_bounds_.first_text, UnitSuspicion()),
      "correct the cells; if the bounds of the dictionary are wrong, all parties must agree on "
      "others",
      out_of_bounds_);
  const bool modelled =
      std::count(options.patterns_of.begin(), options.patterns_of.end(), schema.name) > 0;
  const bool counted =
      std::count(options.counted_of.begin(), options.counted_of.end(), schema.name) > 0;
  if (facts_.cells > 0 && facts_.missing == facts_.cells && !modelled) {
    add(Severity::kProblem, "the column is empty",
        "fill it, or leave the variable out of the study", missing_);
  } else {
    const bool tolerated = options.allow_missing && !key;
    add(tolerated ? Severity::kNote : Severity::kProblem, Count(missing_.count, "missing cell"),
        key                     ? "give every row its key, or leave out the row"
        : tolerated && modelled ? "their rows count with what they have"
        : tolerated && counted  ? "they are counted as missing, and their rows stay"
        : tolerated
            ? "their rows will be left out"
            : "the study refuses missing cells: complete them, or leave out the rows if the "
              "protocol of your study allows it",
        missing_);
  }
  if (any_ && !varies_ && facts_.cells >= 2) {
    problems.push_back({allow_constant ? Severity::kNote : Severity::kProblem,
                        schema.name,
                        "all cells are equal",
                        allow_constant ? "fine if it varies over all parties together"
                                       : "leave the variable out of the study",
                        facts_.present(),
                        {}});
  }
}

// Reads the records, and what concerns rows as a whole: their length, keys and blocks.
class TableChecker {
 public:
  TableChecker(const Schema& dictionary, const Partition& partition, size_t party,
               const RowColumns& row_columns, const TableCheckOptions& options)
      : partition_(partition), party_(party), row_columns_(row_columns), options_(options) {
    std::vector<ColumnSchema> columns;
    for (const ColumnSchema& column :
         SchemaForParty(dictionary, partition, party, row_columns).columns)
      AppendColumns(column, columns);
    for (ColumnSchema& column : columns)
      columns_.emplace_back(std::move(column), options.csv.decimal);
    const std::vector<size_t> held = partition.BlocksOf(party);
    for (size_t b : held) block_rows_[partition.blocks[b].name];
    if (held.size() == 1) only_block_ = partition.blocks[held[0]].name;
  }

  TableCheck Run(const ByteSource& source, std::string source_name) {
    check_.source = source_name;
    try {
      const ByteObserver nobody;
      CsvTokenizer tokenizer(source, std::move(source_name), options_.csv, nobody);
      if (ReadHeader(tokenizer)) {
        while (tokenizer.Next()) AddRecord(tokenizer);
      }
    } catch (const Error& error) {
      // The bytes are no table from here on.
      if (error.code() != ErrorCode::kBadData) throw;
      problems_.push_back({Severity::kProblem, "", error.message(), error.hint(), 1, {}});
    }
    Report();
    return std::move(check_);
  }

 private:
  bool ReadHeader(CsvTokenizer& tokenizer);
  void AddRecord(CsvTokenizer& tokenizer);
  void AddRow(const std::string& key, const std::string& block, uint64_t line);
  void Report();
  void ReportRows();
  void ReportPatterns();

  const Partition& partition_;
  const size_t party_;
  const RowColumns& row_columns_;
  const TableCheckOptions& options_;
  std::vector<ColumnChecker> columns_;
  std::vector<std::optional<size_t>> fields_;  // by column
  size_t header_size_ = 0;
  std::map<std::string, uint64_t> block_rows_;           // of the blocks that the party holds
  std::string only_block_;                               // if it is one
  bool blocks_readable_ = true;                          // the block column is there, or not needed
  std::unordered_map<std::string, uint64_t> key_lines_;  // by block and key
  std::map<std::vector<std::string>, uint64_t> patterns_;  // rows by what is missing
  Sightings ragged_, repeated_, strange_block_;
  std::vector<TableProblem> problems_;
  TableCheck check_;
  std::string scratch_;
};

bool TableChecker::ReadHeader(CsvTokenizer& tokenizer) {
  if (!tokenizer.Next()) {
    problems_.push_back({Severity::kProblem,
                         "",
                         "the file is empty",
                         "its first line must name the columns",
                         1,
                         {}});
    return false;
  }
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const CsvField& field : tokenizer.fields()) {
    names.emplace_back(CsvTokenizer::Text(field, scratch_));
    if (!IsUtf8(names.back())) {
      problems_.push_back({Severity::kProblem,
                           Printable(names.back()),
                           "the column name is not valid UTF-8",
                           "export the table as UTF-8 (not Latin-1 or Windows-1252)",
                           1,
                           {1}});
    }
    if (!names.back().empty() && !seen.insert(names.back()).second) {
      problems_.push_back({Severity::kProblem,
                           Printable(names.back()),
                           "two columns have this name",
                           "rename one of them",
                           1,
                           {1}});
    }
  }
  header_size_ = names.size();
  const std::string misread = SeparatorHint(names, options_.csv.separator);
  for (ColumnChecker& column : columns_) {
    const auto found = std::find(names.begin(), names.end(), column.schema().name);
    fields_.push_back(found == names.end() ? std::nullopt
                                           : std::optional<size_t>(found - names.begin()));
    column.facts().in_file = found != names.end();
    if (found == names.end() && column.schema().name == row_columns_.block && only_block_.empty())
      blocks_readable_ = false;
    if (found != names.end()) continue;
    std::vector<std::string> printable;
    for (const std::string& name : names) printable.push_back(Printable(name));
    problems_.push_back(
        {Severity::kProblem,
         column.schema().name,
         "the header has no such column",
         !misread.empty() ? misread : SuggestionHint(column.schema().name, printable),
         1,
         {1}});
  }
  return true;
}

void TableChecker::AddRecord(CsvTokenizer& tokenizer) {
  const auto fields = tokenizer.fields();
  const uint64_t line = tokenizer.line();
  if (fields.size() != header_size_) return ragged_.Add(line, "");
  ++check_.num_rows;
  std::string key, block;
  std::vector<std::string> pattern;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (!fields_[c]) continue;
    const std::string_view text = CsvTokenizer::Text(fields[*fields_[c]], scratch_);
    const uint64_t missing = columns_[c].facts().missing;
    columns_[c].Add(text, line);
    const auto& counted = options_.patterns_of;
    const std::string& name = columns_[c].schema().name;
    if (columns_[c].facts().missing > missing &&
        std::find(counted.begin(), counted.end(), name) != counted.end())
      pattern.push_back(name);
    if (columns_[c].schema().type == ColumnType::kKey) key = text;
    if (columns_[c].schema().name == row_columns_.block) block = text;
  }
  if (!options_.patterns_of.empty()) ++patterns_[pattern];
  AddRow(key, only_block_.empty() ? block : only_block_, line);
}

void TableChecker::AddRow(const std::string& key, const std::string& block, uint64_t line) {
  const auto rows = block_rows_.find(block);
  if (!blocks_readable_) {
    // Reported once, as a column that is not there.
  } else if (rows == block_rows_.end()) {
    strange_block_.Add(line, block);
  } else {
    ++rows->second;
  }
  if (key.empty()) return;
  if (!key_lines_.emplace(block + '\n' + key, line).second) repeated_.Add(line, key);
}

void TableChecker::ReportRows() {
  const auto add = [&](const std::string& column, std::string what, std::string fix,
                       const Sightings& where) {
    if (where.count > 0)
      problems_.push_back(
          Problem(Severity::kProblem, column, std::move(what), std::move(fix), where));
  };
  add("", Count(ragged_.count, "record") + " with more or fewer fields than the header",
      "put fields that contain the separator in quotes", ragged_);
  add(row_columns_.key,
      fmt::format("{} repeated, the first is '{}'", Count(repeated_.count, "key"),
                  repeated_.first_text),
      "every row of a shared block has its own key: remove or correct the repeated rows",
      repeated_);
  add(row_columns_.block,
      fmt::format("{} of a block that this party does not hold, the first is '{}'",
                  Count(strange_block_.count, "row"), strange_block_.first_text),
      "remove these rows, or correct the name of their block", strange_block_);
  if (check_.num_rows == 0) {
    problems_.push_back({Severity::kProblem, "", "the table has no rows", "", 0, {}});
    return;
  }
  if (!blocks_readable_) return;
  for (size_t b : partition_.BlocksOf(party_)) {
    const RowBlock& block = partition_.blocks[b];
    const uint64_t rows = block_rows_[block.name];
    if (rows == 0) {
      problems_.push_back({Severity::kProblem,
                           row_columns_.block,
                           fmt::format("no row of the block '{}'", block.name),
                           "add its rows, or let the study file not list the block for this party",
                           0,
                           {}});
    } else if (block.hidden || !block.count) {
      // Of hidden rows `count` are positions: a list has other rows.
    } else if (block.matched && rows < *block.count) {
      problems_.push_back({Severity::kProblem,
                           row_columns_.block,
                           fmt::format("{} of the block '{}', of which {} matched",
                                       Count(rows, "row"), block.name, *block.count),
                           "use the list that was matched: all rows that match are in it",
                           rows,
                           {}});
    } else if (!block.matched && *block.count != rows) {
      problems_.push_back({Severity::kProblem,
                           row_columns_.block,
                           fmt::format("{} of the block '{}', but the study declares {}",
                                       Count(rows, "row"), block.name, *block.count),
                           "correct the rows, or agree on the right count for the study file",
                           rows,
                           {}});
    }
  }
}

void TableChecker::ReportPatterns() {
  if (options_.patterns_of.empty() || check_.num_rows == 0) return;
  std::string list;
  for (const auto& [pattern, rows] : patterns_) {
    std::string names;
    for (const std::string& name : pattern) names += (names.empty() ? "\"" : ", \"") + name + "\"";
    list += fmt::format("{}[{}] {}", list.empty() ? "" : "; ", names, rows);
  }
  problems_.push_back({Severity::kNote,
                       "",
                       "rows by pattern of missing values: " + list,
                       "tell the author of the study those of `patterns` in [design] that you "
                       "want listed; the list is public, the counts are not",
                       check_.num_rows,
                       {}});
}

void TableChecker::Report() {
  if (header_size_ > 0) ReportRows();
  ReportPatterns();
  // As RequireClean: a holder of some of the rows may have a constant column where the whole does
  // not, and a factor may have one level.
  const bool allow_constant = partition_.kind != PartitionKind::kVertical;
  for (ColumnChecker& column : columns_) {
    if (column.facts().in_file) column.Report(options_, allow_constant, problems_);
    check_.columns.push_back(std::move(column.facts()));
  }
  std::stable_sort(
      problems_.begin(), problems_.end(),
      [](const TableProblem& a, const TableProblem& b) { return a.severity > b.severity; });
  check_.problems = std::move(problems_);
}

}  // namespace

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kProblem:
      return "problem";
  }
  throw Error(ErrorCode::kInternal, "unknown severity");
}

bool TableCheck::usable() const {
  return std::none_of(problems.begin(), problems.end(), [](const TableProblem& problem) {
    return problem.severity == Severity::kProblem;
  });
}

TableCheck CheckTable(const ByteSource& source, std::string source_name, const Schema& dictionary,
                      const Partition& partition, size_t party, const RowColumns& row_columns,
                      const TableCheckOptions& options) {
  return TableChecker(dictionary, partition, party, row_columns, options)
      .Run(source, std::move(source_name));
}

}  // namespace partita::data
