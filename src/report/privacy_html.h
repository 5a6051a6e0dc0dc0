// Privacy statements in pages: a table, a sentence and a trade-off plot per adversary.
#pragma once

#include <string>
#include <vector>

#include "privacy/statement.h"

namespace partita::report {

// The plots alone, one for every different loss, each with its numbers in a table; empty without
// trade-off functions.
std::string TradeOffsHtml(const privacy::Statement& statement);

// The mechanism, one row per adversary, plots of the rows that have a trade-off function with the
// plain sentence as caption, and the caveats. The plots draw StatementPlots.
std::string StatementHtml(const privacy::Statement& statement);

// What web/src/trade_off.js draws, one entry per row of the statement, as JSON: adversary, and
// points (alpha, lower, upper).
std::string StatementPlots(const privacy::Statement& statement);

// The data of a page's plots with those of the statement added. plot_data: a JSON object, or empty.
std::string WithTradeOffs(const std::string& plot_data, const privacy::Statement& statement);

struct ProfileLine {
  double epsilon = 0;
  double delta_lower = 0, delta_upper = 0;
};

// One self-contained file like report.html: the statement, and the profile of its first row as a
// plot and a table. Throws kInternal for a statement that is not well formed.
struct PrivacyPage {
  std::string title;
  std::string adjacency;
  privacy::Statement statement;
  std::vector<ProfileLine> profile;
};
std::string RenderPrivacyHtml(const PrivacyPage& page);

}  // namespace partita::report
