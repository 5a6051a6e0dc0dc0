#include "cli/generate/manual.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/version.h"
#include "cli/terminal/exit_code.h"

namespace partita::cli {
namespace {

// As text of a line: no escapes, no ligatures of dashes, and no request at its start.
std::string Escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\n':
        result += "\n.br\n";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '.':
        result += result.empty() || result.back() == '\n' ? "\\&." : ".";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string Sentence(const std::string& what) {
  return Escaped(what) + (what.empty() || what.back() == '.' ? "" : ".");
}

std::string Upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return text;
}

// "a, b or c"
std::string Choices(const std::vector<std::string>& choices) {
  std::string text;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

std::string OptionEntry(const CommandOption& option) {
  std::string names;
  for (const std::string& name : option.names) {
    if (!names.empty()) names += ", ";
    names += "\\fB" + Escaped(name) + "\\fR";
  }
  // An argument's name says what is to be put in its place.
  if (!option.value.empty() && option.names.front().starts_with('-')) {
    names += " \\fI" + Escaped(option.value) + "\\fR";
  }
  std::string text = ".TP\n" + names + "\n" + Sentence(option.what) + "\n";
  if (!option.choices.empty()) text += "One of " + Escaped(Choices(option.choices)) + ".\n";
  if (!option.initial.empty()) text += "Default: " + Escaped(option.initial) + ".\n";
  if (option.required && option.names.front().starts_with('-')) text += "Required.\n";
  return text;
}

std::string Synopsis(const CommandNode& node) {
  std::string text = "\\fB" + Escaped(CommandPath(node)) + "\\fR";
  if (!node.commands.empty()) text += " \\fICOMMAND\\fR";
  if (!node.options.empty()) text += " [\\fIOPTIONS\\fR]";
  for (const CommandOption& argument : node.arguments) {
    const std::string name = "\\fI" + Escaped(argument.names.front()) + "\\fR";
    text += argument.required ? " " + name : " [" + name + "]";
  }
  return text + "\n";
}

std::string Page(const CommandNode& node, const CommandNode* parent) {
  const std::string name = CommandPath(node, "-");
  std::string text = fmt::format(".TH \"{}\" \"1\" \"\" \"Partita {}\" \"Partita\"\n",
                                 Escaped(Upper(name)), Escaped(std::string(kVersion)));
  text += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{}", Escaped(name), Escaped(node.what),
                      Synopsis(node));
  if (!node.arguments.empty()) {
    text += ".SH ARGUMENTS\n";
    for (const CommandOption& argument : node.arguments) text += OptionEntry(argument);
  }
  if (!node.commands.empty()) {
    text += ".SH COMMANDS\n";
    for (const CommandNode& command : node.commands) {
      text += fmt::format(".TP\n\\fB{}\\fR(1)\n{}\n", Escaped(CommandPath(command, "-")),
                          Sentence(command.what));
    }
  }
  if (!node.options.empty()) {
    text += ".SH OPTIONS\n";
    for (const CommandOption& option : node.options) text += OptionEntry(option);
  }
  text += ".SH EXIT STATUS\n";
  for (const ExitCodeMeaning& row : ExitCodes()) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", static_cast<int>(row.code),
                        Sentence(std::string(row.meaning)));
  }
  if (parent != nullptr) {
    text += fmt::format(".SH SEE ALSO\n\\fB{}\\fR(1)\n", Escaped(CommandPath(*parent, "-")));
  }
  return text;
}

void AddPages(const CommandNode& node, const CommandNode* parent, std::vector<ManualPage>& pages) {
  pages.push_back({CommandPath(node, "-") + ".1", Page(node, parent)});
  for (const CommandNode& command : node.commands) AddPages(command, &node, pages);
}

}  // namespace

std::vector<ManualPage> Manual(const CommandNode& root) {
  std::vector<ManualPage> pages;
  AddPages(root, nullptr, pages);
  return pages;
}

}  // namespace partita::cli
