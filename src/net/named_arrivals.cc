#include "net/named_arrivals.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <list>

#include "base/clock.h"
#include "base/error.h"
#include "net/hello_look.h"

namespace partita::net {
namespace {

constexpr std::chrono::seconds kHelloTime{10};

}  // namespace

struct NamedArrivals::State {
  struct Unseen {
    Arrival arrival;
    HelloLook look;
    SteadyClock::time_point since;
  };
  struct Sorted {
    std::string name;
    Arrival arrival;
  };

  Listener listener;
  std::string prefix;
  Socket changes;  // epoll: the listening socket and those whose hello has not come
  std::list<Unseen> unseen;
  std::deque<Sorted> sorted;

  void Watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.fd = fd;
    if (epoll_ctl(changes.fd(), EPOLL_CTL_ADD, fd, &event) == 0) return;
    throw Error(ErrorCode::kInternal,
                std::string("cannot watch a connection: ") + std::strerror(errno));
  }

  void AcceptAll() {
    while (listener.socket.valid()) {
      Arrival arrival;
      arrival.socket = Accept(listener, arrival.remote);
      if (!arrival.socket.valid()) {
        if (!IsOutOfDescriptors(errno)) return;
        if (unseen.empty() && sorted.empty()) return RequireDescriptors(errno);
        DropOldest();
        continue;
      }
      if (unseen.size() >= kMaxUnseen) unseen.pop_front();
      const int fd = arrival.socket.fd();
      unseen.push_back({std::move(arrival), HelloLook(fd), SteadyClock::now()});
      Watch(fd);
    }
  }

  void DropOldest() {
    if (unseen.empty()) {
      sorted.pop_front();
    } else {
      unseen.pop_front();
    }
  }

  void LookAtAll() {
    const auto now = SteadyClock::now();
    for (auto entry = unseen.begin(); entry != unseen.end();) {
      const HelloLook::State state = entry->look.Step();
      if (state == HelloLook::State::kWaiting && now - entry->since < kHelloTime) {
        ++entry;
        continue;
      }
      epoll_ctl(changes.fd(), EPOLL_CTL_DEL, entry->arrival.socket.fd(), nullptr);
      if (state == HelloLook::State::kWhole) Sort(*entry);
      entry = unseen.erase(entry);
    }
  }

  void Sort(Unseen& seen) {
    const std::string& name = seen.look.hello().server_name;
    if (!name.empty() && !name.starts_with(prefix)) return;
    if (sorted.size() >= kMaxSorted) sorted.pop_front();
    sorted.push_back({name, std::move(seen.arrival)});
  }

  std::optional<Arrival> Take(const std::string& name) {
    AcceptAll();
    LookAtAll();
    const auto found = std::find_if(sorted.begin(), sorted.end(),
                                    [&](const Sorted& entry) { return entry.name == name; });
    if (found == sorted.end()) return std::nullopt;
    Arrival arrival = std::move(found->arrival);
    sorted.erase(found);
    return arrival;
  }

  class Source : public SocketSource {
   public:
    Source(std::shared_ptr<State> state, std::string name)
        : state_(std::move(state)), name_(std::move(name)) {}
    int fd() const override { return state_->changes.fd(); }
    std::optional<Arrival> Next() override { return state_->Take(name_); }

   private:
    std::shared_ptr<State> state_;
    std::string name_;
  };
};

NamedArrivals::NamedArrivals(Listener listener, std::string prefix)
    : state_(std::make_shared<State>()) {
  state_->listener = std::move(listener);
  state_->prefix = std::move(prefix);
  SetNonBlocking(state_->listener.socket);
  state_->changes = Socket(epoll_create1(EPOLL_CLOEXEC));
  if (!state_->changes.valid()) {
    throw Error(ErrorCode::kInternal,
                std::string("cannot watch connections: ") + std::strerror(errno));
  }
  state_->Watch(state_->listener.socket.fd());
}

NamedArrivals::~NamedArrivals() {
  state_->listener = {};
  state_->unseen.clear();
  state_->sorted.clear();
}

std::shared_ptr<SocketSource> NamedArrivals::For(std::string name) {
  return std::make_shared<State::Source>(state_, std::move(name));
}

}  // namespace partita::net
