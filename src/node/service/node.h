// A node without its machine: it takes messages, reports of jobs, commands and the time, and moves
// its studies (study/step.h) in a store (store/store.h). Whoever holds it delivers and starts things.
//
// Every call makes at most one transaction per study, and hands out what follows from it only when
// that is durable: jobs by Jobs::Start, messages by Due. A node that is killed and made anew over
// the same store goes on by Restart: it sends the same bytes again and asks its jobs anew.
//
// After an error of the store it is not certain what is durable: the node refuses everything (kStorage)
// until a new one is made over the store. A study whose state cannot be read is set apart: the others
// go on, and its messages are told to come later.
//
// Not thread-safe: one thread, or the holder's lock.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "crypto/random.h"
#include "node/service/certain_time.h"
#include "node/store/store.h"
#include "node/study/step.h"
#include "node/study/trust.h"

namespace partita::node {

inline constexpr int64_t kFirstRetrySeconds = 1;
inline constexpr int64_t kLastRetrySeconds = 600;
inline constexpr int64_t kOnItsWaySeconds = 120;
inline constexpr int64_t kAwayDays = 40;
inline constexpr size_t kMaxOpenPerPeer = 100;  // studies that one peer proposed
// What one peer may make this node keep in a day; beyond it, it is told to come later.
inline constexpr uint64_t kMaxBytesPerPeerDay = uint64_t{64} << 20;

// The jobs of a node: processes of their own that outlive it. Start never blocks and may be asked
// for the same twice, a minute later if it said nothing: what is still at work is not begun again; a
// job takes a lock on the folder of its study, and refuses an attempt that is not above the one in its
// own file. What a job finds comes back by Node::Report.
class Jobs {
 public:
  virtual ~Jobs() = default;
  virtual void Start(const JobRequest& request, const Study& study) = 0;
};

// What the sender is told.
enum class Receipt {
  kTaken,      // durable here, or it was before
  kLater,      // something else has to come first
  kRefused,    // it does not count
  kNeedsBody,  // fetch its body, and give it to TakeBody first
};

class Node {
 public:
  struct Parts {
    std::string self;  // name of the own party
    Store& store;
    const Trust& trust;
    crypto::RandomSource& random;
    Jobs& jobs;
    Limits limits = {};
    // Of CertainTime: a test's.
    std::function<int64_t()> steady = {};
    bool tells_log = true;  // to other sites, a digest a day
  };

  // Reads the store. Nothing is sent or started before Restart.
  explicit Node(const Parts& parts);

  // After a start: jobs are asked for what may have got lost.
  void Restart(int64_t now);

  // A message of a peer. Never throws for what a peer sent.
  Receipt Receive(ByteView bytes, int64_t now);
  // The body that the last message of some peer needs. It is kept in memory until that message comes
  // again. Throws kPeerFault unless it has the digest and the size of that message.
  void TakeBody(const Digest& asked, const Bytes& body);
  std::optional<Bytes> FindBody(const Digest& digest) { return parts_.store.FindBody(digest); }

  // What jobs say, of an event with which jobs report: others are kInternal.
  void Report(const StudyId& study, const Event& event, int64_t now);

  // Commands of the own people. Throw kUsage, kRefused or kBadInput with a hint. actor: for the audit log.
  StudyId Propose(const std::string& study_file, int64_t expires, int64_t now,
                  const Actor& actor = {ActorKind::kTerminal, ""});
  void Command(const StudyId& study, const Event& event, int64_t now,
               const Actor& actor = {ActorKind::kTerminal, ""});
  void EmergencyStop(int64_t now, const Actor& actor = {ActorKind::kTerminal, ""});
  void EndEmergencyStop(int64_t now, const Actor& actor = {ActorKind::kTerminal, ""});
  // Before an orderly end: attempts that go on do, and none begins, until the node is made anew or told
  // otherwise. Conveners are told to come later.
  void Drain(bool draining, int64_t now, const Actor& actor = {ActorKind::kTerminal, ""});

  // The audit log: what moves a study writes itself; Note adds what else is done here.
  void Note(const AuditRecord& record);
  AuditPage ReadAudit(const AuditFilter& filter, uint64_t before, size_t limit) {
    return parts_.store.ReadAudit(filter, before, limit);
  }
  AuditCheck CheckAudit(uint64_t from, size_t limit) {
    return parts_.store.CheckAudit(from, limit);
  }

  // What other sites keep of the own log, by name; what they told of theirs; and the newest faults of those.
  const std::map<std::string, KeptReceipt>& log_receipts() const { return log_receipts_; }
  const LogDay& newest_day() const { return newest_day_; }
  std::vector<PeerLog> FindPeerLogs() { return parts_.store.FindPeerLogs(); }
  std::vector<LogFault> FindLogFaults(size_t limit) { return parts_.store.FindLogFaults(limit); }
  // Whether it is a day of the own log as it is now: its number, else 0.
  uint64_t Fitting(const LogReceipt& receipt);

  // Studies that are over: marks what is kept no longer by the rules, at most 100 of them, with entries in the audit
  // log; how many. The files are the caller's, who deletes those of all that FindEnded says (job/tidy_folders.h).
  // None for a day after a start whose clock is kAwayDays beyond the last day on which the node served.
  size_t Tidy(const RetentionRules& rules, int64_t now);
  std::vector<OverStudy> FindEnded() { return parts_.store.FindEnded(); }
  std::optional<OverStudy> FindEnd(const StudyId& id) { return parts_.store.FindEnd(id); }

  // Throws kStorage if another process may have the state by now.
  void RequireHeld() { parts_.store.RequireHeld(); }
  void CopyStateTo(const std::filesystem::path& file) { parts_.store.CopyTo(file); }

  // Moves what waits for this time. NextWake: when that is due again.
  void Tick(int64_t now);
  std::optional<int64_t> NextWake() const;

  // Messages to send now, oldest first; what is useless by now is dropped. Each stays in the outbox
  // until Delivered says that it was taken, or Failed that it is tried again: 1 s to 10 min later,
  // with jitter.
  std::vector<OutboxEntry> Due(int64_t now);
  // On its way: not due again before Delivered or Failed, or two minutes without either.
  void Sent(uint64_t number, int64_t now);
  void Delivered(uint64_t number);
  void Failed(uint64_t number, int64_t now);
  std::optional<int64_t> NextDelivery() const;

  // The newest state; none for a study that is not known here.
  std::optional<Study> Find(const StudyId& id);
  OverPage FindOver(int64_t before, size_t limit) { return parts_.store.FindOver(before, limit); }
  const std::map<StudyId, Study>& open() const { return open_; }
  bool stopped() const { return stopped_; }
  bool draining() const { return draining_; }
  size_t Runs() const;  // attempts that have not closed here
  // Open studies whose state in the store cannot be read.
  const std::set<StudyId>& set_apart() const { return set_apart_; }
  // Why messages were refused, newest last, for the own log: at most 100.
  const std::vector<std::string>& refusals() const { return refusals_; }

 private:
  // The body that the last message of a peer needs.
  struct Wanted {
    BodyDigest body;
    std::optional<Bytes> bytes;
  };
  struct Sending {
    OutboxEntry entry;
    int64_t next = 0;
    uint32_t tries = 0;
  };

  Load LoadBeside(const Study& study, int64_t now) const;
  Context MakeContext(const Study* study, Mail& mail, int64_t now);
  // Applies, writes and starts.
  Step Move(Study study, const Event& event, int64_t now, std::optional<ReceivedMessage> received,
            const Bytes& fetched = {}, const Actor& actor = {});
  // What is new of a study, one transaction.
  struct News {
    std::optional<ReceivedMessage> received;
    std::vector<JobRequest> jobs;
    std::vector<AuditRecord> audit;
    Bytes fetched;
  };
  void Write(const Study& study, const Mail& mail, News news, int64_t now);
  Receipt ReceiveChecked(const SignedMessage& message, ByteView bytes, int64_t now);
  Receipt TakeChecked(const SignedMessage& message, std::optional<ReceivedMessage> received,
                      const Bytes& fetched, int64_t now);
  Receipt TakeNewStudy(const SignedMessage& message, ByteView body, ReceivedMessage received,
                       int64_t now);
  void SayNotUnderstood(const SignedMessage& message, ReceivedMessage received, int64_t now);
  // What moves no study, one transaction.
  void Post(Change change, const Mail& mail, const StudyId& study, int64_t now);
  // Once a day of the clock; nothing while the log is empty.
  void CloseDay(int64_t now);
  // Each other site what it lacks, if it was not told since the day was closed.
  void TellLogs(int64_t now);
  void TellLog(const std::string& party, int64_t now);
  Receipt TakeLogMessage(const SignedMessage& message, ReceivedMessage received, int64_t now);
  Receipt TakeLogHead(const Message& message, const LogHead& head, ReceivedMessage received,
                      int64_t now);
  Receipt TakeLogReceipt(const Message& message, const LogReceipt& receipt,
                         ReceivedMessage received, int64_t now);
  bool IsClockDoubtful(int64_t certain);
  Receipt Refuse(const std::string& why);
  void RequireSound() const;
  void Commit(const Change& change);

  Parts parts_;
  CertainTime certain_;
  Incarnation incarnation_{};
  uint64_t next_number_ = 1;
  bool stopped_ = false;
  bool restored_ = false;  // and its studies are not ended yet
  bool draining_ = false;
  bool sound_ = true;  // every write so far is known to be durable
  std::map<StudyId, Study> open_;
  std::set<StudyId> set_apart_;
  std::map<uint64_t, Sending> outbox_;
  std::map<std::string, Wanted> wanted_;
  std::vector<std::string> refusals_;
  int64_t served_day_ = 0;  // since 1970: the last one before this start; 0: none
  std::optional<int64_t> doubtful_since_;
  bool has_log_ = false;  // whether the audit log has entries
  LogDay newest_day_;
  std::map<std::string, KeptReceipt> log_receipts_;
  std::map<std::string, uint64_t> log_told_;  // newest day when the site was last told
};

}  // namespace partita::node
