#include "node/job/door.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace partita::node {
namespace {

using std::chrono::milliseconds;

constexpr char kDoorName[] = "control";
constexpr milliseconds kLookAgain{20};
constexpr milliseconds kAfterKill{5'000};
constexpr milliseconds kFirstByte{2'000};  // for whoever connects to say what it wants

// A path of a socket has 107 bytes at most, and a folder may be deeper.
struct DoorAddress {
  net::Socket folder;
  sockaddr_un address{};

  explicit DoorAddress(const StudyFolder& of)
      : folder(::open(of.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(folder.fd()) + "/" + kDoorName;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// Whoever listens at the other end.
void Kill(const net::Socket& visitor) {
  ucred runs{};
  socklen_t size = sizeof runs;
  if (::getsockopt(visitor.fd(), SOL_SOCKET, SO_PEERCRED, &runs, &size) == 0 && runs.pid > 1 &&
      runs.pid != ::getpid())  // 0: of another namespace, and then the own group
    ::kill(runs.pid, SIGKILL);
}

bool IsReadable(int fd, milliseconds patience) {
  const Deadline deadline = Deadline::After(patience);
  while (true) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, static_cast<int>(deadline.remaining().count()));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

}  // namespace

struct RunDoor::Impl {
  net::Socket listener;
  std::filesystem::path file;
  std::atomic<bool>& stop;
  std::pair<net::Socket, net::Socket> wake = MakeJobChannel();
  std::mutex mutex;
  std::optional<JobReport> up;
  std::vector<net::Socket> attached, waiting;  // `waiting`: for the end
  std::thread thread;

  const net::Socket& daemon;
  bool hears = true;  // the daemon may still say something

  Impl(std::atomic<bool>& stop_flag, const net::Socket& channel)
      : stop(stop_flag), daemon(channel) {}

  void HearDaemon() {
    const DaemonWord word = ReadDaemonWord(daemon);
    if (word == DaemonWord::kStop) stop = true;
    hears = word != DaemonWord::kNoMore;
  }

  void Welcome() {
    net::Socket visitor(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    uint8_t what = 0;
    if (!visitor.valid() || !IsReadable(visitor.fd(), kFirstByte) ||
        ::recv(visitor.fd(), &what, 1, MSG_DONTWAIT) != 1)
      return;
    const std::lock_guard lock(mutex);
    if (what == kDoorStop) {
      stop = true;
      waiting.push_back(std::move(visitor));
    } else if (what == kDoorAttach && (!up || SendReport(visitor, *up))) {
      attached.push_back(std::move(visitor));
    }
  }

  void Serve() {
    while (true) {
      // A negative descriptor is left out.
      pollfd fds[3] = {{wake.second.fd(), POLLIN, 0},
                       {listener.fd(), POLLIN, 0},
                       {hears ? daemon.fd() : -1, POLLIN, 0}};
      if (::poll(fds, 3, -1) < 0 && errno != EINTR) return;
      if (fds[0].revents != 0) return;
      if (fds[2].revents != 0) HearDaemon();
      if ((fds[1].revents & POLLIN) != 0) Welcome();
    }
  }
};

RunDoor::RunDoor(const StudyFolder& folder, std::atomic<bool>& stop, const net::Socket& daemon)
    : impl_(std::make_unique<Impl>(stop, daemon)) {
  impl_->file = folder.File(kDoorName);
  std::error_code ignored;
  std::filesystem::remove(impl_->file, ignored);  // of a run that was killed: the lock is ours
  const DoorAddress where(folder);
  impl_->listener = net::Socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!impl_->listener.valid() ||
      ::bind(impl_->listener.fd(), where.get(), sizeof(sockaddr_un)) != 0 ||
      ::listen(impl_->listener.fd(), 8) != 0) {
    throw Error(ErrorCode::kUsage,
                std::string("cannot make the door of a run: ") + std::strerror(errno),
                "Check that the job's user may write to the folder of studies.");
  }
  impl_->thread = std::thread([impl = impl_.get()] { impl->Serve(); });
}

RunDoor::~RunDoor() {
  impl_->wake.first = net::Socket();
  impl_->thread.join();
  std::error_code ignored;
  std::filesystem::remove(impl_->file, ignored);
}

void RunDoor::Tell(const JobReport& report) {
  const std::lock_guard lock(impl_->mutex);
  if (std::holds_alternative<JobUp>(report.event)) impl_->up = report;
  std::vector<net::Socket> still;
  for (net::Socket& visitor : impl_->attached) {
    if (SendReport(visitor, report)) still.push_back(std::move(visitor));
  }
  impl_->attached = std::move(still);
}

net::Socket KnockAt(const StudyFolder& folder, uint8_t what) {
  const DoorAddress where(folder);
  net::Socket visitor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!visitor.valid() || ::connect(visitor.fd(), where.get(), sizeof(sockaddr_un)) != 0 ||
      ::send(visitor.fd(), &what, 1, MSG_NOSIGNAL) != 1)
    return {};
  return visitor;
}

void EndRunAndLock(StudyFolder& folder, milliseconds patience) {
  const Deadline deadline = Deadline::After(patience);
  while (!folder.TryLock() && !deadline.passed()) {
    const net::Socket visitor = KnockAt(folder, kDoorStop);
    if (visitor.valid() && !IsReadable(visitor.fd(), deadline.remaining())) Kill(visitor);
    ::poll(nullptr, 0, static_cast<int>(kLookAgain.count()));
  }
  // What was killed, or has just said its last word, gives the lock back at once.
  if (WaitForLock(folder, kAfterKill)) return;
  throw Error(ErrorCode::kTimeout, "another job of this study goes on",
              "Look at the jobs of this machine.");
}

bool WaitForLock(StudyFolder& folder, milliseconds patience) {
  const Deadline deadline = Deadline::After(patience);
  while (!folder.TryLock()) {
    if (deadline.passed()) return false;
    ::poll(nullptr, 0, static_cast<int>(kLookAgain.count()));
  }
  return true;
}

}  // namespace partita::node
