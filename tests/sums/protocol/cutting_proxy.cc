#include "tests/sums/protocol/cutting_proxy.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

namespace partita::sums {
namespace {

sockaddr_un AddressOf(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = socket.string();
  if (name.size() >= sizeof(address.sun_path)) throw std::runtime_error("socket name too long");
  std::memcpy(address.sun_path, name.data(), name.size());
  return address;
}

bool SendAll(int socket, const uint8_t* data, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    data += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

}  // namespace

CuttingProxy::CuttingProxy(std::filesystem::path server, const std::filesystem::path& folder)
    : server_(std::move(server)), own_(folder / ".s.PGSQL.6543") {
  listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = AddressOf(own_);
  if (bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      listen(listener_, 16) != 0 || pipe(wake_) != 0) {
    throw std::runtime_error("no socket for the proxy");
  }
  server_thread_ = std::thread([this] { Serve(); });
}

CuttingProxy::~CuttingProxy() {
  stopping_ = true;
  close(wake_[1]);  // every poll sees it
  server_thread_.join();
  for (std::thread& connection : connections_) connection.join();
  close(listener_);
  close(wake_[0]);
  unlink(own_.c_str());
}

void CuttingProxy::CutNext(Way way, uint64_t after_bytes, End end) {
  const std::lock_guard lock(mutex_);
  next_ = Cut{way, after_bytes, end};
  cut_ = false;
}

void CuttingProxy::Serve() {
  while (!stopping_) {
    std::array<pollfd, 2> waiting = {pollfd{listener_, POLLIN, 0}, pollfd{wake_[0], POLLIN, 0}};
    poll(waiting.data(), waiting.size(), -1);
    if (waiting[0].revents == 0) continue;
    const int client = accept(listener_, nullptr, nullptr);
    if (client < 0) continue;
    std::optional<Cut> cut;
    {
      const std::lock_guard lock(mutex_);
      std::swap(cut, next_);
    }
    connections_.emplace_back([this, client, cut] { Pass(client, cut); });
  }
}

void CuttingProxy::Pass(int client, std::optional<Cut> cut) {
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_un address = AddressOf(server_);
  bool open = connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  std::array<uint64_t, 2> passed = {0, 0};
  std::array<uint8_t, 1 << 14> buffer;
  bool stalled = false;
  while (open && !stopping_) {
    std::array<pollfd, 3> waiting = {pollfd{client, POLLIN, 0}, pollfd{server, POLLIN, 0},
                                     pollfd{wake_[0], POLLIN, 0}};
    poll(waiting.data(), waiting.size(), -1);
    for (size_t way = 0; way < 2 && open; ++way) {  // from the client, from the server
      if (waiting[way].revents == 0) continue;
      const ssize_t got = recv(way == 0 ? client : server, buffer.data(), buffer.size(), 0);
      if (got <= 0) {
        open = false;
        break;
      }
      if (stalled) continue;
      size_t size = static_cast<size_t>(got);
      const bool cuts =
          cut && way == static_cast<size_t>(cut->way) && passed[way] + size > cut->after;
      if (cuts) size = cut->after - passed[way];
      // Counted before the other side can act on them.
      passed[way] += size;
      bytes_[way] = passed[way];
      cut_ = cut_ || cuts;
      open = SendAll(way == 0 ? server : client, buffer.data(), size);
      if (cuts) {
        stalled = cut->end == End::kStall;
        if (!stalled) open = false;
      }
    }
  }
  close(client);
  close(server);
}

}  // namespace partita::sums
