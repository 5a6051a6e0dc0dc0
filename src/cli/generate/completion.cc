#include "cli/generate/completion.h"

#include <fmt/format.h>

namespace partita::cli {
namespace {

// In single quotes, for bash and zsh.
std::string Quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else {
      result += c;
    }
  }
  return result + "'";
}

std::string QuotedForFish(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// Lines of zsh's _describe: "NAME:WHAT", where a colon of the name would end it.
std::string Described(const std::string& name, const std::string& what) {
  std::string escaped;
  for (const char c : name) {
    if (c == ':') escaped += '\\';
    escaped += c;
  }
  return Quoted(escaped + ":" + what);
}

std::string Joined(const std::vector<std::string>& words, const std::string& between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

std::string OptionNames(const CommandNode& node) {
  std::vector<std::string> names;
  for (const CommandOption& option : node.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return Joined(names, " ");
}

std::string CommandNames(const CommandNode& node) {
  std::vector<std::string> names;
  for (const CommandNode& command : node.commands) names.push_back(command.words.back());
  return Joined(names, " ");
}

// "'partita study plan --format'|'...'": the ways to write an option, as a pattern of `case`.
std::string Pattern(const CommandNode& node, const CommandOption& option) {
  std::vector<std::string> patterns;
  for (const std::string& name : option.names) {
    patterns.push_back(Quoted(CommandPath(node) + " " + name));
  }
  return Joined(patterns, " | ");
}

// "'partita study' | 'partita study plan' | ...": all commands but the first.
std::string CommandPattern(const CommandNode& root) {
  std::vector<std::string> patterns;
  for (const CommandNode* node : AllCommands(root)) {
    if (node != &root) patterns.push_back(Quoted(CommandPath(*node)));
  }
  return Joined(patterns, " | ");
}

}  // namespace

std::string BashCompletion(const CommandNode& root) {
  std::string text = fmt::format(R"(# Completion of {0} for bash.
_{0}() {{
  local chain={0} word current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local options='' commands='' values='' takes_value=''
  # --option=value comes as three words.
  if [ "$current" = = ]; then
    current=''
  elif [ "$previous" = = ]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$chain $word" in
      {1}) chain="$chain $word" ;;
    esac
  done
  case "$chain" in
)",
                                 root.words.back(), CommandPattern(root));
  for (const CommandNode* node : AllCommands(root)) {
    text += fmt::format("    {}) options={} commands={} ;;\n", Quoted(CommandPath(*node)),
                        Quoted(OptionNames(*node)), Quoted(CommandNames(*node)));
  }
  text += "  esac\n  case \"$chain $previous\" in\n";
  for (const CommandNode* node : AllCommands(root)) {
    for (const CommandOption& option : node->options) {
      if (option.value.empty()) continue;
      text += fmt::format("    {}) takes_value=1 values={} ;;\n", Pattern(*node, option),
                          Quoted(Joined(option.choices, " ")));
    }
  }
  text += fmt::format(R"(  esac
  COMPREPLY=()
  if [ -n "$takes_value" ]; then
    [ -z "$values" ] || mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  fi
}}
complete -o default -F _{0} {0}
)",
                      root.words.back());
  return text;
}

std::string ZshCompletion(const CommandNode& root) {
  std::string text = fmt::format(R"(#compdef {0}
# Completion of {0} for zsh.
_{0}() {{
  local chain={0} word
  local -a options commands
  for word in "${{(@)words[2,CURRENT-1]}}"; do
    case "$chain $word" in
      ({1}) chain="$chain $word" ;;
    esac
  done
  case "$chain ${{words[CURRENT-1]}}" in
)",
                                 root.words.back(), CommandPattern(root));
  for (const CommandNode* node : AllCommands(root)) {
    for (const CommandOption& option : node->options) {
      if (option.value.empty()) continue;
      text += fmt::format(
          "    ({}) {}; return ;;\n", Pattern(*node, option),
          option.choices.empty() ? "_files" : "compadd -- " + Joined(option.choices, " "));
    }
  }
  text += "  esac\n  case \"$chain\" in\n";
  for (const CommandNode* node : AllCommands(root)) {
    text += fmt::format("    ({})\n      options=(\n", Quoted(CommandPath(*node)));
    for (const CommandOption& option : node->options) {
      for (const std::string& name : option.names) {
        text += fmt::format("        {}\n", Described(name, option.what));
      }
    }
    text += "      )\n      commands=(\n";
    for (const CommandNode& command : node->commands) {
      text += fmt::format("        {}\n", Described(command.words.back(), command.what));
    }
    text += "      )\n      ;;\n";
  }
  text += fmt::format(R"(  esac
  if [[ ${{words[CURRENT]}} == -* ]]; then
    _describe option options
  elif (( ${{#commands}} )); then
    _describe command commands
  else
    _files
  fi
}}
# Read by compinit it is the function's body; sourced it defines and registers it.
if [ "${{funcstack[1]}}" = _{0} ]; then
  _{0} "$@"
else
  compdef _{0} {0}
fi
)",
                      root.words.back());
  return text;
}

std::string FishCompletion(const CommandNode& root) {
  const std::string& name = root.words.back();
  std::string text = fmt::format(R"(# Completion of {0} for fish.
function __{0}_chain
  set -l chain {0}
  for word in (commandline -opc)[2..]
    switch "$chain $word"
      case {1}
        set chain "$chain $word"
    end
  end
  echo $chain
end
function __{0}_at
  test (__{0}_chain) = $argv[1]
end
)",
                                 name, [&root] {
                                   std::vector<std::string> patterns;
                                   for (const CommandNode* node : AllCommands(root)) {
                                     if (node != &root)
                                       patterns.push_back(QuotedForFish(CommandPath(*node)));
                                   }
                                   return Joined(patterns, " ");
                                 }());
  for (const CommandNode* node : AllCommands(root)) {
    const std::string at =
        fmt::format("complete -c {} -n {}", name,
                    QuotedForFish(fmt::format("__{}_at \"{}\"", name, CommandPath(*node))));
    for (const CommandNode& command : node->commands) {
      text +=
          fmt::format("{} -f -a {} -d {}\n", at, command.words.back(), QuotedForFish(command.what));
    }
    for (const CommandOption& option : node->options) {
      text += at;
      for (const std::string& option_name : option.names) {
        text += option_name.starts_with("--") ? " -l " + option_name.substr(2)
                                              : " -s " + option_name.substr(1);
      }
      if (!option.choices.empty()) {
        text += " -x -a " + QuotedForFish(Joined(option.choices, " "));
      } else if (!option.value.empty()) {
        text += " -r";
      }
      text += fmt::format(" -d {}\n", QuotedForFish(option.what));
    }
  }
  return text;
}

}  // namespace partita::cli
