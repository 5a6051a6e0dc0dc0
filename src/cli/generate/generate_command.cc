// partita generate completion | man
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/generate/completion.h"
#include "cli/generate/manual.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

std::string Completion(const std::string& shell, const CommandNode& root) {
  if (shell == "bash") return BashCompletion(root);
  if (shell == "zsh") return ZshCompletion(root);
  return FishCompletion(root);
}

}  // namespace

void AddGenerateCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* generate = app.add_subcommand(
      "generate", "Print what a shell needs to complete commands, or write manual pages");
  generate->require_subcommand(1);

  auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      AddCommand(generate, "completion", "generate completion",
                 "Print a script that completes commands, options and values", invocation,
                 [&app, &invocation, shell] {
                   const std::string script = Completion(*shell, ReadCommands(app));
                   PrintResult(invocation.output, script,
                               nlohmann::json{{"shell", *shell}, {"script", script}}.dump());
                   return kDone;
                 });
  completion->add_option("SHELL", *shell, "The shell that reads it")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));

  auto folder = std::make_shared<std::string>();
  CLI::App* man = AddCommand(
      generate, "man", "generate man", "Write a manual page for every command", invocation,
      [&app, &invocation, folder] {
        fs::create_directories(*folder);
        const std::vector<ManualPage> pages = Manual(ReadCommands(app));
        for (const ManualPage& page : pages) {
          // For everybody who may read the folder, unlike what runs write.
          const fs::path path = fs::path(*folder) / page.file_name;
          WriteFileAtomically(path, page.text);
          fs::permissions(path, fs::perms(0644));
        }
        PrintResult(invocation.output, fmt::format("wrote {} pages to {}", pages.size(), *folder),
                    nlohmann::json{{"folder", *folder}, {"pages", pages.size()}}.dump());
        return kDone;
      });
  man->add_option("FOLDER", *folder, "Where the pages go; those that are there are replaced")
      ->required();
}

}  // namespace partita::cli
