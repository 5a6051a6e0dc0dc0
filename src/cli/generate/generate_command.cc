// partita generate completion | man
#include <filesystem>
#include <iostream>
#include <memory>

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
  CLI::App* completion = generate->add_subcommand(
      "completion", "Print a script that completes commands, options and values");
  completion->add_option("SHELL", *shell, "The shell that reads it")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->callback([&app, &invocation, shell] {
    invocation.run = [&app, shell] {
      std::cout << Completion(*shell, ReadCommands(app));
      return kDone;
    };
  });

  auto folder = std::make_shared<std::string>();
  CLI::App* man = generate->add_subcommand("man", "Write a manual page for every command");
  man->add_option("FOLDER", *folder, "Where the pages go; those that are there are replaced")
      ->required();
  man->callback([&app, &invocation, folder] {
    invocation.run = [&app, &invocation, folder] {
      fs::create_directories(*folder);
      const std::vector<ManualPage> pages = Manual(ReadCommands(app));
      for (const ManualPage& page : pages) {
        // For everybody who may read the folder, unlike what runs write.
        const fs::path path = fs::path(*folder) / page.file_name;
        WriteFileAtomically(path, page.text);
        fs::permissions(path, fs::perms(0644));
      }
      PrintNote(invocation.output,
                "wrote " + std::to_string(pages.size()) + " pages to " + *folder);
      return kDone;
    };
  });
}

}  // namespace partita::cli
