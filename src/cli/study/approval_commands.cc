// partita study approve | reject | approval
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/study/approve.h"
#include "cli/study/party_files.h"
#include "cli/terminal/new_file.h"
#include "cli/terminal/outcome.h"
#include "crypto/signature.h"
#include "data/source/sum_file.h"
#include "methods/all.h"
#include "methods/prepare_study.h"
#include "run/approval/approval_files.h"
#include "run/approval/approval_uses.h"
#include "run/approval/approvals.h"
#include "run/approval/envelope_uses.h"
#include "run/ledger/price.h"
#include "run/method/useful.h"
#include "run/party/build_plan.h"
#include "run/party/join.h"
#include "run/party/row_sets.h"
#include "study/plan/plan.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

constexpr char kReadPlan[] = "partita study plan STUDY";

fs::path OutputFolder(const SignOptions& options, const std::string& beside) {
  return options.output.empty() ? fs::path(beside).parent_path() : fs::path(options.output);
}

crypto::Identity LoadOwnIdentity(const SignOptions& options) {
  return crypto::LoadIdentity(options.files.Certificate(), options.files.Key());
}

nlohmann::ordered_json Described(const study::Approval& approval) {
  return {{"kind", "approval"},
          {"party", approval.party},
          {"decision", approval.decision == study::Decision::kApprove ? "approve" : "reject"},
          {"reason", approval.reason},
          {"study", approval.study},
          {"runs", approval.runs},
          {"valid_until", FormatUtc(approval.valid_until)}};
}

std::string Thresholds(const study::DisclosureSpec& disclosure) {
  return fmt::format("min_cell {}, min_rows {}{}", disclosure.min_cell, disclosure.min_rows,
                     disclosure.refuse_small_samples ? ", small samples are refused" : "");
}

std::string DigestText(const crypto::Digest& digest) {
  return digest == crypto::Digest{} ? "none" : ToHex(digest);
}

std::string ApprovalText(const study::Approval& approval) {
  const bool approved = approval.decision == study::Decision::kApprove;
  return fmt::format(
      "party         {}\ndecision      {}{}\nstudy         {}\nagreement     {}\nplan          {}\n"
      "table         {}\ndisclosure    {}\ngood for      {}\napproved at   {}\nvalid until   {}\n"
      "software      {}\nenvelope      {}\n",
      approval.party, approved ? "approve" : "reject",
      approval.reason.empty() ? "" : ": " + approval.reason, approval.study,
      DigestText(approval.agreement_hash), DigestText(approval.plan_hash),
      DigestText(approval.commitment), Thresholds(approval.disclosure), RunsText(approval.runs),
      FormatUtc(approval.approved_at), FormatUtc(approval.valid_until), approval.software_version,
      DigestText(approval.envelope));
}

nlohmann::ordered_json Described(const study::Envelope& envelope) {
  return {{"kind", "envelope"},
          {"party", envelope.party},
          {"name", envelope.name},
          {"max_results", envelope.max_results},
          {"valid_until", FormatUtc(envelope.valid_until)}};
}

std::string ApprovalText(const study::Envelope& envelope) {
  return fmt::format(
      "party         {}\nenvelope      {}\nmethods       {}\nprotocols     {}\nfunctions     {}\n"
      "engines       {}\nreceivers     {}\nreleases      {}\nvariables     {}\n"
      "at most       {} runs\ndisclosure    {}\nvalid until   {}\n",
      envelope.party, envelope.name, fmt::join(envelope.methods, ", "),
      fmt::join(envelope.protocols, ", "), fmt::join(envelope.functions, ", "),
      fmt::join(envelope.engines, ", "), fmt::join(envelope.receivers, ", "),
      fmt::join(envelope.releases, ", "), fmt::join(envelope.variables, ", "), envelope.max_results,
      Thresholds(envelope.disclosure), FormatUtc(envelope.valid_until));
}

int ApproveEnvelope(const OutputOptions& output, const SignOptions& options) {
  std::vector<std::string> methods;
  for (const methods::Method& method : methods::AllMethods()) {
    methods.push_back(method.section.method);
  }
  study::Envelope envelope = study::ParseEnvelopeFile(
      ReadFile(options.envelope, study::kMaxStudyFileBytes, "the envelope"), options.envelope,
      methods);
  envelope.party = PartyOf(options.files, options.party);
  const crypto::Identity identity = LoadOwnIdentity(options);
  const fs::path file = OutputFolder(options, options.envelope) /
                        fmt::format("envelope-{}-{}.json", envelope.name, envelope.party);
  RequireNewFile(file, output.force);
  Confirm(output, ApprovalText(envelope) + "\n",
          fmt::format("Approve as party {}, without being asked again, every study within this "
                      "envelope?",
                      envelope.party),
          kReadPlan);
  const study::SignedEnvelope signed_envelope = run::SaveEnvelope(envelope, identity, file);
  nlohmann::ordered_json data = Described(signed_envelope.envelope);
  data["file"] = file.string();
  PrintResult(output,
              fmt::format("party {} signed the envelope '{}': {}", envelope.party, envelope.name,
                          file.string()),
              data.dump());
  PrintNote(output, fmt::format("it stays here, with {}; use it with: partita study join STUDY "
                                "--party {} --approval {}",
                                run::UsesPath(file).string(), envelope.party, file.string()));
  return kDone;
}

// The table is read and prepared as the run will do it: what would stop there stops here. Of a
// private study the run itself can say nothing of it, and the owner decides about the cells that the
// dictionary does not allow. Returns a line about the rows of a private study.
std::string CheckTable(const run::Study& study, const run::ApprovalRequest& request,
                       const run::MadeApproval& made, bool accept_faults) {
  if (!made.salt) return "";
  SilentProgress progress;
  const size_t party = run::PartyByName(study, request.party);
  run::RequireOwnersResult(study, party, request.data);
  const run::LocalData local = run::LoadLocalData(study, party, request.data, *made.salt, progress);
  if (local.snapshot.commitment != made.document.approval.commitment) {
    throw Error(ErrorCode::kBadInput, "the table changed while it was read",
                "approve again when nobody writes to it");
  }
  if (data::IsSumFile(request.data)) {
    return fmt::format(
        "Of the table: sums of {} rows, as a database added them up. What you sign is "
        "bound to these sums, not to the rows.\n\n",
        FormatCount(local.cells.rows));
  }
  if (!study.IsPrivate()) return "";
  const data::RepairedCells& cells = local.repaired;
  const bool faults =
      cells.clamped + cells.without_value + cells.ragged_rows + local.rows.neutral > 0;
  const std::string rows = OwnRowsText(local.rows, cells);
  if (faults && !accept_faults) {
    throw Error(
        ErrorCode::kBadData,
        "the table has cells or rows that the study cannot take as they are. " + rows,
        "correct them (partita data check says more), or say --accept-faults: the run "
        "then goes on with what this line says, of which others learn only what the results tell");
  }
  return rows + "\n\n";
}

}  // namespace

void Confirm(const OutputOptions& output, const std::string& page, const std::string& question,
             const std::string& read_first) {
  if (output.json()) {
    PrintNote(output, page);
  } else {
    std::cout << page << std::flush;
  }
  if (output.yes) return;
  if (::isatty(STDIN_FILENO) != 1) {
    throw Error(ErrorCode::kUsage, "there is no terminal at which to ask whether you approve",
                fmt::format("read the plan ({}) and say --yes", read_first));
  }
  std::cerr << question << " Type yes: " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  if (answer != "yes") throw Error(ErrorCode::kRefused, "not approved; nothing was written");
}

std::string RunsText(uint64_t runs) { return runs == 1 ? "one run" : fmt::format("{} runs", runs); }

int64_t UntilOf(const std::string& text) {
  if (const auto until = ParseUntil(text)) return *until;
  throw Error(ErrorCode::kUsage, fmt::format("--until {} is not a day", text),
              "for example --until 2030-12-31");
}

Signed SignDecision(const OutputOptions& output, const SignOptions& options,
                    study::Decision decision) {
  const std::string party = PartyOf(options.files, options.party);
  const std::unique_ptr<const run::Study> owner =
      methods::PrepareStudy(methods::LoadStudyFile(options.study_file));
  const run::Study& prepared = *owner;
  const fs::path file = OutputFolder(options, options.study_file) /
                        run::DefaultApprovalPath("", prepared.file.name, party);
  RequireNewFile(file, output.force);
  run::ApprovalRequest request;
  request.party = party;
  request.decision = decision;
  request.reason = options.reason;
  request.fingerprints = run::Fingerprints(run::ChannelRoster(prepared, options.files.Roster()));
  request.identity = LoadOwnIdentity(options);
  request.data = options.files.Data();
  request.min_cell = options.min_cell;
  request.min_rows = options.min_rows;
  request.refuse_small_samples = options.refuse_small_samples;
  request.runs = options.runs;
  if (!options.until.empty()) request.valid_until = UntilOf(options.until);
  const study::Plan plan = run::BuildPlan(prepared);
  if (decision == study::Decision::kApprove) run::RequireUseful(prepared, options.accept_useless);
  const std::string price =
      options.ledger.empty()
          ? ""
          : run::PriceText(run::PriceOf(prepared, options.ledger, options.table));
  const study::ApprovalTerms terms =
      run::TermsOf(prepared, run::StudyIdentityOf(prepared, request.fingerprints), plan);
  crypto::SystemRandom random;
  if (decision == study::Decision::kApprove) {
    SilentProgress progress;
    run::RequireServable(prepared, run::PartyByName(prepared, party), request.data,
                         run::RowSetsPath(request.data), random, progress);
  }
  const run::MadeApproval made = run::MakeApproval(prepared, terms, request, random);
  const study::Approval& approval = made.document.approval;
  if (decision == study::Decision::kApprove) {
    const std::string table = CheckTable(prepared, request, made, options.accept_faults);
    Confirm(output,
            fmt::format("{}\n{}{}{}What will be signed\n{}\n",
                        study::RenderPlanText(plan, study::DefaultNetworks()), price,
                        price.empty() ? "" : "\n", table, ApprovalText(approval)),
            fmt::format("Approve this study as party {} until {}, for {}?", party,
                        FormatUtc(approval.valid_until), RunsText(approval.runs)),
            kReadPlan);
  }
  run::SaveApproval(made, file);
  return {approval, file, made.salt.has_value()};
}

namespace {

// Signs a decision on one study; the caller has said what and, for an approval, which table.
int Sign(const OutputOptions& output, const SignOptions& options, study::Decision decision) {
  const Signed made = SignDecision(output, options, decision);
  const bool approve = decision == study::Decision::kApprove;
  nlohmann::ordered_json data = Described(made.approval);
  data["file"] = made.file.string();
  PrintResult(
      output,
      fmt::format("party {} {} the study '{}': {}", made.approval.party,
                  approve ? "approves" : "rejects", made.approval.study, made.file.string()),
      data.dump());
  if (made.has_table) {
    PrintNote(output, fmt::format("keep {} beside it and show it to nobody",
                                  run::SecretPath(made.file).string()));
  }
  if (approve) {
    PrintNote(output, fmt::format("it is good for {}, counted in {}: keep that beside it as well",
                                  RunsText(made.approval.runs), run::UsesPath(made.file).string()));
  }
  return kDone;
}

void AddSigningOptions(CLI::App* command, Invocation& invocation,
                       const std::shared_ptr<SignOptions>& options) {
  AddParty(command, options->party, "study");
  AddPartyFolder(command, options->files, "Where data.csv, key.pem, cert.pem and roster.toml are");
  AddPartyIdentity(command, options->files);
  command->add_option("--output", options->output,
                      "The folder to write to (default: where the study file is)");
  AddForce(*command, invocation);
}

void AddApprove(CLI::App& study, Invocation& invocation) {
  auto options = std::make_shared<SignOptions>();
  CLI::App* command = study.add_subcommand(
      "approve", "Show the plan of a study and sign that this party's table may be used for it");
  AddOutputOptions(*command, invocation, "study approve");
  CLI::Option* file = command->add_option("STUDY", options->study_file, "The study file");
  CLI::Option* envelope = command->add_option(
      "--envelope", options->envelope,
      "Approve in advance every study within this envelope (docs/approvals.md)");
  envelope->excludes(file);
  AddSigningOptions(command, invocation, options);
  AddPartyData(command, options->files);
  command->add_option("--until", options->until, "Last day of validity (default: 90 days)")
      ->excludes(envelope);
  command->add_option("--min-cell", options->min_cell, "Raise the study's min_cell")
      ->excludes(envelope);
  command->add_option("--min-rows", options->min_rows, "Raise the study's min_rows")
      ->excludes(envelope);
  command
      ->add_option("--runs", options->runs,
                   "How many runs it is for; one that was interrupted and goes on is one run")
      ->check(CLI::Range(uint64_t{1}, study::kMaxApprovedRuns))
      ->capture_default_str()
      ->excludes(envelope);
  command
      ->add_flag("--refuse-small-samples", options->refuse_small_samples,
                 "Refuse results on fewer than five rows per parameter")
      ->excludes(envelope);
  CLI::Option* ledger =
      command
          ->add_option("--ledger", options->ledger,
                       "The privacy ledger: also says what the study takes from the budget")
          ->excludes(envelope);
  command->add_option("--table", options->table, "The table in the ledger (default: its only one)")
      ->needs(ledger);
  command->add_flag(
      "--accept-useless", options->accept_useless,
      "Approve although the plan foresees a result of little use, for example standard "
      "errors that the privacy noise makes more than five times as large");
  command->add_flag("--accept-faults", options->accept_faults,
                    "Of a study that promises privacy: approve although cells of the table lie "
                    "outside their bounds or have no usable value");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options]() -> int {
      if (!options->envelope.empty()) return ApproveEnvelope(invocation.output, *options);
      if (options->study_file.empty()) {
        throw Error(ErrorCode::kUsage, "neither a study nor an envelope to approve",
                    "partita study approve STUDY");
      }
      return Sign(invocation.output, *options, study::Decision::kApprove);
    };
  });
}

void AddReject(CLI::App& study, Invocation& invocation) {
  auto options = std::make_shared<SignOptions>();
  CLI::App* command =
      study.add_subcommand("reject", "Sign that this party takes no part in a study, and why");
  AddOutputOptions(*command, invocation, "study reject");
  command->add_option("STUDY", options->study_file, "The study file")->required();
  AddSigningOptions(command, invocation, options);
  command->add_option("--reason", options->reason, "Why: one line that all parties may read")
      ->required();
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] {
      return Sign(invocation.output, *options, study::Decision::kReject);
    };
  });
}

struct ShowOptions {
  std::string file, roster, study_file;
};

// The fingerprint to expect: the roster's, or without one that of the certificate in the document.
std::string ExpectedFingerprint(const ShowOptions& options, const std::string& party,
                                const study::Signature& signature) {
  if (!options.roster.empty()) {
    const net::Roster roster = net::LoadRoster(options.roster);
    return roster[net::FindParty(roster, party)].fingerprint;
  }
  const auto certificate = crypto::DecodeCertificate(signature.certificate);
  return certificate == nullptr ? "" : crypto::Fingerprint(*certificate);
}

int PrintShown(const OutputOptions& output, const ShowOptions& options, const std::string& text,
               nlohmann::ordered_json data, const std::string& fingerprint) {
  data["fingerprint"] = fingerprint;
  data["compared_with_roster"] = !options.roster.empty();
  PrintResult(
      output,
      fmt::format(
          "{}signed by     {}\n\nThe signature is good; the certificate {}.", text, fingerprint,
          options.roster.empty() ? "was not compared with a roster (--roster)" : "is the roster's"),
      data.dump());
  return kDone;
}

int ShowEnvelope(const OutputOptions& output, const ShowOptions& options, const std::string& text) {
  const study::SignedEnvelope document = study::ParseEnvelope(text, options.file);
  const study::Envelope& envelope = document.envelope;
  const std::string fingerprint = ExpectedFingerprint(options, envelope.party, document.signature);
  study::RequireSigned(document, envelope.party, fingerprint);
  study::RequireValid(envelope, envelope.party, NowUtc());
  if (!options.study_file.empty())
    study::RequireInside(methods::LoadStudyFile(options.study_file), envelope);
  const uint64_t uses =
      run::EnvelopeUses(run::UsesPath(options.file), study::EnvelopeDigest(envelope));
  nlohmann::ordered_json data = Described(envelope);
  data["uses"] = uses;
  return PrintShown(output, options,
                    fmt::format("{}used          {} runs\n", ApprovalText(envelope), uses), data,
                    fingerprint);
}

int Show(const OutputOptions& output, const ShowOptions& options) {
  const std::string text = ReadFile(options.file, study::kMaxStudyFileBytes, "the document");
  if (study::IsEnvelope(text)) return ShowEnvelope(output, options, text);
  const study::SignedApproval document = study::ParseApproval(text, options.file);
  const study::Approval& approval = document.approval;
  // Of an approval by a policy it is the steward who let the policy sign.
  const study::Signature& signature =
      document.delegation ? document.delegation->signature : document.signature;
  const std::string fingerprint = ExpectedFingerprint(options, approval.party, signature);
  study::RequireSigned(document, approval.party, fingerprint);
  if (!options.study_file.empty()) {
    if (options.roster.empty()) {
      throw Error(ErrorCode::kUsage, "--study without --roster",
                  "the certificates of the roster are part of what was approved: say --roster too");
    }
    const std::unique_ptr<const run::Study> owner =
        methods::PrepareStudy(methods::LoadStudyFile(options.study_file));
    const run::Study& prepared = *owner;
    const std::vector<std::string> fingerprints =
        run::Fingerprints(run::ChannelRoster(prepared, options.roster));
    const study::ApprovalTerms terms = run::TermsOf(
        prepared, run::StudyIdentityOf(prepared, fingerprints), run::BuildPlan(prepared));
    study::RequireApproves(approval, approval.party, terms, NowUtc());
  }
  std::string page = ApprovalText(approval);
  if (document.delegation) {
    page +=
        fmt::format("by a policy   use {} of {} of the steward's policy, until {}\n", approval.use,
                    document.delegation->max_uses, FormatUtc(document.delegation->until));
  }
  nlohmann::ordered_json data = Described(approval);
  // Where its owner looks at it; the others have the document alone.
  const fs::path record = run::UsesPath(options.file);
  if (fs::exists(record)) {
    data["uses"] = run::ApprovalUses(record, approval);
    page += fmt::format("used for      {}\n", RunsText(data["uses"].get<uint64_t>()));
  }
  return PrintShown(output, options, page, data, fingerprint);
}

void AddShow(CLI::App& study, Invocation& invocation) {
  auto options = std::make_shared<ShowOptions>();
  CLI::App* command =
      study.add_subcommand("approval", "Show and verify a signed approval, rejection or envelope");
  AddOutputOptions(*command, invocation, "study approval");
  command->add_option("FILE", options->file, "The document")->required();
  command->add_option("--roster", options->roster, "Compare its certificate with this roster");
  command->add_option("--study", options->study_file, "Check that it approves this study");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return Show(invocation.output, *options); };
  });
}

}  // namespace

void AddApprovalCommands(CLI::App& study, Invocation& invocation) {
  AddApprove(study, invocation);
  AddReject(study, invocation);
  AddShow(study, invocation);
}

}  // namespace partita::cli
