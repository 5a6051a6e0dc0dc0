#include "node/daemon/short_job.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/error.h"
#include "net/socket.h"
#include "node/daemon/spawn_job.h"

namespace partita::node {
namespace {

// One answer of one job.
class AnsweringJob {
 public:
  explicit AnsweringJob(const ShortJob& job) : job_(job), deadline_(Deadline::After(job.patience)) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) Fail("cannot be started");
    ours_ = net::Socket(ends[0]);
    const net::Socket theirs(ends[1]);
    pid_ = SpawnJob(job.program, theirs.fd());
    if (pid_ == 0) Fail("cannot be started");
  }
  AnsweringJob(const AnsweringJob&) = delete;
  AnsweringJob& operator=(const AnsweringJob&) = delete;
  // Waited for here; its answer is all that it is for.
  ~AnsweringJob() {
    if (pid_ == 0) return;
    ::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  }

  void Write(ByteView input) {
    for (size_t done = 0; done < input.size();) {
      if (!Wait(POLLOUT)) continue;
      const ssize_t sent =
          ::send(ours_.fd(), input.data() + done, input.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) {
        done += static_cast<size_t>(sent);
      } else if (errno != EINTR && errno != EAGAIN) {
        Fail("does not listen");
      }
    }
    ::shutdown(ours_.fd(), SHUT_WR);
  }

  Bytes Read() {
    Bytes answer;
    uint8_t buffer[1 << 16];
    while (answer.size() <= job_.most_bytes) {
      if (!Wait(POLLIN)) continue;
      const ssize_t got = ::recv(ours_.fd(), buffer, sizeof buffer, 0);
      if (got == 0) {
        if (answer.empty()) Fail("ended without an answer");
        return answer;
      }
      if (got < 0 && errno != EINTR) Fail("broke off");
      if (got > 0) answer.insert(answer.end(), buffer, buffer + got);
    }
    Fail("says too much");
  }

 private:
  [[noreturn]] void Fail(const std::string& how) const {
    throw Error(ErrorCode::kRefused, "the job that " + job_.what + " " + how, job_.hint);
  }
  bool Wait(short events) {
    if (deadline_.passed())
      throw Error(ErrorCode::kTimeout, "the job that " + job_.what + " takes too long",
                  "Try again.");
    pollfd waiting{ours_.fd(), events, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(deadline_.remaining().count()));
    if (ready < 0 && errno != EINTR) Fail("cannot be waited for");
    return ready > 0;
  }

  const ShortJob& job_;
  Deadline deadline_;
  net::Socket ours_;
  pid_t pid_ = 0;
};

}  // namespace

Bytes AskShortJob(const ShortJob& job, ByteView input) {
  AnsweringJob answering(job);
  if (!input.empty()) answering.Write(input);
  return answering.Read();
}

}  // namespace partita::node
