// Of studies. Answers to requests (control.h).
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/hex.h"
#include "node/daemon/control.h"
#include "node/daemon/kept_json.h"
#include "node/daemon/request_fields.h"
#include "node/daemon/signer_documents.h"
#include "node/daemon/study_json.h"
#include "study/approval/persons.h"

namespace partita::node {
namespace {

using Answered = nlohmann::ordered_json;

constexpr uint64_t kMaxProblemBytes = 1 << 20;
constexpr size_t kResultPiece = size_t{2} << 20;
constexpr size_t kFilesAtOnce = size_t{1} << 20;

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

Control::Answered Control::OpenStudies(RequestFields& request, const Actor& /*actor*/) {
  request.End();
  Answered studies = Answered::array();
  OnLoop([&](Node& node, int64_t) {
    for (const auto& entry : node.open()) studies.push_back(StudyJson(entry.second));
  });
  return {{"studies", studies}};
}

Control::Answered Control::ListStudies(RequestFields& request, const Actor& /*actor*/) {
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
  return {{"studies", studies}, {"next", next}};
}

Control::Answered Control::StudyFiles(RequestFields& request, const Actor& /*actor*/) {
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
  return {{"files", files}};
}

Control::Answered Control::ResultPiece(RequestFields& request, const Actor& actor) {
  const auto id = request.Fixed<StudyId>("study");
  const std::string name = request.Text("name");
  const int64_t offset = request.Number("offset");
  request.End();
  if (name != "report.html" && name != "result.json")
    throw Error(ErrorCode::kUsage, "a result has no such file", "report.html or result.json");
  Answered piece = ReadPiece(parts_.run / ToHex(id) / "result" / name, offset);
  if (offset == 0) Note(actor, AuditAction::kExport, name, "", id);
  return piece;
}

Control::Answered Control::OneStudy(RequestFields& request, const Actor& /*actor*/) {
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
  Answered answer = StudyJson(*study);
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
  return answer;
}

Control::Answered Control::Propose(RequestFields& request, const Actor& actor) {
  const std::string file = request.Text("file");
  const int64_t days = request.Number("days");
  request.End();
  if (days < 1 || days > kMaxStudySeconds / kDaySeconds)
    throw Error(ErrorCode::kUsage, "a study is open for 1 to 60 days", "--days 14");
  StudyId id{};
  OnLoop([&](Node& node, int64_t then) {
    id = node.Propose(file, then + days * kDaySeconds, then, actor);
  });
  return {{"study", ToHex(id)}};
}

Control::Answered Control::Decide(RequestFields& request, const Actor& actor) {
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
  return Answered::object();
}

Control::Answered Control::Withdraw(RequestFields& request, const Actor& actor) {
  const auto id = request.Fixed<StudyId>("study");
  const std::string reason = request.Text("reason");
  request.End();
  OnLoop([&](Node& node, int64_t then) {
    const std::optional<Study> study = node.Find(id);
    const bool own = study && study->proposer == parts_.config.name;
    node.Command(id, OwnWithdrawal{!own, reason}, then, actor);
  });
  return Answered::object();
}

Control::Answered Control::Retention(RequestFields& request, const Actor& /*actor*/) {
  request.End();
  std::vector<Study> open;
  std::vector<OverStudy> ended;
  OnLoop([&](Node& node, int64_t) {
    for (const auto& entry : node.open()) open.push_back(entry.second);
    ended = node.FindEnded();
  });
  return RetentionJson(open, std::move(ended), parts_.config.retention, parts_.run);
}

}  // namespace partita::node
