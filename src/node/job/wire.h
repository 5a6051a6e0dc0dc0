// What passes between the daemon and one job: an order, then reports until the job closes.
//
// One connected Unix stream socket per job (MakeJobChannel, or what systemd accepted). Each way, frames:
// length u32, then so many canonical bytes (base/bytes.h).
//   order   version u8 (1), kind u8 (JobKind), attempt u32, study blob (study/codec.h). Once, by the
//           daemon, first. TAG is the study's. With the order of a run comes one descriptor, by SCM_RIGHTS
//           on its first byte: the job's end of a pair of which OnePort::Expect has the other
//           (port/pass_socket.h). So the connections of a run have a channel of their own, and
//           nothing that arrives there can be taken for an order.
//   report  version u8 (1), kind u8, study (32 bytes), fields of that event, draft (string),
//           statement (blob). Any number of JobUp and JobProgress, then one last word: Checked,
//           Committed, JobEnded, JobGone or Discarded. A channel that ends without one is a job that is gone: the daemon says JobGone.
//
//   stop    version u8 (1), 255 u8, without a length. From the daemon, at any time after the order of a run: it ends as it does when its
//           folder's door is asked to stop (door.h). The end of the channel is no stop: a job outlives its daemon.
//   errand  version u8 (1), kind u8 (ErrandKind), count u32, studies (32 bytes, kept u8), name, answers (blob). In the place of an order; the
//           answer is a text up to the end of the channel (errand.h).
//
// Who may say what: a job takes its order only from JobSettings::orders_from, by SO_PEERCRED; a daemon whose jobs are
// of another user looks at the sender that the kernel names with every piece of a report (daemon/job_start.h).
//
// Reading is strict: kPeerFault for anything but the bytes that writing gives. A job that cannot reach
// its daemon any more goes on: what it found lies in the folder of the study, signed.
//
// What reports hold is public, but for `draft` and `statement`, which are for the own stewards. No paths or
// texts of libraries; counts of rows in the statement alone.
//
// The daemon passes `draft` and `statement` on to the steward's signer. The statement is signed by the key
// of the jobs (statement.h), so the signer sees a change of either.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/socket.h"
#include "node/study/retention.h"
#include "node/study/step.h"

namespace partita::node {

// A study holds every document of up to 64 parties.
inline constexpr size_t kMaxOrderBytes = size_t{32} << 20;
inline constexpr size_t kMaxReportBytes = 64 << 10;
inline constexpr std::chrono::seconds kOrderWait{
    30};  // for a frame of which a part has come, or an order

struct JobOrder {
  JobRequest request;
  Study study;
};

// Numbers on the wire; none is a JobKind's.
enum class ErrandKind : uint8_t {
  kPlaces = 64,
  kBudgets = 65,
  kTidy = 66,
  kDraft = 67,
  kHeads = 68,
  kKept = 69,
};

struct JobErrand {
  ErrandKind kind = ErrandKind::kPlaces;
  std::vector<OverStudy> studies = {};  // of kTidy; when they ended is not said
  std::string name = {};                // of kDraft the table, of kHeads the party
  Bytes answers = {};                   // of kKept, EncodeAnswers (kept_look.h)
};

struct JobReport {
  StudyId study{};
  Event event = JobGone{};  // one with which jobs report
  // With Committed: the approval as it is to be signed (RenderApproval without a signature), valid
  // until the study expires. Its commitment is of the frozen table. Else empty.
  std::string draft;
  Bytes statement = {};  // with `draft`: Encode(SignedCommit) about it and its table
};

// Throws kInternal for a kind or event that is not of a job.
Bytes Encode(const JobOrder& order);
JobOrder DecodeJobOrder(ByteView bytes);
Bytes Encode(const JobErrand& errand);
JobErrand DecodeJobErrand(ByteView bytes);
Bytes Encode(const JobReport& report);
JobReport DecodeJobReport(ByteView bytes);
// Whether nothing follows a report of this event.
bool IsLastWord(const Event& event);

// Daemon's end, job's end.
std::pair<net::Socket, net::Socket> MakeJobChannel();

// arrivals: the job's end of the pair of a run; invalid for other kinds. Waits while the job reads.
// Throws kUnreachable if the job is gone or takes nothing for kOrderWait.
void SendOrder(const net::Socket& channel, const JobOrder& order, const net::Socket& arrivals);
void SendErrand(const net::Socket& channel, const JobErrand& errand);
struct ReceivedOrder {
  JobOrder order;
  net::Socket arrivals;             // invalid if none came
  std::optional<JobErrand> errand;  // then there is no order
};
// Throws kUnreachable if none comes in time, kPeerFault.
ReceivedOrder ReceiveOrder(const net::Socket& channel);

// False if the daemon is gone, or takes nothing for kOrderWait.
bool SendReport(const net::Socket& channel, const JobReport& report);
// Waits for the next; none at the end of the channel. Throws kPeerFault, kUntrusted if another user than `sends` sent a
// piece of it (the channel has SO_PASSCRED then).
std::optional<JobReport> ReceiveReport(const net::Socket& channel,
                                       std::optional<uid_t> sends = std::nullopt);

// The daemon asks a run to stop. False if the job is gone. Never waits.
bool SendStop(const net::Socket& channel);
// What the daemon says to a run, where something can be read: to stop; nothing yet; or nothing any more, because the
// channel has ended or says something else.
enum class DaemonWord { kStop, kNone, kNoMore };
DaemonWord ReadDaemonWord(const net::Socket& channel);

// The answer to an errand. False if the daemon is gone, or takes nothing for kOrderWait.
bool SendText(const net::Socket& channel, const std::string& text);
// Up to the end of the channel. Throws kTimeout, kPeerFault for more than max_bytes, kUntrusted as above.
std::string ReceiveText(const net::Socket& channel, size_t max_bytes,
                        std::chrono::milliseconds patience, std::optional<uid_t> sends);

}  // namespace partita::node
