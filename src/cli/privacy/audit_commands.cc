// partita audit: whether a mechanism keeps the privacy that it claims, from its outputs.
#include <fmt/format.h>
#include <unistd.h>

#include <cfloat>
#include <cmath>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cli/commands.h"
#include "cli/privacy/audit_report.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "data/csv_reader.h"
#include "data/describe.h"
#include "methods/all.h"
#include "methods/prepare_study.h"
#include "privacy/audit/release_runs.h"
#include "privacy/audit/runs_needed.h"
#include "privacy/sampling/discrete_gaussian.h"
#include "privacy/sampling/discrete_laplace.h"
#include "privacy/sampling/polya.h"
#include "report/progress.h"

namespace partita::cli {
namespace {

using privacy::Outputs;
using privacy::ShareSampler;

constexpr uint64_t kMostRuns = 10'000'000;

// --- the claim, for all of them ------------------------------------------------------------------

struct ClaimOptions {
  double epsilon = -1, delta = 0, mu = -1;  // negative: not given
  double alpha = 1e-6;
};

void AddClaimOptions(CLI::App* command, ClaimOptions& claim) {
  command->add_option("--epsilon", claim.epsilon, "The claimed epsilon")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--delta", claim.delta, "The claimed delta")->capture_default_str();
  command->add_option("--mu", claim.mu, "The claimed mu of Gaussian differential privacy")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--alpha", claim.alpha,
                   "Probability that a claim that holds is called violated, over the whole command")
      ->check(CLI::Range(1e-12, 0.5))
      ->capture_default_str();
}

AuditReport NewReport(const ClaimOptions& options) {
  AuditReport report;
  if (options.epsilon >= 0) report.claim.epsilon = options.epsilon;
  if (options.mu >= 0) report.claim.mu = options.mu;
  report.claim.delta = options.delta;
  report.alpha = options.alpha;
  CheckClaim(report.claim);
  return report;
}

// --- mechanism -----------------------------------------------------------------------------------

struct MechanismCommand {
  std::string mechanism;
  double scale = 0;
  uint64_t sensitivity = 1, dimension = 1, parties = 1, coalition = 0, runs = 100000;
  ClaimOptions claim;
};

ShareSampler SamplerOf(const MechanismCommand& command) {
  if (command.mechanism == "discrete-gaussian" || command.mechanism == "sum-of-gaussians") {
    const auto law =
        std::make_shared<privacy::DiscreteGaussian>(privacy::VarianceOfStddev(command.scale));
    return [law](crypto::RandomSource& random, std::span<Int128> out) { law->Sample(random, out); };
  }
  if (command.mechanism == "discrete-laplace") {
    return [law = privacy::DiscreteLaplace(privacy::ScaleOf(command.scale))](
               crypto::RandomSource& random, std::span<Int128> out) { law.Sample(random, out); };
  }
  if (command.scale != std::floor(command.scale)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("Polya shares have a whole scale, not {}", command.scale));
  }
  const auto law = std::make_shared<privacy::DiscreteLaplaceShare>(
      static_cast<UInt128>(command.scale), static_cast<uint32_t>(command.parties));
  return [law](crypto::RandomSource& random, std::span<Int128> out) { law->Sample(random, out); };
}

void CheckMechanism(const MechanismCommand& command) {
  const bool shared =
      command.mechanism == "sum-of-gaussians" || command.mechanism == "sum-of-polya";
  if (!shared && command.parties != 1) {
    throw Error(ErrorCode::kUsage, fmt::format("{} is the noise of one party", command.mechanism),
                "use sum-of-gaussians or sum-of-polya for noise that several parties add");
  }
  if (command.coalition >= command.parties && command.coalition > 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("no noise remains against {} of {} parties", command.coalition,
                            command.parties),
                "audit a smaller coalition");
  }
}

std::string MechanismLine(const MechanismCommand& command) {
  return fmt::format(
      "{}, {} {:g} grid units{}, {} number{} that a person moves by {}", command.mechanism,
      command.mechanism.find("gaussian") != std::string::npos ? "sigma" : "scale", command.scale,
      command.parties > 1 ? fmt::format(" in each of {} shares", command.parties) : std::string(),
      command.dimension, command.dimension == 1 ? "" : "s", command.sensitivity);
}

int RunMechanism(const OutputOptions& output, const MechanismCommand& command) {
  AuditReport report = NewReport(command.claim);
  CheckMechanism(command);
  report.what = MechanismLine(command);
  report.runs = command.runs;
  privacy::SharedRelease release;
  release.shares.assign(command.parties, SamplerOf(command));
  release.without.assign(command.dimension, 0);
  release.with.assign(command.dimension, static_cast<Int128>(command.sensitivity));
  crypto::SystemRandom random;
  const size_t audits = command.coalition > 0 ? 2 : 1;
  for (size_t audit = 0; audit < audits; ++audit) {
    std::vector<size_t> known(audit == 0 ? 0 : command.coalition);
    std::iota(known.begin(), known.end(), size_t{0});
    const Outputs with =
        privacy::ObserveRuns(release, privacy::World::kWith, known, command.runs, random);
    const Outputs without =
        privacy::ObserveRuns(release, privacy::World::kWithout, known, command.runs, random);
    AddFindings(known.empty()
                    ? "outside analyst"
                    : fmt::format("who knows {} of {} shares", known.size(), command.parties),
                with, without, audits, report);
  }
  return PrintAudit(output, report);
}

void AddMechanism(CLI::App* audit, Invocation& invocation) {
  auto options = std::make_shared<MechanismCommand>();
  CLI::App* command = AddCommand(
      audit, "mechanism", "audit mechanism",
      "Audit a noise mechanism of this program, from outside or as a coalition", invocation,
      [&invocation, options] { return RunMechanism(invocation.output, *options); });
  command->add_option("--mechanism", options->mechanism, "Which noise")
      ->required()
      ->check(CLI::IsMember(
          {"discrete-gaussian", "discrete-laplace", "sum-of-gaussians", "sum-of-polya"}));
  command
      ->add_option("--scale", options->scale,
                   "sigma of a Gaussian (of each share), or the scale of a Laplace, in grid units")
      ->required()
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--sensitivity", options->sensitivity,
                   "By how much a person moves every number, in grid units")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1} << 50))
      ->capture_default_str();
  command->add_option("--dimension", options->dimension, "Numbers that are released together")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1000}))
      ->capture_default_str();
  command->add_option("--parties", options->parties, "That add a share of the noise")
      ->check(CLI::Range(uint64_t{1}, uint64_t{1000}))
      ->capture_default_str();
  command
      ->add_option("--coalition", options->coalition,
                   "Audit also from the side of this many parties, who know their shares")
      ->capture_default_str();
  command->add_option("--runs", options->runs, "In each world")
      ->check(CLI::Range(uint64_t{100}, kMostRuns))
      ->capture_default_str();
  AddClaimOptions(command, options->claim);
  command->footer(
      "Exit code 1 if the claim is refuted. At epsilon = 1 or mu = 1, 100000 runs show faults\n"
      "of 10 % in the noise; see partita audit runs.");
}

// --- outputs -------------------------------------------------------------------------------------

struct OutputsCommand {
  std::string with, without;
  ClaimOptions claim;
};

// Every column a number; cells that are no number are "no output".
Outputs ReadOutputs(const std::string& file) {
  const data::TableProfile profile = data::ProfileTableFile(file, std::nullopt);
  data::Schema schema;
  for (const data::ColumnProfile& column : profile.columns) {
    data::ColumnSchema number;
    number.name = column.name;
    number.type = data::ColumnType::kNumeric;
    number.lower = -DBL_MAX;
    number.upper = DBL_MAX;
    number.missing_codes = {"NA", "NaN", "nan", "Inf", "-Inf", "inf", "-inf"};
    schema.columns.push_back(number);
  }
  data::CsvOptions options;
  options.separator = profile.separator;
  options.decimal = profile.decimal;
  const data::CsvContents contents = data::ReadCsvFile(file, schema, options);
  const data::Table& table = contents.table;
  Outputs outputs{table.columns.size(), {}};
  outputs.values.reserve(table.num_rows * table.columns.size());
  for (size_t row = 0; row < table.num_rows; ++row) {
    for (const data::Column& column : table.columns) outputs.values.push_back(column.numbers[row]);
  }
  return outputs;
}

int RunOutputs(const OutputOptions& output, const OutputsCommand& command) {
  AuditReport report = NewReport(command.claim);
  const Outputs with = ReadOutputs(command.with);
  const Outputs without = ReadOutputs(command.without);
  report.what = fmt::format("{} against {}", command.with, command.without);
  report.runs = std::min(with.runs(), without.runs());
  AddFindings("who sees these outputs", with, without, 1, report);
  return PrintAudit(output, report);
}

void AddOutputs(CLI::App* audit, Invocation& invocation) {
  auto options = std::make_shared<OutputsCommand>();
  CLI::App* command = AddCommand(
      audit, "outputs", "audit outputs", "Audit anybody's mechanism from two tables of its outputs",
      invocation, [&invocation, options] { return RunOutputs(invocation.output, *options); });
  command->add_option("WITH", options->with, "Outputs with a person's data (CSV, one run a line)")
      ->required();
  command
      ->add_option("WITHOUT", options->without,
                   "Outputs without, or with another person in its place")
      ->required();
  AddClaimOptions(command, options->claim);
  command->footer(
      "A header line, then one line per independent run with one number per column; an empty\n"
      "cell, NA or NaN says that the run had no output. Exit code 1 if the claim is refuted.");
}

// --- study ---------------------------------------------------------------------------------------

struct StudyCommand {
  std::string study;
  methods::mle::StudyAuditOptions options;
  double alpha = 1e-6;
};

int RunStudy(const OutputOptions& output, const StudyCommand& command) {
  const std::unique_ptr<const run::Study> study =
      methods::PrepareStudy(methods::LoadStudyFile(command.study));
  const methods::SelfChecks& checks = methods::RequireChecks(*study, "an audit of a study");
  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO), "",
                                    &Interrupted());
  CancellableProgress quiet;
  crypto::SystemRandom random;
  const methods::mle::StudyAudit audit = checks.audit(
      *study, command.options, random, output.quiet ? static_cast<Progress&>(quiet) : terminal);
  terminal.Finish();
  AuditReport report;
  report.what = fmt::format("{}: {}", study->file.name, audit.mechanism);
  report.claim.epsilon = audit.epsilon;
  report.claim.delta = audit.delta;
  report.claim.mu = audit.mu;
  report.runs = command.options.runs;
  report.alpha = command.alpha;
  report.replay = audit.replay;
  for (const methods::mle::StudyAuditView& view : audit.views) {
    AddFindings(view.adversary, view.with, view.without, audit.views.size(), report);
  }
  return PrintAudit(output, report);
}

void AddStudy(CLI::App* audit, Invocation& invocation) {
  auto options = std::make_shared<StudyCommand>();
  CLI::App* command = AddCommand(
      audit, "study", "audit study", "Audit the noisy release of a private study on mock data",
      invocation, [&invocation, options] { return RunStudy(invocation.output, *options); });
  command->add_option("STUDY", options->study, "The study file")->required();
  command
      ->add_option("--rows", options->options.rows_per_block,
                   "Mock rows of every block for which the study declares no count")
      ->check(CLI::Range(10, 100000))
      ->capture_default_str();
  command->add_option("--seed", options->options.seed, "Of the mock data")->capture_default_str();
  command
      ->add_option("--neighbours", options->options.neighbours,
                   "Neighbouring data sets per block of rows that are replayed")
      ->check(CLI::Range(1, 9))
      ->capture_default_str();
  command->add_option("--runs", options->options.runs, "In each world and from each side")
      ->check(CLI::Range(uint64_t{100}, kMostRuns))
      ->capture_default_str();
  command
      ->add_option("--alpha", options->alpha,
                   "Probability that a promise that holds is called violated")
      ->check(CLI::Range(1e-12, 0.5))
      ->capture_default_str();
  command->footer(
      "Needs no data. The study's protocol runs in this process on mock tables and on neighbours\n"
      "of them; then its noise is audited from outside, from every party's side, and from that of\n"
      "as many parties together as the study promises to withstand. Exit code 1 if the promise is\n"
      "refuted.");
}

// --- runs ----------------------------------------------------------------------------------------

struct RunsCommand {
  double epsilon = -1, mu = -1, factor = 0;
  privacy::Power power;
};

int RunRuns(const OutputOptions& output, const RunsCommand& command) {
  if ((command.epsilon >= 0) == (command.mu >= 0)) {
    throw Error(ErrorCode::kUsage, "the claim is either --epsilon or --mu");
  }
  const uint64_t runs =
      command.mu >= 0
          ? privacy::RunsForGaussian(command.mu, command.mu * command.factor, command.power)
          : privacy::RunsForDiscreteLaplace(command.epsilon, command.epsilon * command.factor,
                                            command.power);
  // One run in ten chooses the event.
  const uint64_t all = runs + runs / 9 + 1;
  PrintResult(output,
              fmt::format("{} runs in each world find noise that is {:g} times too small, with "
                          "probability {:g}, at an error rate of {:g}\n",
                          all, command.factor, command.power.power, command.power.alpha),
              nlohmann::ordered_json{{"runs", all}}.dump());
  return kDone;
}

void AddRuns(CLI::App* audit, Invocation& invocation) {
  auto options = std::make_shared<RunsCommand>();
  CLI::App* command =
      AddCommand(audit, "runs", "audit runs", "How many runs an audit needs", invocation,
                 [&invocation, options] { return RunRuns(invocation.output, *options); });
  command->add_option("--epsilon", options->epsilon, "The claimed epsilon, of Laplace noise")
      ->check(CLI::PositiveNumber);
  command->add_option("--mu", options->mu, "The claimed mu, of Gaussian noise")
      ->check(CLI::PositiveNumber);
  command->add_option("--factor", options->factor, "How many times too small the noise is")
      ->required()
      ->check(CLI::Range(1.0001, 1000.0));
  command->add_option("--alpha", options->power.alpha, "Error rate")
      ->check(CLI::Range(1e-12, 0.5))
      ->capture_default_str();
  command->add_option("--power", options->power.power, "Probability to find it")
      ->check(CLI::Range(0.01, 0.999999))
      ->capture_default_str();
}

}  // namespace

void AddAuditCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* audit =
      app.add_subcommand("audit", "Look whether a mechanism keeps the privacy that it claims");
  audit->require_subcommand(1);
  AddMechanism(audit, invocation);
  AddOutputs(audit, invocation);
  AddStudy(audit, invocation);
  AddRuns(audit, invocation);
}

}  // namespace partita::cli
