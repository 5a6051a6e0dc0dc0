// partita data edition, partita data thaw
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "base/text_table.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/json.h"
#include "cli/tools/edition_json.h"
#include "data/source/open_table.h"
#include "node/daemon/node_folder.h"
#include "node/job/table.h"
#include "run/party/editions.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostKeyBytes = uint64_t{1} << 28;
constexpr char kOwnersEyes[] = "For the owner of the table only.";

struct EditionCommand {
  std::string source, at, reason, keys;
  bool open = false;
};

// A source file, or with --at a table of a node by its name.
run::EditionTable EditionTableOf(const EditionCommand& command) {
  run::EditionTable table{command.source, run::EditionRecordPath(command.source)};
  if (!command.at.empty()) {
    const node::NodeFolder folder(command.at);
    const node::NodeConfig config = node::LoadNodeConfig(folder);
    const auto found =
        std::find_if(config.tables.begin(), config.tables.end(),
                     [&](const auto& listed) { return listed.name == command.source; });
    if (found == config.tables.end()) {
      throw Error(ErrorCode::kUsage, fmt::format("node.toml names no table '{}'", command.source),
                  "partita node tables lists them");
    }
    table = node::EditionsOf(folder.run(), found->name, found->data);
  }
  if (data::GivesOnlySums(table.source)) {
    throw Error(ErrorCode::kUsage,
                table.source.string() +
                    ": only sums are taken of it (its mode), so that it has no editions here",
                "name a table, view or partition that stays as it is, and the next one in a source "
                "file of its own");
  }
  if (!data::MayChange(table.source)) {
    throw Error(ErrorCode::kUsage, table.source.string() + " is a table that stays as it is",
                "if it changes, name it in a source file that says edition = \"steward\"");
  }
  return table;
}

std::string RuleName(data::EditionRule rule) {
  switch (rule) {
    case data::EditionRule::kMonthly:
      return "monthly";
    case data::EditionRule::kQuarterly:
      return "quarterly";
    case data::EditionRule::kYearly:
      return "yearly";
    case data::EditionRule::kSteward:
      break;
  }
  return "steward";
}

std::string EditionLine(const run::Edition& edition) {
  return fmt::format("  {}  {}{}{}\n", edition.number, run::EditionText(edition),
                     edition.served ? ", given to exact studies" : "",
                     edition.reason.empty() ? "" : ", opened because: " + edition.reason);
}

std::string SinceText(const run::EditionLook& look) {
  if (look.editions.empty())
    return fmt::format("  {} rows now; the first exact study opens the first edition\n",
                       FormatCount(look.rows_now));
  std::string text = fmt::format("  {} rows now; ", FormatCount(look.rows_now));
  if (!look.since) {
    return text +
           "no column of keys is named, by which persons would be known in the next edition: write "
           "key = \"COLUMN\" into the source file\n";
  }
  text += fmt::format("of persons {} came, {} changed and {} went since the newest edition\n",
                      FormatCount(look.since->came), FormatCount(look.since->changed),
                      FormatCount(look.since->went));
  TextTable columns{{"column", "others in it"}, {1}, {}};
  for (const auto& [column, persons] : look.since->columns) {
    if (persons > 0) columns.rows.push_back({column, FormatCount(persons)});
  }
  if (!columns.rows.empty()) text += RenderTable(columns, 2);
  return text;
}

Json SinceJson(const run::EditionLook& look) {
  if (!look.since) return nullptr;
  Json columns = Json::object();
  for (const auto& [column, persons] : look.since->columns) columns[column] = persons;
  return {{"came", look.since->came},
          {"changed", look.since->changed},
          {"went", look.since->went},
          {"columns", columns}};
}

int ShowEdition(const OutputOptions& output, const EditionCommand& command) {
  const run::EditionTable table = EditionTableOf(command);
  const run::EditionLook look = run::LookAtEdition(table, NowUtc());
  const std::string rule = RuleName(*data::ReadSourceFile(table.source).edition);
  std::string text =
      fmt::format("{}: edition = \"{}\"{}\n", command.source, rule,
                  look.due && !look.editions.empty()
                      ? ", and its date has come: the next exact study opens one if it may"
                      : "");
  Json editions = Json::array();
  for (const run::Edition& edition : look.editions) {
    text += EditionLine(edition);
    editions.push_back(EditionJson(edition));
  }
  text += SinceText(look);
  text += fmt::format(
      "  another edition opens if it differs, in every column and in who is there, in nobody or in "
      "at least {} persons\n",
      FormatCount(look.least));
  if (look.withdrawn > 0)
    text += fmt::format("  {} keys are left out: their consent was withdrawn\n",
                        FormatCount(look.withdrawn));
  PrintResult(output, text + kOwnersEyes,
              Json{{"table", command.source},
                   {"rule", rule},
                   {"due", look.due},
                   {"least", look.least},
                   {"editions", editions},
                   {"rows_now", look.rows_now},
                   {"since", SinceJson(look)},
                   {"withdrawn", look.withdrawn}}
                  .dump());
  return kDone;
}

run::OpenedEdition OpenNow(const run::EditionTable& table, const run::EditionOpening& opening) {
  const EndAtOnce when_interrupted;  // nothing counts before the record is written
  crypto::SystemRandom random;
  return run::OpenEdition(table, opening, NowUtc(), random);
}

int RunEdition(const OutputOptions& output, const EditionCommand& command) {
  if (!command.open) return ShowEdition(output, command);
  const run::OpenedEdition opened = OpenNow(EditionTableOf(command), {command.reason, {}});
  PrintResult(output,
              fmt::format("{}: opened the {}\n{}", command.source, run::EditionText(opened.edition),
                          kOwnersEyes),
              Json{{"table", command.source}, {"opened", EditionJson(opened.edition)}}.dump());
  return kDone;
}

// A key a line, as it stands in the table.
std::vector<std::string> KeysIn(const std::string& file) {
  std::istringstream lines(ReadFile(file, kMostKeyBytes, "the keys"));
  std::vector<std::string> keys;
  for (std::string line; std::getline(lines, line);) {
    while (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) keys.push_back(line);
  }
  if (keys.empty()) throw Error(ErrorCode::kUsage, file + " names no key", "write one key a line");
  return keys;
}

std::string StudiesText(const std::vector<std::string>& studies, const std::string& what) {
  std::string text;
  for (const std::string& study : studies)
    text += fmt::format("  study {}: {}\n", study.substr(0, 12), what);
  return text;
}

int RunThaw(const OutputOptions& output, const EditionCommand& command) {
  const run::EditionTable table = EditionTableOf(command);
  const std::vector<std::string> keys = KeysIn(command.keys);
  const run::OpenedEdition opened = OpenNow(table, {command.reason, keys});
  node::ThawedStudies studies;
  if (!command.at.empty()) {
    const node::NodeFolder folder(command.at);
    node::JobSettings settings;
    settings.self = node::LoadNodeConfig(folder).name;
    settings.studies = folder.run();
    studies = node::EndFrozenStudies(settings, command.source);
  }
  PrintResult(
      output,
      fmt::format("{}: {} of {} keys were found; they are in no edition from now on\nnewest is the "
                  "{}\n",
                  command.source, FormatCount(opened.keys_found), FormatCount(keys.size()),
                  run::EditionText(opened.edition)) +
          StudiesText(studies.ended,
                      "its frozen rows are deleted, and it cannot run here: withdraw it") +
          StudiesText(studies.running, "a job works on it: withdraw it, then run this again") +
          StudiesText(studies.opened,
                      "it may have opened something already; its rows go when it ends") +
          (command.at.empty() ? "delete the files that 'partita data freeze' wrote before\n" : "") +
          kOwnersEyes,
      Json{{"table", command.source},
           {"edition", EditionJson(opened.edition)},
           {"keys", keys.size()},
           {"found", opened.keys_found},
           {"ended", studies.ended},
           {"running", studies.running},
           {"opened", studies.opened}}
          .dump());
  return kDone;
}

void AddTable(CLI::App& command, EditionCommand& options) {
  command
      .add_option("TABLE", options.source,
                  "A source file (docs/sources.md), or with --at a table's name in node.toml")
      ->required();
  command.add_option("--at", options.at, "The folder of a node, whose table it is");
}

void AddThawCommand(CLI::App& data, Invocation& invocation) {
  auto options = std::make_shared<EditionCommand>();
  CLI::App* command = AddCommand(
      &data, "thaw", "data thaw",
      "Take persons who withdrew their consent out of a table's editions, now and from now on",
      invocation, [&invocation, options] { return RunThaw(invocation.output, *options); });
  AddTable(*command, *options);
  command
      ->add_option("--keys", options->keys,
                   "A file with a key a line, of the column that the source file names as key")
      ->required();
  command->add_option("--reason", options->reason,
                      "Open the edition though few rows have changed; it is recorded");
  command->footer(
      "Opens an edition of the rows of now without these persons, and deletes the file of the one\n"
      "before. With --at, studies that hold frozen rows and have opened nothing are ended here.\n"
      "What was released before stays released. Exact studies are refused while the edition "
      "differs\n"
      "from one that they were given before in fewer persons than they ask for.");
}

}  // namespace

void AddEditionCommands(CLI::App& data, Invocation& invocation) {
  auto options = std::make_shared<EditionCommand>();
  CLI::App* command = AddCommand(
      &data, "edition", "data edition",
      "Show of which day the rows are that exact studies of a changing table get, or open others",
      invocation, [&invocation, options] { return RunEdition(invocation.output, *options); });
  AddTable(*command, *options);
  CLI::Option* open =
      command->add_flag("--open", options->open, "Open an edition of the rows of now");
  command
      ->add_option("--reason", options->reason,
                   "Open it though fewer persons differ than the rule asks for; it is recorded")
      ->needs(open);
  command->footer(
      "Between two editions every exact study of a table sees the same rows, so that no two "
      "results\n"
      "subtract to whoever came in between. Reads the table.");
  AddThawCommand(data, invocation);
}

}  // namespace partita::cli
