#include "node/daemon/control.h"

#include <future>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hex.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "node/daemon/request_fields.h"
#include "node/daemon/study_json.h"
#include "node/job/closed.h"
#include "node/job/kept_budgets.h"
#include "study/approval/persons.h"

namespace partita::node {
namespace {

using Answered = nlohmann::ordered_json;

constexpr std::chrono::seconds kLoopPatience{60};

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

Control::Answered Control::Status(RequestFields& request, const Actor& /*actor*/) {
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
  return {{"name", parts_.config.name},
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
          {"open_invitations", OpenInvitations(parts_.own_lines.Load(), NowUtc())}};
}

Control::Answered Control::EmergencyStop(RequestFields& request, const Actor& actor) {
  request.End();
  OnLoop([&](Node& node, int64_t then) { node.EmergencyStop(then, actor); });
  parts_.log.Write("emergency-stop");
  return Answered::object();
}

Control::Answered Control::Drain(RequestFields& request, const Actor& actor) {
  const bool draining = request.Flag("on");
  request.End();
  OnLoop([&](Node& node, int64_t then) { node.Drain(draining, then, actor); });
  parts_.log.Write(draining ? "drains" : "drains-no-more");
  return Answered::object();
}

Control::Answered Control::GoOnText(RequestFields& request, const Actor& /*actor*/) {
  request.End();
  const std::lock_guard lock(mutex_);
  go_on_.assign(32, 0);
  parts_.random.Fill(go_on_);
  return {{"text", ToHex(go_on_)}};
}

Control::Answered Control::GoOn(RequestFields& request, const Actor& actor) {
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
  return Answered::object();
}

std::string Control::Answer(const std::string& text, Asker asker) {
  static const std::map<std::string, Request> requests = {
      {"status", &Control::Status},
      {"invite", &Control::MakeInvitation},
      {"join", &Control::JoinPairing},
      {"pairing", &Control::LookAtPairing},
      {"digits", &Control::EnterDigits},
      {"sign-pairing", &Control::SignPairing},
      {"parties", &Control::ListParties},
      {"take-list", &Control::TakeList},
      {"stop", &Control::EmergencyStop},
      {"drain", &Control::Drain},
      {"go-on-text", &Control::GoOnText},
      {"go-on", &Control::GoOn},
      {"studies", &Control::OpenStudies},
      {"list", &Control::ListStudies},
      {"files", &Control::StudyFiles},
      {"result", &Control::ResultPiece},
      {"study", &Control::OneStudy},
      {"tables", &Control::ListTables},
      {"dictionary", &Control::ReadDictionary},
      {"save-dictionary", &Control::SaveDictionary},
      {"draft-dictionary", &Control::DraftDictionary},
      {"propose", &Control::Propose},
      {"decide", &Control::Decide},
      {"withdraw", &Control::Withdraw},
      {"audit", &Control::ReadAudit},
      {"audit-check", &Control::CheckAudit},
      {"audit-sites", &Control::SitesOfLogs},
      {"retention", &Control::Retention},
      {"backup", &Control::Backup},
      {"restored", &Control::RestoredTables},
      {"reopen", &Control::ReopenTables},
      {"kept-budgets", &Control::KeptBudgets},
      {"keep", &Control::KeepBudgets},
      {"note", &Control::NoteOfPeople},
  };
  RequestFields request(text, "node");
  const std::string& what = request.what();
  // Whoever asks says so: the pages for their accounts, a command at the terminal does not.
  const std::string account = request.Has("account") ? request.Text("account") : "";
  RequireMayAsk(asker, what, account, what == "note" ? request.Peek("action") : "");
  const Actor actor{account.empty() ? ActorKind::kTerminal : ActorKind::kAccount, account};
  const auto found = requests.find(what);
  if (found == requests.end()) {
    throw Error(ErrorCode::kUsage, "the node knows no request of this kind",
                "Use the same version of Partita for the command and for the node.");
  }
  const Answered answer = (this->*found->second)(request, actor);
  return answer.dump(-1, ' ', false, Answered::error_handler_t::replace);
}

}  // namespace partita::node
