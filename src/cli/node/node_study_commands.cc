// partita node studies | approve | reject | withdraw, partita study run | list | follow | withdraw
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/utc_time.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "cli/study/approve.h"
#include "cli/terminal/new_file.h"
#include "crypto/random.h"
#include "methods/all.h"
#include "methods/prepare_study.h"
#include "net/roster.h"
#include "node/parties/base32.h"
#include "report/result_json.h"
#include "run/approval/approvals.h"
#include "run/method/useful.h"
#include "run/party/build_plan.h"
#include "run/party/join.h"
#include "study/approval/approval.h"
#include "study/plan/plan.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

struct NodeStudyOptions {
  NodeOptions node;
  std::string study, output, reason, file;
  int64_t days = 14;
  bool accept_useless = false;
};

// The name in the file of a study, which peers wrote: empty where it cannot be read.
std::string NameInFile(const std::string& file) {
  try {
    return methods::ParseStudyFile(file, "the study").name;
  } catch (const Error&) {
    return "";
  }
}

Json OneStudy(const NodeOptions& options, const std::string& id) {
  Json study = AskNode(options, {{"do", "study"}, {"study", id}});
  study["name"] = NameInFile(study.at("file").get<std::string>());
  return study;
}

// By the digits of its number, of which some are enough, or by the name in its file.
Json FindStudy(const NodeOptions& options, const std::string& wanted) {
  if (wanted.size() == 64) return OneStudy(options, wanted);
  std::vector<Json> found;
  const Json said = AskNode(options, {{"do", "studies"}});
  for (const Json& entry : said.at("studies")) {
    Json study = OneStudy(options, entry.at("study"));
    const std::string id = study.at("study");
    if (study.at("name") == wanted || (wanted.size() >= 6 && id.starts_with(wanted)))
      found.push_back(std::move(study));
  }
  if (found.size() == 1) return std::move(found.front());
  throw Error(
      ErrorCode::kUsage,
      fmt::format("{} at this node {} '{}'", found.empty() ? "no open study" : "several studies",
                  found.empty() ? "is called" : "are called", wanted),
      "partita study list shows their numbers: say one, of 64 digits if the study is over");
}

std::string Waiting(const Json& study) {
  const std::string state = study.at("state");
  if (state == "settled" || state == "approved") {
    return fmt::format("{} of {} approved", study.at("approved").size(),
                       study.at("parties").size());
  }
  const std::string reason = study.at("reason"), who = study.at("who");
  return reason.empty() ? "" : who.empty() ? reason : who + ": " + reason;
}

Json Shown(const Json& study) {
  Json shown;
  for (const char* key : {"study", "name", "proposer", "state", "reason", "expires"})
    shown[key] = study.at(key);
  return shown;
}

int ListStudies(const OutputOptions& output, const NodeOptions& options) {
  Json list = Json::array();
  std::string text;
  const Json said = AskNode(options, {{"do", "studies"}});
  for (const Json& entry : said.at("studies")) {
    const Json study = OneStudy(options, entry.at("study"));
    list.push_back(Shown(study));
    text += fmt::format("{}  {:<20} {:<10} by {:<10} {}\n",
                        study.at("study").get<std::string>().substr(0, 12),
                        study.at("name").get<std::string>(), study.at("state").get<std::string>(),
                        study.at("proposer").get<std::string>(), Waiting(study));
  }
  PrintResult(output, text.empty() ? "no open studies" : text, Json{{"studies", list}}.dump());
  return kDone;
}

// What a steward signs about, from the exact bytes.
struct ForSteward {
  std::unique_ptr<const run::Study> study;
  study::Plan plan;
  study::ApprovalTerms terms;  // without a roster: no agreement yet
  std::string code;            // to be compared by telephone
};

ForSteward ReadForSteward(const Json& said, const node::PartyList& list) {
  const std::string file = said.at("file"), roster = said.at("roster");
  ForSteward read;
  read.study = methods::PrepareStudy(methods::ParseStudyFile(file, "the study"));
  read.plan = run::BuildPlan(*read.study);
  if (!roster.empty()) {
    // The text that the code is of, not what the daemon says is in it.
    const net::Roster named = net::ParseRoster(roster, "the roster");
    std::vector<std::string> fingerprints, stewards;
    for (const study::Party& party : read.study->file.parties) {
      const net::RosterEntry& entry = named.at(FindParty(named, party.name));
      fingerprints.push_back(entry.fingerprint);
      stewards.push_back(entry.steward);
      const node::ListedParty* listed = FindListed(list, party.name);
      const bool own = party.name == list.owner;
      if (!own && (listed == nullptr || ToHex(listed->steward_key) != entry.steward ||
                   listed->revoked_at != 0)) {
        throw Error(ErrorCode::kUntrusted,
                    fmt::format("the roster names another steward of {} than the signed list of "
                                "parties",
                                party.name),
                    "Compare the parties by telephone before anything else.");
      }
    }
    read.terms = run::TermsOf(*read.study,
                              run::StudyIdentityOf(*read.study, fingerprints, stewards), read.plan);
  }
  crypto::Sha256 hash;
  const crypto::Digest code = hash.Field("partita plan code 1")
                                  .Field(file)
                                  .Field(roster)
                                  .Field(study::PlanHash(read.plan))
                                  .Finish();
  read.code = node::ToBase32(code).substr(0, 25);
  return read;
}

void Decide(const NodeOptions& options, const Json& said, const std::string& decision,
            const study::SignedApproval& document) {
  AskNode(options, {{"do", "decide"},
                    {"study", said.at("study")},
                    {"decision", decision},
                    {"document", study::RenderApproval(document)}});
}

int Approve(const OutputOptions& output, const NodeStudyOptions& options) {
  const Json said = FindStudy(options.node, options.study);
  const std::string draft = said.at("draft");
  if (said.at("state") != "settled" || draft.empty()) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("the study is {}: there is nothing to approve here {}",
                    said.at("state").get<std::string>(), draft.empty() ? "yet" : "any more"),
        "partita node studies shows what waits");
  }
  const crypto::Identity steward = LoadStewardKey(options.node);
  const node::PartyList list =
      SignedListOf(options.node, AskNode(options.node, {{"do", "parties"}}), steward);
  const ForSteward read = ReadForSteward(said, list);
  const study::Approval approval =
      study::ParseApproval(draft, "the draft of the approval").approval;
  RequireApproves(approval, list.owner, read.terms, NowUtc());
  // The draft comes by the daemon: what the terms do not fix may not be more than one study's run.
  if (approval.runs != 1 || approval.envelope != study::Digest{} ||
      FormatUtc(approval.valid_until) > said.at("expires").get<std::string>()) {
    throw Error(
        ErrorCode::kUntrusted,
        "the draft of the approval is for more than one run, or longer than the study waits",
        "this node does not do what it should: look at its log, and at who can write there");
  }
  run::RequireUseful(*read.study, options.accept_useless);
  const std::string table = said.at("table");
  Confirm(output,
          fmt::format("{}\nproposed by   {}\nstudy         {}\ntable         {}\n"
                      "valid until   {}\ncode          {}\n\nCompare the code with the other "
                      "stewards, by telephone.\n\n",
                      study::RenderPlanText(read.plan, study::DefaultNetworks()),
                      said.at("proposer").get<std::string>(), approval.study,
                      table.empty() ? "none: this site brings no data" : table,
                      FormatUtc(approval.valid_until), read.code),
          fmt::format("Approve this study as steward of {}?", list.owner),
          "partita study plan STUDY");
  Decide(options.node, said, "approve", study::SignApproval(approval, steward));
  const std::string text = fmt::format("{} approves the study '{}'", list.owner, approval.study);
  PrintResult(output, text, Json{{"message", text}}.dump());
  return kDone;
}

int Reject(const OutputOptions& output, const NodeStudyOptions& options) {
  const Json said = FindStudy(options.node, options.study);
  const crypto::Identity steward = LoadStewardKey(options.node);
  const node::PartyList list =
      SignedListOf(options.node, AskNode(options.node, {{"do", "parties"}}), steward);
  const ForSteward read = ReadForSteward(said, list);
  study::Approval rejection;
  rejection.party = list.owner;
  rejection.decision = study::Decision::kReject;
  rejection.reason = options.reason;
  rejection.study = read.study->file.name;
  rejection.agreement_hash = read.terms.agreement_hash;
  rejection.plan_hash = study::PlanHash(read.plan);
  rejection.disclosure = read.study->file.disclosure;
  crypto::SystemRandom random;
  random.Fill(rejection.nonce);
  rejection.approved_at = NowUtc();
  rejection.valid_until = NowUtc() + study::kApprovalSeconds;
  rejection.software_version = std::string(kVersion);
  Decide(options.node, said, "reject", study::SignApproval(rejection, steward));
  const std::string text = fmt::format("{} rejects the study '{}'", list.owner, rejection.study);
  PrintResult(output, text, Json{{"message", text}}.dump());
  return kDone;
}

int Withdraw(const OutputOptions& output, const NodeStudyOptions& options) {
  const Json said = FindStudy(options.node, options.study);
  AskNode(options.node,
          {{"do", "withdraw"}, {"study", said.at("study")}, {"reason", options.reason}});
  const std::string text =
      fmt::format("the study '{}' is withdrawn", said.at("name").get<std::string>());
  PrintResult(output, text, Json{{"message", text}}.dump());
  return kDone;
}

// Says what is new since `before`.
void SayNews(const OutputOptions& output, const Json& before, const Json& now) {
  if (before.is_null() || before.at("state") != now.at("state"))
    PrintNote(output, fmt::format("{}: {}", now.at("name").get<std::string>(),
                                  now.at("state").get<std::string>()));
  if (before.is_null() || before.at("approved") != now.at("approved")) {
    const Json& approved = now.at("approved");
    if (!approved.empty()) {
      std::vector<std::string> names = approved.get<std::vector<std::string>>();
      PrintNote(output, fmt::format("approved by {} ({} of {})", fmt::join(names, ", "),
                                    names.size(), now.at("parties").size()));
    }
  }
  if (now.at("is_over").get<bool>()) return;
  const Json said = before.is_null() ? Json::array() : before.at("progress");
  for (const Json& entry : now.at("progress")) {
    if (std::find(said.begin(), said.end(), entry) != said.end()) continue;
    PrintNote(output, fmt::format("{}: {}, {} %", entry.at("party").get<std::string>(),
                                  entry.at("phase").get<std::string>(),
                                  entry.at("done_per_mille").get<int>() / 10));
  }
}

// Before anything is proposed or waited for.
void RequireNewResults(const OutputOptions& output, const std::string& folder) {
  if (folder.empty()) return;
  for (const char* name : {"result.json", "report.html"})
    RequireNewFile(fs::path(folder) / name, output.force);
}

// The files of a result, copied; the names that they have now, result.json first. None if this site receives
// none, or is to keep them where they are.
std::vector<std::string> CopyResult(const OutputOptions& output, const Json& study,
                                    const std::string& folder) {
  const fs::path from = study.at("results").get<std::string>();
  if (folder.empty() || !fs::exists(from / "result.json")) return {};
  std::vector<std::string> written = {(fs::path(folder) / "result.json").string()};
  for (const fs::directory_entry& file : fs::directory_iterator(from)) {
    const fs::path copy = fs::path(folder) / file.path().filename();
    RequireNewFile(copy, output.force);
    fs::copy_file(file.path(), copy, fs::copy_options::overwrite_existing);
    if (copy.filename() != "result.json") written.push_back(copy.string());
  }
  std::sort(written.begin() + 1, written.end());
  return written;
}

// What the receiver of a finished study is shown, as by partita study join.
int ShowResult(const OutputOptions& output, const Json& study, const std::string& folder) {
  const std::string name = study.at("name");
  Json data = Shown(study);
  const fs::path kept = fs::path(study.at("results").get<std::string>()) / "result.json";
  const std::vector<std::string> written = CopyResult(output, study, folder);
  data["result"] = written.empty() ? "" : written.front();
  if (!fs::exists(kept)) {
    PrintResult(output, fmt::format("the study '{}' is finished; its result went to others", name),
                data.dump());
    return kDone;
  }
  const report::StoredResult stored = report::LoadResultJson(kept.string(), methods::ReadResult);
  const study::Ending ending = stored.result->ending();
  const bool converged = ending == study::Ending::kConverged;
  PrintResult(output, stored.result->Text(stored.plan, stored.facts), data.dump(),
              converged ? "done" : std::string(study::EndingName(ending)));
  for (const std::string& file : written) PrintNote(output, fmt::format("written to {}", file));
  if (written.empty())
    PrintNote(output, fmt::format("to have its files: partita study follow {} --output FOLDER",
                                  study.at("study").get<std::string>()));
  return converged ? kDone : kNotConverged;
}

int Follow(const OutputOptions& output, const NodeStudyOptions& options, const std::string& id) {
  Json before;
  while (true) {
    const Json now = OneStudy(options.node, id);
    SayNews(output, before, now);
    before = now;
    if (now.at("is_over").get<bool>()) break;
    WaitAMoment(fmt::format("the study goes on: partita study follow {}", id));
  }
  const std::string state = before.at("state"), reason = Waiting(before);
  if (state == "finished") return ShowResult(output, before, options.output);
  const std::string problem = before.at("problem");
  if (!problem.empty()) PrintNote(output, "at this site: " + problem);
  throw Error(ErrorCode::kRefused,
              fmt::format("the study '{}' {} {}{}{}", before.at("name").get<std::string>(),
                          state == "failed" || state == "expired" ? "has" : "is", state,
                          reason.empty() ? "" : ": ", reason),
              before.at("charged").get<bool>()
                  ? "something may have been opened, so it counts as done"
                  : "nothing was opened; it can be proposed again as a new study");
}

int RunAt(const OutputOptions& output, const NodeStudyOptions& options) {
  RequireNewResults(output, options.output);
  const study::StudyFile file = methods::LoadStudyFile(options.file);
  const std::string text = ReadFile(options.file, study::kMaxStudyFileBytes, "the study file");
  const std::unique_ptr<const run::Study> prepared = methods::PrepareStudy(file);
  run::RequireUseful(*prepared, options.accept_useless);
  Confirm(output, study::RenderPlanText(run::BuildPlan(*prepared), study::DefaultNetworks()) + "\n",
          fmt::format("Propose the study '{}' to all its parties?", file.name),
          "partita study plan STUDY");
  const Json made =
      AskNode(options.node, {{"do", "propose"}, {"file", text}, {"days", options.days}});
  const std::string id = made.at("study");
  PrintNote(output, fmt::format("proposed: {} (Control-C leaves it going)", id));
  return Follow(output, options, id);
}

CLI::App* AddOnStudy(CLI::App& parent, Invocation& invocation, const std::string& name,
                     const std::string& schema, const std::string& what,
                     const std::shared_ptr<NodeStudyOptions>& options,
                     int (*act)(const OutputOptions&, const NodeStudyOptions&)) {
  CLI::App* command =
      AddCommand(&parent, name, schema, what, invocation,
                 [&invocation, options, act] { return act(invocation.output, *options); });
  command->add_option("STUDY", options->study, "Its name, or digits of its number")->required();
  AddAt(command, options->node);
  return command;
}

void AddReason(CLI::App* command, const std::shared_ptr<NodeStudyOptions>& options) {
  command->add_option("--reason", options->reason, "Why: one line that all parties may read")
      ->required();
}

void AddUseless(CLI::App* command, const std::shared_ptr<NodeStudyOptions>& options) {
  command->add_flag("--accept-useless", options->accept_useless,
                    "Go on although the plan foresees a result of little use");
}

void AddList(CLI::App& parent, Invocation& invocation, const std::string& name,
             const std::string& schema) {
  auto options = std::make_shared<NodeOptions>();
  CLI::App* command =
      AddCommand(&parent, name, schema, "List the studies that are open at a node", invocation,
                 [&invocation, options] { return ListStudies(invocation.output, *options); });
  AddAt(command, *options);
}

int FollowNamed(const OutputOptions& output, const NodeStudyOptions& options) {
  RequireNewResults(output, options.output);
  return Follow(output, options, FindStudy(options.node, options.study).at("study"));
}

}  // namespace

void AddNodeStudyCommands(CLI::App& node, Invocation& invocation) {
  AddList(node, invocation, "studies", "node studies");
  auto approving = std::make_shared<NodeStudyOptions>();
  CLI::App* approve = AddOnStudy(
      node, invocation, "approve", "node approve",
      "Show the plan of a study and sign, as the site's steward, that its table may be used",
      approving, Approve);
  AddStewardKey(approve, approving->node);
  AddUseless(approve, approving);
  auto rejecting = std::make_shared<NodeStudyOptions>();
  CLI::App* reject = AddOnStudy(
      node, invocation, "reject", "node reject",
      "Sign, as the site's steward, that it takes no part in a study, and why", rejecting, Reject);
  AddReason(reject, rejecting);
  AddStewardKey(reject, rejecting->node);
  auto withdrawing = std::make_shared<NodeStudyOptions>();
  AddReason(AddOnStudy(node, invocation, "withdraw", "node withdraw",
                       "Take this site out of a study, at any time", withdrawing, Withdraw),
            withdrawing);
}

void AddStudyAtCommands(CLI::App& study, Invocation& invocation) {
  auto running = std::make_shared<NodeStudyOptions>();
  CLI::App* run = AddCommand(
      &study, "run", "study run",
      "Propose a study to all its parties by this site's node, and follow it to its result",
      invocation, [&invocation, running] { return RunAt(invocation.output, *running); });
  run->add_option("STUDY", running->file, "The study file")->required();
  AddAt(run, running->node);
  run->add_option("--output", running->output, "The folder for the files of the result");
  AddForce(*run, invocation);
  run->add_option("--days", running->days, "Until when it may be approved and run")
      ->check(CLI::Range(1, 60))
      ->capture_default_str();
  AddUseless(run, running);
  AddList(study, invocation, "list", "study list");
  auto following = std::make_shared<NodeStudyOptions>();
  CLI::App* follow = AddOnStudy(study, invocation, "follow", "study follow",
                                "Follow a study that was proposed at a node, to its result",
                                following, FollowNamed);
  follow->add_option("--output", following->output, "The folder for the files of the result");
  AddForce(*follow, invocation);
  auto withdrawing = std::make_shared<NodeStudyOptions>();
  AddReason(AddOnStudy(study, invocation, "withdraw", "study withdraw",
                       "Withdraw a study that was proposed at a node", withdrawing, Withdraw),
            withdrawing);
}

}  // namespace partita::cli
