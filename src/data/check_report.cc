#include "data/check_report.h"

#include <fmt/format.h>

#include "base/date.h"
#include "base/error.h"
#include "data/utf8.h"

namespace partita::data {

namespace {

std::string Cells(uint64_t count) { return fmt::format("{} cell{}", count, count == 1 ? "" : "s"); }

std::string BoundsText(const ColumnCheck& column) {
  ColumnSchema schema;
  schema.type = column.type;
  schema.lower = column.lower;
  schema.upper = column.upper;
  return data::BoundsText(schema);
}

// Collects everything that is wrong, so that the owner repairs a table once.
struct Findings {
  std::string message;
  std::string hint;

  void Add(const std::string& finding, const std::string& remedy) {
    message += (message.empty() ? "" : "; ") + finding;
    if (hint.find(remedy) == std::string::npos) hint += (hint.empty() ? "" : "; ") + remedy;
  }
};

void AddFindings(const ColumnCheck& column, const CheckRules& rules, Findings& findings) {
  if (column.missing > 0 && !rules.allow_missing) {
    findings.Add(fmt::format("column '{}' has {} without a value (first at line {}, character {})",
                             column.name, Cells(column.missing), column.first_missing.line,
                             column.first_missing.character),
                 "missing values are refused by this study: leave out the rows, or agree on "
                 "missing = \"complete\" in its [design]");
  }
  if (column.out_of_bounds > 0) {
    // Where, not what: a node keeps it, and shows it to people who may not see cells.
    findings.Add(fmt::format("column '{}' has {} outside its bounds {} (first at line {}, "
                             "character {})",
                             column.name, Cells(column.out_of_bounds), BoundsText(column),
                             column.first_out_of_bounds.line, column.first_out_of_bounds.character),
                 "correct the cells, or agree on wider bounds in the study file");
  }
  const bool date = column.type == ColumnType::kDate;
  const bool is_number =
      column.type == ColumnType::kNumeric || column.type == ColumnType::kInteger || date;
  if (column.constant && is_number && !rules.allow_constant) {
    findings.Add(fmt::format("column '{}' is constant: every cell is {}", column.name,
                             date ? FormatDate(column.minimum) : fmt::format("{}", column.minimum)),
                 "a constant column has no variance: leave it out of the study");
  }
}

}  // namespace

void RequireClean(const CheckReport& report, const CheckRules& rules) {
  if (report.num_rows == 0) {
    throw Error(ErrorCode::kBadData, fmt::format("{}: the table has no rows", report.source));
  }
  Findings findings;
  for (const ColumnCheck& column : report.columns) AddFindings(column, rules, findings);
  if (findings.message.empty()) return;
  throw Error(ErrorCode::kBadData, fmt::format("{}: {}", report.source, findings.message),
              findings.hint);
}

}  // namespace partita::data
