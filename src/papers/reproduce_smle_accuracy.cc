// partita reproduce smle-accuracy
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/terminal/command_progress.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "papers/reproduce_smle.h"
#include "papers/smle_protocols.h"

namespace partita::papers {
namespace {

using cli::Json;
using Eigen::Index;
using methods::mle::published::Masks;

constexpr const char* kAccuracyIs =
    "Differences of estimates from a fit of the pooled rows in the clear, over all parameters of "
    "all data sets: growth curves of made-up rows, columns split over nodes. The paper reports "
    "differences below 0.01 between its partitioned estimates and standard software.";

struct AccuracyCommand {
  size_t sets = 50, rows = 200, waves = 6, nodes = 3;
  uint64_t seed = 1;
  std::string output;
};

struct Accuracy {
  std::string protocol;
  double largest = 0;         // in the parameters' own units
  double largest_errors = 0;  // in standard errors
  size_t sets = 0, converged = 0;
};

double LargestDifference(const stats::SemFit& fit, const stats::SemFit& plain) {
  double largest = 0;
  for (size_t i = 0; i < plain.estimates.size(); ++i) {
    const double off = std::abs(fit.estimates[i].estimate - plain.estimates[i].estimate);
    // A missing number is as far away as can be.
    if (std::isnan(off)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, off);
  }
  return largest;
}

std::vector<Accuracy> SimulateAccuracy(const AccuracyCommand& command, Progress& progress) {
  struct Arm {
    const char* protocol;
    Masks masks;
  };
  constexpr std::array<Arm, 4> kArms = {{{"pooled-moments", Masks::kRing},
                                         {"likelihood", Masks::kRing},
                                         {"conditional", Masks::kRing},
                                         {"conditional", Masks::kPaper}}};
  crypto::Prg random = RowRandom(command.seed);
  std::vector<Accuracy> all(kArms.size());
  progress.Phase("data sets");
  for (size_t set = 0; set < command.sets; ++set) {
    const SmleSample sample = GrowthSample(static_cast<Index>(command.rows),
                                           static_cast<Index>(command.waves), {}, random);
    const SmleSetting setting = SplitColumns(sample.rows, command.nodes);
    SilentProgress silent;
    const stats::SemFit plain =
        stats::FitSem(sample.analysis.table, {MomentsOfRows(sample.rows)}, {}, silent);
    for (size_t a = 0; a < kArms.size(); ++a) {
      progress.CheckCancelled();
      SmleRunOptions options;
      options.rows_may_leak = true;  // made up
      options.masks = kArms[a].masks;
      const SmleRun run = RunSmle(kArms[a].protocol, sample, setting, options, silent);
      all[a].protocol = run.protocol;
      ++all[a].sets;
      all[a].converged += run.fit.converged ? 1 : 0;
      all[a].largest = std::max(all[a].largest, LargestDifference(run.fit, plain));
      all[a].largest_errors = std::max(all[a].largest_errors, Compare(run.fit, plain).estimates);
    }
    progress.Step(set + 1, command.sets);
  }
  return all;
}

std::string AccuracyText(const std::vector<Accuracy>& all) {
  TextTable table;
  table.header = {"protocol", "data sets", "converged", "largest difference", "in standard errors"};
  table.right = {1, 2, 3, 4};
  for (const Accuracy& one : all) {
    table.rows.push_back({one.protocol, fmt::format("{}", one.sets),
                          fmt::format("{}", one.converged), fmt::format("{:.1e}", one.largest),
                          fmt::format("{:.1e}", one.largest_errors)});
  }
  return RenderTable(table, 0) + WrapText(kAccuracyIs, 0);
}

std::string AccuracyCsv(const std::vector<Accuracy>& all) {
  std::string csv = "protocol,data_sets,converged,largest_difference,largest_in_standard_errors\n";
  for (const Accuracy& one : all) {
    csv += fmt::format("{},{},{},{},{}\n", one.protocol, one.sets, one.converged, one.largest,
                       one.largest_errors);
  }
  return csv;
}

Json AccuracyData(const std::vector<Accuracy>& all) {
  Json rows = Json::array();
  for (const Accuracy& one : all) {
    rows.push_back({{"protocol", one.protocol},
                    {"data_sets", one.sets},
                    {"converged", one.converged},
                    {"largest_difference", one.largest},
                    {"largest_in_standard_errors", one.largest_errors}});
  }
  return {{"rows", rows}};
}

int RunAccuracy(const cli::OutputOptions& output, const AccuracyCommand& command) {
  cli::CommandProgress progress(output);
  const std::vector<Accuracy> all = SimulateAccuracy(command, progress.progress());
  progress.Finish();
  if (!command.output.empty()) WriteFileAtomically(command.output, AccuracyCsv(all));
  cli::PrintResult(output, AccuracyText(all), AccuracyData(all).dump());
  return cli::kDone;
}

}  // namespace

void AddSmleAccuracy(CLI::App& reproduce, cli::Invocation& invocation) {
  auto command = std::make_shared<AccuracyCommand>();
  CLI::App* app = reproduce.add_subcommand(
      "smle-accuracy", "Estimates of secure maximum likelihood against those in the clear");
  cli::AddOutputOptions(*app, invocation, "reproduce smle-accuracy");
  app->add_option("--sets", command->sets, "Data sets")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app->add_option("--rows", command->rows, "Rows of each")
      ->check(CLI::Range(20, 100000))
      ->capture_default_str();
  app->add_option("--waves", command->waves, "Waves")
      ->check(CLI::Range(4, 50))
      ->capture_default_str();
  app->add_option("--nodes", command->nodes, "Nodes that hold columns")
      ->check(CLI::Range(2, 20))
      ->capture_default_str();
  app->add_option("--seed", command->seed, "Of the made-up rows")->capture_default_str();
  cli::AddNewFile(*app, invocation, "--output", command->output,
                  "Also write the numbers as CSV to this file");
  app->callback([&invocation, command] {
    invocation.run = [&invocation, command] { return RunAccuracy(invocation.output, *command); };
  });
}

}  // namespace partita::papers
