// The ledger file an institution names, and which of its accounts is meant.
#pragma once

#include <filesystem>
#include <string>

#include "privacy/ledger/sqlite_ledger.h"

namespace partita::run {

struct LedgerOptions {
  std::filesystem::path file;
  std::string table;     // empty: the only account of the file
  std::string vfs = {};  // privacy::ledger::LedgerOptions
};

// Opens the ledger and verifies everything in it, so that nothing is read from or done with one
// that does not hold. Throws kUsage, saying how to make one, if the file is not there.
privacy::ledger::SqliteLedger OpenLedger(const std::filesystem::path& file,
                                         const std::string& vfs = {});
// Throws kUsage, naming the accounts that there are, if it is not clear which is meant.
std::string ChosenTable(privacy::ledger::SqliteLedger& ledger, const LedgerOptions& options);

}  // namespace partita::run
