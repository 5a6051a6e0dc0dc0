// Jobs as child processes of the daemon: one a request, with its channel as descriptor 3 (job/wire.h).
//
// A job outlives its daemon: it is the leader of a session of its own and goes on when its channel is
// closed. A daemon that starts again asks anew by kAttach and kStatus, which read the folder of the study. A
// job that ends without a last word is reported as JobGone. kStop goes to the job that runs as SIGTERM.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/socket.h"
#include "node/daemon/log.h"
#include "node/job/wire.h"
#include "node/service/node.h"

namespace partita::node {

class JobProcesses : public Jobs {
 public:
  struct Options {
    std::vector<std::string> program;  // and its arguments
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
