// partita node tables
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "crypto/hash.h"
#include "data/describe.h"
#include "data/source/open_table.h"
#include "node/daemon/node_folder.h"
#include "node/job/table.h"
#include "privacy/ledger/audit.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "run/ledger/open_ledger.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

// Of the bytes that studies parse, without a salt: for the owner, who compares it with another day's.
std::string DigestOfTable(const std::string& data) {
  const data::OpenedTable table = data::OpenTableFile(data);
  crypto::Sha256 hash;
  std::array<uint8_t, 1 << 16> piece{};
  while (const size_t size = table.bytes(piece)) hash.Update(ByteView(piece).first(size));
  return ToHex(hash.Finish());
}

Json ColumnsOf(const data::TableProfile& profile) {
  Json columns = Json::array();
  for (const data::ColumnProfile& column : profile.columns) {
    columns.push_back({{"name", column.name},
                       {"type", data::DraftTypeName(data::GuessType(column))},
                       {"missing", column.empty + column.missing_words},
                       {"different", column.distinct}});
  }
  return columns;
}

// The studies that were bound to the table here.
Json UsesOf(const std::string& table, const std::vector<Json>& studies, const std::string& site) {
  Json uses = Json::array();
  for (const Json& study : studies) {
    if (study.at("table") != table) continue;
    const Json& approved = study.at("approved");
    uses.push_back(
        {{"study", study.at("study")},
         {"name", study.at("name")},
         {"proposer", study.at("proposer")},
         {"state", study.at("state")},
         {"approved", std::find(approved.begin(), approved.end(), site) != approved.end()},
         {"charged", study.at("charged")}});
  }
  return uses;
}

// Of the ledger; nothing where none is kept.
std::optional<privacy::ledger::Standing> StandingOf(const node::NodeConfig& config,
                                                    const node::CatalogueTable& table) {
  if (config.ledger.empty()) return std::nullopt;
  privacy::ledger::SqliteLedger book = run::OpenLedger(config.ledger);
  return book.StandingOf(run::ChosenTable(book, {config.ledger, table.account}));
}

Json TableJson(const node::CatalogueTable& table, const std::vector<Json>& studies,
               const std::string& site, const fs::path& run) {
  Json json = {{"name", table.name},
               {"data", table.data},
               {"problem", ""},
               {"rows", 0},
               {"digest", ""},
               {"columns", Json::array()},
               {"exact_served", false},
               {"budget", nullptr},
               {"studies", UsesOf(table.name, studies, site)}};
  try {
    json["exact_served"] = node::WasServedExactly(run, table.name, table.data);
    const data::TableProfile profile = data::ProfileTableFile(table.data, std::nullopt);
    json["rows"] = profile.num_rows;
    json["columns"] = ColumnsOf(profile);
    if (!data::IsDatabase(table.data)) json["digest"] = DigestOfTable(table.data);
  } catch (const Error& error) {
    // One that cannot be read does not hide the others.
    json["problem"] = error.message();
  }
  return json;
}

std::string Indented(const std::string& text) {
  std::string indented;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) indented += "  " + line + "\n";
  return indented;
}

std::string TableText(const Json& table, const std::string& budget) {
  std::string text = fmt::format("{}  {}\n", table.at("name").get<std::string>(),
                                 table.at("data").get<std::string>());
  if (const std::string problem = table.at("problem"); !problem.empty()) {
    text += fmt::format("  cannot be read: {}\n", problem);
  } else {
    const std::string digest = table.at("digest");
    text += fmt::format("  {} rows{}\n", table.at("rows").get<uint64_t>(),
                        digest.empty() ? " now, in a database" : ", SHA-256 " + digest);
    TextTable columns{{"column", "looks like", "missing", "different"}, {2, 3}, {}};
    for (const Json& column : table.at("columns")) {
      columns.rows.push_back({column.at("name"), column.at("type"),
                              std::to_string(column.at("missing").get<uint64_t>()),
                              std::to_string(column.at("different").get<uint64_t>())});
    }
    text += RenderTable(columns, 2);
  }
  text += table.at("exact_served").get<bool>() ? "  exact results of some of its rows were given: "
                                                 "other rows are refused where few differ\n"
                                               : "  no exact result of it was given\n";
  text += budget.empty() ? "  no privacy ledger is kept: studies that promise privacy are refused\n"
                         : Indented(budget);
  if (table.at("studies").empty()) text += "  no study uses it\n";
  for (const Json& study : table.at("studies")) {
    text += fmt::format("  {}  {:<20} {:<10} by {}{}{}\n",
                        study.at("study").get<std::string>().substr(0, 12),
                        study.at("name").get<std::string>(), study.at("state").get<std::string>(),
                        study.at("proposer").get<std::string>(),
                        study.at("approved").get<bool>() ? ", approved here" : "",
                        study.at("charged").get<bool>() ? ", may have opened" : "");
  }
  return text + "\n";
}

int ShowTables(const OutputOptions& output, const NodeOptions& options) {
  const node::NodeConfig config = node::LoadNodeConfig(node::NodeFolder(options.at));
  const std::vector<Json> studies = StudiesAt(options, "all");
  Json tables = Json::array();
  std::string text;
  for (const node::CatalogueTable& table : config.tables) {
    Json& json = tables.emplace_back(
        TableJson(table, studies, config.name, node::NodeFolder(options.at).run()));
    std::string budget;
    try {
      if (const auto standing = StandingOf(config, table)) {
        json["budget"] = Json::parse(privacy::ledger::StandingJson(*standing));
        budget = privacy::ledger::StandingText(*standing);
      }
    } catch (const Error& error) {
      budget = error.message();
      if (json.at("problem").get<std::string>().empty()) json["problem"] = error.message();
    }
    text += TableText(json, budget);
  }
  text += config.tables.empty() ? "node.toml names no table" : "For the owner of the tables only.";
  PrintResult(output, text, Json{{"tables", tables}}.dump());
  return kDone;
}

}  // namespace

void AddNodeTablesCommand(CLI::App& node, Invocation& invocation) {
  auto options = std::make_shared<NodeOptions>();
  CLI::App* command = AddCommand(
      &node, "tables", "node tables",
      "Show the tables of node.toml: columns, rows, digest, budget, and which studies used them",
      invocation, [&invocation, options] { return ShowTables(invocation.output, *options); });
  AddAt(command, *options);
  command->footer("Reads the tables. Everything that is printed is for their owner only.");
}

}  // namespace partita::cli
