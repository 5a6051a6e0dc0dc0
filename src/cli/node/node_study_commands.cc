// partita node studies | approve | reject | withdraw, partita study run | list | follow | withdraw
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/utc_time.h"
#include "cli/commands.h"
#include "cli/node/node_terminal.h"
#include "cli/study/approve.h"
#include "cli/terminal/new_file.h"
#include "methods/all.h"
#include "methods/prepare_study.h"
#include "node/study/study.h"
#include "report/result_json.h"
#include "run/method/useful.h"
#include "run/party/build_plan.h"
#include "study/approval/persons.h"
#include "study/plan/plan.h"

namespace partita::cli {
namespace {

namespace fs = std::filesystem;

struct NodeStudyOptions {
  NodeOptions node;
  std::string study, output, reason, file;
  std::string until;
  std::optional<int64_t> min_cell;
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
  const Json& documents = study.at("documents");
  if (study.at("study") != id || documents.at("study") != id ||
      documents.at("file") != study.at("file")) {
    throw Error(
        ErrorCode::kUntrusted, "the node gave another study than the one it was asked for",
        "This node does not do what it should: look at its log, and at who can write there.");
  }
  study["name"] = NameInFile(study.at("file").get<std::string>());
  return study;
}

// What went wrong at this site with a study that goes on or did not come to its end, as its job said it; for
// the own people.
std::string ProblemHere(const Json& study) {
  const std::string problem = PlainLines(study.at("problem").get<std::string>());
  const std::string state = study.at("state");
  const bool is_told = !study.at("is_over").get<bool>() || state == "rejected" || state == "failed";
  return problem.empty() || !is_told ? "" : "at this site: " + problem;
}

// For the own steward, from the first reminder on.
std::string WaitingHere(const Json& study) {
  const std::optional<int64_t> since = ParseUtc(study.at("waits_since").get<std::string>());
  const int64_t waited = since ? NowUtc() - *since : 0;
  if (waited < node::kReminderSeconds[0]) return "";
  return fmt::format("; it waits for this site for {} days", waited / 86'400);
}

std::string Waiting(const Json& study) {
  const std::string state = study.at("state");
  if (const Json& unchecked = study.at("unchecked"); !unchecked.empty()) {
    return fmt::format("not checked yet at {}",
                       fmt::join(unchecked.get<std::vector<std::string>>(), ", "));
  }
  if (state == "settled" || state == "approved") {
    const Json& here = study.at("signed_here");
    return fmt::format(
        "{} of {} approved{}{}", study.at("approved").size(), study.at("parties").size(),
        here.empty() ? ""
                     : fmt::format("; here 1 of 2 has signed: {}", here.at(0).get<std::string>()),
        WaitingHere(study));
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

int ListStudies(const OutputOptions& output, const NodeOptions& options, bool all) {
  Json list = Json::array();
  std::string text;
  for (const Json& study : StudiesAt(options, all ? "all" : "open")) {
    list.push_back(Shown(study));
    text += fmt::format("{}  {:<20} {:<10} by {:<10} {}\n",
                        study.at("study").get<std::string>().substr(0, 12),
                        study.at("name").get<std::string>(), study.at("state").get<std::string>(),
                        study.at("proposer").get<std::string>(), Waiting(study));
    if (const std::string problem = ProblemHere(study); !problem.empty())
      text += fmt::format("              {}\n", problem);
  }
  if (text.empty())
    text = all ? "no studies" : "no open studies; --all shows those that are over, too";
  PrintResult(output, text, Json{{"studies", list}}.dump());
  return kDone;
}

// Before a passphrase is asked for: what is about to be ended.
void SayWhich(const OutputOptions& output, const Json& said) {
  PrintNote(
      output,
      fmt::format("study {}, '{}', proposed by {}", said.at("study").get<std::string>(),
                  said.at("name").get<std::string>(), said.at("proposer").get<std::string>()));
}

// What the signer takes of a study.
Json ForSigner(const std::string& what, const NodeOptions& options, const Json& said) {
  return {{"do", what}, {"documents", said.at("documents")}, {"list", ListDocument(options)}};
}

void Decide(const NodeOptions& options, const Json& said, const std::string& decision,
            const Json& signed_word) {
  AskNode(options, {{"do", "decide"},
                    {"study", said.at("study")},
                    {"decision", decision},
                    {"document", signed_word.at("document")}});
}

std::string EditionOf(const Json& table) {
  const std::string edition = table.at("edition");
  return edition.empty() ? "" : "; " + edition;
}

std::string BudgetOf(const Json& table) {
  const std::string budget = table.is_null() ? "" : table.at("budget").get<std::string>();
  return budget.empty() ? "" : budget + "\n";
}

// Where the study departs from the site's dictionary.
std::string DictionaryOf(const Json& table) {
  const std::string text = table.is_null() ? "" : table.at("dictionary").get<std::string>();
  return text.empty() ? "" : text + "\n";
}

std::string Joined(const Json& names) {
  return fmt::format("{}", fmt::join(names.get<std::vector<std::string>>(), ", "));
}

// Where two persons have to sign.
std::string PersonsOf(const Json& shown) {
  if (shown.at("stewards_needed") == 1) return "";
  const Json& by = shown.at("signed_by");
  const std::string begin =
      by.empty() ? "Two persons have to sign: " : "1 of 2 has signed, " + Joined(by) + ": ";
  return begin + "it waits for " + Joined(shown.at("may_sign")) + ".\n\n";
}

// What the signer computed, for the steward to read.
std::string StewardsPage(const Json& shown) {
  std::string page;
  for (const Json& warning : shown.at("trust")) page += warning.get<std::string>() + "\n\n";
  const Json& table = shown.at("table");
  return page +
         fmt::format(
             "{}\nproposed by   {}\nstudy         {}\nnumber        {}\ntable         {}\nvalid "
             "until   {}\n"
             "code          {}\n\n{}Compare the code with the other stewards, by telephone.\n\n",
             shown.at("plan_text").get<std::string>(), shown.at("proposer").get<std::string>(),
             shown.at("name").get<std::string>(), shown.at("study").get<std::string>(),
             table.is_null()
                 ? "none: this site brings no data"
                 : fmt::format("{}, {} rows, {} missing cells{}",
                               table.at("name").get<std::string>(),
                               table.at("rows").get<uint64_t>(),
                               table.at("missing_cells").get<uint64_t>(), EditionOf(table)),
             shown.at("valid_until").get<std::string>(), shown.at("code").get<std::string>(),
             BudgetOf(table) + DictionaryOf(table)) +
         PersonsOf(shown);
}

// Who may still sign; deputy: empty for the steward.
std::string OthersThan(const std::string& deputy, const Json& names) {
  Json others = names;
  std::erase(others.get_ref<Json::array_t&>(), deputy.empty() ? study::kStewardName : deputy);
  return others.empty() ? "and the steward has named no deputy" : Joined(others);
}

int Approve(const OutputOptions& output, const NodeStudyOptions& options) {
  const Json said = FindStudy(options.node, options.study);
  if (said.at("state") != "settled") {
    throw Error(ErrorCode::kRefused,
                fmt::format("the study is {}: there is nothing to approve here any more, or yet",
                            said.at("state").get<std::string>()),
                "partita node studies shows what waits");
  }
  SignerAccess signer(options.node);
  const Json shown = signer.Ask(ForSigner("study", options.node, said));
  if (!shown.at("can_approve").get<bool>()) {
    const std::string problem = ProblemHere(said);
    throw Error(ErrorCode::kRefused,
                "there is nothing to approve: " + shown.at("why_not").get<std::string>() +
                    (problem.empty() ? "" : "; " + problem),
                problem.empty() ? "partita node studies shows what waits"
                                : "mend it and start the node again, or reject the study");
  }
  if (const std::string useless = shown.at("useless"); !useless.empty() && !options.accept_useless)
    throw Error(ErrorCode::kRefused, useless, "--accept-useless approves it all the same");
  Confirm(output, StewardsPage(shown),
          fmt::format("Approve this study as {} of {}?",
                      options.node.deputy.empty() ? "steward" : "deputy of the steward",
                      shown.at("site").get<std::string>()),
          "partita study plan STUDY");
  Json request = ForSigner("approve", options.node, said);
  request["code"] = shown.at("code");
  const Json& table = shown.at("table");
  request["table"] = table.is_null() ? Json("") : table.at("digest");
  if (options.min_cell) request["min_cell"] = *options.min_cell;
  if (!options.until.empty()) request["valid_until"] = FormatUtc(UntilOf(options.until));
  if (options.accept_useless) request["accept_useless"] = true;
  const Json signed_word = signer.Sign(request);
  Decide(options.node, said, "approve", signed_word);
  const std::string text =
      signed_word.at("complete").get<bool>()
          ? fmt::format("{} approves the study '{}'", shown.at("site").get<std::string>(),
                        shown.at("name").get<std::string>())
          : fmt::format("1 of 2 has signed the study '{}': it waits for another, {}",
                        shown.at("name").get<std::string>(),
                        OthersThan(options.node.deputy, shown.at("may_sign")));
  PrintResult(output, text, Json{{"message", text}}.dump());
  return kDone;
}

int Reject(const OutputOptions& output, const NodeStudyOptions& options) {
  const Json said = FindStudy(options.node, options.study);
  Json request = ForSigner("reject", options.node, said);
  request["study"] = said.at("study");
  request["reason"] = options.reason;
  SayWhich(output, said);
  SignerAccess signer(options.node);
  Decide(options.node, said, "reject", signer.Sign(request));
  const std::string text =
      fmt::format("the study '{}' is rejected", said.at("name").get<std::string>());
  PrintResult(output, text, Json{{"message", text}}.dump());
  return kDone;
}

int Withdraw(const OutputOptions& output, const NodeStudyOptions& options) {
  const Json said = FindStudy(options.node, options.study);
  // First where no daemon can keep it back.
  if (!options.node.steward.empty() || !options.node.sign.empty()) {
    SignerAccess signer(options.node);
    SayWhich(output, said);
    signer.Sign(
        {{"do", "withdraw"}, {"study", said.at("study")}, {"documents", said.at("documents")}});
  }
  AskNode(options.node,
          {{"do", "withdraw"}, {"study", said.at("study")}, {"reason", options.reason}});
  const std::string text =
      fmt::format("the study '{}' is withdrawn", said.at("name").get<std::string>());
  PrintResult(output, text, Json{{"message", text}}.dump());
  return kDone;
}

// "kim and the steward for south", of a party that says who signed.
std::string SignersOf(const Json& study, const std::string& party) {
  for (const Json& entry : study.at("signers")) {
    if (entry.at("party") != party) continue;
    const auto names = entry.at("names").get<std::vector<std::string>>();
    return fmt::format(" ({})", fmt::join(names, " and "));
  }
  return "";
}

// "by north", "by a policy of the steward of south", "by west (kim)".
std::vector<std::string> ApprovedBy(const Json& study) {
  const Json& by_policy = study.at("by_policy");
  std::vector<std::string> words;
  for (const Json& party : study.at("approved")) {
    const bool is_policy = std::find(by_policy.begin(), by_policy.end(), party) != by_policy.end();
    const std::string name = party;
    words.push_back(fmt::format("by {}{}{}", is_policy ? "a policy of the steward of " : "", name,
                                SignersOf(study, name)));
  }
  return words;
}

// Says what is new since `before`.
void SayNews(const OutputOptions& output, const Json& before, const Json& now) {
  if (before.is_null() || before.at("state") != now.at("state"))
    PrintNote(output, fmt::format("{}: {}", now.at("name").get<std::string>(),
                                  now.at("state").get<std::string>()));
  if (before.is_null() || before.at("approved") != now.at("approved")) {
    const Json& approved = now.at("approved");
    if (!approved.empty()) {
      PrintNote(output, fmt::format("approved {} ({} of {})", fmt::join(ApprovedBy(now), ", "),
                                    approved.size(), now.at("parties").size()));
    }
  }
  if (!now.at("unchecked").empty() &&
      (before.is_null() || before.at("unchecked") != now.at("unchecked")))
    PrintNote(output, Waiting(now));
  const std::string problem = ProblemHere(now);
  if (!problem.empty() && (before.is_null() || ProblemHere(before) != problem))
    PrintNote(output, problem);
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
std::vector<std::string> CopyResult(const OutputOptions& output, const NodeOptions& at,
                                    const Json& study, const std::string& folder) {
  const fs::path from = study.at("results").get<std::string>();
  if (folder.empty() || !fs::exists(from / "result.json")) return {};
  AskNode(at, {{"do", "note"},
               {"action", "export"},
               {"study", study.at("study")},
               {"subject", "result.json"},
               {"outcome", "to a folder"}});
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
int ShowResult(const OutputOptions& output, const NodeOptions& at, const Json& study,
               const std::string& folder) {
  const std::string name = study.at("name");
  Json data = Shown(study);
  const fs::path kept = fs::path(study.at("results").get<std::string>()) / "result.json";
  const std::vector<std::string> written = CopyResult(output, at, study, folder);
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
  if (state == "finished") return ShowResult(output, options.node, before, options.output);
  const std::string problem = before.at("problem");
  if (!problem.empty()) PrintNote(output, "at this site: " + PlainLines(problem));
  throw Error(ErrorCode::kRefused,
              fmt::format("the study '{}' {} {}{}{}", before.at("name").get<std::string>(),
                          state == "failed" || state == "expired" ? "has" : "is", state,
                          reason.empty() ? "" : ": ", reason),
              before.at("charged").get<bool>()
                  ? "something may have been opened, so it counts as done"
              : state == "rejected"
                  ? "nothing was opened; when the reason is gone, propose it as a new study"
                  : "nothing was opened; it can be proposed again as a new study");
}

void RequirePart(const study::StudyFile& file, const std::string& own) {
  std::vector<std::string> names;
  for (const study::Party& party : file.parties) names.push_back(party.name);
  if (std::find(names.begin(), names.end(), own) != names.end()) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("{} has no part in this study, whose parties are {}", own,
                          fmt::join(names, ", ")),
              "name the parties as the sites are named here, or have one of them propose it");
}

int RunAt(const OutputOptions& output, const NodeStudyOptions& options) {
  RequireNewResults(output, options.output);
  const study::StudyFile file = methods::LoadStudyFile(options.file);
  const std::string text = ReadFile(options.file, study::kMaxStudyFileBytes, "the study file");
  const std::unique_ptr<const run::Study> prepared = methods::PrepareStudy(file);
  RequirePart(file, AskNode(options.node, {{"do", "status"}}).at("name"));
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
  struct Options {
    NodeOptions node;
    bool all = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command =
      AddCommand(&parent, name, schema, "List the studies that are open at a node", invocation,
                 [&invocation, options] {
                   return ListStudies(invocation.output, options->node, options->all);
                 });
  AddAt(command, options->node);
  command->add_flag("--all", options->all, "Those that are over, too: the newest 100");
}

int FollowNamed(const OutputOptions& output, const NodeStudyOptions& options) {
  RequireNewResults(output, options.output);
  return Follow(output, options, FindStudy(options.node, options.study).at("study"));
}

}  // namespace

std::vector<Json> StudiesAt(const NodeOptions& options, const std::string& which) {
  std::vector<Json> studies;
  const Json said =
      AskNode(options, {{"do", "list"}, {"which", which}, {"after", ""}, {"limit", 100}});
  for (const Json& entry : said.at("studies"))
    studies.push_back(OneStudy(options, entry.at("study")));
  return studies;
}

Json FindStudy(const NodeOptions& options, const std::string& wanted) {
  if (wanted.size() == 64) return OneStudy(options, wanted);
  const auto is_other = [&](const Json& study) {
    const std::string id = study.at("study");
    return study.at("name") != wanted && (wanted.size() < 6 || !id.starts_with(wanted));
  };
  std::vector<Json> found;
  for (const char* which : {"open", "all"}) {
    found = StudiesAt(options, which);
    std::erase_if(found, is_other);
    if (!found.empty()) break;
  }
  if (found.size() == 1) return std::move(found.front());
  throw Error(ErrorCode::kUsage,
              fmt::format("{} at this node {} '{}'", found.empty() ? "no study" : "several studies",
                          found.empty() ? "is called" : "are called", wanted),
              "partita study list --all shows their numbers");
}

void AddNodeStudyCommands(CLI::App& node, Invocation& invocation) {
  AddList(node, invocation, "studies", "node studies");
  auto approving = std::make_shared<NodeStudyOptions>();
  CLI::App* approve = AddOnStudy(
      node, invocation, "approve", "node approve",
      "Show the plan of a study and sign, as the site's steward, that its table may be used",
      approving, Approve);
  AddStewardKey(approve, approving->node);
  AddUseless(approve, approving);
  approve->add_option("--min-cell", approving->min_cell,
                      "The least count of people that may open, stricter than the study's");
  approve->add_option("--until", approving->until,
                      "Until when it holds (YYYY-MM-DD); else until the study expires");
  auto rejecting = std::make_shared<NodeStudyOptions>();
  CLI::App* reject = AddOnStudy(
      node, invocation, "reject", "node reject",
      "Sign, as the site's steward, that it takes no part in a study, and why", rejecting, Reject);
  AddReason(reject, rejecting);
  AddStewardKey(reject, rejecting->node);
  auto withdrawing = std::make_shared<NodeStudyOptions>();
  CLI::App* withdraw = AddOnStudy(
      node, invocation, "withdraw", "node withdraw",
      "Take this site out of a study, at any time; with --steward so that its jobs know, too",
      withdrawing, Withdraw);
  AddReason(withdraw, withdrawing);
  withdrawing->node.steward.clear();
  AddStewardKey(withdraw, withdrawing->node);
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
  withdrawing->node.steward.clear();
  AddReason(AddOnStudy(study, invocation, "withdraw", "study withdraw",
                       "Withdraw a study that was proposed at a node", withdrawing, Withdraw),
            withdrawing);
}

}  // namespace partita::cli
