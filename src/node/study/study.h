// What a node knows of one study, and what may happen to it. Plain data: step.h moves it.
//
// Every node has its own copy, made of signed messages and of what its own jobs found; no node
// decides for another. codec.h writes it to bytes for the store.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "node/message/bodies.h"

namespace partita::node {

inline constexpr int64_t kMaxStudySeconds = int64_t{60} * 86'400;  // from proposal to expiry
inline constexpr int64_t kLeaseSeconds = 60;
inline constexpr int64_t kAskSeconds = 30;         // for all answers to the question for slots
inline constexpr int64_t kJobUpSeconds = 60;       // from start to a job that is up
inline constexpr int64_t kLastStartSeconds = 300;  // before the expiry
inline constexpr int64_t kStatusSeconds = 60;      // until a job that says nothing is asked again
inline constexpr int64_t kWordsSeconds = 600;  // until words that are missing are asked for again
inline constexpr int64_t kLongestWaitSeconds = 1200;  // of `next_try`
// Runs are not cut off by the expiry: what one says may come so much later than its own end.
inline constexpr int64_t kClosingSeconds = 86'400;
// A study that waits so long for the own steward is written into the audit log, once each.
inline constexpr std::array<int64_t, 2> kReminderSeconds = {int64_t{2} * 86'400,
                                                            int64_t{5} * 86'400};
inline constexpr uint32_t kOwnAttempts = 3;    // by itself
inline constexpr uint32_t kMostAttempts = 20;  // with a steward's word for each

// In the order in which a study passes through them; the last five are ends.
enum class Phase : uint8_t {
  kProposed = 1,
  kValidated = 2,
  kSettled = 3,
  kApproved = 4,
  kAgreed = 5,
  kScheduled = 6,
  kRunning = 7,
  kClosing = 8,
  kFinished = 9,
  kFailed = 10,
  kRejected = 11,
  kWithdrawn = 12,
  kExpired = 13,
};
std::string PhaseName(Phase phase);
inline bool IsEnd(Phase phase) { return phase >= Phase::kFinished; }
inline bool IsAttempt(Phase phase) {
  return phase == Phase::kScheduled || phase == Phase::kRunning || phase == Phase::kClosing;
}

// What the job `check` finds in a study file that is valid here.
struct Facts {
  std::vector<std::string> parties;    // all of the file, in its order
  std::vector<std::string> receivers;  // of the result
  bool resumable = false;              // `mcmc`, `mixture`: an attempt goes on in its folder
  uint64_t memory_bytes = 0;           // of the plan
  uint32_t seconds = 0;
  Digest plan_hash{};

  bool operator==(const Facts&) const = default;
};

// One line of the roster, with what its offer says.
struct RosterParty {
  std::string name;
  Bytes run_certificate;  // DER
  Digest steward{};
  std::string address;

  bool operator==(const RosterParty&) const = default;
};

// How a study ended, or why it will.
struct Ending {
  std::string who;   // a party; empty: nobody in particular
  std::string what;  // one line

  bool operator==(const Ending&) const = default;
};

// Whole messages `ended` about one attempt, by party.
struct Words {
  uint32_t attempt = 0;
  std::map<std::string, Bytes> messages;

  bool operator==(const Words&) const = default;
};

// The convener's open question for slots.
struct Asking {
  int64_t since = 0;
  std::map<std::string, uint64_t> questions;  // party, number of the message that asks it
  std::vector<std::string> yes;

  bool operator==(const Asking&) const = default;
};

// The proposer's question for a slot that came before the last approval did.
struct AskedSlot {
  uint64_t question = 0;
  uint32_t attempt = 0;
  int64_t at = 0;

  bool operator==(const AskedSlot&) const = default;
};

struct Study {
  // Of the proposal.
  StudyId id{};
  std::string proposer;  // it convenes
  std::string file;
  Nonce nonce{};
  int64_t expires = 0;
  int64_t began = 0;  // when it came to this node

  Phase phase = Phase::kProposed;
  // Set as soon as the study is over unless an attempt that is open says otherwise.
  std::optional<Phase> over;
  Ending ending;

  Facts facts;                           // from kValidated on
  Bytes own_offer;                       // the whole message
  std::map<std::string, Bytes> offers;   // at the proposer: whole messages by party
  std::string roster;                    // exact text, from kSettled on
  std::vector<RosterParty> parties;      // in its order
  std::optional<Digest> agreement_hash;  // what the job `commit` computed, with the table frozen
  std::map<std::string, std::string> approvals;  // verified documents by party
  std::string first;  // the own approval, signed by one person of two; none has left this site

  // Attempts. One is open in kScheduled, kRunning, kClosing: number closed + 1.
  uint32_t closed = 0;
  uint32_t allowed = kOwnAttempts;
  bool charged = false;  // an attempt may have opened something
  Tag tag{};
  int64_t scheduled_at = 0;
  int64_t closing_at = 0;
  std::map<std::string, Ended> ended;  // of attempt closed + 1, by party
  Words words, words_before;           // of the last two attempts, for whoever lacks one
  std::optional<Ended> refusal;  // of attempt closed + 1, signed before the run key was deleted
  bool discarded = false;        // run key and salt are deleted
  std::map<std::string, Progress> progress;  // what parties last said

  // Schedule.
  int64_t lease_until = 0;  // the own slot
  int64_t next_try = 0;     // of what waits for a time: a question, a silent job
  uint32_t tries = 0;       // questions that were answered no, in a row
  std::optional<Asking> asking;
  std::optional<AskedSlot> asked;

  // Of the own steward's decision.
  int64_t waits_since = 0;  // when the table was frozen; 0: not yet
  uint32_t reminded = 0;    // how many of kReminderSeconds have passed

  bool operator==(const Study&) const = default;

  uint32_t next_attempt() const { return closed + 1; }
};

// ---- What may happen to a study -------------------------------------------------------------

// A message that passed the checks of its signature, number and receiver.
struct Received {
  SignedMessage message;
  Bytes body;  // fetched, if it had to be
};
// The job `check`: what it found, and the run key that it made; or why not, as a public reason.
struct Checked {
  Facts facts;
  Bytes run_certificate;
  std::string address;
  std::string refusal;
};
// The job `commit` froze the table.
struct Committed {
  Digest agreement_hash{};
};
// The own stewards' signed document (docs/approvals.md).
struct OwnApproval {
  std::string text;
};
struct OwnRejection {
  std::string text;
};
// By the proposer here, or by a steward here.
struct OwnWithdrawal {
  bool by_steward = false;
  std::string reason;
};
// A steward allows one more attempt.
struct Retry {};
// A run: it is up, it goes on, it said its last word; or it is gone without one.
struct JobUp {
  uint32_t attempt = 0;
};
struct JobProgress {
  Progress progress;
};
struct JobEnded {
  Ended ended;
};
struct JobGone {
  uint32_t attempt = 0;
};
// Run key and salt are deleted; `refusal` was signed before.
struct Discarded {
  Ended refusal;
};
// A time has come (WakeAt).
struct Timer {};
// The node started again with what its store holds.
struct Restarted {};
// A steward or operator stops everything here.
struct EmergencyStop {};
// The store is an older copy: what happened since is not known.
struct Restored {};

using Event = std::variant<Received, Checked, Committed, OwnApproval, OwnRejection, OwnWithdrawal,
                           Retry, JobUp, JobProgress, JobEnded, JobGone, Discarded, Timer,
                           Restarted, EmergencyStop, Restored>;

}  // namespace partita::node
