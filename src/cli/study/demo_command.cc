// partita demo: a real study on mock data, on this machine, as a first look.
#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/study/demo_files.h"
#include "cli/study/simulate.h"
#include "cli/terminal/new_file.h"
#include "run/simulate/temporary_folder.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

struct DemoCommand {
  std::string partition = "complex", folder;
  SimulateOptions simulate;
};

// Beside the source tree that this program was built from, or where it was installed.
std::optional<fs::path> ExamplesFolder() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& candidate :
       {program / "../../../examples", program / "../share/partita/examples"}) {
    if (fs::exists(candidate / "three_factor")) return fs::canonical(candidate);
  }
  return std::nullopt;
}

// Writes the files of one partition, which are part of the program, below `folder`; returns the
// study file.
fs::path WriteDemo(const OutputOptions& output, const std::string& partition,
                   const fs::path& folder) {
  std::vector<std::pair<fs::path, std::string_view>> files;
  for (const DemoFile& file : DemoFiles()) {
    if (!file.name.starts_with(partition + "/")) continue;
    files.emplace_back(folder / file.name.substr(partition.size() + 1), file.text);
    RequireNewFile(files.back().first, output.force);
  }
  for (const auto& [file, text] : files) WriteOutput(output, file, text, 0644, "the example");
  return folder / "study.toml";
}

int RunDemo(const OutputOptions& output, DemoCommand command) {
  std::optional<run::TemporaryFolder> temporary;
  const std::optional<fs::path> examples = ExamplesFolder();
  fs::path study;
  if (!command.folder.empty()) {
    study = WriteDemo(output, command.partition, command.folder);
  } else if (examples) {
    study = *examples / "three_factor" / command.partition / "study.toml";
  } else {
    study = WriteDemo(output, command.partition, temporary.emplace().path());
  }
  command.simulate.study_file = study.string();
  if (!temporary) PrintNote(output, fmt::format("Study file: {}", study.string()));
  const int code = Simulate(output, command.simulate);
  if (code == kDone) {
    PrintNote(output, temporary
                          ? "\nTo look at its study file and tables: partita demo --folder demo"
                          : fmt::format("\nWhat was agreed beforehand: partita study plan {}",
                                        study.string()));
  }
  return code;
}

}  // namespace

void AddDemoCommand(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<DemoCommand>();
  CLI::App* command = AddCommand(
      &app, "demo", "demo",
      "Run an example study on this machine: four holders and a dealer, one process each, over TLS",
      invocation, [&invocation, options] { return RunDemo(invocation.output, *options); });
  command->add_option("--partition", options->partition, "How the example's data is split")
      ->check(CLI::IsMember({"complex", "horizontal"}))
      ->capture_default_str();
  command->add_option("--folder", options->folder,
                      "Write the study file and the tables of the example here, to keep");
  command->add_flag("--in-process", options->simulate.in_process,
                    "Run the parties as threads, without TLS");
  command->add_option("--latency", options->simulate.latency,
                      "Add one-way latency, for example 20ms");
  command->add_option("--bandwidth", options->simulate.bandwidth,
                      "Cap the bandwidth of every link, for example 100Mbit/s");
  command->add_option("--output", options->simulate.output,
                      "Write result.json here, and the HTML report beside it");
  AddForce(*command, invocation);
}

}  // namespace partita::cli
