#include "node/job/job.h"

#include <unistd.h>

#include <exception>
#include <optional>
#include <utility>

#include "base/error.h"
#include "node/job/errand.h"
#include "node/job/kinds.h"
#include "node/job/wire.h"
#include "node/port/peer_user.h"

namespace partita::node {
namespace {

JobReport Do(JobWork& work) {
  switch (work.order.request.kind) {
    case JobKind::kCheck:
      return CheckStudy(work);
    case JobKind::kCommit:
      return CommitTable(work);
    case JobKind::kRun:
      return RunAttempt(work);
    case JobKind::kAttach:
      return AttachToRun(work);
    case JobKind::kStatus:
    case JobKind::kStop:
      return EndAttempt(work);
    case JobKind::kDiscard:
      return DiscardStudy(work);
  }
  throw Error(ErrorCode::kInternal, "a kind of job that does not exist");
}

// What is left to say where the folder cannot be used: nothing signed, so it may have opened. Of a run
// or a commit nothing: the node asks for its status.
std::optional<Event> WithoutFolder(const JobRequest& request) {
  Ended ended;
  ended.attempt = request.attempt;
  switch (request.kind) {
    case JobKind::kStatus:
    case JobKind::kStop:
      return JobEnded{ended};
    case JobKind::kDiscard:
      return Discarded{ended};
    case JobKind::kRun:
    case JobKind::kAttach:
      return JobGone{request.attempt};
    case JobKind::kCheck:
    case JobKind::kCommit:
      break;
  }
  return std::nullopt;
}

}  // namespace

int RunJob(const JobSettings& settings, net::Socket channel, const std::atomic<bool>* stop) {
  static const std::atomic<bool> kNever = false;
  // Whoever may order could have this site's tables read under documents that it chose.
  if (UserAt(channel.fd()) != settings.orders_from.value_or(::geteuid())) return 3;
  std::optional<ReceivedOrder> received;
  try {
    received = ReceiveOrder(channel);
  } catch (const std::exception&) {
    return 2;
  }
  if (received->errand) return SendText(channel, DoErrand(settings, *received->errand)) ? 0 : 1;
  const JobOrder& order = received->order;
  std::optional<JobReport> last;
  std::optional<StudyFolder> folder;
  bool heard = true;
  try {
    folder.emplace(settings, order.study.id);
    JobWork work{settings,
                 order,
                 *folder,
                 channel,
                 std::move(received->arrivals),
                 stop == nullptr ? kNever : *stop};
    last = Do(work);
    heard = work.heard;
  } catch (const std::exception& error) {
    const auto* own = dynamic_cast<const Error*>(&error);
    if (folder)
      folder->NoteProblem(own == nullptr ? error.what() : own->message() + "; " + own->hint());
    if (auto event = WithoutFolder(order.request)) last = JobReport{order.study.id, *event, {}};
  }
  folder
      .reset();  // durable is what there is to say: whoever waits for the lock does not wait for the daemon
  return last && heard && SendReport(channel, *last) ? 0 : 1;
}

}  // namespace partita::node
