#include "node/daemon/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/hex.h"
#include "base/public_file.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "node/daemon/kept_json.h"
#include "node/daemon/request_fields.h"
#include "node/daemon/signer_documents.h"
#include "node/job/closed.h"
#include "node/job/kept_budgets.h"
#include "node/job/statement.h"
#include "study/approval/delegation.h"
#include "study/approval/persons.h"

namespace partita::node {
namespace {

using Answered = nlohmann::ordered_json;

constexpr int64_t kDaySeconds = 86'400;
constexpr uint64_t kMaxProblemBytes = 1 << 20;
constexpr std::chrono::seconds kLoopPatience{60};

Answered PartyJson(const PairedParty& party) {
  return {{"name", party.name},
          {"node_certificate", ToHex(party.node_certificate)},
          {"steward_certificate", ToHex(party.steward_certificate)},
          {"address", party.address},
          {"compared_at", party.compared_at}};
}

Answered StudyJson(const Study& study) {
  Answered approved = Answered::array(), by_policy = Answered::array();
  Answered signers = Answered::array();
  Answered progress = Answered::array(), ended = Answered::array();
  for (const auto& [party, document] : study.approvals) {
    approved.push_back(party);
    if (study::HasDelegation(document)) by_policy.push_back(party);
    const std::vector<std::string> names = study::WhoSigned(document);
    if (names.size() > 1 || (names.size() == 1 && names[0] != study::kStewardName))
      signers.push_back({{"party", party}, {"names", names}});
  }
  for (const auto& entry : study.progress) {
    progress.push_back({{"party", entry.first},
                        {"phase", entry.second.phase},
                        {"done_per_mille", entry.second.done_per_mille}});
  }
  for (const auto& entry : study.ended) {
    ended.push_back({{"party", entry.first},
                     {"outcome", OutcomeName(entry.second.outcome)},
                     {"may_have_opened", entry.second.may_have_opened}});
  }
  // At the proposer: who has not said yet whether the study is valid there.
  Answered unchecked = Answered::array();
  for (const std::string& party : study.facts.parties) {
    if (study.phase == Phase::kValidated && !study.offers.empty() && !study.offers.contains(party))
      unchecked.push_back(party);
  }
  return {{"study", ToHex(study.id)},
          {"proposer", study.proposer},
          {"state", PhaseName(study.phase)},
          {"is_over", IsEnd(study.phase)},
          {"parties", study.facts.parties},
          {"receivers", study.facts.receivers},
          {"unchecked", unchecked},
          {"approved", approved},
          {"by_policy", by_policy},
          {"signers", signers},
          {"signed_here", study.phase != Phase::kSettled ? std::vector<std::string>()
                                                         : study::WhoSigned(study.first)},
          {"attempt", study.closed + (IsAttempt(study.phase) ? 1U : 0U)},
          {"charged", study.charged},
          {"progress", progress},
          {"ended", ended},
          {"who", study.ending.who},
          {"reason", study.ending.what},
          {"began", FormatUtc(study.began)},
          {"expires", FormatUtc(study.expires)},
          {"waits_since", WaitsForOwnSteward(study) ? FormatUtc(study.waits_since) : ""}};
}

// Empty if there is none.
std::string FileOfStudy(const std::filesystem::path& file, size_t max_bytes) {
  return std::filesystem::exists(file) ? ReadFile(file, max_bytes, "a file of the study") : "";
}

Answered FaultJson(const std::optional<AuditFault>& fault) {
  if (!fault) return nullptr;
  return {{"number", fault->number}, {"what", fault->what}};
}

Answered DictionaryJson(const KeptDictionary& kept) {
  return {{"text", kept.text}, {"version", kept.version}};
}

std::string DigestText(const Digest& digest) { return digest == Digest{} ? "" : ToHex(digest); }

Answered AuditJson(const AuditEntry& entry) {
  const AuditRecord& record = entry.record;
  return {{"number", entry.number},
          {"time", FormatUtc(record.time)},
          {"kind", ActorKindName(record.actor.kind)},
          {"actor", record.actor.name},
          {"action", AuditActionName(record.action)},
          {"study", DigestText(record.study)},
          {"subject", record.subject},
          {"outcome", record.outcome},
          {"message", DigestText(record.message)}};
}

std::string DateText(int64_t day) { return FormatUtc(day * kDaySeconds).substr(0, 10); }

// Whether the tables are closed since a restore.
Answered RestoredJson(const NodeFolder& folder, const Digest& steward) {
  const std::optional<RestoredMark> mark = ReadRestoredMark(folder.restored());
  const RestoreWord word =
      mark ? WordFor(*mark, RestoreFilesOf(folder), {steward}) : RestoreWord::kAllSpent;
  if (word == RestoreWord::kAllSpent) {
    return {{"mark", ""},
            {"time", mark ? FormatUtc(mark->time) : ""},
            {"accounts", 0},
            {"closed", false}};
  }
  return {{"mark", ToHex(Encode(*mark))},
          {"time", FormatUtc(mark->time)},
          {"accounts", mark->accounts.size()},
          {"closed", word == RestoreWord::kNone}};
}

// Of a status, which answers whatever the mark is like: one that cannot be read closes the tables, too.
Answered TablesSinceRestore(const NodeFolder& folder, const Digest& steward,
                            const HeadsDesk& heads) {
  try {
    const std::optional<RestoredMark> mark = ReadRestoredMark(folder.restored());
    if (!mark) return nullptr;
    const RestoreFiles files = RestoreFilesOf(folder);
    const size_t spent = SpentBy(*mark, files, {steward}).size();
    const HeadsDesk::Count count = heads.Counted(*mark);
    return {{"time", FormatUtc(mark->time)},
            {"closed", WordFor(*mark, files, {steward}) == RestoreWord::kNone},
            {"accounts", spent},
            {"kept", mark->accounts.size() - spent},
            {"asked", count.asked},
            {"answered", count.answered}};
  } catch (const Error&) {
    return {{"time", ""}, {"closed", true}, {"accounts", 0},
            {"kept", 0},  {"asked", 0},     {"answered", 0}};
  }
}

Answered AnswersJson(const std::vector<Bytes>& answers) {
  Answered all = Answered::array();
  for (const Bytes& answer : answers) all.push_back({{"answer", ToHex(answer)}});
  return all;
}

constexpr size_t kMostFaultsShown = 100;

// What other sites and this one keep of each other's logs.
Answered SitesJson(Node& node, const PartyList& list) {
  std::map<std::string, Answered> sites;
  for (const ListedParty& party : list.parties)
    sites[party.name] = {{"site", party.name}, {"has", nullptr}, {"told", nullptr}};
  const auto site = [&sites](const std::string& name) -> Answered& {
    return sites.try_emplace(name, Answered{{"site", name}, {"has", nullptr}, {"told", nullptr}})
        .first->second;
  };
  for (const auto& [name, kept] : node.log_receipts()) {
    const LogReceipt& receipt = kept.receipt;
    site(name)["has"] = {
        {"number", receipt.number},     {"digest", DigestText(receipt.digest)},
        {"time", FormatUtc(kept.time)}, {"fits", node.Fitting(receipt) == receipt.number},
        {"departs", receipt.departs},   {"had", receipt.had}};
  }
  for (const PeerLog& log : node.FindPeerLogs()) {
    site(log.party)["told"] = {
        {"number", log.number}, {"day", DateText(log.day)}, {"digest", DigestText(log.digest)}};
  }
  Answered answer = {
      {"sites", Answered::array()}, {"newest", nullptr}, {"faults", Answered::array()}};
  for (const auto& entry : sites) answer["sites"].push_back(entry.second);
  if (const LogDay& newest = node.newest_day(); newest.number != 0) {
    answer["newest"] = {{"number", newest.number},
                        {"day", DateText(newest.day)},
                        {"digest", DigestText(newest.digest)}};
  }
  for (const LogFault& fault : node.FindLogFaults(kMostFaultsShown)) {
    answer["faults"].push_back({{"site", fault.party},
                                {"departs", fault.departs},
                                {"had", fault.had},
                                {"time", FormatUtc(fault.time)},
                                {"before", DigestText(fault.before)},
                                {"message", DigestText(fault.message)}});
  }
  return answer;
}

constexpr size_t kMostAuditShown = 500;

// The account that proposed the study here; empty: somebody at the terminal, or another site.
std::string ProposerHere(Node& node, const StudyId& id) {
  uint64_t before = 0;
  do {
    const AuditPage page = node.ReadAudit({id, ""}, before, kMostAuditShown);
    for (const AuditEntry& entry : page.entries) {
      const AuditRecord& record = entry.record;
      if (record.action == AuditAction::kProposal && record.actor.kind == ActorKind::kAccount)
        return record.actor.name;
    }
    before = page.next;
  } while (before != 0);
  return "";
}

// Where two persons decide, none of them is the one who proposed the study here: an account, or the deputy of its name.
void RequireOther(Node& node, const StudyId& id, const Actor& actor, const std::string& document) {
  const study::SignedApproval approval = study::ParseApproval(document, "the approval");
  if (approval.approval.stewards < 2) return;
  const std::string proposer = ProposerHere(node, id);
  const std::vector<std::string> signers = study::WhoSigned(approval);
  const bool is_own = actor.name == proposer ||
                      std::find(signers.begin(), signers.end(), proposer) != signers.end();
  if (proposer.empty() || !is_own) return;
  throw Error(
      ErrorCode::kRefused,
      fmt::format("{} proposed this study, and nobody decides on an own proposal", proposer),
      "Let two others sign.");
}
constexpr size_t kMostAuditChecked = 2000;  // in one request
constexpr size_t kMaxTableNameBytes = 4096;
constexpr size_t kMostListed = 100;
constexpr int kMostTableLevels = 8;
constexpr size_t kResultPiece = size_t{2} << 20;
constexpr size_t kFilesAtOnce = size_t{1} << 20;

// What a study's folder has for people.
void AddFilesOf(const std::filesystem::path& folder, Answered& json) {
  json["has_draft"] = std::filesystem::exists(folder / "draft.json");
  json["has_report"] = std::filesystem::exists(folder / "result" / "report.html");
  json["has_result"] = std::filesystem::exists(folder / "result" / "result.json");
}

// Of the table that a job froze for the study; none: it froze none, or the folder is gone. A statement that cannot be read
// is for the signer to complain of.
std::optional<CommitStatement> FrozenFor(const std::filesystem::path& folder) {
  try {
    const std::string text = FileOfStudy(folder / "statement", kMaxStatementBytes);
    if (text.empty()) return std::nullopt;
    CommitStatement statement = DecodeSignedCommit(AsBytes(text)).statement;
    if (statement.table.empty()) return std::nullopt;
    return statement;
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The newest first, with their tables; those of other roles are left out.
Answered StudiesWithTables(std::vector<Study> studies, const std::filesystem::path& run) {
  std::sort(studies.begin(), studies.end(), [](const Study& a, const Study& b) {
    return std::pair(b.began, b.id) < std::pair(a.began, a.id);
  });
  Answered listed = Answered::array();
  for (const Study& study : studies) {
    const std::filesystem::path folder = run / ToHex(study.id);
    const std::string table = FileOfStudy(folder / "table", kMaxTableNameBytes);
    if (table.empty()) continue;
    Answered& json = listed.emplace_back(StudyJson(study));
    AddFilesOf(folder, json);
    json["table"] = table;
  }
  return listed;
}

void AddFrozen(Answered& tables, const Answered& studies, const std::filesystem::path& run) {
  for (Answered& table : tables) {
    table["frozen"] = nullptr;
    for (const Answered& study : studies) {
      if (study.at("table") != table.at("name")) continue;
      const auto statement = FrozenFor(run / study.at("study").get<std::string>());
      if (!statement || statement->table != table.at("name").get<std::string>()) continue;
      table["frozen"] = {{"study", study.at("study")},
                         {"rows", statement->rows},
                         {"missing_cells", statement->missing}};
      break;
    }
  }
}

std::vector<StudyId> StudyIdsIn(const Bytes& bytes) {
  StudyId id{};
  if (bytes.size() % id.size() != 0 || bytes.size() / id.size() > kMostListed)
    throw Error(ErrorCode::kUsage, "these are no numbers of studies", "Ask for fewer.");
  std::vector<StudyId> ids;
  for (auto next = bytes.begin(); next != bytes.end(); next += id.size()) {
    std::copy_n(next, id.size(), id.begin());
    ids.push_back(id);
  }
  return ids;
}

int64_t CursorOf(const std::string& text) {
  int64_t cursor = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9' || cursor > INT64_MAX / 10 - 1)
      throw Error(ErrorCode::kUsage, "the list has no such page", "Begin with its first page.");
    cursor = cursor * 10 + (digit - '0');
  }
  return cursor;
}

// A piece of a file, and the size of all of it.
Answered ReadPiece(const std::filesystem::path& file, int64_t offset) {
  const auto no_file = [] {
    throw Error(ErrorCode::kUsage, "this study has no such result at this site",
                "Its receivers have it, once it is finished.");
  };
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) no_file();
  const auto size = static_cast<int64_t>(stream.tellg());
  if (size < 0 || offset < 0 || offset > size) no_file();
  const int64_t length = std::min(size - offset, static_cast<int64_t>(kResultPiece));
  Bytes bytes(static_cast<size_t>(length));
  stream.seekg(offset);
  if (!stream.read(reinterpret_cast<char*>(bytes.data()), length)) no_file();
  return {{"size", size}, {"bytes", ToHex(bytes)}};
}

}  // namespace

void Control::OnLoop(const std::function<void(Node& node, int64_t now)>& task) {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> waiting = done->get_future();
  parts_.loop.Do([task, done](Node& node, int64_t now) {
    try {
      task(node, now);
      done->set_value();
    } catch (const Error& error) {
      done->set_exception(std::current_exception());
      if (error.code() == ErrorCode::kStorage) throw;
    }
  });
  // A task that is dropped breaks its promise.
  done.reset();
  if (waiting.wait_for(kLoopPatience) != std::future_status::ready)
    throw Error(ErrorCode::kTimeout, "the node is busy", "Try again.");
  try {
    waiting.get();
  } catch (const std::future_error&) {
    throw Error(ErrorCode::kUnreachable, "the node is about to stop", "Start it again.");
  }
}

void Control::RequireTable(const std::string& name) const {
  for (const CatalogueTable& table : parts_.config.tables) {
    if (table.name == name) return;
  }
  throw Error(ErrorCode::kUsage, "there is no such table at this node", "partita node tables");
}

void Control::Note(const Actor& actor, AuditAction action, const std::string& subject,
                   const std::string& outcome, const StudyId& study) {
  AuditRecord record;
  record.actor = actor;
  record.action = action;
  record.subject = subject;
  record.outcome = outcome;
  record.study = study;
  OnLoop([&record](Node& node, int64_t then) {
    record.time = then;
    node.Note(record);
  });
}

// What is new on the list: a party with other keys than before is listed anew.
void Control::NoteList(const Actor& actor, const PartyList& before, const PartyList& after) {
  for (const ListedParty& party : after.parties) {
    const ListedParty* was = FindListed(before, party.name);
    const std::string key = "node key " + ToHex(party.node_key);
    if (was == nullptr || was->node_key != party.node_key ||
        was->steward_key != party.steward_key) {
      const std::string how =
          party.known_by == KnownBy::kDigits
              ? "digits were compared"
              : fmt::format("introduced by {}", fmt::join(party.introducers, ", "));
      Note(actor, AuditAction::kPartyListed, party.name, fmt::format("{}, {}", how, key));
    }
    if (party.revoked_at != 0 && (was == nullptr || was->revoked_at == 0))
      Note(actor, AuditAction::kPartyRevoked, party.name, key);
  }
}

std::string Control::Answer(const std::string& text, Asker asker) {
  RequestFields request(text, "node");
  const std::string& what = request.what();
  const int64_t now = NowUtc();
  // Whoever asks says so: the pages for their accounts, a command at the terminal does not.
  const std::string account = request.Has("account") ? request.Text("account") : "";
  RequireMayAsk(asker, what, account, what == "note" ? request.Peek("action") : "");
  const Actor actor{account.empty() ? ActorKind::kTerminal : ActorKind::kAccount, account};
  Answered answer = Answered::object();
  if (what == "status") {
    request.End();
    size_t open = 0, runs = 0;
    bool stopped = false, draining = false;
    Answered half_signed = Answered::array();
    OnLoop([&](Node& node, int64_t) {
      for (const auto& [id, study] : node.open()) {
        const Answered json = StudyJson(study);
        if (json.at("signed_here").empty()) continue;
        half_signed.push_back({{"study", ToHex(id)},
                               {"signed", json.at("signed_here")},
                               {"needed", study::kMostStewards}});
      }
      open = node.open().size();
      runs = node.Runs();
      stopped = node.stopped();
      draining = node.draining();
    });
    answer = {{"name", parts_.config.name},
              {"address", parts_.config.address},
              {"fingerprint", crypto::Fingerprint(*parts_.identity.certificate)},
              {"steward", ToHex(parts_.steward)},
              {"stopped", stopped},
              {"draining", draining},
              {"restored", TablesSinceRestore(parts_.folder, parts_.steward, parts_.heads)},
              {"open_studies", open},
              {"runs", runs},
              {"half_signed", half_signed},
              {"parties", parts_.keeper.List().parties.size()},
              {"waiting_introductions", parts_.keeper.Waiting().size()},
              {"open_invitations", OpenInvitations(parts_.own_lines.Load(), now)}};
  } else if (what == "invite") {
    const std::string name = request.Text("name");
    request.End();
    const Invitation line = parts_.desk.MakeLine(name);
    Note(actor, AuditAction::kInvitation, name);
    answer = {{"line", FormatInvitation(line)},
              {"number", ToHex(line.number)},
              {"expires", FormatUtc(line.expires)}};
  } else if (what == "join") {
    const std::string line = request.Text("line");
    request.End();
    answer = {{"number", ToHex(parts_.desk.Join(line))}};
  } else if (what == "pairing") {
    const auto number = request.Fixed<InviteNumber>("number");
    request.End();
    const PairingView view = parts_.desk.Look(number);
    answer = {
        {"state", PairingStateName(view.state)}, {"name", view.name},        {"shown", view.shown},
        {"role", static_cast<int>(view.role)},   {"hash", ToHex(view.hash)}, {"reach", view.reach}};
    if (view.met) answer["party"] = PartyJson(*view.met);
  } else if (what == "digits") {
    const auto number = request.Fixed<InviteNumber>("number");
    const std::string digits = request.Text("digits");
    request.End();
    const std::string name = parts_.desk.Look(number).name;
    try {
      parts_.desk.Enter(number, digits);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUsage)
        Note(actor, AuditAction::kPairing, name, "not paired: " + error.message());
      throw;
    }
    Note(actor, AuditAction::kPairing, name, "the digits agreed");
  } else if (what == "sign-pairing") {
    const auto number = request.Fixed<InviteNumber>("number");
    StewardWord word{request.Raw("certificate"), request.Raw("signature")};
    request.End();
    if (crypto::Sha256Of(word.certificate) != parts_.steward) {
      throw Error(ErrorCode::kRefused, "this is not the key of the site's steward",
                  "Name the folder of the steward's key.");
    }
    parts_.desk.Sign(number, word);
  } else if (what == "parties") {
    request.End();
    const PartyList list = parts_.keeper.List();
    Answered addresses = Answered::object(), waiting = Answered::array();
    for (const ListedParty& party : list.parties)
      addresses[party.name] = parts_.keeper.AddressOf(party.name).value_or("");
    for (const SignedIntroduction& entry : parts_.keeper.Waiting())
      waiting.push_back({{"introduction", ToHex(EncodeIntroduction(entry))}});
    Answered pairings = Answered::array();
    for (const KeptPairing& pairing : parts_.keeper.Pairings()) {
      pairings.push_back({{"number", ToHex(pairing.number)},
                          {"name", pairing.name},
                          {"state", PairingStateName(parts_.desk.Look(pairing.number).state)}});
    }
    answer = {{"list", ToHex(EncodePartyList(list))},
              {"document", ToHex(parts_.keeper.Document())},
              {"addresses", addresses},
              {"waiting", waiting},
              {"pairings", pairings}};
  } else if (what == "take-list") {
    const Bytes document = request.Raw("document");
    request.End();
    const PartyList before = parts_.keeper.List();
    parts_.keeper.Take(DecodeSignedList(document), now);
    NoteList(actor, before, parts_.keeper.List());
    parts_.log.Write("list-signed",
                     {{"serial", static_cast<int64_t>(parts_.keeper.List().serial)}});
  } else if (what == "stop") {
    request.End();
    OnLoop([&](Node& node, int64_t then) { node.EmergencyStop(then, actor); });
    parts_.log.Write("emergency-stop");
  } else if (what == "drain") {
    const bool draining = request.Flag("on");
    request.End();
    OnLoop([&](Node& node, int64_t then) { node.Drain(draining, then, actor); });
    parts_.log.Write(draining ? "drains" : "drains-no-more");
  } else if (what == "go-on-text") {
    request.End();
    const std::lock_guard lock(mutex_);
    go_on_.assign(32, 0);
    parts_.random.Fill(go_on_);
    answer = {{"text", ToHex(go_on_)}};
  } else if (what == "go-on") {
    const Bytes der = request.Raw("certificate"), signature = request.Raw("signature");
    request.End();
    Bytes asked;
    {
      const std::lock_guard lock(mutex_);
      asked.swap(go_on_);
    }
    const auto certificate = crypto::DecodeCertificate(der);
    if (asked.empty() || certificate == nullptr || crypto::Sha256Of(der) != parts_.steward ||
        !crypto::VerifySignature(*certificate, kGoOnDomain, asked, signature)) {
      throw Error(ErrorCode::kRefused, "only the site's steward lets a stopped node go on",
                  "Name the folder of the steward's key.");
    }
    OnLoop([&](Node& node, int64_t then) { node.EndEmergencyStop(then, actor); });
    parts_.log.Write("goes-on");
  } else if (what == "studies") {
    request.End();
    Answered studies = Answered::array();
    OnLoop([&](Node& node, int64_t) {
      for (const auto& entry : node.open()) studies.push_back(StudyJson(entry.second));
    });
    answer = {{"studies", studies}};
  } else if (what == "list") {
    const std::string which = request.Text("which"), after = request.Text("after");
    const int64_t limit = request.Number("limit");
    request.End();
    if (limit < 1 || limit > static_cast<int64_t>(kMostListed) ||
        (which != "open" && which != "over" && which != "all"))
      throw Error(ErrorCode::kUsage, "there is no such list of studies", "open, over or all");
    const int64_t before = CursorOf(after);
    Answered studies = Answered::array();
    std::string next;
    OnLoop([&](Node& node, int64_t) {
      if (before == 0) {
        // One that is over is kept with the open ones until its run key is deleted.
        std::vector<const Study*> open;
        for (const auto& entry : node.open()) {
          if (which == "all" || IsEnd(entry.second.phase) == (which == "over"))
            open.push_back(&entry.second);
        }
        std::sort(open.begin(), open.end(), [](const Study* a, const Study* b) {
          return std::pair(b->began, b->id) < std::pair(a->began, a->id);
        });
        for (const Study* study : open) studies.push_back(StudyJson(*study));
      }
      if (which == "open") return;
      const OverPage page = node.FindOver(before, static_cast<size_t>(limit));
      for (const Study& study : page.studies) studies.push_back(StudyJson(study));
      if (page.next != 0) next = std::to_string(page.next);
    });
    for (Answered& study : studies)
      AddFilesOf(parts_.run / study.at("study").get<std::string>(), study);
    answer = {{"studies", studies}, {"next", next}};
  } else if (what == "files") {
    const std::vector<StudyId> ids = StudyIdsIn(request.Raw("studies"));
    request.End();
    Answered files = Answered::array();
    size_t bytes = 0;
    OnLoop([&](Node& node, int64_t) {
      for (const StudyId& id : ids) {
        const std::optional<Study> study = node.Find(id);
        const std::string file = study ? study->file : "";
        bytes += file.size();
        if (!files.empty() && bytes > kFilesAtOnce) return;
        files.push_back(file);
      }
    });
    answer = {{"files", files}};
  } else if (what == "result") {
    const auto id = request.Fixed<StudyId>("study");
    const std::string name = request.Text("name");
    const int64_t offset = request.Number("offset");
    request.End();
    if (name != "report.html" && name != "result.json")
      throw Error(ErrorCode::kUsage, "a result has no such file", "report.html or result.json");
    answer = ReadPiece(parts_.run / ToHex(id) / "result" / name, offset);
    if (offset == 0) Note(actor, AuditAction::kExport, name, "", id);
  } else if (what == "study") {
    const auto id = request.Fixed<StudyId>("study");
    request.End();
    std::optional<Study> study;
    std::optional<OverStudy> end;
    OnLoop([&](Node& node, int64_t) {
      study = node.Find(id);
      end = node.FindEnd(id);
    });
    if (!study)
      throw Error(ErrorCode::kUsage, "there is no such study at this node", "List the studies.");
    answer = StudyJson(*study);
    answer["kept"] = KeptJson(end, parts_.config.retention);
    answer["file"] = study->file;
    answer["roster"] = study->roster;
    answer["plan_hash"] = ToHex(study->facts.plan_hash);
    answer["agreement_hash"] = study->agreement_hash ? ToHex(*study->agreement_hash) : "";
    Answered parties = Answered::array();
    for (const RosterParty& party : study->parties) {
      parties.push_back({{"name", party.name},
                         {"fingerprint", ToHex(crypto::Sha256Of(party.run_certificate))},
                         {"steward", ToHex(party.steward)}});
    }
    answer["roster_parties"] = parties;
    const std::filesystem::path folder = parts_.run / ToHex(id);
    AddFilesOf(folder, answer);
    answer["table"] = FileOfStudy(folder / "table", kMaxTableNameBytes);
    answer["documents"] = SignerDocuments(*study, folder);
    // Of the job that ran it here.
    const std::filesystem::path problem = folder / "problem.txt";
    answer["problem"] =
        std::filesystem::exists(problem) ? ReadFile(problem, kMaxProblemBytes, "a problem") : "";
    answer["results"] = std::filesystem::absolute(folder / "result").string();
  } else if (what == "tables") {
    const bool budgets = request.Flag("budgets");
    request.End();
    auto said = ParseShallow<Answered>(
        parts_.tables(budgets ? TableLook::kBudgets : TableLook::kPlaces, ""), kMostTableLevels);
    if (!said.is_object() || !said.contains("tables") || !said.at("tables").is_array())
      throw Error(ErrorCode::kInternal, "the job that looks at the tables wrote no list of them",
                  "please report this");
    std::vector<Study> all;
    OnLoop([&](Node& node, int64_t) {
      for (const auto& entry : node.open()) all.push_back(entry.second);
      for (Study& study : node.FindOver(0, kMostListed).studies) all.push_back(std::move(study));
    });
    const Answered studies = StudiesWithTables(std::move(all), parts_.run);
    if (budgets) AddFrozen(said.at("tables"), studies, parts_.run);
    for (Answered& table : said.at("tables"))
      table["dictionary"] = DictionaryJson(dictionaries_.Read(table.at("name")));
    answer = {{"tables", said.at("tables")}, {"studies", studies}};
  } else if (what == "dictionary") {
    const std::string table = request.Text("table");
    request.End();
    RequireTable(table);
    answer = DictionaryJson(dictionaries_.Read(table));
  } else if (what == "save-dictionary") {
    const std::string table = request.Text("table"), file = request.Text("text");
    const std::string seen = request.Text("version");
    request.End();
    RequireTable(table);
    const SavedDictionary saved = dictionaries_.Save(table, file, seen);
    Note(actor, AuditAction::kDictionarySaved, table,
         saved.changes.empty() ? "no variable changed"
                               : fmt::format("{}", fmt::join(saved.changes, "; ")));
    answer = {{"version", saved.version}, {"changes", saved.changes}};
  } else if (what == "draft-dictionary") {
    const std::string table = request.Text("table");
    request.End();
    RequireTable(table);
    answer = ParseShallow<Answered>(parts_.tables(TableLook::kDraft, table), kMostTableLevels);
    if (!answer.is_object() || (!answer.contains("variables") && !answer.contains("problem")))
      throw Error(ErrorCode::kInternal, "the job that looks at the table wrote no draft",
                  "please report this");
    if (answer.contains("problem"))
      throw Error(ErrorCode::kRefused, answer.at("problem").get<std::string>(),
                  "Whoever operates the node looks at the table's file.");
  } else if (what == "propose") {
    const std::string file = request.Text("file");
    const int64_t days = request.Number("days");
    request.End();
    if (days < 1 || days > kMaxStudySeconds / kDaySeconds)
      throw Error(ErrorCode::kUsage, "a study is open for 1 to 60 days", "--days 14");
    StudyId id{};
    OnLoop([&](Node& node, int64_t then) {
      id = node.Propose(file, then + days * kDaySeconds, then, actor);
    });
    answer = {{"study", ToHex(id)}};
  } else if (what == "decide") {
    const auto id = request.Fixed<StudyId>("study");
    const std::string document = request.Text("document");
    const std::string decision = request.Text("decision");
    request.End();
    OnLoop([&](Node& node, int64_t then) {
      if (decision == "approve") RequireOther(node, id, actor, document);
      if (decision == "approve") {
        node.Command(id, OwnApproval{document}, then, actor);
      } else {
        node.Command(id, OwnRejection{document}, then, actor);
      }
    });
  } else if (what == "withdraw") {
    const auto id = request.Fixed<StudyId>("study");
    const std::string reason = request.Text("reason");
    request.End();
    OnLoop([&](Node& node, int64_t then) {
      const std::optional<Study> study = node.Find(id);
      const bool own = study && study->proposer == parts_.config.name;
      node.Command(id, OwnWithdrawal{!own, reason}, then, actor);
    });
  } else if (what == "audit") {
    AuditFilter filter;
    if (request.Has("study")) filter.study = request.Fixed<StudyId>("study");
    filter.actor = request.Text("actor");
    const int64_t before = request.Number("before"), limit = request.Number("limit");
    request.End();
    if (before < 0 || limit < 1 || limit > static_cast<int64_t>(kMostAuditShown))
      throw Error(ErrorCode::kUsage, "the audit log has no such page", "Begin with its newest.");
    AuditPage page;
    OnLoop([&](Node& node, int64_t) {
      page = node.ReadAudit(filter, static_cast<uint64_t>(before), static_cast<size_t>(limit));
    });
    Answered entries = Answered::array();
    for (const AuditEntry& entry : page.entries) entries.push_back(AuditJson(entry));
    answer = {{"entries", entries},
              {"next", page.next},
              {"count", page.head.number},
              {"head", ToHex(page.head.digest)},
              {"fault", FaultJson(page.fault)}};
  } else if (what == "audit-check") {
    const int64_t from = request.Number("from");
    request.End();
    if (from < 1) throw Error(ErrorCode::kUsage, "entries are numbered from 1", "Begin with 1.");
    AuditCheck check;
    OnLoop([&](Node& node, int64_t) {
      check = node.CheckAudit(static_cast<uint64_t>(from), kMostAuditChecked);
    });
    answer = {{"next", check.next}, {"fault", FaultJson(check.fault)}};
  } else if (what == "audit-sites") {
    request.End();
    OnLoop([&](Node& node, int64_t) { answer = SitesJson(node, parts_.keeper.List()); });
  } else if (what == "retention") {
    request.End();
    std::vector<Study> open;
    std::vector<OverStudy> ended;
    OnLoop([&](Node& node, int64_t) {
      for (const auto& entry : node.open()) open.push_back(entry.second);
      ended = node.FindEnded();
    });
    answer = RetentionJson(open, std::move(ended), parts_.config.retention, parts_.run);
  } else if (what == "backup") {
    request.End();
    const std::filesystem::path copy = parts_.folder.state() / "backup.sqlite";
    std::filesystem::remove(copy);
    // First: the copy has it, too.
    Note(actor, AuditAction::kExport, "backup");
    OnLoop([&](Node& node, int64_t) { node.CopyStateTo(copy); });
    answer = {{"file", copy.string()}};
  } else if (what == "restored") {
    request.End();
    answer = RestoredJson(parts_.folder, parts_.steward);
  } else if (what == "reopen") {
    const Signature word{request.Raw("certificate"), request.Raw("signature")};
    request.End();
    const std::optional<RestoredMark> mark = ReadRestoredMark(parts_.folder.restored());
    if (!mark)
      throw Error(ErrorCode::kUsage, "this node was not restored", "There is nothing to open.");
    const Bytes document = EncodeReopened(DigestOf(*mark), word);
    if (!IsReopenedBy(document, DigestOf(*mark), {parts_.steward})) {
      throw Error(ErrorCode::kRefused,
                  "only the site's steward opens the tables of a restored node",
                  "Name the folder of the steward's key.");
    }
    // For jobs of another user, too; it is signed, and says nothing that is secret.
    WritePublicFile(parts_.folder.reopened().string(),
                    {reinterpret_cast<const char*>(document.data()), document.size()}, 0644);
    Note(actor, AuditAction::kReopened, "",
         fmt::format("the budgets of {} accounts count as spent", mark->accounts.size()));
    parts_.log.Write("reopened");
  } else if (what == "kept-budgets") {
    request.End();
    const HeadsDesk::Found found = parts_.heads.Find();
    answer = {{"finding", ToHex(found.finding)},
              {"list", ToHex(parts_.keeper.Document())},
              {"answers", AnswersJson(found.answers)}};
  } else if (what == "keep") {
    const Bytes document = request.Raw("document");
    request.End();
    const std::optional<RestoredMark> mark = ReadRestoredMark(parts_.folder.restored());
    if (!mark)
      throw Error(ErrorCode::kUsage, "this node was not restored", "There is nothing to open.");
    const SignedKept word = DecodeSignedKept(document);
    if (word.kept.mark != DigestOf(*mark) || !IsKeptSignedBy(word, kKeptDomain, {parts_.steward})) {
      throw Error(ErrorCode::kRefused, "only the site's steward says which budgets are kept",
                  "Name the folder of the steward's key.");
    }
    WritePublicFile(parts_.folder.kept().string(),
                    {reinterpret_cast<const char*>(document.data()), document.size()}, 0644);
    const size_t spent = SpentBy(*mark, RestoreFilesOf(parts_.folder), {parts_.steward}).size();
    Note(actor, AuditAction::kBudgetsKept, "",
         fmt::format("the budgets of {} accounts are kept, those of {} count as spent",
                     mark->accounts.size() - spent, spent));
    parts_.log.Write("budgets-kept");
  } else if (what == "note") {
    const std::string action = request.Text("action");
    const std::string subject = request.Text("subject"), outcome = request.Text("outcome");
    const StudyId id = request.Has("study") ? request.Fixed<StudyId>("study") : StudyId{};
    request.End();
    const std::optional<AuditAction> named = AuditActionNamed(action);
    if (!named || !IsNotedByPeople(*named))
      throw Error(ErrorCode::kUsage, "this is nothing that the own people note", "export, login");
    // Who it was that typed a wrong password nobody knows.
    const bool is_nobody = *named == AuditAction::kLoginFailed;
    Note(is_nobody ? Actor() : actor, *named, subject, outcome, id);
  } else {
    throw Error(ErrorCode::kUsage, "the node knows no request of this kind",
                "Use the same version of Partita for the command and for the node.");
  }
  return answer.dump(-1, ' ', false, Answered::error_handler_t::replace);
}

}  // namespace partita::node
