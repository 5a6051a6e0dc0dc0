// The life of a study: state and event give the new state, messages to send and jobs to start.
//
// Pure functions: time, random bytes and signatures come in by the context; nothing here reads a
// file or a clock. The caller (node/service/node.h) writes the new state together with the messages
// in one transaction, and only then sends and starts anything. A study moves by these rows only
// (design of the node, "Life of a study"); what a row refuses changes nothing.
//
//   proposed   the job `check` passes: the offer is made, validated; else rejected
//   validated  the roster fits the offers, the own one among them: settled
//   settled    the job `commit` froze the table and the own steward signs: approved
//   approved   the verified approvals of all are here and say the same: agreed
//   agreed     the convener's start with attempt = 1 + closed ones: scheduled
//   scheduled  the job is up: running; not within 60 s: closing
//   running    the job's last word, or its end without one: closing
//   closing    what EVERY party said is here: closing_rule.h, one function for all nodes
//
// Before an attempt a rejection, a withdrawal or the expiry ends the study. A node that ended it so
// and then gets the start of an attempt answers "refused", signed by a job with the run key, and
// waits with all others for what the attempt did: so that all end alike.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "node/study/study.h"
#include "node/study/trust.h"

namespace partita::node {

// Writes messages: numbers each, signs it, and keeps it for the transaction.
class Mail {
 public:
  struct Letter {
    uint64_t number = 0;
    std::string to;
    int64_t until = 0;
    Bytes message;
    std::optional<Bytes> body;  // to be fetched
  };

  Mail(const Trust& trust, std::string self, const Incarnation& incarnation, uint64_t next_number,
       int64_t now)
      : trust_(trust),
        self_(std::move(self)),
        incarnation_(incarnation),
        next_(next_number),
        now_(now) {}

  // The signed message; for the own party it is not sent anywhere. until: after which it is useless.
  Bytes Send(const std::string& to, Kind kind, const StudyId& study, Bytes body, int64_t until);
  uint64_t last_number() const { return next_ - 1; }
  uint64_t next_number() const { return next_; }
  const std::vector<Letter>& letters() const { return letters_; }

 private:
  const Trust& trust_;
  std::string self_;
  Incarnation incarnation_;
  uint64_t next_;
  int64_t now_;
  std::vector<Letter> letters_;
};

// What the machine has room for (node.toml), and what other studies hold of it.
struct Limits {
  uint32_t jobs = 1;
  uint64_t memory_bytes = uint64_t{4} << 30;
  uint32_t seconds = 86'400;  // of the longest run
};
struct Load {
  uint32_t jobs = 0;
  uint64_t memory_bytes = 0;
  int64_t free_at = 0;
  bool older_waits = false;  // an older study that is convened here is due as well
};

struct Context {
  int64_t now = 0;      // seconds of base/utc_time.h
  int64_t certain = 0;  // not later than now: what ends a study for good waits for it
  std::string self;
  const Trust& trust;
  crypto::RandomSource& random;
  Mail& mail;
  Limits limits;
  Load load;
  bool stopped = false;   // by an emergency stop
  bool draining = false;  // nothing begins: the node is about to be stopped
};

enum class JobKind : uint8_t {
  kCheck,   // Checked
  kCommit,  // Committed
  kRun,     // a new run of the attempt: JobUp, JobProgress, JobEnded or JobGone
  kAttach,  // to a run that goes on: the same; JobGone if there is none
  // Ends the attempt whatever it is doing, takes the folder's lock so that it never begins after
  // this, and signs what the folder shows: JobEnded. Without folder or key: JobEnded, not signed.
  kStatus,
  kStop,     // SIGTERM: JobEnded; a run that was asked for and has not begun does not begin
  kDiscard,  // signs that attempt `attempt` is refused, if it did not begin; then deletes run key
             // and salt: Discarded
};
std::string JobKindName(JobKind kind);

struct JobRequest {
  JobKind kind = JobKind::kCheck;
  uint32_t attempt = 0;

  bool operator==(const JobRequest&) const = default;
};

enum class Answer {
  kDone,     // also: known already
  kLater,    // something else has to come first: send it again
  kRefused,  // it does not count
};

struct Step {
  Answer answer = Answer::kDone;
  std::string refusal;  // for the own log
  std::vector<JobRequest> jobs;
};

// A new study. At the proposer; throws kBadInput for what no node would take.
Study ProposeStudy(const std::string& file, const Nonce& nonce, int64_t expires, Context& context,
                   Step& step);
// At a node that gets the proposal: none if the answer is not kDone.
std::optional<Study> TakeProposal(const SignedMessage& message, ByteView body, Context& context,
                                  Step& step);

// With an answer other than kDone the study is as it was, and nothing may be sent. Throws kRefused,
// kUsage with a hint if a command of the own people does not fit the state; kPeerFault for a body
// that cannot be read.
Step Apply(const Event& event, Study& study, Context& context);

// When Timer is due; none for a study that waits for no time.
std::optional<int64_t> WakeAt(const Study& study, const std::string& self);
// Whether the node has something to do for it, after a start too.
bool IsOpen(const Study& study);
// Whether the clock was set back since: then its times are cut to what they can be at `now`, so that
// nothing waits for the old time. Apply does it first.
bool IsSetBack(const Study& study, int64_t now);
// Until when its messages are of use.
int64_t UsefulUntil(const Study& study, int64_t now);
// Whether the own steward can decide now, and has not.
bool WaitsForOwnSteward(const Study& study);
// Whether it holds a place on this machine.
bool HoldsRoom(const Study& study, int64_t now);

}  // namespace partita::node
