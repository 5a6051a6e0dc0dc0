#include <algorithm>

#include "node/study/closing_rule.h"
#include "node/study/steps.h"

namespace partita::node {
namespace {

void KeepWord(Study& study, uint32_t attempt, const std::string& from, const Bytes& message) {
  if (study.words.attempt != attempt) {
    study.words_before = std::move(study.words);
    study.words = {attempt, {}};
  }
  study.words.messages.try_emplace(from, message);
}

void RelayWords(const Run& run, const std::string& to, uint32_t attempt) {
  for (const Words* words : {&run.study.words, &run.study.words_before}) {
    if (words->attempt != attempt) continue;
    for (const auto& [party, message] : words->messages) {
      if (party != to) run.Ask(to, Kind::kRelay, Encode(Relay{message}));
    }
  }
}

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
  if (run.context.certain >= study.expires)
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
  study.asked.reset();
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
  KeepWord(study, ended.attempt, run.context.self, run.context.mail.letters().back().message);
  study.next_try = run.context.now + kWordsSeconds;
  CloseIfAllSaid(run);
}

namespace {

// asks: it came from the party itself.
void TakeWord(const Run& run, const SignedMessage& message, const Ended& body, bool asks) {
  Study& study = run.study;
  const std::string& from = message.message.from;
  if (study.parties.empty() && IsEnd(study.phase)) return;
  if (study.parties.empty()) return run.Later();
  if (body.attempt < study.next_attempt() || study.ended.contains(from)) {
    if (asks && body.attempt <= study.next_attempt()) RelayWords(run, from, body.attempt);
    return;
  }
  if (body.attempt > study.next_attempt() || study.phase < Phase::kAgreed) return run.Later();
  const Ended& said = study.ended[from] = Believed(run, from, body);
  KeepWord(study, body.attempt, from, EncodeMessage(message));
  // The start that it answers did not come here, and may never come: so as if it had come too late.
  if (!said.signature.empty() && AnswersStart(run)) return RefuseStart(run);
  CloseIfAllSaid(run);
}

}  // namespace

void OnEnded(const Run& run, const SignedMessage& message, const Ended& body) {
  TakeWord(run, message, body, true);
}

void OnRelay(const Run& run, const Relay& body) {
  const SignedMessage word = DecodeMessage(body.message);
  const Message& fields = word.message;
  if (fields.kind != Kind::kEnded || fields.version != kMessageVersion ||
      fields.study != run.study.id || !IsPartyOf(run.study, fields.from) ||
      !run.context.trust.SignedBySender(word))
    return run.Refuse("a relayed message that is no word of a party about this study");
  if (fields.from != run.context.self) TakeWord(run, word, DecodeEnded(fields.body), false);
}

void AskForWords(const Run& run) {
  Study& study = run.study;
  const auto own = study.ended.find(run.context.self);
  if (study.phase != Phase::kClosing || own == study.ended.end()) return;
  study.next_try = run.context.now + kWordsSeconds;
  for (const RosterParty& party : study.parties) {
    if (party.name != run.context.self) run.Ask(party.name, Kind::kEnded, Encode(own->second));
  }
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
    // Who ended the study while it ran is named.
    const std::string charged =
        "an attempt was interrupted when something may have opened; it is charged";
    if (study.over.has_value()) {
      study.ending.what = study.ending.what.empty() ? charged : study.ending.what + "; " + charged;
    } else {
      study.ending = {"", charged};
    }
    return Finish(run, Phase::kFailed);
  }
  study.ended.clear();
  study.refusal.reset();
  study.discarded = false;
  GoOn(run, closed == Closed::kAgain);
}

}  // namespace partita::node
