#include <algorithm>

#include "node/study/closing_rule.h"
#include "node/study/steps.h"

namespace partita::node {
namespace {

// What a party said, or, without the run key's signature, that anything may have happened.
Ended Believed(const Run& run, const std::string& from, const Ended& said) {
  const Study& study = run.study;
  const auto party = std::find_if(study.parties.begin(), study.parties.end(),
                                  [&](const RosterParty& p) { return p.name == from; });
  if (!said.signature.empty() && party != study.parties.end() &&
      run.context.trust.SignedByRunKey(party->run_certificate, kEndedDomain,
                                       EndedFields(study.id, from, said), said.signature))
    return said;
  Ended unsaid;
  unsaid.attempt = said.attempt;
  return unsaid;
}

std::vector<PartyEnd> AllEnds(const Study& study) {
  std::vector<PartyEnd> all;
  const auto& receivers = study.facts.receivers;
  for (const RosterParty& party : study.parties) {
    PartyEnd& end = all.emplace_back();
    end.receiver = std::find(receivers.begin(), receivers.end(), party.name) != receivers.end();
    const auto said = study.ended.find(party.name);
    if (said != study.ended.end()) end.ended = said->second;
  }
  return all;
}

// After an attempt that left the study open.
void GoOn(const Run& run, bool nothing_opened) {
  Study& study = run.study;
  if (study.over.has_value()) return Finish(run, *study.over);
  if (study.closed >= kMostAttempts) {
    study.ending = {"", "every attempt that a study may have was used"};
    return Finish(run, Phase::kFailed);
  }
  study.phase = Phase::kAgreed;
  // By itself after one and after five minutes; a study that resumes, and what a steward allows,
  // as soon as there is room.
  int64_t pause = 0;
  if (nothing_opened && study.closed == 1) pause = 60;
  if (nothing_opened && study.closed == 2) pause = 300;
  study.next_try = run.context.now + pause;
  if (run.context.now >= study.expires)
    EndStudy(run, Phase::kExpired, {"", "it was not run before its expiry"});
}

}  // namespace

int64_t ClosingDeadline(const Study& study) {
  return std::max(study.expires, study.closing_at + kClosingSeconds);
}

void Finish(const Run& run, Phase phase) {
  Study& study = run.study;
  study.phase = phase;
  study.asking.reset();
  study.lease_until = 0;
  study.next_try = run.context.now + kStatusSeconds;
  run.Job(JobKind::kDiscard, study.next_attempt());
}

void EndStudy(const Run& run, Phase phase, const Ending& ending) {
  Study& study = run.study;
  if (IsEnd(study.phase) || study.over.has_value()) return;
  study.ending = ending;
  study.over = phase;
  if (IsAttempt(study.phase)) {
    if (study.phase == Phase::kClosing) return;
    study.next_try = run.context.now + kStatusSeconds;
    return run.Job(JobKind::kStop, study.next_attempt());
  }
  Finish(run, phase);
}

Ended AsRead(const Ended& said) {
  if (IsReadable(said, DecodeEnded)) return said;
  Ended unsaid;
  unsaid.attempt = said.attempt;
  return unsaid;
}

void BeginAttempt(const Run& run, const Tag& tag) {
  Study& study = run.study;
  study.phase = Phase::kScheduled;
  study.tag = tag;
  study.scheduled_at = run.context.now;
  study.asking.reset();
  study.lease_until = 0;
  study.tries = 0;
  study.progress.clear();
  run.Job(JobKind::kRun, study.next_attempt());
}

void BeginClosing(const Run& run) {
  Study& study = run.study;
  if (study.phase == Phase::kClosing) return;
  study.phase = Phase::kClosing;
  study.closing_at = run.context.now;
  study.lease_until = 0;
  study.asking.reset();
  if (study.ended.contains(run.context.self)) return;
  run.Job(JobKind::kStatus, study.next_attempt());
  study.next_try = run.context.now + kStatusSeconds;
}

void SayEnded(const Run& run, const Ended& said) {
  Study& study = run.study;
  const Ended ended = AsRead(said);
  if (!IsAttempt(study.phase) || ended.attempt != study.next_attempt()) return;
  // The first word counts here and everywhere.
  if (!study.ended.try_emplace(run.context.self, Believed(run, run.context.self, ended)).second)
    return;
  BeginClosing(run);
  run.Tell(Kind::kEnded, Encode(ended));
  CloseIfAllSaid(run);
}

void OnEnded(const Run& run, const std::string& from, const Ended& body) {
  Study& study = run.study;
  if (study.parties.empty() && IsEnd(study.phase)) return;
  if (study.parties.empty()) return run.Later();
  if (body.attempt < study.next_attempt()) return;
  if (body.attempt > study.next_attempt()) return run.Later();
  if (study.phase < Phase::kAgreed) return run.Later();
  const Ended& said = study.ended.try_emplace(from, Believed(run, from, body)).first->second;
  // The start that it answers did not come here, and may never come: so as if it had come too late.
  if (!said.signature.empty() && AnswersStart(run)) return RefuseStart(run);
  CloseIfAllSaid(run);
}

void CloseIfAllSaid(const Run& run) {
  Study& study = run.study;
  if (study.phase != Phase::kClosing) return;
  const Closed closed = CloseAttempt(AllEnds(study), study.facts.resumable);
  if (closed == Closed::kWait) return;
  study.charged = study.charged || closed != Closed::kAgain;
  if (closed == Closed::kFinished) {
    study.ending = {};
    return Finish(run, Phase::kFinished);
  }
  study.closed += 1;
  if (closed == Closed::kFailed) {
    study.ending = {"", "an attempt was interrupted when something may have opened; it is charged"};
    return Finish(run, Phase::kFailed);
  }
  study.ended.clear();
  study.refusal.reset();
  study.discarded = false;
  GoOn(run, closed == Closed::kAgain);
}

}  // namespace partita::node
