// The steps of a study by what they are about. Private to step.cc and to each other.
#pragma once

#include "base/error.h"
#include "node/study/step.h"

namespace partita::node {

// What a step needs: the study, where it is, what came of it.
struct Run {
  Study& study;
  Context& context;
  Step& step;

  void Later() const { step.answer = Answer::kLater; }
  void Refuse(const std::string& why) const {
    step.answer = Answer::kRefused;
    step.refusal = why;
  }
  void Job(JobKind kind, uint32_t attempt = 0) const { step.jobs.push_back({kind, attempt}); }
  bool convenes() const { return study.proposer == context.self; }
  // To every other party.
  void Tell(Kind kind, const Bytes& body) const;
  void Tell(const std::string& to, Kind kind, const Bytes& body) const;
  // Of use for a minute only.
  uint64_t Ask(const std::string& to, Kind kind, const Bytes& body) const;
};

bool IsPartyOf(const Study& study, const std::string& party);

// Whether what a job reports will be read again as it is. A job may have been taken over by what it
// reads; what nobody could read must be neither stored nor sent.
template <typename Body>
bool IsReadable(const Body& body, Body (*decode)(ByteView)) {
  try {
    return decode(Encode(body)) == body;
  } catch (const Error&) {
    return false;
  }
}
// Else that anything may have happened.
Ended AsRead(const Ended& said);

// agree.cc: from the proposal to the agreement.
void OnChecked(const Run& run, const Checked& event);
void OnOffer(const Run& run, const SignedMessage& message);
void OnRoster(const Run& run, const std::string& from, const RosterFile& body);
void OnCommitted(const Run& run, const Committed& event);
void OnOwnApproval(const Run& run, const std::string& text);
void OnOwnRejection(const Run& run, const std::string& text);
void OnApproval(const Run& run, const std::string& from, const Document& body);
void OnRejection(const Run& run, const std::string& from, const Document& body);

// schedule.cc: slots and starts.
void OnAskSlot(const Run& run, const Message& message, const AskSlot& body);
// Of a study that has just been agreed: to the question that came before, if it is still of use.
void AnswerAskedSlot(const Run& run);
void OnSlot(const Run& run, const std::string& from, const Slot& body);
void OnBusy(const Run& run, const std::string& from, const Busy& body);
void OnStart(const Run& run, const std::string& from, const Start& body, uint64_t number);
// Whether a start of the next attempt gets a signed word from here; and that word, "refused".
bool AnswersStart(const Run& run);
void RefuseStart(const Run& run);
void TrySlots(const Run& run);
void DropSlots(const Run& run, int64_t not_before);

// attempt.cc: an attempt, from start to close, and what ends a study.
void BeginAttempt(const Run& run, const Tag& tag);
void BeginClosing(const Run& run);
void SayEnded(const Run& run, const Ended& said);
// message: whole. Whoever says it again lacks words of others: they are relayed.
void OnEnded(const Run& run, const SignedMessage& message, const Ended& body);
void OnRelay(const Run& run, const Relay& body);
void AskForWords(const Run& run);
void CloseIfAllSaid(const Run& run);
// Now if no attempt is open, else when it closes.
void EndStudy(const Run& run, Phase phase, const Ending& ending);
void Finish(const Run& run, Phase phase);
int64_t ClosingDeadline(const Study& study);

}  // namespace partita::node
