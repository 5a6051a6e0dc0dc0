#include "net/named_arrivals.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <set>

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
  std::map<std::string, size_t> asked;  // sources that there are, by name
  std::set<std::string> over;           // names that had some

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

  // What there is to come in, one turn of it: the rest keeps `changes` readable.
  void AcceptAll() {
    for (size_t turn = 0; turn < kMaxTurn; ++turn) {
      std::optional<Arrival> arrival = source != nullptr ? source->Next() : AcceptOne();
      if (!arrival) return;
      Await(*std::move(arrival));
    }
  }

  std::optional<Arrival> AcceptOne() {
    while (listener.socket.valid()) {
      Arrival arrival;
      arrival.socket = Accept(listener, arrival.remote);
      if (arrival.socket.valid()) return arrival;
      if (!IsOutOfDescriptors(errno)) break;
      if (unseen.empty() && sorted.empty()) {
        RequireDescriptors(errno);
        break;
      }
      DropOldest();
    }
    return std::nullopt;
  }

  void Await(Arrival arrival) {
    HelloLook look(arrival.socket.fd());
    const HelloLook::State state = look.Step();  // it may be there already
    if (state == HelloLook::State::kWhole)
      return Sort(look.hello().server_name, std::move(arrival));
    if (state != HelloLook::State::kWaiting) return;
    if (unseen.size() >= kMaxUnseen) DropOldestOf(unseen);
    const int fd = arrival.socket.fd();
    unseen.push_back({std::move(arrival), look, SteadyClock::now()});
    Watch(fd);
  }

  // The oldest stranger of those for which `is_one` holds, or else the oldest of them; there is one.
  template <class Waiting, class IsOne>
  static void DropOldestOf(Waiting& waiting, IsOne is_one) {
    const auto stranger = std::find_if(waiting.begin(), waiting.end(), [&](const auto& entry) {
      return is_one(entry) && !entry.arrival.known;
    });
    waiting.erase(stranger != waiting.end() ? stranger
                                            : std::find_if(waiting.begin(), waiting.end(), is_one));
  }
  template <class Waiting>
  static void DropOldestOf(Waiting& waiting) {
    DropOldestOf(waiting, [](const auto&) { return true; });
  }

  // Of the name of which most strangers wait.
  void DropOfMost() {
    std::map<std::string, size_t> strangers;
    for (const Sorted& entry : sorted) strangers[entry.name] += entry.arrival.known ? 0 : 1;
    const auto most = std::max_element(
        strangers.begin(), strangers.end(),
        [](const auto& one, const auto& other) { return one.second < other.second; });
    if (most->second == 0) return DropOldestOf(sorted);
    DropOldestOf(sorted, [&](const Sorted& entry) { return entry.name == most->first; });
  }

  void DropOldest() {
    if (unseen.empty()) {
      DropOfMost();
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
      if (state == HelloLook::State::kWhole)
        Sort(entry->look.hello().server_name, std::move(entry->arrival));
      entry = unseen.erase(entry);
    }
  }

  void Sort(const std::string& name, Arrival arrival) {
    if (!name.empty() && !name.starts_with(prefix)) return;
    if (over.contains(name)) return;
    const auto is_of_name = [&](const Sorted& entry) { return entry.name == name; };
    if (static_cast<size_t>(std::count_if(sorted.begin(), sorted.end(), is_of_name)) >=
        kMaxOfName) {
      DropOldestOf(sorted, is_of_name);
    } else if (sorted.size() >= kMaxSorted) {
      DropOfMost();
    }
    sorted.push_back({name, std::move(arrival)});
  }

  void Begin(const std::string& name) {
    ++asked[name];
    over.erase(name);
  }
  void End(const std::string& name) {
    if (--asked[name] != 0) return;
    asked.erase(name);
    over.insert(name);
    std::erase_if(sorted, [&](const Sorted& entry) { return entry.name == name; });
  }

  std::optional<Arrival> Take(const std::string& name) {
    if (std::optional<Arrival> here = TakeSorted(name)) return here;
    AcceptAll();
    LookAtAll();
    return TakeSorted(name);
  }

  std::optional<Arrival> TakeSorted(const std::string& name) {
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
        : state_(std::move(state)), name_(std::move(name)) {
      state_->Begin(name_);
    }
    ~Source() override { state_->End(name_); }
    Source(const Source&) = delete;
    Source& operator=(const Source&) = delete;
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
