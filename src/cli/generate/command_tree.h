// The commands as plain data, read off the parser, for manual pages and shells' completion.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace partita::cli {

struct CommandOption {
  std::vector<std::string> names;    // "-h", "--help"; a positional argument has one, "STUDY"
  std::string what;                  // its description, without a full stop
  std::string value;                 // "TEXT", "UINT"; empty: it is a switch
  std::vector<std::string> choices;  // the only values, if the parser knows them
  std::string initial;               // its default as --help prints it; empty: none
  bool required = false;
};

struct CommandNode {
  std::vector<std::string> words;  // {"partita", "study", "plan"}
  std::string what;
  std::vector<CommandOption> options, arguments;
  std::vector<CommandNode> commands;
};

// The command that `app` parses with all below it; `words` are those of its parents. What --help
// hides is left out.
CommandNode ReadCommands(const CLI::App& app, std::vector<std::string> words = {});

// `node` and all below it, parents first.
std::vector<const CommandNode*> AllCommands(const CommandNode& node);

// "partita study plan"
std::string CommandPath(const CommandNode& node, const std::string& between = " ");

}  // namespace partita::cli
