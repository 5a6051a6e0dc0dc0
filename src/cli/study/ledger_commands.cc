// partita ledger open | show | history | price | change | refund | verify | export | upgrade
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "methods/prepare_study.h"
#include "privacy/ledger/audit.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "run/ledger/price.h"
#include "run/ledger/run_ledger.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;
namespace ledger = privacy::ledger;

struct PolicyOptions {
  std::string table, epsilon, delta, approximate_delta = "0", adjacency = "replace";
  std::string insider_epsilon, insider_delta, exact = "refused";
  bool trust_insiders = false;
  uint32_t coalition = 1;
};

constexpr uint64_t kMostExportedBytes = uint64_t{1} << 28;

struct LedgerCommand {
  std::string file, table, by, why, study, party, output;
  uint64_t reservation = 0;
  bool nothing_was_sent = false;
  PolicyOptions policy;
};

ledger::Stamp StampOf(const LedgerCommand& command) {
  const char* user = ::getlogin();
  return {!command.by.empty() ? command.by : user != nullptr ? user : "steward", NowUtc()};
}

ledger::SqliteLedger Open(const LedgerCommand& command) { return run::OpenLedger(command.file); }

std::string TableOf(ledger::SqliteLedger& book, const LedgerCommand& command) {
  return run::ChosenTable(book, {command.file, command.table});
}

ledger::Policy PolicyOf(const PolicyOptions& options) {
  ledger::Policy policy;
  policy.table = options.table;
  policy.outside.adjacency = options.adjacency == "replace" ? privacy::Adjacency::kReplace
                                                            : privacy::Adjacency::kAddRemove;
  policy.outside.epsilon = options.epsilon;
  policy.outside.delta = options.delta;
  policy.outside.approximate_delta = options.approximate_delta;
  if (!options.trust_insiders) {
    ledger::Budget insider = policy.outside;
    insider.adjacency = privacy::Adjacency::kReplace;
    if (!options.insider_epsilon.empty()) insider.epsilon = options.insider_epsilon;
    if (!options.insider_delta.empty()) insider.delta = options.insider_delta;
    policy.insider = insider;
  }
  policy.coalition = options.coalition;
  if (options.exact == "allowed") {
    policy.exact = ledger::ExactRule::kAllowed;
  } else if (options.exact != "refused") {
    const bool digits = !options.exact.empty() && options.exact.size() <= 18 &&
                        options.exact.find_first_not_of("0123456789") == std::string::npos;
    if (!digits) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("--exact {} is neither a rule nor a number", options.exact),
                  "write --exact refused, --exact allowed, or how many exact results are allowed");
    }
    policy.exact = ledger::ExactRule::kCounted;
    policy.max_exact = std::stoull(options.exact);
  }
  ledger::CheckPolicy(policy);
  return policy;
}

// What is no UTF-8 in a text of somebody's is shown as such.
std::string LedgerJson(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json StandingData(const ledger::Standing& standing) {
  Json data = Json::parse(ledger::StandingJson(standing));
  data["open_reservations"] = Json::array();
  for (const auto& [number, reservation] : standing.reservations)
    data["open_reservations"].push_back({{"number", number}, {"study", reservation.study}});
  return data;
}

std::string StandingPage(const ledger::Standing& standing) {
  std::string page = ledger::StandingText(standing);
  for (const auto& [number, reservation] : standing.reservations) {
    page += WrapText(fmt::format("Open: reservation {}, study '{}'. It counts as spent; if its run "
                                 "is over and sent nothing: partita ledger refund",
                                 number, reservation.study),
                     2);
  }
  return page;
}

void PrintStanding(const OutputOptions& output, ledger::SqliteLedger& book,
                   const std::string& table) {
  const ledger::Standing standing = book.StandingOf(table);
  PrintResult(output, StandingPage(standing), LedgerJson(StandingData(standing)));
}

int RunOpen(const OutputOptions& output, const LedgerCommand& command) {
  const ledger::Policy policy = PolicyOf(command.policy);
  const ledger::LedgerOptions options{.file = command.file};
  ledger::SqliteLedger::CreateUnlessThere(options);
  ledger::SqliteLedger book = Open(command);
  crypto::SystemRandom random;
  book.OpenAccount(policy, random, StampOf(command));
  PrintStanding(output, book, policy.table);
  PrintNote(output, fmt::format("\nEvery study on this table names it from now on: partita study "
                                "join STUDY --ledger {} --table {}",
                                command.file, policy.table));
  return kDone;
}

int RunShow(const OutputOptions& output, const LedgerCommand& command) {
  ledger::SqliteLedger book = Open(command);
  std::vector<std::string> tables = book.Tables();
  if (!command.table.empty()) tables = {command.table};
  std::string text;
  Json list = Json::array();
  for (const std::string& table : tables) {
    const ledger::Standing standing = book.StandingOf(table);
    text += (text.empty() ? "" : "\n") + StandingPage(standing);
    list.push_back(StandingData(standing));
  }
  if (tables.empty()) text = "no table has an account in this ledger";
  PrintResult(output, text, LedgerJson(Json{{"tables", list}}));
  return kDone;
}

// What `ledger export` wrote is JSON; a ledger is no text.
bool IsExported(const std::string& file) {
  std::ifstream start(file, std::ios::binary);
  return start.get() == '{';
}

int RunHistory(const OutputOptions& output, const LedgerCommand& command) {
  if (IsExported(command.file)) {
    const std::string chain = ReadFile(command.file, kMostExportedBytes, "the exported ledger");
    PrintResult(output, ledger::HistoryText(ledger::ReadChainJson(chain, command.file)), chain);
    return kDone;
  }
  ledger::SqliteLedger book = Open(command);
  const std::string table = TableOf(book, command);
  const ledger::Pseudonym pseudonym = book.StandingOf(table).head.pseudonym;
  const std::vector<ledger::Entry> entries = book.Entries(table);
  PrintResult(output, ledger::HistoryText(entries), ledger::ChainJson(pseudonym, entries));
  return kDone;
}

// What a study would take, and how often.
int RunPrice(const OutputOptions& output, const LedgerCommand& command) {
  const run::LedgerPrice price = run::PriceOf(
      *methods::PrepareStudy(methods::LoadStudyFile(command.study)), command.file, command.table);
  PrintResult(output, run::PriceText(price),
              Json{{"study", price.study},
                   {"table", price.table},
                   {"outside_percent", price.outside_percent},
                   {"insider_percent", price.insider_percent},
                   {"exact_releases", price.exact_releases},
                   {"exact_before", price.exact_before},
                   {"studies_left", price.studies_left ? Json(*price.studies_left) : Json()}}
                  .dump());
  return kDone;
}

int RunChange(const OutputOptions& output, const LedgerCommand& command) {
  ledger::SqliteLedger book = Open(command);
  const ledger::Policy policy = PolicyOf(command.policy);
  book.ChangePolicy(policy, command.why, StampOf(command));
  PrintStanding(output, book, policy.table);
  return kDone;
}

int RunRefund(const OutputOptions& output, const LedgerCommand& command) {
  if (!command.nothing_was_sent) {
    throw Error(ErrorCode::kRefused,
                "a reservation is taken back only if nothing of the run was sent that could let "
                "anybody open a result",
                "look at what the run's own message said; if it ended before its first release, "
                "say --nothing-was-sent; if you do not know, leave it charged");
  }
  ledger::SqliteLedger book = Open(command);
  const std::string table = TableOf(book, command);
  book.Refund(table, command.reservation, ledger::NothingSent(command.why), StampOf(command));
  PrintStanding(output, book, table);
  return kDone;
}

void PrintWhole(const OutputOptions& output, ledger::SqliteLedger& book, const std::string& file,
                const std::string& what) {
  size_t entries = 0;
  const std::vector<std::string> tables = book.Tables();
  for (const std::string& table : tables) entries += book.Entries(table).size();
  const ledger::JournalSummary journal = book.Summary();
  std::string text = fmt::format(
      "{} {}: {} tables, {} entries, a journal of {} rows with {} receipts for other ledgers; "
      "hashes, costs, budgets and signatures agree",
      file, what, tables.size(), entries, journal.rows, journal.receipts);
  if (journal.taken_over) {
    text +=
        ". The ledger is older than its journal: receipts that were deleted before it was taken "
        "over are missing without a trace";
  }
  if (!journal.seen) {
    text += fmt::format(
        ". {}.seen lacks its end: an old copy of the ledger would not be noticed on this host "
        "until "
        "something is written again",
        file);
  }
  PrintResult(output, text,
              LedgerJson(Json{{"file", file},
                              {"tables", tables.size()},
                              {"entries", entries},
                              {"journal_rows", journal.rows},
                              {"receipts", journal.receipts},
                              {"taken_over", journal.taken_over},
                              {"seen", journal.seen}}));
}

int RunVerify(const OutputOptions& output, const LedgerCommand& command) {
  ledger::SqliteLedger book = Open(command);  // verifies
  PrintWhole(output, book, command.file, "is whole");
  return kDone;
}

int RunUpgrade(const OutputOptions& output, const LedgerCommand& command) {
  ledger::SqliteLedger::Upgrade({.file = command.file}, StampOf(command));
  ledger::SqliteLedger book = Open(command);
  PrintWhole(output, book, command.file, "is of this version now, and whole");
  return kDone;
}

int RunExport(const OutputOptions& output, const LedgerCommand& command) {
  ledger::SqliteLedger book = Open(command);
  const std::string table = TableOf(book, command);
  const std::string chain =
      ledger::ChainJson(book.StandingOf(table).head.pseudonym, book.Entries(table));
  WriteFileAtomically(command.output, chain);
  PrintResult(output, fmt::format("the entries of table {} are in {}", table, command.output),
              Json{{"table", table}, {"file", command.output}}.dump());
  return kDone;
}

void AddPolicyOptions(CLI::App* command, PolicyOptions& policy) {
  command
      ->add_option("--table", policy.table,
                   "Name of the table, which it keeps when rows are added: registry-2026")
      ->required();
  command
      ->add_option("--epsilon", policy.epsilon,
                   "Budget against whoever sees results only, over the life of the table")
      ->required();
  command->add_option("--delta", policy.delta, "Its delta; below one over the number of rows")
      ->required();
  command->add_option("--adjacency", policy.adjacency, "What counts as a neighbouring table")
      ->check(CLI::IsMember({"replace", "add-remove"}))
      ->capture_default_str();
  command
      ->add_option("--approximate-delta", policy.approximate_delta,
                   "The part of delta for mechanisms that state a delta of their own")
      ->capture_default_str();
  command->add_option("--insider-epsilon", policy.insider_epsilon,
                      "Budget against parties that take part (default: as --epsilon)");
  command->add_option("--insider-delta", policy.insider_delta, "Its delta (default: as --delta)");
  command->add_option("--coalition", policy.coalition, "Insiders that may pool what they know")
      ->capture_default_str();
  command->add_flag("--trust-insiders", policy.trust_insiders,
                    "No budget against parties that take part; nothing is then stated about them");
  command
      ->add_option("--exact", policy.exact,
                   "Results without noise: refused, allowed, or how many of them")
      ->capture_default_str();
}

CLI::App* AddLedgerCommand(CLI::App* parent, const std::string& name,
                           const std::string& description, Invocation& invocation,
                           const std::shared_ptr<LedgerCommand>& options,
                           int (*run)(const OutputOptions&, const LedgerCommand&)) {
  CLI::App* command = parent->add_subcommand(name, description);
  AddOutputOptions(*command, invocation, "ledger " + name);
  command->add_option("LEDGER", options->file, "The ledger file")->required();
  command->callback([&invocation, options, run] {
    invocation.run = [&invocation, options, run] { return run(invocation.output, *options); };
  });
  return command;
}

void AddTable(CLI::App* command, LedgerCommand& options) {
  command->add_option("--table", options.table, "The table (default: the only one)");
}

}  // namespace

void AddLedgerCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* group =
      app.add_subcommand("ledger", "Keep the privacy budget of this institution's tables");
  group->require_subcommand(1);
  const auto add = [&](const char* name, const char* description,
                       int (*run)(const OutputOptions&, const LedgerCommand&)) {
    auto options = std::make_shared<LedgerCommand>();
    CLI::App* command = AddLedgerCommand(group, name, description, invocation, options, run);
    return std::pair{command, options};
  };
  {
    auto [command, options] = add("open", "Open an account for a table", RunOpen);
    AddPolicyOptions(command, options->policy);
    command->add_option("--by", options->by, "Who decides it (default: the user's name)");
  }
  {
    auto [command, options] = add("show", "Show budgets, what is spent, and what is left", RunShow);
    AddTable(command, *options);
  }
  {
    auto [command, options] = add("history",
                                  "List the studies that were charged, of a ledger or of the file "
                                  "that ledger export wrote; all entries are verified first",
                                  RunHistory);
    AddTable(command, *options);
  }
  {
    auto [command, options] =
        add("price", "Say what a study would take, without reserving it", RunPrice);
    command->add_option("STUDY", options->study, "The study file")->required();
    AddTable(command, *options);
  }
  {
    auto [command, options] = add("change", "Change the policy of a table", RunChange);
    AddPolicyOptions(command, options->policy);
    command->add_option("--by", options->by, "Who decides it (default: the user's name)");
    command->add_option("--why", options->why, "The reason; required for a wider policy");
  }
  {
    auto [command, options] =
        add("refund", "Take back the reservation of a run that died before it sent anything",
            RunRefund);
    AddTable(command, *options);
    command->add_option("--reservation", options->reservation, "Its number, as show prints it")
        ->required();
    command->add_option("--why", options->why, "How you know that nothing was sent")->required();
    command->add_flag("--nothing-was-sent", options->nothing_was_sent, "You state it");
    command->add_option("--by", options->by, "Who states it (default: the user's name)");
  }
  add("verify", "Check every hash, cost, budget and signature", RunVerify);
  {
    auto [command, options] =
        add("upgrade", "Take over, once, a ledger that an earlier version of Partita wrote",
            RunUpgrade);
    command->add_option("--by", options->by, "Who does it (default: the user's name)");
  }
  {
    auto [command, options] =
        add("export", "Write the entries of a table for an auditor", RunExport);
    AddTable(command, *options);
    AddNewFile(*command, invocation, "--output", options->output, "The file to write")->required();
  }
}

}  // namespace partita::cli
