// partita demo: a real study on mock data, on this machine, as a first look.
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/study/simulate.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

// Beside the source tree that this program was built from, or where it was installed.
fs::path ExamplesFolder() {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& candidate :
       {program / "../../../examples", program / "../share/partita/examples"}) {
    if (fs::exists(candidate / "three_factor")) return fs::canonical(candidate);
  }
  throw Error(ErrorCode::kUsage, "the example studies are not beside this program",
              "run it from its build folder, or name a study: partita study simulate STUDY");
}

}  // namespace

void AddDemoCommand(CLI::App& app, Invocation& invocation) {
  struct Options {
    std::string partition = "complex";
    SimulateOptions simulate;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("demo",
                                         "Run an example study on this machine: four holders and a "
                                         "dealer, one process each, over TLS");
  AddOutputOptions(*command, invocation, "demo");
  command->add_option("--partition", options->partition, "How the example's data is split")
      ->check(CLI::IsMember({"complex", "horizontal"}))
      ->capture_default_str();
  command->add_flag("--in-process", options->simulate.in_process,
                    "Run the parties as threads, without TLS");
  command->add_option("--latency", options->simulate.latency,
                      "Add one-way latency, for example 20ms");
  command->add_option("--bandwidth", options->simulate.bandwidth,
                      "Cap the bandwidth of every link, for example 100Mbit/s");
  command->add_option("--output", options->simulate.output,
                      "Write result.json here, and the HTML report beside it");
  command->add_flag("--force", options->simulate.force, "Overwrite it");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] {
      const fs::path study = ExamplesFolder() / "three_factor" / options->partition / "study.toml";
      options->simulate.study_file = study.string();
      PrintNote(invocation.output, fmt::format("Study file: {}", study.string()));
      const int code = Simulate(invocation.output, options->simulate);
      if (code == kDone) {
        PrintNote(
            invocation.output,
            fmt::format("\nWhat was agreed beforehand: partita study plan {}", study.string()));
      }
      return code;
    };
  });
}

}  // namespace partita::cli
