#include "run/ledger/open_ledger.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"

namespace partita::run {

privacy::ledger::SqliteLedger OpenLedger(const std::filesystem::path& file,
                                         const std::string& vfs) {
  if (vfs.empty() && !std::filesystem::exists(file)) {
    throw Error(ErrorCode::kUsage, fmt::format("there is no ledger {}", file.string()),
                "make one with partita ledger open FILE --table NAME --epsilon E --delta D");
  }
  privacy::ledger::SqliteLedger ledger({.file = file, .vfs = vfs});
  ledger.Verify();
  return ledger;
}

std::string ChosenTable(privacy::ledger::SqliteLedger& ledger, const LedgerOptions& options) {
  const std::vector<std::string> tables = ledger.Tables();
  if (options.table.empty() && tables.size() == 1) return tables.front();
  if (!options.table.empty() && ledger.HasAccount(options.table)) return options.table;
  const std::string known =
      tables.empty() ? "it has none" : fmt::format("it has {}", fmt::join(tables, ", "));
  if (options.table.empty()) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("which table of the ledger {} is meant? {}", options.file.string(), known),
        tables.empty() ? "make an account: partita ledger open" : "name it with --table");
  }
  throw Error(ErrorCode::kUsage,
              fmt::format("the ledger {} has no table '{}': {}", options.file.string(),
                          options.table, known),
              "make an account for it with partita ledger open, or name another with --table");
}

}  // namespace partita::run
