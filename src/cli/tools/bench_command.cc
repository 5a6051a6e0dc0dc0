// partita bench mpc
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/new_file.h"
#include "cli/terminal/units.h"
#include "report/progress.h"
#include "run/bench/bench.h"

namespace partita::cli {
namespace {

using run::MpcBenchRow;

struct BenchCommand {
  std::vector<std::string> engines, operations, latencies;
  size_t repetitions = 11;
  double scale = 1;
  std::string output;
};

run::MpcBenchOptions BenchOptionsOf(const BenchCommand& command) {
  run::MpcBenchOptions options;
  options.operations = command.operations;
  options.repetitions = command.repetitions;
  options.scale = command.scale;
  if (!command.engines.empty()) {
    std::erase_if(options.engines, [&](const run::BenchEngine& engine) {
      return std::find(command.engines.begin(), command.engines.end(), engine.name) ==
             command.engines.end();
    });
  }
  if (!command.latencies.empty()) {
    options.latencies.clear();
    for (const std::string& latency : command.latencies)
      options.latencies.push_back(ParseDuration(latency));
  }
  return options;
}

double Milliseconds(std::chrono::microseconds latency) {
  return std::chrono::duration<double, std::milli>(latency).count();
}

std::string BenchText(const std::vector<MpcBenchRow>& rows, double load, size_t repetitions) {
  TextTable table;
  table.header = {"operation", "size",   "engine", "latency",       "median",       "best",
                  "offline",   "online", "rounds", "offline bytes", "online bytes", "entries/s"};
  table.right = {1, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  for (const MpcBenchRow& row : rows) {
    table.rows.push_back(
        {row.operation, row.size, fmt::format("{} ({})", row.engine, row.num_parties),
         row.latency.count() == 0 ? "loopback" : fmt::format("{} ms", Milliseconds(row.latency)),
         FormatSeconds(row.seconds), FormatSeconds(row.best_seconds),
         row.offline_seconds > 0 ? FormatSeconds(row.offline_seconds) : "-",
         FormatSeconds(row.online_seconds), std::to_string(row.rounds),
         FormatBytes(row.offline_bytes), FormatBytes(row.online_bytes),
         fmt::format("{:.3g}", static_cast<double>(row.entries) / row.seconds)});
  }
  return RenderTable(table, 0) +
         WrapText(fmt::format("Median and best of {} executions at party 0, f = 40, TLS 1.3 on "
                              "loopback, the dealer live: what it sends is inside these times. "
                              "Offline and online: medians of the same apart, correlations made "
                              "for one execution, then used. Bytes are payload over all links. "
                              "Load average at the start: {:.2f}.",
                              repetitions, load),
                  0);
}

nlohmann::ordered_json BenchData(const std::vector<MpcBenchRow>& rows, double load,
                                 const BenchCommand& command) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const MpcBenchRow& row : rows) {
    list.push_back({{"operation", row.operation},
                    {"size", row.size},
                    {"entries", row.entries},
                    {"engine", row.engine},
                    {"parties", row.num_parties},
                    {"latency_ms", Milliseconds(row.latency)},
                    {"median_seconds", row.seconds},
                    {"best_seconds", row.best_seconds},
                    {"offline_seconds", row.offline_seconds},
                    {"online_seconds", row.online_seconds},
                    {"rounds", row.rounds},
                    {"offline_bytes", row.offline_bytes},
                    {"online_bytes", row.online_bytes}});
  }
  return {{"load_average", load}, {"repetitions", command.repetitions}, {"rows", list}};
}

int RunBench(const OutputOptions& output, const BenchCommand& command) {
  const double load = run::LoadAverage();
  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO), "",
                                    &Interrupted());
  CancellableProgress quiet;
  const std::vector<MpcBenchRow> rows = run::BenchMpc(
      BenchOptionsOf(command), output.quiet ? static_cast<Progress&>(quiet) : terminal);
  terminal.Finish();
  const std::string data = BenchData(rows, load, command).dump();
  if (!command.output.empty()) WriteFileAtomically(command.output, data + "\n");
  PrintResult(output, BenchText(rows, load, command.repetitions), data);
  return kDone;
}

}  // namespace

void AddBenchCommand(CLI::App& app, Invocation& invocation) {
  CLI::App* bench = app.add_subcommand("bench", "Measure what computing on shares costs here");
  bench->require_subcommand(1);
  auto options = std::make_shared<BenchCommand>();
  CLI::App* command = bench->add_subcommand(
      "mpc", "Time every operation of every engine between processes on this machine");
  AddOutputOptions(*command, invocation, "bench mpc");
  std::vector<std::string> engines;
  for (const run::BenchEngine& engine : run::BenchEngines()) engines.push_back(engine.name);
  command->add_option("--engine", options->engines, "Only this engine (may be repeated)")
      ->check(CLI::IsMember(engines));
  command->add_option("--operation", options->operations, "Only this operation (may be repeated)")
      ->check(CLI::IsMember(run::BenchOperationNames()));
  command->add_option("--latency", options->latencies,
                      "One-way latency to add to every link, for example 5ms; may be repeated "
                      "(default: 0ms 1ms 20ms)");
  command
      ->add_option("--repetitions", options->repetitions, "Executions of each; the median counts")
      ->capture_default_str();
  command
      ->add_option("--scale", options->scale,
                   "Factor on the number of entries, for a quick run: 0.01")
      ->capture_default_str();
  AddNewFile(*command, invocation, "--output", options->output,
             "Also write the numbers as JSON to this file");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunBench(invocation.output, *options); };
  });
}

}  // namespace partita::cli
