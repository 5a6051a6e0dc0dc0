#include "node/study/step.h"

#include <algorithm>

#include "base/error.h"
#include "node/study/steps.h"

namespace partita::node {
namespace {

constexpr int64_t kSoonSeconds = 60;  // what is of use now only
constexpr char kRestoredReason[] = "this site's node was restored from a backup";

void OnWithdraw(const Run& run, const std::string& from, const Withdraw& body) {
  Study& study = run.study;
  if (!body.by_steward && from != study.proposer)
    return run.Refuse("a withdrawal in the proposer's name by another party");
  EndStudy(run, Phase::kWithdrawn, {from, body.reason});
}

void OnProgress(const Run& run, const std::string& from, const Progress& body) {
  if (IsAttempt(run.study.phase) && body.attempt == run.study.next_attempt())
    run.study.progress[from] = body;
}

void OnMessage(const Run& run, const Received& event) {
  const Message& message = event.message.message;
  const std::string& from = message.from;
  const Study& study = run.study;
  if (from == run.context.self) return run.Refuse("a message of this node from outside");
  // Who takes part is known as soon as the file was read.
  if (study.facts.parties.empty()) {
    if (from != study.proposer && IsEnd(study.phase)) return;
    if (from != study.proposer) return run.Later();
  } else if (!IsPartyOf(study, from)) {
    return run.Refuse("a message of a party that has no part in the study");
  }
  switch (message.kind) {
    case Kind::kProposal:
      return;  // known already
    case Kind::kOffer:
      return OnOffer(run, event.message);
    case Kind::kRoster:
      return OnRoster(run, from, DecodeRosterFile(event.body));
    case Kind::kApproval:
      return OnApproval(run, from, DecodeDocument(event.body));
    case Kind::kRejection:
      return OnRejection(run, from, DecodeDocument(event.body));
    case Kind::kAskSlot:
      return OnAskSlot(run, message, DecodeAskSlot(event.body));
    case Kind::kSlot:
      return OnSlot(run, from, DecodeSlot(event.body));
    case Kind::kBusy:
      return OnBusy(run, from, DecodeBusy(event.body));
    case Kind::kStart:
      return OnStart(run, from, DecodeStart(event.body), message.number);
    case Kind::kProgress:
      return OnProgress(run, from, DecodeProgress(event.body));
    case Kind::kEnded:
      return OnEnded(run, event.message, DecodeEnded(event.body));
    case Kind::kWithdraw:
      return OnWithdraw(run, from, DecodeWithdraw(event.body));
    case Kind::kNotUnderstood:
      DecodeNotUnderstood(event.body);
      return;
    case Kind::kLogHead:
    case Kind::kLogReceipt:
      return run.Refuse("a message about a log under the number of a study");
    case Kind::kRelay:
      return OnRelay(run, DecodeRelay(event.body));
  }
}

void OnOwnWithdrawal(const Run& run, const OwnWithdrawal& event) {
  const Study& study = run.study;
  if (IsEnd(study.phase) || study.over.has_value()) {
    throw Error(ErrorCode::kRefused, "the study is over or ends already",
                "There is nothing to withdraw.");
  }
  if (!event.by_steward && !run.convenes()) {
    throw Error(ErrorCode::kRefused, "another party proposed the study",
                "A steward can take the approval back instead.");
  }
  if (study.phase == Phase::kProposed && !run.convenes()) {
    throw Error(ErrorCode::kRefused, "the study file is not checked here yet",
                "Reject the study when it is.");
  }
  const Withdraw body{.by_steward = event.by_steward, .reason = event.reason};
  if (!IsPublicLine(body.reason, kMaxPublicReason)) {
    throw Error(ErrorCode::kUsage, "the reason of a withdrawal is not one line",
                "Write one line of at most 400 bytes.");
  }
  run.Tell(Kind::kWithdraw, Encode(body));
  EndStudy(run, Phase::kWithdrawn, {run.context.self, body.reason});
}

void OnRetry(const Run& run) {
  Study& study = run.study;
  if (study.phase != Phase::kAgreed || study.closed >= kMostAttempts) {
    throw Error(ErrorCode::kRefused, "no other attempt can be allowed",
                "A steward of each site allows one more while the study is agreed, 20 at most.");
  }
  study.allowed = std::max(study.allowed, study.next_attempt());
  study.next_try = run.context.now;
}

// The job whose word the study waits for, if it does.
std::optional<JobRequest> AwaitedJob(const Study& study, const std::string& self) {
  const JobKind ends = study.discarded ? JobKind::kDiscard : JobKind::kStatus;
  if (study.phase == Phase::kProposed) return JobRequest{JobKind::kCheck, 0};
  if (study.phase == Phase::kSettled && !study.agreement_hash.has_value())
    return JobRequest{JobKind::kCommit, 0};
  if (study.phase == Phase::kRunning && study.over.has_value())
    return JobRequest{JobKind::kStop, study.next_attempt()};
  if (study.phase == Phase::kClosing && !study.ended.contains(self))
    return JobRequest{ends, study.next_attempt()};
  if (IsEnd(study.phase) && !study.discarded)
    return JobRequest{JobKind::kDiscard, study.next_attempt()};
  return std::nullopt;
}

void AskAwaitedJob(const Run& run) {
  const std::optional<JobRequest> job = AwaitedJob(run.study, run.context.self);
  if (!job.has_value()) return;
  run.study.next_try = run.context.now + kStatusSeconds;
  run.step.jobs.push_back(*job);
}

bool IsOfAttempt(const Study& study, uint32_t attempt) {
  return IsAttempt(study.phase) && attempt == study.next_attempt();
}

void OnJobUp(const Run& run, uint32_t attempt) {
  if (run.study.phase != Phase::kScheduled || attempt != run.study.next_attempt()) return;
  run.study.phase = Phase::kRunning;
  // What was to be stopped while nothing ran yet.
  if (run.study.over.has_value() || run.context.stopped)
    run.Job(JobKind::kStop, run.study.next_attempt());
}

void OnJobGone(const Run& run, uint32_t attempt) {
  if (IsOfAttempt(run.study, attempt)) BeginClosing(run);
}

void OnJobProgress(const Run& run, const Progress& progress) {
  Study& study = run.study;
  if (!IsOfAttempt(study, progress.attempt) || study.phase == Phase::kClosing) return;
  if (!IsReadable(progress, DecodeProgress)) return;
  study.progress[run.context.self] = progress;
  for (const RosterParty& party : study.parties) {
    if (party.name != run.context.self) run.Ask(party.name, Kind::kProgress, Encode(progress));
  }
}

void OnDiscarded(const Run& run, const Ended& refusal) {
  Study& study = run.study;
  study.discarded = true;
  if (refusal.attempt != study.next_attempt()) return;
  if (study.phase == Phase::kClosing) return SayEnded(run, refusal);
  if (!study.refusal.has_value()) study.refusal = AsRead(refusal);
}

// The audit log has each (audit/study_audit.h).
void RemindIfDue(const Run& run) {
  Study& study = run.study;
  while (WaitsForOwnSteward(study) && study.reminded < kReminderSeconds.size() &&
         run.context.now >= study.waits_since + kReminderSeconds[study.reminded])
    ++study.reminded;
}

void OnTimer(const Run& run) {
  Study& study = run.study;
  const int64_t now = run.context.now;
  RemindIfDue(run);
  switch (study.phase) {
    case Phase::kScheduled:
      if (now < study.scheduled_at + kJobUpSeconds) return;
      return BeginClosing(run);
    case Phase::kClosing:
      if (run.context.certain >= ClosingDeadline(study)) {
        study.charged = true;
        study.closed += 1;
        study.ending = {"", "not every party said how the attempt ended; it is charged"};
        return Finish(run, Phase::kFailed);
      }
      break;
    default:
      break;
  }
  if (!IsAttempt(study.phase) && !IsEnd(study.phase) && run.context.certain >= study.expires)
    return EndStudy(run, Phase::kExpired, {"", "it was not run before its expiry"});
  if (now >= study.next_try) {
    AskAwaitedJob(run);
    AskForWords(run);
  }
  if (study.phase != Phase::kAgreed || !run.convenes()) return;
  if (study.asking.has_value()) {
    if (now >= study.asking->since + kAskSeconds) DropSlots(run, 0);
  } else if (study.closed < study.allowed && now >= study.next_try) {
    TrySlots(run);
  }
}

// What a start of the node does anew: jobs whose reports may be lost.
void OnRestarted(const Run& run) {
  const Study& study = run.study;
  if (study.phase != Phase::kScheduled && study.phase != Phase::kRunning) return AskAwaitedJob(run);
  run.Job(JobKind::kAttach, study.next_attempt());
  if (study.over.has_value() || run.context.stopped) run.Job(JobKind::kStop, study.next_attempt());
}

void FitTimes(Study& study, int64_t now) {
  study.next_try = std::min(study.next_try, now + kLongestWaitSeconds);
  study.lease_until = std::min(study.lease_until, now + kLeaseSeconds);
  study.scheduled_at = std::min(study.scheduled_at, now);
  study.closing_at = std::min(study.closing_at, now);
  study.waits_since = std::min(study.waits_since, now);
  if (study.asking.has_value()) study.asking->since = std::min(study.asking->since, now);
}

void OnEmergencyStop(const Run& run) {
  if (run.study.asking.has_value()) DropSlots(run, 0);
  run.study.lease_until = 0;
  if (run.study.phase == Phase::kScheduled || run.study.phase == Phase::kRunning)
    run.Job(JobKind::kStop, run.study.next_attempt());
}

// Nothing that was agreed before a restore runs after it: the others may have run it since.
void OnRestored(const Run& run) {
  const Study& study = run.study;
  if (IsEnd(study.phase) || study.over.has_value()) return;
  const Withdraw body{.by_steward = true, .reason = kRestoredReason};
  if (study.facts.parties.empty()) {
    if (!run.convenes()) run.Tell(study.proposer, Kind::kWithdraw, Encode(body));
  } else {
    run.Tell(Kind::kWithdraw, Encode(body));
  }
  EndStudy(run, Phase::kWithdrawn, {run.context.self, body.reason});
}

struct Dispatch {
  const Run& run;

  void operator()(const Received& event) const { OnMessage(run, event); }
  void operator()(const Checked& event) const { OnChecked(run, event); }
  void operator()(const Committed& event) const { OnCommitted(run, event); }
  void operator()(const OwnApproval& event) const { OnOwnApproval(run, event.text); }
  void operator()(const OwnRejection& event) const { OnOwnRejection(run, event.text); }
  void operator()(const OwnWithdrawal& event) const { OnOwnWithdrawal(run, event); }
  void operator()(const Retry&) const { OnRetry(run); }
  void operator()(const JobUp& event) const { OnJobUp(run, event.attempt); }
  void operator()(const JobProgress& event) const { OnJobProgress(run, event.progress); }
  void operator()(const JobEnded& event) const { SayEnded(run, event.ended); }
  void operator()(const JobGone& event) const { OnJobGone(run, event.attempt); }
  void operator()(const Discarded& event) const { OnDiscarded(run, event.refusal); }
  void operator()(const Timer&) const { OnTimer(run); }
  void operator()(const Restarted&) const { OnRestarted(run); }
  void operator()(const EmergencyStop&) const { OnEmergencyStop(run); }
  void operator()(const Restored&) const { OnRestored(run); }
};

}  // namespace

std::string PhaseName(Phase phase) {
  static constexpr const char* kNames[] = {
      "proposed", "validated", "settled", "approved", "agreed",    "scheduled", "running",
      "closing",  "finished",  "failed",  "rejected", "withdrawn", "expired"};
  return kNames[static_cast<size_t>(phase) - 1];
}

std::string JobKindName(JobKind kind) {
  static constexpr const char* kNames[] = {"check",  "commit", "run",    "attach",
                                           "status", "stop",   "discard"};
  return kNames[static_cast<size_t>(kind)];
}

bool IsPartyOf(const Study& study, const std::string& party) {
  const std::vector<std::string>& names = study.facts.parties;
  return std::find(names.begin(), names.end(), party) != names.end();
}

Bytes Mail::Send(const std::string& to, Kind kind, const StudyId& study, Bytes body,
                 int64_t until) {
  SignedMessage message;
  message.message.kind = kind;
  message.message.from = self_;
  message.message.to = to;
  message.message.study = study;
  message.message.incarnation = incarnation_;
  message.message.number = next_++;
  message.message.time = now_;
  std::optional<Bytes> fetched;
  if (body.size() > kMaxInlineBytes) fetched = body;
  SetBody(message.message, std::move(body));
  message.signature = trust_.SignMessage(message.message);
  Bytes bytes = EncodeMessage(message);
  if (to != self_)
    letters_.push_back({message.message.number, to, until, bytes, std::move(fetched)});
  return bytes;
}

void Run::Tell(const std::string& to, Kind kind, const Bytes& body) const {
  context.mail.Send(to, kind, study.id, body, UsefulUntil(study, context.now));
}

void Run::Tell(Kind kind, const Bytes& body) const {
  for (const std::string& party : study.facts.parties) {
    if (party != context.self) Tell(party, kind, body);
  }
}

uint64_t Run::Ask(const std::string& to, Kind kind, const Bytes& body) const {
  context.mail.Send(to, kind, study.id, body, context.now + kSoonSeconds);
  return context.mail.last_number();
}

Study ProposeStudy(const std::string& file, const Nonce& nonce, int64_t expires, Context& context,
                   Step& step) {
  if (file.empty() || file.size() > kMaxProposalBytes) {
    throw Error(ErrorCode::kBadInput, "a study file is empty or longer than 1 MiB",
                "Propose a study file that 'partita study validate' takes.");
  }
  if (expires <= context.now + kLastStartSeconds || expires > context.now + kMaxStudySeconds) {
    throw Error(ErrorCode::kUsage, "a study cannot expire then", "Choose a day within 60 days.");
  }
  Study study;
  study.id = StudyIdOf(file, context.self, nonce, expires);
  study.proposer = context.self;
  study.file = file;
  study.nonce = nonce;
  study.expires = expires;
  study.began = context.now;
  study.next_try = context.now + kStatusSeconds;
  step.jobs.push_back({JobKind::kCheck, 0});
  return study;
}

std::optional<Study> TakeProposal(const SignedMessage& message, ByteView body, Context& context,
                                  Step& step) {
  const Message& fields = message.message;
  const Proposal proposal = DecodeProposal(body);
  const auto refuse = [&](const std::string& why) {
    step.answer = Answer::kRefused;
    step.refusal = why;
    return std::nullopt;
  };
  if (StudyIdOf(proposal.study_file, fields.from, proposal.nonce, proposal.expires) != fields.study)
    return refuse("a proposal under another id than its own");
  if (proposal.study_file.empty()) return refuse("a proposal of nothing");
  if (proposal.expires <= context.now || proposal.expires > context.now + kMaxStudySeconds)
    return refuse("a proposal that expires at no time that counts here");
  Study study;
  study.id = fields.study;
  study.proposer = fields.from;
  study.file = proposal.study_file;
  study.nonce = proposal.nonce;
  study.expires = proposal.expires;
  study.began = context.now;
  study.next_try = context.now + kStatusSeconds;
  step.jobs.push_back({JobKind::kCheck, 0});
  return study;
}

Step Apply(const Event& event, Study& study, Context& context) {
  Step step;
  Study moved = study;
  FitTimes(moved, context.now);
  std::visit(Dispatch{Run{moved, context, step}}, event);
  if (step.answer == Answer::kDone) {
    study = std::move(moved);
  } else {
    step.jobs.clear();
  }
  return step;
}

std::optional<int64_t> WakeAt(const Study& study, const std::string& self) {
  if (study.phase == Phase::kScheduled) return study.scheduled_at + kJobUpSeconds;
  std::optional<int64_t> at;
  const auto consider = [&](int64_t time) { at = at.has_value() ? std::min(*at, time) : time; };
  if (study.phase == Phase::kClosing) consider(ClosingDeadline(study));
  if (study.phase <= Phase::kAgreed) consider(study.expires);
  if (WaitsForOwnSteward(study) && study.reminded < kReminderSeconds.size())
    consider(study.waits_since + kReminderSeconds[study.reminded]);
  if (study.phase == Phase::kClosing || AwaitedJob(study, self).has_value())
    consider(study.next_try);
  if (study.phase == Phase::kAgreed && study.proposer == self) {
    if (study.asking.has_value()) {
      consider(study.asking->since + kAskSeconds);
    } else if (study.closed < study.allowed) {
      consider(study.next_try);
    }
  }
  return at;
}

bool IsSetBack(const Study& study, int64_t now) {
  return study.next_try > now + kLongestWaitSeconds || study.lease_until > now + kLeaseSeconds ||
         study.scheduled_at > now || study.closing_at > now || study.waits_since > now ||
         (study.asking.has_value() && study.asking->since > now);
}

bool WaitsForOwnSteward(const Study& study) {
  return study.phase == Phase::kSettled && study.agreement_hash.has_value() &&
         study.waits_since != 0;
}

bool IsOpen(const Study& study) { return !IsEnd(study.phase) || !study.discarded; }

int64_t UsefulUntil(const Study& study, int64_t now) {
  return std::max(study.expires, now) + kClosingSeconds;
}

bool HoldsRoom(const Study& study, int64_t now) {
  return study.phase == Phase::kScheduled || study.phase == Phase::kRunning ||
         study.lease_until > now;
}

}  // namespace partita::node
