// partita study validate | plan | rehearse | simulate | join | report (approvals:
// approval_commands.cc, new: new_command.cc, prior: prior_command.cc)
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/study/approve.h"
#include "cli/study/correlation_files.h"
#include "cli/study/party_files.h"
#include "cli/study/simulate.h"
#include "cli/terminal/command_progress.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/new_file.h"
#include "cli/terminal/outcome.h"
#include "cli/terminal/units.h"
#include "methods/all.h"
#include "methods/mle/report/moments_json.h"
#include "methods/mle/report/report.h"
#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "report/plan_html.h"
#include "report/progress.h"
#include "report/result_json.h"
#include "run/approval/approval_files.h"
#include "run/approval/approval_uses.h"
#include "run/method/useful.h"
#include "run/party/build_plan.h"
#include "run/party/join.h"
#include "study/plan/hashes.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

void AddValidate(CLI::App* study, Invocation& invocation) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = AddCommand(
      study, "validate", "study validate", "Check a study file and its model, without any data",
      invocation, [&invocation, file] {
        const std::unique_ptr<const run::Study> prepared =
            methods::PrepareStudy(methods::LoadStudyFile(*file));
        const std::string_view kind = data::PartitionKindName(prepared->partition.kind);
        const run::StudySize size = prepared->Size();
        const std::vector<std::string> warnings = prepared->Warnings();
        std::string text = fmt::format("{} is valid: {} parties, {} partition, {} variables", *file,
                                       prepared->parties.size(), kind, size.variables);
        if (size.free_parameters > 0)  // other methods have counts, curves
          text += fmt::format(", {} free parameters", size.free_parameters);
        for (const std::string& warning : warnings)
          text += "\n" + WrapText("Warning: " + warning, 0);
        PrintResult(invocation.output, text,
                    nlohmann::json{{"study", prepared->file.name},
                                   {"parties", prepared->parties.size()},
                                   {"partition", kind},
                                   {"variables", size.variables},
                                   {"free_parameters", size.free_parameters},
                                   {"warnings", warnings}}
                        .dump());
        return kDone;
      });
  command->add_option("STUDY", *file, "The study file")->required();
}

// The two of every plan, or one for each latency.
std::vector<study::NetworkModel> NetworksOf(std::vector<std::string> latencies,
                                            const std::string& bandwidth) {
  if (latencies.empty() && bandwidth.empty()) return study::DefaultNetworks();
  const std::string of_links = bandwidth.empty() ? "1Gbit/s" : bandwidth;
  if (latencies.empty()) latencies = {"0.1ms"};
  std::vector<study::NetworkModel> networks;
  for (const std::string& latency : latencies) {
    networks.push_back({latencies.size() == 1 ? fmt::format("{}, {}", latency, of_links) : latency,
                        std::chrono::duration<double>(ParseDuration(latency)).count(),
                        ParseBandwidth(of_links)});
  }
  return networks;
}

void AddPlan(CLI::App* study, Invocation& invocation) {
  struct Options {
    std::string file, bandwidth, html;
    std::vector<std::string> latencies;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = AddCommand(
      study, "plan", "study plan",
      "Say who sends what to whom, what it costs, and what each role learns", invocation,
      [&invocation, options] {
        const std::unique_ptr<const run::Study> prepared =
            methods::PrepareStudy(methods::LoadStudyFile(options->file));
        study::Plan plan = run::BuildPlan(*prepared);
        run::AddAlternatives(*prepared, plan);
        const std::vector<study::NetworkModel> networks =
            NetworksOf(options->latencies, options->bandwidth);
        const std::string hash = ToHex(study::PlanHash(plan));
        nlohmann::ordered_json data =
            nlohmann::ordered_json::parse(study::RenderPlanJson(plan, networks));
        data["plan_hash"] = hash;
        if (!options->html.empty()) {
          WriteFileAtomically(options->html, report::RenderPlanHtml(plan, networks, hash));
        }
        PrintResult(invocation.output,
                    fmt::format("{}\nPlan hash (the parties compare it when they connect)\n  {}\n"
                                "A party's approval of it is for one run, or for as many as its "
                                "steward says\n",
                                study::RenderPlanText(plan, networks), hash),
                    data.dump());
        return kDone;
      });
  command->add_option("STUDY", options->file, "The study file")->required();
  command
      ->add_option("--latency", options->latencies,
                   "One-way latency to estimate for, for example 20ms; again for another column")
      ->allow_extra_args(false);
  command->add_option("--bandwidth", options->bandwidth,
                      "Bandwidth to estimate for, for example 100Mbit/s (default: 1Gbit/s)");
  AddNewFile(*command, invocation, "--html", options->html,
             "Also write the plan as a page to this file");
}

void AddSimulate(CLI::App* study, Invocation& invocation) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App* command = AddCommand(
      study, "simulate", "study simulate", "Run all parties on this machine, as processes over TLS",
      invocation, [&invocation, options] { return Simulate(invocation.output, *options); });
  AddProgressOption(*command, invocation);
  command->add_option("STUDY", options->study_file, "The study file")->required();
  command->add_option(
      "--data", options->data,
      "PARTY=FILE: a holder's table (default: PARTY/data.csv beside the study file)");
  command->add_flag("--in-process", options->in_process, "Run the parties as threads, without TLS");
  command->add_flag("--accept-useless", options->accept_useless,
                    "Go on although the plan foresees a result of little use, for example standard "
                    "errors that the privacy noise makes more than five times as large; draw "
                    "synthetic tables of a model that is not trained");
  command->add_option("--latency", options->latency, "Add one-way latency, for example 20ms");
  command->add_option("--bandwidth", options->bandwidth,
                      "Cap the bandwidth of every link, for example 100Mbit/s");
  command->add_option("--output", options->output,
                      "Write result.json here, and the HTML report beside it");
  AddForce(*command, invocation);
}

net::LinkModel LinkOf(const std::string& latency, const std::string& bandwidth) {
  net::LinkModel link;
  if (!latency.empty()) link.latency = ParseDuration(latency);
  if (!bandwidth.empty()) link.bytes_per_second = ParseBandwidth(bandwidth);
  return link;
}

struct JoinCommand {
  std::string study_file, party, approval, ledger, table, correlations, listen,
      wait = "10m", output, moments, latency, bandwidth;
  PartyFiles files;
  int listen_descriptor = -1;
  bool no_output = false, accept_useless = false, unrecorded = false;
  bool approve = false, accept_faults = false;
};

// Of an approval whose runs are used up. Only the run itself knows whether it goes on with one of them.
std::string UsedUp(const fs::path& approval) {
  try {
    const std::string text = ReadFile(approval.string(), study::kMaxStudyFileBytes, "the approval");
    const study::Approval made = study::ParseApproval(text, approval.string()).approval;
    if (run::ApprovalUses(run::UsesPath(approval), made) < made.runs) return "";
    return fmt::format(
        ", for {}, of which none is left: only a run that was interrupted can go on. For another, "
        "stop and sign anew: partita study approve STUDY --force",
        RunsText(made.runs));
  } catch (const Error&) {
    return "";  // the run says what is wrong with it
  }
}

// Signs that this party takes part, unless it has signed before: the run looks at the document.
void ApproveIfNew(const OutputOptions& output, const JoinCommand& command,
                  const fs::path& approval) {
  if (fs::exists(approval)) {
    PrintNote(output, fmt::format("{} was signed before{}; going on with it", approval.string(),
                                  UsedUp(approval)));
    return;
  }
  SignOptions options;
  options.study_file = command.study_file;
  options.party = command.party;
  options.files = command.files;
  options.ledger = command.ledger;
  options.table = command.table;
  options.accept_useless = command.accept_useless;
  options.accept_faults = command.accept_faults;
  const Signed made = SignDecision(output, options, study::Decision::kApprove);
  PrintNote(output, fmt::format("signed: {}", made.file.string()));
}

// The file of --moments-out.
std::string MomentsText(const report::Result* result) {
  const std::span<const methods::mle::MleResult> analyses = methods::mle::AnalysesOf(result);
  if (analyses.empty()) {
    throw Error(ErrorCode::kUsage, "this result is of a method that releases no moments",
                "leave out --moments-out");
  }
  return methods::mle::MomentsFileText({analyses.begin(), analyses.end()});
}

// Before anything is opened.
void RequireMomentsFile(const run::Study& study, const JoinCommand& command, bool force) {
  if (!study.parties[run::PartyByName(study, command.party)].receiver ||
      study.Method().protocol.find(methods::mle::kPooledMoments) == std::string::npos) {
    throw Error(ErrorCode::kUsage, "no moments are released to this party",
                "leave out --moments-out: it is for the receiver of protocol \"pooled-moments\"");
  }
  RequireNewFile(command.moments, force);
}

int RunJoin(const OutputOptions& output, JoinCommand command, run::Ranks* ranks) {
  command.party = PartyOf(command.files, command.party);
  const std::unique_ptr<const run::Study> owner =
      methods::PrepareStudy(methods::LoadStudyFile(command.study_file));
  const run::Study& study = *owner;
  run::RequireUseful(study, command.accept_useless);
  run::JoinOptions options;
  options.party = command.party;
  options.data = command.files.Data();
  options.key = command.files.Key();
  options.certificate = command.files.Certificate();
  options.roster = command.files.Roster();
  options.approval =
      command.approval.empty()
          ? run::DefaultApprovalPath(command.study_file, study.file.name, command.party)
          : fs::path(command.approval);
  if (!command.ledger.empty()) options.ledger = {command.ledger, command.table};
  options.unrecorded = command.unrecorded;
  run::RequireLedger(study, options);
  const size_t party = run::PartyByName(study, command.party);
  const std::string result_file =
      command.no_output ? "" : command.files.In(command.output, "result.json").string();
  RequireNewResult(study, party, result_file, output.force);  // before anybody reads and signs
  if (command.approve) ApproveIfNew(output, command, options.approval);
  options.accept_useless = command.accept_useless;
  if (study.file.engine.stored_correlations) {
    options.correlations = StorePath(command.correlations, command.files.folder, study.file.name);
  } else if (!command.correlations.empty()) {
    throw Error(ErrorCode::kUsage,
                fmt::format("study '{}' does not use stored correlations", study.file.name),
                "leave out --correlations; the study file decides it: correlations = \"stored\" in "
                "[engine]");
  }
  options.state = fs::path(command.files.folder) / (study.file.name + ".run");
  options.ranks = ranks;
  options.connect_timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(ParseDuration(command.wait));
  options.listen_address = command.listen;
  if (command.listen_descriptor >= 0) options.listen_descriptor = command.listen_descriptor;
  options.link = LinkOf(command.latency, command.bandwidth);
  report::TerminalProgress terminal(std::cerr, ProgressStyleOf(output), command.party,
                                    &Interrupted());
  if (!command.moments.empty()) RequireMomentsFile(study, command, output.force);
  std::unique_ptr<RoomOnDisk> room = RoomForResult(study, party, result_file);
  options.write = WriterBeside(output, study, party, result_file);
  // A party of a simulation does not outlive it.
  if (command.listen_descriptor >= 0) ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  CancellableProgress quiet;
  Progress& progress = output.quiet ? static_cast<Progress&>(quiet) : terminal;
  const run::PartyOutcome outcome = run::Join(study, options, progress);
  terminal.Finish();
  if (outcome.package) {
    PrintNote(output, fmt::format("stored correlations: package {} is used up, {} left for runs",
                                  *outcome.package, outcome.packages_left));
  }
  const int exit_code = PrintOutcome(output, outcome, result_file, std::move(room));
  if (!command.moments.empty())
    WriteFileAtomically(command.moments, MomentsText(outcome.result.get()));
  return exit_code;
}

void AddJoin(CLI::App* study, Invocation& invocation) {
  auto options = std::make_shared<JoinCommand>();
  CLI::App* command = AddCommand(
      study, "join", "study join", "Run one role of a study on this host", invocation,
      [&invocation, options] { return RunJoin(invocation.output, *options, invocation.ranks); });
  AddProgressOption(*command, invocation);
  command->add_option("STUDY", options->study_file, "The study file")->required();
  AddParty(command, options->party, "study");
  AddPartyFolder(command, options->files, "Where data.csv, key.pem, cert.pem and roster.toml are");
  AddPartyData(command, options->files);
  AddPartyIdentity(command, options->files);
  CLI::Option* approval =
      command->add_option("--approval", options->approval,
                          "This party's approval or envelope (default: approval-STUDY-PARTY.json "
                          "beside the study file)");
  CLI::Option* approve = command->add_flag(
      "--approve", options->approve,
      "First show the plan, ask, and sign that this party takes part (study approve); not if it "
      "has signed before");
  approve->excludes(approval);
  command
      ->add_flag(
          "--accept-faults", options->accept_faults,
          "With --approve, of a study that promises privacy: although cells of the table lie "
          "outside their bounds or have no usable value")
      ->needs(approve);
  CLI::Option* ledger = command->add_option(
      "--ledger", options->ledger,
      "The privacy ledger of this institution; a private study needs one (partita ledger open)");
  command
      ->add_option("--table", options->table,
                   "The name of the table in the ledger (default: its only one)")
      ->needs(ledger);
  command->add_option("--correlations", options->correlations,
                      "The store of a study that was prepared (default: STUDY.correlations in the "
                      "folder)");
  command->add_option("--listen", options->listen,
                      "HOST:PORT to listen on (default: this party's address in the roster)");
  command->add_option("--wait", options->wait, "How long to wait for the others to come up")
      ->capture_default_str();
  command->add_option("--output", options->output,
                      "Where the receiver's result goes (default: result.json in the folder; the "
                      "HTML report goes beside it)");
  command->add_option("--moments-out", options->moments,
                      "The receiver also writes the moments that are released to it to this file, "
                      "for partita sem");
  AddForce(*command, invocation);
  command->add_flag("--accept-useless", options->accept_useless,
                    "Go on although the plan foresees a result of little use, for example standard "
                    "errors that the privacy noise makes more than five times as large; draw "
                    "synthetic tables of a model that is not trained");
  // What `study simulate` passes to its processes.
  command->add_option("--listen-descriptor", options->listen_descriptor)->group("");
  command->add_option("--latency", options->latency)->group("");
  command->add_option("--bandwidth", options->bandwidth)->group("");
  command->add_flag("--no-output", options->no_output)->group("");
  command->add_flag("--unrecorded", options->unrecorded)->group("");
}

void AddReport(CLI::App* study, Invocation& invocation) {
  struct Options {
    std::string file, html, csv, moments;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = AddCommand(
      study, "report", "study report",
      "Show the report of a result.json again, as text, page or table", invocation,
      [&invocation, options] {
        const report::StoredResult stored =
            report::LoadResultJson(options->file, methods::ReadResult);
        if (!options->csv.empty()) {
          const std::optional<std::string> csv = stored.result->Csv();
          if (!csv) {
            throw Error(ErrorCode::kUsage,
                        fmt::format("a result of method {} that ended as '{}' has no table of "
                                    "estimates",
                                    stored.plan.method, study::EndingName(stored.result->ending())),
                        "leave out --csv: result.json holds all numbers, and what the run wrote "
                        "beside it as files stays there");
          }
          WriteFileAtomically(options->csv, *csv);
        }
        if (!options->html.empty())
          WriteFileAtomically(options->html, stored.result->Html(stored.plan, stored.facts));
        if (!options->moments.empty())
          WriteFileAtomically(options->moments, MomentsText(stored.result.get()));
        PrintResult(invocation.output, stored.result->Text(stored.plan, stored.facts),
                    stored.result->Json(stored.plan, stored.facts));
        return kDone;
      });
  command->add_option("RESULT", options->file, "A result.json")->required();
  AddNewFile(*command, invocation, "--html", options->html, "Also write it as a page to this file");
  AddNewFile(*command, invocation, "--csv", options->csv,
             "Also write the estimates as a table to this file: parameters, coefficients, "
             "points of curves, or Table 1");
  AddNewFile(*command, invocation, "--moments-out", options->moments,
             "Also write the moments that were released to this file");
}

}  // namespace

void AddStudyCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* study = app.add_subcommand("study", "Make, check, price and run a study");
  study->require_subcommand(1);
  AddNewCommand(*study, invocation);
  AddValidate(study, invocation);
  AddPlan(study, invocation);
  AddPriorCommand(*study, invocation);
  AddRehearseCommand(*study, invocation);
  AddSimulate(study, invocation);
  AddJoin(study, invocation);
  AddReport(study, invocation);
  AddRefitCommand(*study, invocation);
  AddApprovalCommands(*study, invocation);
  AddBundleCommands(*study, invocation);
  AddStudyAtCommands(*study, invocation);
}

}  // namespace partita::cli
