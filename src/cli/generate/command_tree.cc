#include "cli/generate/command_tree.h"

namespace partita::cli {
namespace {

// The parser keeps the values of a choice in the name of the type only: "TEXT:{text,json}".
std::vector<std::string> ReadChoices(const std::string& type) {
  const size_t open = type.find('{');
  const size_t close = type.find('}', open);
  if (open == std::string::npos || close == std::string::npos) return {};
  std::vector<std::string> choices(1);
  for (const char c : type.substr(open + 1, close - open - 1)) {
    if (c == ',') {
      choices.emplace_back();
    } else {
      choices.back() += c;
    }
  }
  return choices;
}

CommandOption ReadOption(const CLI::Option& option) {
  CommandOption result;
  if (option.get_positional()) {
    result.names.push_back(option.get_name(true));
  } else {
    for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  }
  result.what = option.get_description();
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    result.value = type.substr(0, type.find(':'));
    result.choices = ReadChoices(type);
  }
  result.initial = option.get_default_str();
  result.required = option.get_required();
  return result;
}

}  // namespace

CommandNode ReadCommands(const CLI::App& app, std::vector<std::string> words) {
  words.push_back(app.get_name());
  CommandNode node;
  node.words = words;
  node.what = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? node.arguments : node.options).push_back(ReadOption(*option));
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) node.commands.push_back(ReadCommands(*command, words));
  }
  return node;
}

std::vector<const CommandNode*> AllCommands(const CommandNode& node) {
  std::vector<const CommandNode*> all = {&node};
  for (const CommandNode& command : node.commands) {
    for (const CommandNode* below : AllCommands(command)) all.push_back(below);
  }
  return all;
}

std::string CommandPath(const CommandNode& node, const std::string& between) {
  std::string path;
  for (const std::string& word : node.words) path += (path.empty() ? "" : between) + word;
  return path;
}

}  // namespace partita::cli
