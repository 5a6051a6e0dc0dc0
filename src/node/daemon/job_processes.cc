#include "node/daemon/job_processes.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/error.h"
#include "node/port/pass_socket.h"

namespace partita::node {

struct JobProcesses::Child {
  StartedJob job;  // without a channel if none started
  StudyId study{};
  JobRequest request;
  std::atomic<bool> ended{false};
  std::thread thread;
};

void JobProcesses::Stop() {
  std::vector<std::shared_ptr<Child>> children;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    children.swap(children_);
  }
  for (const auto& child : children) ::shutdown(child->job.channel.fd(), SHUT_RDWR);
  for (const auto& child : children) child->thread.join();
}

void JobProcesses::Start(const JobRequest& request, const Study& study) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  std::erase_if(children_, [](const std::shared_ptr<Child>& child) {
    if (!child->ended) return false;
    child->thread.join();
    return true;
  });
  bool is_there = false;
  for (const auto& child : children_) {
    if (child->ended || child->study != study.id) continue;
    // The job that runs is told; the one that is asked to stop waits for it at the lock of the folder.
    const bool runs =
        child->request.kind == JobKind::kRun || child->request.kind == JobKind::kAttach;
    if (request.kind == JobKind::kStop && runs) SendStop(child->job.channel);
    if (child->request == request) is_there = true;
  }
  if (is_there) return;
  auto child = std::make_shared<Child>();
  child->study = study.id;
  child->request = request;
  try {
    child->job = options_.start();
  } catch (const Error& error) {
    options_.log.Write(error, "job " + JobKindName(request.kind));
  }
  options_.log.Write("job", {{"kind", JobKindName(request.kind)},
                             {"study", ToHex(study.id)},
                             {"attempt", int64_t{request.attempt}},
                             {"pid", int64_t{child->job.child}}});
  child->thread = std::thread([this, child, order = JobOrder{request, study}]() mutable {
    Listen(child, std::move(order));
    child->ended = true;
  });
  children_.push_back(child);
}

void JobProcesses::Listen(const std::shared_ptr<Child>& child, JobOrder order) {
  const bool runs = order.request.kind == JobKind::kRun;
  bool last = false;
  try {
    net::Socket arrivals;
    if (runs) {
      auto [port, job] = MakeSocketPair();
      options_.expect(order.study.tag, std::move(port));
      arrivals = std::move(job);
    }
    if (!child->job.channel.valid())
      throw Error(ErrorCode::kUnreachable, "no job was started", "See the line before.");
    SendOrder(child->job.channel, order, arrivals);
    arrivals = net::Socket();
    while (const std::optional<JobReport> report =
               ReceiveReport(child->job.channel, child->job.sends)) {
      if (report->study != order.study.id) break;
      last = IsLastWord(report->event);
      options_.report(*report);
      if (last) break;
    }
  } catch (const Error& error) {
    options_.log.Write(error, "job " + JobKindName(order.request.kind));
  }
  if (runs) options_.forget(order.study.tag);
  {
    const std::lock_guard lock(mutex_);
    // The job goes on, and so does its study.
    if (stopping_) return;
  }
  int status = 0;
  if (child->job.child != 0) {
    while (::waitpid(child->job.child, &status, 0) < 0 && errno == EINTR) continue;
  }
  if (last) return;
  options_.log.Write("job-gone", {{"kind", JobKindName(order.request.kind)},
                                  {"study", ToHex(order.study.id)},
                                  {"status", int64_t{status}}});
  ReportGone(order);
}

void JobProcesses::ReportGone(const JobOrder& order) {
  JobReport gone;
  gone.study = order.study.id;
  gone.event = JobGone{order.request.attempt};
  options_.report(gone);
}

}  // namespace partita::node
