// Tables from anywhere through what a steward does with them: draft a dictionary, list every
// problem, make a summary. Texts are valid UTF-8, and a table that the check finds usable is one
// that the study's reader takes.
#include <cstdlib>

#include "data/describe.h"
#include "data/harmonise.h"
#include "data/table_check.h"
#include "data/utf8.h"

namespace {

using namespace partita::data;

ColumnSchema Column(const char* name, ColumnType type) {
  ColumnSchema column;
  column.name = name;
  column.type = type;
  column.lower = -10;
  column.upper = 10;
  return column;
}

Schema MakeSchema() {
  Schema schema;
  schema.columns = {Column("x", ColumnType::kNumeric), Column("i", ColumnType::kInteger),
                    Column("f", ColumnType::kFactor)};
  schema.columns[1].missing_codes = {"-9"};
  schema.columns[2].lower = schema.columns[2].upper = 0;
  schema.columns[2].levels = {"a", "b"};
  return schema;
}

void Require(bool promise) {
  if (!promise) std::abort();
}

void CheckDraft(const std::string& text) {
  try {
    const TableProfile profile = ProfileTable(FromText(text), "fuzz.csv", {});
    Require(IsUtf8(DraftDictionary(profile)));
    for (const ColumnProfile& column : profile.columns) {
      Require(column.cells == column.empty + column.missing_words + column.numbers() +
                                  column.iso_dates + column.other_dates + column.texts);
    }
  } catch (const partita::Error& error) {
    Require(IsUtf8(error.message()));
  }
}

// Whether the study's own reader takes the table, at the first party of `partition`.
bool Readable(const std::string& text, const Schema& schema, const Partition& partition,
              const RowColumns& row_columns) {
  try {
    CsvContents contents =
        ReadCsv(FromText(text), "fuzz.csv", SchemaForParty(schema, partition, 0, row_columns), {});
    CheckRules rules;
    rules.allow_constant = true;
    RequireClean(contents.report, rules);
    MakeHolding(std::move(contents.table), partition, 0, row_columns);
    return true;
  } catch (const partita::Error&) {
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Schema schema = MakeSchema();
  static const RowColumns row_columns{"id", ""};
  // Rows of "r" have a key, since a second party holds "i" of them.
  static const Partition partition = MakePartition(
      {"x", "i", "f"}, {{"r", 3}, {"s", {}}},
      {{"a", 0, {"x", "f"}, {"r"}}, {"b", 1, {"i"}, {"r"}}, {"c", 2, {"x", "i", "f"}, {"s"}}});
  const std::string text(reinterpret_cast<const char*>(data), size);
  CheckDraft(text);
  const TableCheck check =
      CheckTable(FromText(text), "fuzz.csv", schema, partition, 0, row_columns, {});
  for (const TableProblem& problem : check.problems)
    Require(IsUtf8(problem.what) && IsUtf8(problem.fix) && IsUtf8(problem.column));
  Require(check.usable() == Readable(text, schema, partition, row_columns));
  const ShareSummary summary = Summarise(check, schema, "fuzz", "a", 2);
  const std::string json = ShareJson(summary);
  Require(ShareJson(ParseShare(json, "fuzz.json")) == json);
  return 0;
}
