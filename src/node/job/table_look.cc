#include "node/job/table_look.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/utc_time.h"
#include "data/source/open_table.h"
#include "node/job/own_dictionary.h"
#include "node/job/table.h"
#include "privacy/ledger/audit.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "run/ledger/open_ledger.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;
namespace ledger = privacy::ledger;
using LookJson = nlohmann::ordered_json;

constexpr size_t kMostHistory = 500;

std::string WordOfEnding(const fs::path& file) {
  const std::string ending = file.extension().string();
  if (ending == ".sav" || ending == ".zsav") return "SPSS file";
  if (ending == ".dta") return "Stata file";
  if (ending == ".sas7bdat" || ending == ".xpt") return "SAS file";
  if (ending == ".gz") return "compressed CSV file";
  return "CSV file";
}

// In words that name nothing of the machine.
std::string SourceWord(const fs::path& table) {
  if (table.extension() != ".toml") return WordOfEnding(table);
  try {
    const data::SourceFile source = data::ReadSourceFile(table);
    switch (source.kind) {
      case data::SourceKind::kSqlite:
        return "SQLite database";
      case data::SourceKind::kPostgres:
        return "PostgreSQL database";
      case data::SourceKind::kOdbc:
        return "database by ODBC";
      case data::SourceKind::kStatistics:
      case data::SourceKind::kCsv:
        return WordOfEnding(source.where);
    }
  } catch (const Error&) {
    // Its own words name the file.
  }
  return "source file that cannot be read";
}

bool IsPresent(const fs::path& table) {
  try {
    std::error_code error;
    return fs::exists(data::FileOfRows(table), error);
  } catch (const Error&) {
    return false;
  }
}

LookJson LineJson(const ledger::BudgetLine& line) {
  return {{"against", line.against}, {"neighbours", line.neighbours}, {"epsilon", line.epsilon},
          {"delta", line.delta},     {"spent", line.spent},           {"reserved", line.reserved},
          {"left", line.left},       {"share_left", line.share_left}};
}

LookJson EntryJson(const ledger::HistoryLine& line) {
  return {{"number", line.sequence}, {"time", FormatUtc(line.at)},   {"study", line.study},
          {"outside", line.outside}, {"insider", line.insider},      {"left", line.left},
          {"outcome", line.outcome}, {"mechanisms", line.mechanisms}};
}

LookJson BudgetJson(const JobSettings& settings, const JobTable& table) {
  ledger::SqliteLedger book = run::OpenLedger(settings.ledger);
  const std::string account = run::ChosenTable(book, {settings.ledger, table.account});
  const ledger::Standing standing = book.StandingOf(account);
  LookJson lines = LookJson::array(), history = LookJson::array();
  for (const ledger::BudgetLine& line : ledger::BudgetLines(standing))
    lines.push_back(LineJson(line));
  const std::vector<ledger::HistoryLine> all = ledger::HistoryLines(book.Entries(account));
  for (size_t i = all.size() - std::min(all.size(), kMostHistory); i < all.size(); ++i)
    history.push_back(EntryJson(all[i]));
  return {{"lines", lines},
          {"exact", ledger::ExactRuleText(standing)},
          {"notes", ledger::Qualifications(standing)},
          {"open", standing.reservations.size()},
          {"history", history}};
}

void AddBudget(const JobSettings& settings, const std::string& name, const JobTable& table,
               LookJson& json) {
  json["exact_served"] = WasServedExactly(settings.studies, name, table.data);
  json["problem"] = "";
  json["budget"] = nullptr;
  if (settings.ledger.empty()) return;
  try {
    json["budget"] = BudgetJson(settings, table);
  } catch (const Error& error) {
    json["problem"] = error.message();
  }
}

}  // namespace

std::string LookAtTables(const JobSettings& settings, TableLook look) {
  LookJson tables = LookJson::array();
  for (const auto& [name, table] : settings.catalogue) {
    LookJson& json = tables.emplace_back(LookJson{
        {"name", name}, {"source", SourceWord(table.data)}, {"present", IsPresent(table.data)}});
    if (look == TableLook::kBudgets) AddBudget(settings, name, table, json);
  }
  return LookJson{{"tables", tables}}.dump(-1, ' ', false, LookJson::error_handler_t::replace);
}

}  // namespace partita::node
