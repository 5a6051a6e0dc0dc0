// What a study takes from the privacy budget of a table, for people who decide about it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "privacy/ledger/sqlite_ledger.h"
#include "run/method/study.h"

namespace partita::run {

struct LedgerPrice {
  std::string kind = "Study";  // or "Matching"
  std::string study, table;    // study: its name
  // Of the whole budget; 0 where there is none or nothing is charged.
  double outside_percent = 0, insider_percent = 0;
  uint64_t exact_releases = 0;
  uint64_t exact_before = 0;  // exact results that were released from the table before
  // How many studies of this price fit, this one included; empty: nothing is charged.
  std::optional<uint64_t> studies_left;
};

// table: empty: the only one of the ledger. Throws kUsage for a ledger or table that is not there;
// kBudget or kRefused if the study does not fit its policy.
LedgerPrice PriceOf(const Study& study, const std::filesystem::path& ledger,
                    const std::string& table);
// Of what is charged to the request's table. Throws as above.
LedgerPrice PriceOfRequest(privacy::ledger::SqliteLedger& ledger,
                           const privacy::ledger::ReservationRequest& request);
std::string PriceText(const LedgerPrice& price);

}  // namespace partita::run
