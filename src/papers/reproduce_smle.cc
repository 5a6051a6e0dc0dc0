// partita reproduce smle-protocols
#include "papers/reproduce_smle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/text_table.h"
#include "cli/terminal/command_progress.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "papers/smle_attacks.h"

namespace partita::papers {
namespace {

using cli::Json;
using methods::mle::published::Masks;

constexpr const char* kProtocolsIs =
    "All parties are threads of this process; time is theirs together, without a network. Off: "
    "largest difference from a fit of the pooled rows in the clear, estimates in standard errors, "
    "standard errors relative. Told: the rank of what the central node was told, of what "
    "determines all moments; of sealed, the numbers that open. pooled-moments, likelihood and "
    "sealed run on the engine dealer with the central node as a party without rows; bytes include "
    "the dealer's.";
constexpr const char* kWhatAttacksAre =
    "Found: moments (rank), or rows of which every cell is within 0.001 standard deviations. "
    "Error: of moments the largest over the largest moment, with what was not told taken as the "
    "model implies it; of rows the largest root mean square error of a column, in its standard "
    "deviations. likelihood: the same questions, computed in the clear. Stored: found, error and "
    "(questions) of the measurements given by --reference, on other rows. Nothing here is "
    "differentially private.";

struct ProtocolsCommand {
  std::string example = "factor", masks = "ring";
  std::string data, model, function = "sem", reference, output, attacks;
  std::vector<std::string> protocols;
  size_t rows = 200, nodes = 3;
  uint64_t seed = 1;
  bool rows_may_leak = false, quick = false;
};

struct ProtocolComparison {
  SmleSample sample;
  stats::SemFit plain;
  std::vector<SmleRun> runs;
  std::vector<SmleGap> gaps;
  std::vector<SmleAttack> attacks;
};

constexpr size_t kQuickRows = 60;
constexpr Eigen::Index kQuickCells = 60;
constexpr Eigen::Index kGrowthWaves = 4;  // of the stored measurement

SmleSample SampleFor(const ProtocolsCommand& command) {
  if (!command.data.empty()) {
    if (!command.rows_may_leak) {
      throw Error(ErrorCode::kRefused,
                  "some of these protocols show rows to other parties, and their attacks are run",
                  "leave --data out to compare on made-up rows, or say --rows-may-leak");
    }
    return ReadSample(command.data, command.model, command.function);
  }
  crypto::Prg random = RowRandom(command.seed);
  const auto rows =
      static_cast<Eigen::Index>(command.quick ? std::min(command.rows, kQuickRows) : command.rows);
  if (command.example == "growth") return GrowthSample(rows, kGrowthWaves, {}, random);
  return FactorSample(rows, random);
}

bool IsWantedProtocol(const ProtocolsCommand& command, const std::string& protocol) {
  return command.protocols.empty() || std::find(command.protocols.begin(), command.protocols.end(),
                                                protocol) != command.protocols.end();
}

ProtocolComparison CompareAll(const ProtocolsCommand& command, Progress& progress) {
  ProtocolComparison out;
  out.sample = SampleFor(command);
  AttackOptions options;
  options.run.masks = command.masks == "ring" ? Masks::kRing : Masks::kPaper;
  // Made-up rows, or SampleFor has asked.
  options.run.rows_may_leak = true;
  if (command.quick) options.cells = kQuickCells;
  SilentProgress silent;
  out.plain =
      stats::FitSem(out.sample.analysis.table, {MomentsOfRows(out.sample.rows)}, {}, silent);
  const SmleSetting columns = SplitColumns(out.sample.rows, command.nodes);
  const SmleSetting whole = SplitRows(out.sample.rows, command.nodes);
  for (const std::string protocol : kSmleProtocols) {
    if (!IsWantedProtocol(command, protocol)) continue;
    progress.Phase(protocol);
    progress.CheckCancelled();
    const SmleSetting& setting = NeedsWholeRows(protocol) ? whole : columns;
    out.runs.push_back(RunSmle(protocol, out.sample, setting, options.run, progress));
    out.gaps.push_back(Compare(out.runs.back().fit, out.plain));
    for (SmleAttack& attack :
         AttackProtocol(protocol, out.runs.back(), out.sample, setting, options, progress)) {
      out.attacks.push_back(std::move(attack));
    }
  }
  std::string model;
  if (command.data.empty()) model = command.example == "growth" ? "growth_linear6" : "onefactor";
  if (!command.reference.empty()) AddReference(command.reference, model, out.attacks);
  return out;
}

std::string Small(double value) { return fmt::format("{:.1e}", value); }

std::string ProtocolsText(const ProtocolComparison& comparison) {
  TextTable table;
  table.header = {"protocol", "estimates off", "errors off", "time",
                  "rounds",   "bytes",         "questions",  "told"};
  table.right = {1, 2, 3, 4, 5, 6, 7};
  for (size_t i = 0; i < comparison.runs.size(); ++i) {
    const SmleRun& run = comparison.runs[i];
    table.rows.push_back(
        {run.protocol, Small(comparison.gaps[i].estimates), Small(comparison.gaps[i].errors),
         FormatSeconds(run.seconds), FormatCount(run.rounds), FormatBytes(run.bytes),
         run.questions > 0 ? FormatCount(static_cast<uint64_t>(run.questions)) : "",
         fmt::format("{} of {}", run.told, run.unknown)});
  }
  return RenderTable(table, 0);
}

std::string NotConverged(const ProtocolComparison& comparison) {
  std::string names;
  for (const SmleRun& run : comparison.runs) {
    if (!run.fit.converged) names += (names.empty() ? "" : ", ") + run.protocol;
  }
  return names.empty() ? "" : WrapText("Stopped short of the strict criterion: " + names + ".", 0);
}

std::string ReferenceText(const SmleAttack& attack) {
  std::string text;
  if (attack.reference_recovered) {
    text = fmt::format("{} of {}", *attack.reference_recovered, *attack.reference_of);
  }
  if (attack.reference_error) text += (text.empty() ? "" : ", ") + Small(*attack.reference_error);
  if (attack.reference_questions) text += fmt::format(" ({})", *attack.reference_questions);
  return text;
}

std::string AttacksText(const ProtocolComparison& comparison, bool with_reference) {
  std::string text;
  TextTable table;
  table.header = {"attack by", "on", "asked", "found", "error"};
  table.right = {2, 3, 4};
  if (with_reference) table.header.emplace_back("stored");
  std::string last;
  for (const SmleAttack& attack : comparison.attacks) {
    if (attack.protocol != last) {
      last = attack.protocol;
      table.rows.push_back({last + ":"});
      table.rows.back().resize(table.header.size());
    }
    table.rows.push_back({"  " + attack.attacker, attack.target,
                          FormatCount(static_cast<uint64_t>(attack.questions)),
                          fmt::format("{} of {}", attack.recovered, attack.of),
                          Small(attack.error)});
    if (with_reference) table.rows.back().push_back(ReferenceText(attack));
  }
  return RenderTable(table, 0);
}

std::string ProtocolsText(const ProtocolComparison& comparison, bool with_reference) {
  return fmt::format("Protocols of maximum likelihood on one data set: {}\n\n",
                     comparison.sample.name) +
         ProtocolsText(comparison) + NotConverged(comparison) + WrapText(kProtocolsIs, 0) +
         "\nWhat parties can work out\n\n" + AttacksText(comparison, with_reference) +
         WrapText(kWhatAttacksAre, 0);
}

std::string ProtocolsCsv(const ProtocolComparison& comparison) {
  std::string csv =
      "protocol,estimates_off,standard_errors_off,seconds,rounds,bytes,questions,told,of\n";
  for (size_t i = 0; i < comparison.runs.size(); ++i) {
    const SmleRun& run = comparison.runs[i];
    csv += fmt::format("{},{},{},{},{},{},{},{},{}\n", run.protocol, comparison.gaps[i].estimates,
                       comparison.gaps[i].errors, run.seconds, run.rounds, run.bytes, run.questions,
                       run.told, run.unknown);
  }
  return csv;
}

std::string AttacksCsv(const ProtocolComparison& comparison) {
  std::string csv = "protocol,attacker,target,questions,found,of,error,stored_error\n";
  for (const SmleAttack& attack : comparison.attacks) {
    csv += fmt::format("{},\"{}\",\"{}\",{},{},{},{},{}\n", attack.protocol, attack.attacker,
                       attack.target, attack.questions, attack.recovered, attack.of, attack.error,
                       attack.reference_error ? fmt::format("{}", *attack.reference_error) : "");
  }
  return csv;
}

Json ReferenceNumber(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json ProtocolsData(const ProtocolComparison& comparison) {
  Json protocols = Json::array(), attacks = Json::array();
  for (size_t i = 0; i < comparison.runs.size(); ++i) {
    const SmleRun& run = comparison.runs[i];
    protocols.push_back({{"protocol", run.protocol},
                         {"converged", run.fit.converged},
                         {"estimates_off", comparison.gaps[i].estimates},
                         {"standard_errors_off", comparison.gaps[i].errors},
                         {"seconds", run.seconds},
                         {"rounds", run.rounds},
                         {"bytes", run.bytes},
                         {"questions", run.questions},
                         {"told", run.told},
                         {"of", run.unknown}});
  }
  for (const SmleAttack& attack : comparison.attacks) {
    attacks.push_back(
        {{"protocol", attack.protocol},
         {"attacker", attack.attacker},
         {"target", attack.target},
         {"questions", attack.questions},
         {"found", attack.recovered},
         {"of", attack.of},
         {"unit", attack.rows ? "rows" : "moments"},
         {"error", attack.error},
         {"stored_found", ReferenceNumber(attack.reference_recovered)},
         {"stored_error", ReferenceNumber(attack.reference_error)},
         {"stored_questions",
          attack.reference_questions ? Json(*attack.reference_questions) : Json(nullptr)}});
  }
  return {{"data_set", comparison.sample.name}, {"protocols", protocols}, {"attacks", attacks}};
}

int RunProtocols(const cli::OutputOptions& output, const ProtocolsCommand& command) {
  cli::CommandProgress progress(output);
  const ProtocolComparison comparison = CompareAll(command, progress.progress());
  progress.Finish();
  if (!command.output.empty()) {
    WriteFileAtomically(command.output, ProtocolsCsv(comparison));
  }
  if (!command.attacks.empty()) {
    WriteFileAtomically(command.attacks, AttacksCsv(comparison));
  }
  cli::PrintResult(output, ProtocolsText(comparison, !command.reference.empty()),
                   ProtocolsData(comparison).dump());
  return cli::kDone;
}

}  // namespace

crypto::Prg RowRandom(uint64_t seed) {
  std::array<uint8_t, 32> key{};
  for (size_t k = 0; k < 8; ++k) key[k] = static_cast<uint8_t>(seed >> (8 * k));
  return crypto::Prg(crypto::Key(key));
}

void AddSmleProtocols(CLI::App& reproduce, cli::Invocation& invocation) {
  auto command = std::make_shared<ProtocolsCommand>();
  CLI::App* app = reproduce.add_subcommand(
      "smle-protocols",
      "Every protocol of maximum likelihood on one data set: accuracy, cost, and what it leaks");
  cli::AddOutputOptions(*app, invocation, "reproduce smle-protocols");
  app->add_option("--example", command->example, "Made-up rows of one factor or of a growth curve")
      ->check(CLI::IsMember({"factor", "growth"}))
      ->capture_default_str();
  app->add_option("--rows", command->rows, "Made-up rows")
      ->check(CLI::Range(20, 100000))
      ->capture_default_str();
  app->add_option("--nodes", command->nodes, "Nodes that hold columns, or rows")
      ->check(CLI::Range(3, 20))
      ->capture_default_str();
  app->add_option("--masks", command->masks, "Of conditional and secure-sum: ring or paper")
      ->check(CLI::IsMember({"ring", "paper"}))
      ->capture_default_str();
  app->add_option("--protocol", command->protocols, "Only this protocol (may be repeated)")
      ->check(
          CLI::IsMember(std::vector<std::string>(kSmleProtocols.begin(), kSmleProtocols.end())));
  CLI::Option* data = app->add_option("--data", command->data, "Rows in a CSV file instead");
  CLI::Option* model =
      app->add_option("--model", command->model, "With --data: a model in lavaan's syntax, a file");
  data->needs(model);
  model->needs(data);
  app->add_option("--function", command->function, "With --data: cfa, sem, growth or lavaan")
      ->check(CLI::IsMember({"cfa", "sem", "growth", "lavaan"}))
      ->capture_default_str();
  app->add_flag("--rows-may-leak", command->rows_may_leak,
                "With --data: these rows may be shown to every party");
  app->add_option("--reference", command->reference,
                  "Print the stored measurements of secure_mle_leakage.json beside");
  app->add_option("--seed", command->seed, "Of the made-up rows")->capture_default_str();
  cli::AddNewFile(*app, invocation, "--output", command->output,
                  "Also write the protocols as CSV to this file");
  cli::AddNewFile(*app, invocation, "--attacks", command->attacks,
                  "Also write the attacks as CSV to this file");
  app->add_flag("--quick", command->quick, "Few rows");
  app->callback([&invocation, command] {
    invocation.run = [&invocation, command] { return RunProtocols(invocation.output, *command); };
  });
}

void AddReproduceSmle(CLI::App& reproduce, cli::Invocation& invocation) {
  AddSmleProtocols(reproduce, invocation);
  AddSmleTable1(reproduce, invocation);
  AddSmleFigure5(reproduce, invocation);
  AddSmleAccuracy(reproduce, invocation);
}

}  // namespace partita::papers
