#include "node/daemon/control_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "net/socket.h"
#include "node/daemon/request_fields.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;
using ControlJson = nlohmann::ordered_json;

constexpr int kMostAsking = 16;
constexpr int kMostOfOthers = 12, kMostOfOneOther = 6;
constexpr std::chrono::milliseconds kLengthWait{5'000};
constexpr std::chrono::milliseconds kRequestWait{30'000};

sockaddr_un ControlAddress(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = path.string();
  if (text.size() >= sizeof address.sun_path) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the path {} is too long for a socket ({} characters at most)", text,
                            sizeof address.sun_path - 1),
                "Give the node a folder with a shorter path.");
  }
  std::memcpy(address.sun_path, text.data(), text.size());
  return address;
}

// False at the end of time, or of the connection.
bool ControlWait(int fd, short events, Deadline deadline) {
  pollfd waiting{fd, events, 0};
  while (true) {
    const auto left = deadline.remaining();
    if (left <= std::chrono::milliseconds(0)) return false;
    const int ready = ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

bool ControlRead(int fd, void* to, size_t size, Deadline deadline) {
  auto* bytes = static_cast<char*>(to);
  while (size > 0) {
    if (!ControlWait(fd, POLLIN, deadline)) return false;
    const ssize_t got = ::recv(fd, bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool ControlWrite(int fd, const void* from, size_t size, Deadline deadline) {
  const auto* bytes = static_cast<const char*>(from);
  while (size > 0) {
    if (!ControlWait(fd, POLLOUT, deadline)) return false;
    const ssize_t sent = ::send(fd, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool ReadControlFrame(int fd, std::string& text, Deadline for_length, Deadline deadline) {
  uint8_t head[4];
  if (!ControlRead(fd, head, sizeof head, for_length)) return false;
  const size_t size = head[0] | head[1] << 8 | head[2] << 16 | static_cast<size_t>(head[3]) << 24;
  if (size > kMaxControlBytes) return false;
  text.resize(size);
  return ControlRead(fd, text.data(), size, deadline);
}

bool WriteControlFrame(int fd, const std::string& text, Deadline deadline) {
  const auto size = static_cast<uint32_t>(text.size());
  const uint8_t head[4] = {static_cast<uint8_t>(size), static_cast<uint8_t>(size >> 8),
                           static_cast<uint8_t>(size >> 16), static_cast<uint8_t>(size >> 24)};
  return ControlWrite(fd, head, sizeof head, deadline) &&
         ControlWrite(fd, text.data(), text.size(), deadline);
}

std::string ErrorText(const Error& error) {
  return ControlJson{
      {"error", ErrorCodeName(error.code())}, {"message", error.message()}, {"hint", error.hint()}}
      .dump(-1, ' ', false, ControlJson::error_handler_t::replace);
}

ErrorCode CodeNamed(const std::string& name) {
  for (int code = 0; code <= static_cast<int>(ErrorCode::kInternal); ++code) {
    if (ErrorCodeName(static_cast<ErrorCode>(code)) == name) return static_cast<ErrorCode>(code);
  }
  return ErrorCode::kInternal;
}

// Nesting of what may be asked and answered; copies of such values are recursive.
constexpr int kMostControlLevels = 40;

// Whether what is made in the folder has its group.
bool HasGroup(const fs::path& folder) {
  struct stat status {};
  return ::stat(folder.c_str(), &status) == 0 && (status.st_mode & S_ISGID) != 0;
}

// Whose secrets are asked for must be served by the owner of the socket's folder, or root, and nobody else
// may put a socket there.
void RequireServer(int fd, const fs::path& path, const ControlServer& server) {
  struct stat folder {};
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const bool is_known = ::stat(parent.c_str(), &folder) == 0;
  const bool is_closed = is_known && (folder.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  const uid_t user = UserAt(fd);
  if (is_closed && (user == folder.st_uid || user == 0)) return;
  throw Error(ErrorCode::kUntrusted,
              fmt::format("it is not certain who serves as {} in {}", server.name, parent.string()),
              "The folder of the socket has to belong to the user who serves, and nobody else may "
              "write in it.");
}

}  // namespace

bool MayControl(uid_t user, uid_t owner, const std::vector<uid_t>& users) {
  return user == owner || user == 0 || std::find(users.begin(), users.end(), user) != users.end();
}

ControlServer SignerServer() {
  return {"signer", "Start it: partita node sign FOLDER. Or leave --sign away.", true};
}

struct ControlSocket::Impl {
  fs::path path;
  Handler handler;
  std::function<void(uid_t)> refused;
  std::vector<uid_t> users;
  UserOf user_of;
  net::Socket listener;
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::condition_variable ended;
  int asking = 0;                         // of all
  std::map<uid_t, int> asking_of_others;  // of each user but the own one and root; none is zero
  std::thread thread;

  void Listen() {
    const sockaddr_un address = ControlAddress(path);
    listener = net::Socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::unlink(path.c_str());
    // The mask, so that nobody else can connect for a moment.
    const mode_t mask = ::umask(users.empty() ? 0177 : HasGroup(path.parent_path()) ? 0117 : 0111);
    const int bound =
        ::bind(listener.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
    ::umask(mask);
    if (!listener.valid() || bound != 0 || ::listen(listener.fd(), kMostAsking) != 0) {
      throw Error(ErrorCode::kUsage, fmt::format("cannot make the socket {}", path.string()),
                  "Check who owns the folder.");
    }
  }

  void Accept() {
    while (!stopping) {
      pollfd waiting{listener.fd(), POLLIN, 0};
      if (::poll(&waiting, 1, 100) <= 0) continue;
      net::Socket connection(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!connection.valid()) continue;
      const uid_t user = user_of(connection.fd());
      if (!MayControl(user, ::geteuid(), users)) {
        refused(user);
        continue;
      }
      if (!TakePlace(user)) continue;
      // The descriptor itself, which is closed in every process that is started meanwhile.
      std::thread([this, user, caller = std::move(connection)]() mutable {
        Serve(std::move(caller), user);
        LeavePlace(user);
      }).detach();
    }
  }

  static bool IsOther(uid_t user) { return user != 0 && user != ::geteuid(); }

  bool TakePlace(uid_t user) {
    const std::lock_guard lock(mutex);
    if (asking >= kMostAsking) return false;
    if (IsOther(user)) {
      int others = 0;
      for (const auto& entry : asking_of_others) others += entry.second;
      const auto own = asking_of_others.find(user);
      if (others >= kMostOfOthers ||
          (own != asking_of_others.end() && own->second >= kMostOfOneOther))
        return false;
      asking_of_others[user] += 1;
    }
    asking += 1;
    return true;
  }

  void LeavePlace(uid_t user) {
    const std::lock_guard lock(mutex);
    if (IsOther(user) && --asking_of_others[user] == 0) asking_of_others.erase(user);
    asking -= 1;
    ended.notify_all();
  }

  void Serve(net::Socket caller, uid_t user) {
    const net::Socket connection = std::move(caller);
    std::string request, answer;
    if (!ReadControlFrame(connection.fd(), request, Deadline::After(kLengthWait),
                          Deadline::After(kRequestWait)))
      return;
    try {
      answer = handler(request, user);
    } catch (const Error& error) {
      answer = ErrorText(error);
    } catch (const std::exception& error) {
      answer = ErrorText(Error(ErrorCode::kInternal, error.what(), "please report this"));
    }
    WriteControlFrame(connection.fd(), answer, Deadline::After(kRequestWait));
  }
};

ControlSocket::ControlSocket(const fs::path& path, Handler handler,
                             std::function<void(uid_t)> refused, std::vector<uid_t> users,
                             UserOf user_of)
    : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->handler = std::move(handler);
  impl_->refused = std::move(refused);
  impl_->users = std::move(users);
  impl_->user_of = std::move(user_of);
  impl_->Listen();
  impl_->thread = std::thread([this] { impl_->Accept(); });
}

ControlSocket::~ControlSocket() {
  impl_->stopping = true;
  impl_->thread.join();
  ::unlink(impl_->path.c_str());
  std::unique_lock lock(impl_->mutex);
  impl_->ended.wait(lock, [this] { return impl_->asking == 0; });
}

std::string AskControl(const fs::path& path, const std::string& request,
                       std::chrono::milliseconds timeout, const ControlServer& server) {
  const Deadline deadline = Deadline::After(timeout);
  const sockaddr_un address = ControlAddress(path);
  const net::Socket connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection.valid() || ::connect(connection.fd(), reinterpret_cast<const sockaddr*>(&address),
                                       sizeof address) != 0) {
    throw Error(ErrorCode::kUnreachable,
                fmt::format("no {} serves in {}", server.name, path.parent_path().string()),
                server.start);
  }
  if (server.must_own_folder) RequireServer(connection.fd(), path, server);
  std::string answer;
  if (!WriteControlFrame(connection.fd(), request, deadline) ||
      !ReadControlFrame(connection.fd(), answer, deadline, deadline)) {
    throw Error(deadline.passed() ? ErrorCode::kTimeout : ErrorCode::kUnreachable,
                fmt::format("the {} did not answer", server.name),
                "It answers to the user who runs it only, and to root; or it is about to stop.");
  }
  const auto said = ParseShallow<ControlJson>(answer, kMostControlLevels);
  if (!said.is_object())
    throw Error(ErrorCode::kInternal, fmt::format("the {} answered what is no answer", server.name),
                "please report this");
  if (said.contains("error")) {
    throw Error(CodeNamed(said.value("error", "")), said.value("message", ""),
                said.value("hint", ""));
  }
  return answer;
}

}  // namespace partita::node
