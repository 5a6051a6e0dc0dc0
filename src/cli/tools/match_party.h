// What a party of a matching says on the command line, and the approval that it signs.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <optional>
#include <string>

#include "cli/commands.h"
#include "cli/study/party_files.h"
#include "cli/terminal/separator.h"
#include "data/describe.h"
#include "study/approval/approval.h"

namespace partita::cli {

// What approve and run have in common.
struct MatchParty {
  std::string file, party, separator;
  PartyFiles files;

  // Of the table: what was given, else what its header has.
  char Separator() const {
    const std::optional<char> given = SeparatorOf(separator);
    return given ? *given : data::FindSeparator(files.Data());
  }
};
void AddMatchParty(CLI::App* command, MatchParty& options);

struct MatchApproveCommand : MatchParty {
  std::string until, output;
  std::string ledger, table;  // of this holder; empty: what it takes of a budget is not said
  std::optional<uint64_t> minimum;
  uint64_t runs = 1;
};
struct SignedMatching {
  study::Approval approval;
  std::filesystem::path file;
  bool has_secret = false;  // beside it
};
// Shows plan, record and table, asks, and signs.
SignedMatching SignMatching(const OutputOptions& output, const MatchApproveCommand& command);

// Below `match`.
void AddMatchPlan(CLI::App& match, Invocation& invocation);
void AddMatchApprove(CLI::App& match, Invocation& invocation);

}  // namespace partita::cli
