#include "net/forwarder.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <list>
#include <optional>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "net/hello_look.h"
#include "net/socket_source.h"

namespace partita::net {
namespace {

constexpr std::chrono::seconds kTimeOfHello{10};
constexpr std::chrono::seconds kTimeToEnd{5};
constexpr size_t kWayBytes = size_t{1} << 18;
constexpr int kLookMs = 200;  // how late a hello may be dropped

// One direction of a pair.
struct Way {
  std::vector<uint8_t> buffer = std::vector<uint8_t>(kWayBytes);
  size_t begin = 0, end = 0;
  bool no_more = false;  // the source has ended
  bool closed = false;   // and so has the sink been told

  bool empty() const { return begin == end; }
};

struct Pair {
  Socket outside, inside;
  bool connecting = true;  // `inside`
  Way in, out;             // to and from the inside
  bool broken = false;     // there is no way in
};

bool NotNow() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

// A source that fails has ended: what came of it before goes on.
void Fill(int from, Way& way) {
  if (!way.empty() || way.no_more) return;
  const ssize_t got = recv(from, way.buffer.data(), way.buffer.size(), MSG_DONTWAIT);
  if (got < 0 && NotNow()) return;
  way.begin = 0;
  way.end = got > 0 ? static_cast<size_t>(got) : 0;
  way.no_more = got <= 0;
}

// A sink that fails ends this way; the other one may still bring last words.
void Drain(int to, Way& way) {
  while (!way.empty()) {
    const ssize_t put =
        send(to, way.buffer.data() + way.begin, way.end - way.begin, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (put < 0 && NotNow()) return;
    if (put < 0) way.no_more = true;
    way.begin = put < 0 ? way.end : way.begin + static_cast<size_t>(put);
  }
  if (way.no_more && !way.closed) {
    shutdown(to, SHUT_WR);
    way.closed = true;
  }
}

}  // namespace

struct Forwarder::Impl {
  struct Unseen {
    Arrival arrival;
    HelloLook look;
    SteadyClock::time_point since;
  };

  Listener listener;
  Route route;
  Socket stop;  // an eventfd
  std::list<Unseen> unseen;
  std::list<Pair> pairs;
  std::thread thread;

  // Until it is told to stop, and then until both ends of all pairs have closed, or for a moment: whoever
  // closed its connection has said its last words to us, not yet to the other end.
  void Run() {
    std::optional<SteadyClock::time_point> give_up;
    while (!give_up || (!pairs.empty() && SteadyClock::now() < *give_up)) {
      std::vector<pollfd> entries = {{give_up ? -1 : stop.fd(), POLLIN, 0},
                                     {listener.socket.fd(), POLLIN, 0}};
      for (const Unseen& one : unseen) entries.push_back({one.arrival.socket.fd(), POLLIN, 0});
      for (const Pair& pair : pairs) {
        entries.push_back(Entry(pair.outside, Wanted(pair.in, pair.out, !pair.connecting)));
        entries.push_back(Entry(pair.inside, pair.connecting ? static_cast<short>(POLLOUT)
                                                             : Wanted(pair.out, pair.in, true)));
      }
      poll(entries.data(), entries.size(), unseen.empty() && !give_up ? -1 : kLookMs);
      if (entries[0].revents != 0) {
        give_up = SteadyClock::now() + kTimeToEnd;
        listener = {};
        unseen.clear();
      }
      if (!give_up) AcceptAll();
      LookAtAll();
      pairs.remove_if([](Pair& pair) {
        Step(pair);
        return pair.broken || (pair.in.closed && pair.out.closed);
      });
    }
  }

  // Of whom nothing is wanted poll would tell again and again that it hung up.
  static pollfd Entry(const Socket& socket, short events) {
    return {events == 0 ? -1 : socket.fd(), events, 0};
  }
  // read: the way that this socket fills; write: the one that it drains.
  static short Wanted(const Way& read, const Way& write, bool may_read) {
    short events = 0;
    if (may_read && read.empty() && !read.no_more) events |= POLLIN;
    if (!write.empty()) events |= POLLOUT;
    return events;
  }

  static void Step(Pair& pair) {
    if (pair.connecting) {
      pollfd entry{pair.inside.fd(), POLLOUT, 0};
      if (poll(&entry, 1, 0) == 0) return;
      pair.broken = !ConnectFailure(pair.inside).empty();
      pair.connecting = false;
      if (pair.broken) return;
    }
    const int outside = pair.outside.fd(), inside = pair.inside.fd();
    Fill(outside, pair.in);
    Drain(inside, pair.in);
    Fill(inside, pair.out);
    Drain(outside, pair.out);
  }

  void AcceptAll() {
    pollfd waiting{listener.socket.fd(), POLLIN, 0};
    while (poll(&waiting, 1, 0) > 0) {
      Arrival arrival;
      arrival.socket = Accept(listener, arrival.remote);
      if (!arrival.socket.valid()) {
        if (!IsOutOfDescriptors(errno) || unseen.empty()) return;
        unseen.pop_front();
        continue;
      }
      if (unseen.size() >= kMaxUnseen) unseen.pop_front();
      const int fd = arrival.socket.fd();
      unseen.push_back({std::move(arrival), HelloLook(fd), SteadyClock::now()});
    }
  }

  void LookAtAll() {
    const auto now = SteadyClock::now();
    for (auto one = unseen.begin(); one != unseen.end();) {
      const HelloLook::State state = one->look.Step();
      if (state == HelloLook::State::kWaiting && now - one->since < kTimeOfHello) {
        ++one;
        continue;
      }
      if (state == HelloLook::State::kWhole)
        Begin(std::move(one->arrival), one->look.hello().server_name);
      one = unseen.erase(one);
    }
  }

  void Begin(Arrival arrival, const std::string& name) {
    if (pairs.size() >= kMaxForwarded) return;
    const std::optional<Endpoint> to = route(name);
    if (!to) return;
    std::string reason;
    Socket inside;
    try {
      inside = StartConnect(*to, reason);
    } catch (const Error&) {
      return;  // no descriptor is left
    }
    if (!inside.valid()) return;
    Pair& pair = pairs.emplace_back();
    pair.outside = std::move(arrival.socket);
    pair.inside = std::move(inside);
  }
};

Forwarder::Forwarder(Listener listener, Route route) : impl_(std::make_unique<Impl>()) {
  impl_->listener = std::move(listener);
  impl_->route = std::move(route);
  SetNonBlocking(impl_->listener.socket);
  impl_->stop = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!impl_->stop.valid()) {
    throw Error(ErrorCode::kInternal, std::string("cannot make an event: ") + std::strerror(errno));
  }
  impl_->thread = std::thread([this] { impl_->Run(); });
}

Forwarder::~Forwarder() {
  const uint64_t one = 1;
  const ssize_t written = write(impl_->stop.fd(), &one, sizeof one);
  static_cast<void>(written);  // an event takes its first number always
  impl_->thread.join();
}

}  // namespace partita::net
