// The jobs that the daemon has started, one a request: children of its own, or of another user behind a socket
// (job_start.h). All that passes is on the one channel of each (job/wire.h); no job is sent a signal.
//
// A job outlives its daemon: it goes on when its channel is closed. A daemon that starts again asks anew by kAttach and
// kStatus, which read the folder of the study. A job that ends without a last word is reported as JobGone. kStop is said
// to the job that runs over its channel, and starts one that waits for it at the lock of the folder.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/socket.h"
#include "node/daemon/job_start.h"
#include "node/daemon/log.h"
#include "node/job/wire.h"
#include "node/service/node.h"

namespace partita::node {

class JobProcesses : public Jobs {
 public:
  struct Options {
    JobStarter start;
    // Told on threads of the jobs.
    std::function<void(const JobReport&)> report;
    // The other end of the pair by which connections of a run come, until the run ends.
    std::function<void(const Tag&, net::Socket)> expect;
    std::function<void(const Tag&)> forget;
    const Log& log;
  };

  explicit JobProcesses(Options options) : options_(std::move(options)) {}
  ~JobProcesses() override { Stop(); }

  // Leaves jobs alone; after it nothing is reported or started. Again: no effect.
  void Stop();

  void Start(const JobRequest& request, const Study& study) override;

 private:
  struct Child;
  void Listen(const std::shared_ptr<Child>& child, JobOrder order);
  void ReportGone(const JobOrder& order);

  Options options_;
  std::mutex mutex_;
  bool stopping_ = false;
  std::vector<std::shared_ptr<Child>> children_;
};

}  // namespace partita::node
