#include <algorithm>

#include "node/study/steps.h"

namespace partita::node {
namespace {

bool HasRoom(const Run& run) {
  const Load& load = run.context.load;
  const Limits& limits = run.context.limits;
  return load.jobs < limits.jobs &&
         load.memory_bytes + run.study.facts.memory_bytes <= limits.memory_bytes;
}

// Each node counts attempts for itself: each lets a deviating holder, the convener too, test one guess.
bool MayStart(const Run& run) {
  const std::vector<RosterParty>& parties = run.study.parties;
  const bool known = std::all_of(parties.begin(), parties.end(), [&](const RosterParty& party) {
    return run.context.trust.Knows(party.name);
  });
  return known && !run.context.stopped && !run.context.draining && !run.study.over.has_value() &&
         HasRoom(run) && run.study.closed < run.study.allowed &&
         run.context.now < run.study.expires - kLastStartSeconds;
}

void AnswerBusy(const Run& run, const std::string& to, uint64_t question) {
  const int64_t soon = run.context.now + kLeaseSeconds;
  // Of a drain that ends early nobody is told.
  const int64_t until = run.context.stopped    ? run.context.now + 600
                        : run.context.draining ? run.context.now + 60
                                               : std::max(soon, run.context.load.free_at);
  run.Ask(to, Kind::kBusy,
          Encode(Busy{.question = question, .until = until, .attempt = run.study.next_attempt()}));
}

uint64_t RandomBelow(crypto::RandomSource& random, uint64_t bound) {
  std::array<uint8_t, 8> bytes{};
  random.Fill(bytes);
  uint64_t value = 0;
  for (const uint8_t byte : bytes) value = value << 8 | byte;
  return value % bound;
}

// 5 s to 10 min, wider with every no: two conveners that ask each other's nodes part.
int64_t BackOff(const Run& run) {
  const int64_t widest =
      std::min<int64_t>(600, int64_t{10} << std::min<uint32_t>(run.study.tries, 6));
  return 5 + static_cast<int64_t>(
                 RandomBelow(run.context.random, static_cast<uint64_t>(widest - 5 + 1)));
}

void AnswerQuestion(const Run& run, const AskedSlot& asked) {
  Study& study = run.study;
  if (study.phase != Phase::kAgreed || asked.attempt != study.next_attempt() || !MayStart(run) ||
      run.context.now < study.next_try)
    return AnswerBusy(run, study.proposer, asked.question);
  study.lease_until = run.context.now + kLeaseSeconds;
  run.Ask(study.proposer, Kind::kSlot, Encode(Slot{.question = asked.question}));
}

}  // namespace

bool AnswersStart(const Run& run) {
  const Study& study = run.study;
  // Only of what was approved here, and not long after it could have been agreed.
  const bool waits =
      study.phase == Phase::kAgreed ||
      (IsEnd(study.phase) && study.phase != Phase::kFinished && study.phase != Phase::kFailed);
  return waits && !study.parties.empty() && study.approvals.contains(run.context.self) &&
         run.context.now < study.expires + kClosingSeconds;
}

// Everybody learns it from what a job signs: the attempt is closed like any other.
void RefuseStart(const Run& run) {
  Study& study = run.study;
  study.scheduled_at = run.context.now;
  study.progress.clear();
  if (study.phase == Phase::kAgreed) return BeginClosing(run);
  study.phase = Phase::kClosing;
  study.closing_at = run.context.now;
  study.next_try = run.context.now + kStatusSeconds;
  if (study.refusal.has_value()) return SayEnded(run, *study.refusal);
  run.Job(JobKind::kDiscard, study.next_attempt());
}

void OnAskSlot(const Run& run, const Message& message, const AskSlot& body) {
  Study& study = run.study;
  if (message.from != study.proposer) return run.Refuse("a question for a slot by another party");
  // An answer would come too late.
  if (message.time + kLeaseSeconds + kLastStartSeconds < run.context.now) return;
  if (body.seconds == 0) {
    study.lease_until = 0;
    study.asked.reset();
    return;
  }
  const AskedSlot asked{message.number, body.attempt, run.context.now};
  // The proposer has an approval already that is on its way to here: a "busy" would cost a minute.
  if (study.phase < Phase::kAgreed) {
    study.asked = asked;
    return;
  }
  AnswerQuestion(run, asked);
}

void AnswerAskedSlot(const Run& run) {
  const std::optional<AskedSlot> asked = run.study.asked;
  run.study.asked.reset();
  if (asked.has_value() && run.context.now <= asked->at + kAskSeconds) AnswerQuestion(run, *asked);
}

void DropSlots(const Run& run, int64_t not_before) {
  Study& study = run.study;
  if (!study.asking.has_value()) return;
  const Bytes drop = Encode(AskSlot{.attempt = study.next_attempt()});
  for (const auto& asked : study.asking->questions) run.Ask(asked.first, Kind::kAskSlot, drop);
  study.asking.reset();
  study.lease_until = 0;
  study.next_try = std::max(run.context.now, not_before) + BackOff(run);
  study.tries += 1;
}

void TrySlots(const Run& run) {
  Study& study = run.study;
  if (!MayStart(run) || run.context.load.older_waits) {
    study.next_try = run.context.now + BackOff(run);
    return;
  }
  Asking& asking = study.asking.emplace();
  asking.since = run.context.now;
  study.lease_until = run.context.now + kLeaseSeconds;
  const Bytes question = Encode(AskSlot{.attempt = study.next_attempt(),
                                        .memory_bytes = study.facts.memory_bytes,
                                        .seconds = std::max<uint32_t>(study.facts.seconds, 1)});
  for (const RosterParty& party : study.parties) {
    if (party.name != run.context.self)
      asking.questions[party.name] = run.Ask(party.name, Kind::kAskSlot, question);
  }
}

void OnSlot(const Run& run, const std::string& from, const Slot& body) {
  Study& study = run.study;
  if (!study.asking.has_value() || study.phase != Phase::kAgreed) return;
  Asking& asking = *study.asking;
  const auto asked = asking.questions.find(from);
  if (asked == asking.questions.end() || asked->second != body.question) return;
  if (std::find(asking.yes.begin(), asking.yes.end(), from) == asking.yes.end())
    asking.yes.push_back(from);
  if (asking.yes.size() < asking.questions.size()) return;
  if (run.context.now > asking.since + kAskSeconds || !MayStart(run)) return DropSlots(run, 0);
  Tag tag{};
  run.context.random.Fill(tag);
  const Bytes start = Encode(Start{.attempt = study.next_attempt(), .tag = tag});
  BeginAttempt(run, tag);
  run.Tell(Kind::kStart, start);
}

void OnBusy(const Run& run, const std::string& from, const Busy& body) {
  Study& study = run.study;
  if (!study.asking.has_value()) return;
  const auto asked = study.asking->questions.find(from);
  if (asked == study.asking->questions.end() || asked->second != body.question) return;
  DropSlots(run, std::min(body.until, run.context.now + 600));
}

void OnStart(const Run& run, const std::string& from, const Start& body, uint64_t number) {
  Study& study = run.study;
  if (from != study.proposer) return run.Refuse("a start by another party than the proposer");
  if (!study.over.has_value() && study.phase < Phase::kAgreed) return run.Later();
  if (body.attempt != study.next_attempt() || !AnswersStart(run))
    return AnswerBusy(run, from, number);
  // Whoever said how its part ended has no job any more: nothing is to be joined.
  if (study.phase == Phase::kAgreed && study.ended.empty() && MayStart(run))
    return BeginAttempt(run, body.tag);
  study.tag = body.tag;
  RefuseStart(run);
}

}  // namespace partita::node
