// partita node dictionary
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "study/file/site_dictionary.h"

namespace partita::cli {
namespace {

struct DictionaryOptions {
  NodeOptions node;
  std::string table, set, output;
};

// The file as it is, for the node looks at it again: with the comments of whoever wrote it.
Json SaveDictionary(const DictionaryOptions& options) {
  const std::string text =
      ReadFile(options.set, study::kMaxSiteDictionaryBytes, "the dictionary",
               "'partita data describe TABLE --draft --output FILE' writes one to begin with");
  study::ParseSiteDictionary(text, options.set);
  const Json before = AskNode(options.node, {{"do", "dictionary"}, {"table", options.table}});
  return AskNode(options.node, {{"do", "save-dictionary"},
                                {"table", options.table},
                                {"text", text},
                                {"version", before.at("version")}});
}

std::string SavedText(const Json& changes) {
  if (changes.empty()) return "saved; no variable changed\n";
  std::string text = "saved\n";
  for (const Json& change : changes) text += "  " + change.get<std::string>() + "\n";
  return text;
}

int ShowDictionary(const OutputOptions& output, const DictionaryOptions& options) {
  Json changes = Json::array();
  if (!options.set.empty()) changes = SaveDictionary(options).at("changes");
  const Json kept = AskNode(options.node, {{"do", "dictionary"}, {"table", options.table}});
  const std::string text = kept.at("text");
  const std::string offered =
      text.empty() ? "" : study::OfferedText(study::ParseSiteDictionary(text, options.table));
  if (!options.output.empty()) {
    if (offered.empty()) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("the table {} has no variable that others may see", options.table),
                  "partita node dictionary TABLE --set FILE, or the page Tables, makes some");
    }
    WriteFileAtomically(options.output, offered);
  }
  std::string shown = PlainLines(text);
  if (text.empty()) shown = fmt::format("this site keeps no dictionary of {}\n", options.table);
  if (!options.output.empty())
    shown = fmt::format("what others may see of it is in {}\n", options.output);
  if (!options.set.empty()) shown = SavedText(changes) + (options.output.empty() ? "" : shown);
  PrintResult(output, shown,
              Json{{"table", options.table},
                   {"version", kept.at("version")},
                   {"text", text},
                   {"offered", offered},
                   {"changes", changes}}
                  .dump());
  return kDone;
}

}  // namespace

void AddNodeDictionaryCommand(CLI::App& node, Invocation& invocation) {
  auto options = std::make_shared<DictionaryOptions>();
  CLI::App* command = AddCommand(
      &node, "dictionary", "node dictionary",
      "Show or save what this site says of the variables of a table, and which of them others may "
      "ask for",
      invocation, [&invocation, options] { return ShowDictionary(invocation.output, *options); });
  command->add_option("table", options->table, "Its name in node.toml")->required();
  AddAt(command, options->node);
  command->add_option("--set", options->set, "Save this file as the dictionary");
  command->add_option("--output", options->output,
                      "Write the variables that others may see, for partita study new");
}

}  // namespace partita::cli
