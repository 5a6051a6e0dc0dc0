#include "node/audit/study_audit.h"

#include "study/approval/persons.h"

namespace partita::node {
namespace {

std::string AttemptText(const Study& before) {
  return "attempt " + std::to_string(before.next_attempt());
}

// How the attempt ended at this node, as far as its own job said so.
std::string RunEndText(const Event& event, const Study& before) {
  const auto* word = std::get_if<JobEnded>(&event);
  const std::string attempt = AttemptText(before) + ": ";
  if (word == nullptr) return attempt + "ended without a word of its job";
  return attempt + OutcomeName(word->ended.outcome) +
         (word->ended.may_have_opened ? ", something may have opened" : ", nothing opened");
}

std::string StudyEndText(const Study& study) {
  std::string text = PhaseName(study.phase);
  if (!study.ending.who.empty()) text += " by " + study.ending.who;
  if (!study.ending.what.empty()) text += ": " + study.ending.what;
  return text;
}

constexpr char kOneOfTwo[] = "one of two signatures";

std::string LastPerson(const std::string& document) {
  const std::vector<std::string> names = study::WhoSigned(document);
  return names.empty() ? "" : names.back();
}

// Who signed, where it was not the steward alone.
std::string ByDeputy(const std::string& document) {
  const std::vector<std::string> names = study::WhoSigned(document);
  if (names.empty() || (names.size() == 1 && names[0] == study::kStewardName)) return "";
  return "signed by " + names[0] + (names.size() > 1 ? " and " + names[1] : "") +
         (names.size() == 1 ? " in place of the steward" : "");
}

std::string WithReason(const std::string& who, const std::string& reason) {
  return who.empty() ? reason : who + ": " + reason;
}

bool IsInAttempt(const Study& study) {
  return study.phase == Phase::kScheduled || study.phase == Phase::kRunning;
}

}  // namespace

std::vector<AuditRecord> AuditOfMove(const Event& event, const Study& before, const Study& after,
                                     const std::string& self, const Actor& actor, int64_t now) {
  AuditRecord record;
  record.time = now;
  record.actor = actor;
  record.study = after.id;
  std::optional<Kind> kind;
  if (const auto* received = std::get_if<Received>(&event)) {
    kind = received->message.message.kind;
    record.actor = {ActorKind::kParty, received->message.message.from};
    record.message = MessageName(received->message);
  }
  std::vector<AuditRecord> records;
  const auto add = [&](AuditAction action, const std::string& subject, const std::string& outcome) {
    record.action = action;
    record.subject = subject;
    record.outcome = outcome;
    records.push_back(record);
  };
  if (after.first != before.first) add(AuditAction::kSigned, LastPerson(after.first), kOneOfTwo);
  for (const auto& [party, document] : after.approvals) {
    if (!before.approvals.contains(party)) add(AuditAction::kApproval, party, ByDeputy(document));
  }
  const bool ends = before.over != after.over || before.phase != after.phase;
  if (const auto* rejection = std::get_if<OwnRejection>(&event))
    add(AuditAction::kRejection, self, WithReason(ByDeputy(rejection->text), after.ending.what));
  if (kind == Kind::kRejection && ends)
    add(AuditAction::kRejection, record.actor.name, after.ending.what);
  if (const auto* withdrawal = std::get_if<OwnWithdrawal>(&event))
    add(AuditAction::kWithdrawal, self, withdrawal->reason);
  if (kind == Kind::kWithdraw && ends)
    add(AuditAction::kWithdrawal, record.actor.name, after.ending.what);
  if (after.reminded > before.reminded) {
    add(AuditAction::kWaiting, self,
        "for a decision of its steward for " +
            std::to_string(kReminderSeconds.at(after.reminded - 1) / 86'400) + " days");
  }
  if (before.phase != Phase::kRunning && after.phase == Phase::kRunning)
    add(AuditAction::kRunBegin, "", AttemptText(before));
  if (IsInAttempt(before) && !IsInAttempt(after))
    add(AuditAction::kRunEnd, "", RunEndText(event, before));
  if (!IsEnd(before.phase) && IsEnd(after.phase))
    add(AuditAction::kStudyEnd, "", StudyEndText(after));
  return records;
}

}  // namespace partita::node
