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
  std::shared_ptr<SocketSource> source;  // instead of it
  std::string prefix;
  Socket changes;  // epoll: where they come from, and those whose hello has not come
  std::list<Unseen> unseen;
  std::deque<Sorted> sorted;

  explicit State(std::string names) : prefix(std::move(names)) {
    changes = Socket(epoll_create1(EPOLL_CLOEXEC));
    if (changes.valid()) return;
    throw Error(ErrorCode::kInternal,
                std::string("cannot watch connections: ") + std::strerror(errno));
  }

  void Watch(int fd) const {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLRDHUP;
    event.data.fd = fd;
    if (epoll_ctl(changes.fd(), EPOLL_CTL_ADD, fd, &event) == 0) return;
    throw Error(ErrorCode::kInternal,
                std::string("cannot watch a connection: ") + std::strerror(errno));
  }

  void AcceptAll() {
    while (source != nullptr) {
      std::optional<Arrival> arrival = source->Next();
      if (!arrival) return;
      Await(*std::move(arrival));
    }
    while (listener.socket.valid()) {
      Arrival arrival;
      arrival.socket = Accept(listener, arrival.remote);
      if (!arrival.socket.valid()) {
        if (!IsOutOfDescriptors(errno)) return;
        if (unseen.empty() && sorted.empty()) return RequireDescriptors(errno);
        DropOldest();
        continue;
      }
      Await(std::move(arrival));
    }
  }

  void Await(Arrival arrival) {
    if (unseen.size() >= kMaxUnseen) DropOldestOf(unseen);
    const int fd = arrival.socket.fd();
    unseen.push_back({std::move(arrival), HelloLook(fd), SteadyClock::now()});
    Watch(fd);
  }

  template <class Waiting>
  static void DropOldestOf(Waiting& waiting) {
    const auto stranger = std::find_if(waiting.begin(), waiting.end(),
                                       [](const auto& entry) { return !entry.arrival.known; });
    waiting.erase(stranger != waiting.end() ? stranger : waiting.begin());
  }

  void DropOldest() {
    if (unseen.empty()) {
      DropOldestOf(sorted);
    } else {
      DropOldestOf(unseen);
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
    if (sorted.size() >= kMaxSorted) DropOldestOf(sorted);
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

  // Whether nobody of this name comes any more.
  bool HasEnded(const std::string& name) const {
    return source != nullptr && source->fd() < 0 && unseen.empty() &&
           std::none_of(sorted.begin(), sorted.end(),
                        [&](const Sorted& entry) { return entry.name == name; });
  }

  class Source : public SocketSource {
   public:
    Source(std::shared_ptr<State> state, std::string name)
        : state_(std::move(state)), name_(std::move(name)) {}
    int fd() const override { return state_->HasEnded(name_) ? -1 : state_->changes.fd(); }
    std::optional<Arrival> Next() override { return state_->Take(name_); }

   private:
    std::shared_ptr<State> state_;
    std::string name_;
  };
};

NamedArrivals::NamedArrivals(Listener listener, std::string prefix)
    : state_(std::make_shared<State>(std::move(prefix))) {
  state_->listener = std::move(listener);
  SetNonBlocking(state_->listener.socket);
  state_->Watch(state_->listener.socket.fd());
}

NamedArrivals::NamedArrivals(std::shared_ptr<SocketSource> source, std::string prefix)
    : state_(std::make_shared<State>(std::move(prefix))) {
  state_->source = std::move(source);
  if (state_->source->fd() >= 0) state_->Watch(state_->source->fd());
}

NamedArrivals::~NamedArrivals() {
  state_->listener = {};
  state_->source = nullptr;
  state_->unseen.clear();
  state_->sorted.clear();
}

std::shared_ptr<SocketSource> NamedArrivals::For(std::string name) {
  return std::make_shared<State::Source>(state_, std::move(name));
}

}  // namespace partita::net
