#include "run/ledger/price.h"

#include <fmt/format.h>

#include "privacy/ledger/audit.h"
#include "privacy/rounded_text.h"
#include "run/ledger/ledger_charges.h"
#include "run/ledger/open_ledger.h"

namespace partita::run {

namespace ledger = privacy::ledger;

LedgerPrice PriceOf(const Study& study, const std::filesystem::path& file,
                    const std::string& table) {
  ledger::SqliteLedger book = OpenLedger(file);
  const ledger::Standing standing = book.StandingOf(ChosenTable(book, {file, table}));
  return PriceOfRequest(book, ChargesOf(study, standing.policy));
}

LedgerPrice PriceOfRequest(ledger::SqliteLedger& book, const ledger::ReservationRequest& request) {
  const ledger::Standing standing = book.StandingOf(request.table);
  const ledger::Reserved priced = book.Price(request);
  // Each of the two conversions, the product and the quotient is off by half a unit at most.
  const auto percent = [](uint64_t part, uint64_t whole) {
    if (whole == 0) return 0.0;
    return 100 * static_cast<double>(part) / static_cast<double>(whole) * (1 + 0x1p-50);
  };
  LedgerPrice price;
  price.study = request.study;
  price.table = standing.policy.table;
  price.outside_percent = percent(priced.outside.rdp, standing.outside.budget.rdp);
  if (standing.insider)
    price.insider_percent = percent(priced.insider.rdp, standing.insider->budget.rdp);
  price.exact_releases = priced.exact.size();
  price.exact_before = standing.spent.exact + standing.reserved.exact;
  if (!priced.charges.empty())
    price.studies_left = ledger::StudiesLeft(standing, priced.outside, priced.insider);
  return price;
}

std::string PriceText(const LedgerPrice& price) {
  std::string text =
      fmt::format("{} '{}' fits the policy of table {}.\n", price.kind, price.study, price.table);
  if (price.exact_before > 0)
    text += fmt::format("  Exact results released from it before: {}.\n", price.exact_before);
  if (!price.studies_left) {
    return text + fmt::format(
                      "  It releases {} exact results, which no budget covers and which qualify "
                      "every later statement about the table.\n",
                      price.exact_releases);
  }
  text += fmt::format("  Of the budget against outsiders it takes {} %",
                      privacy::RoundedText(price.outside_percent, 3, true));
  if (price.insider_percent > 0)
    text += fmt::format(", of that against insiders {} %",
                        privacy::RoundedText(price.insider_percent, 3, true));
  return text + fmt::format(".\n  {} of this price that fit: {}.\n",
                            price.kind == "Study" ? "Studies" : price.kind + "s",
                            *price.studies_left);
}

}  // namespace partita::run
