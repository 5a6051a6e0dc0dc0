#include "node/port/one_port.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "net/hello_look.h"
#include "node/port/pass_socket.h"

namespace partita::node {
namespace {

using std::chrono::milliseconds;

// Accepted in one turn, before others are looked at again.
constexpr int kAcceptTurn = 64;
// After an accept that failed while nothing could be closed for it, and after a job that took nothing.
constexpr milliseconds kAcceptAgain{100}, kPassAgain{10};

// What other threads tell the port's; outlives it for the places that are still kept.
struct PortMail {
  std::mutex mutex;
  net::Socket wake{eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  std::vector<std::function<void()>> orders;
  std::vector<Gate::Id> left;  // connections of the node that ended
  bool stop = false;

  void Wake() const {
    const uint64_t one = 1;
    // Full is as good: somebody woke it already.
    [[maybe_unused]] const ssize_t written = write(wake.fd(), &one, sizeof one);
  }
  void Sleep() const {
    uint64_t count = 0;
    [[maybe_unused]] const ssize_t taken = read(wake.fd(), &count, sizeof count);
  }
};

// Given back when the node drops it.
struct PortPlace {
  std::shared_ptr<PortMail> mail;
  Gate::Id id;

  PortPlace(std::shared_ptr<PortMail> port, Gate::Id connection)
      : mail(std::move(port)), id(connection) {}
  PortPlace(const PortPlace&) = delete;
  PortPlace& operator=(const PortPlace&) = delete;
  ~PortPlace() {
    const std::lock_guard lock(mail->mutex);
    mail->left.push_back(id);
    mail->Wake();
  }
};

AddressKey KeyOfPeer(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getpeername(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return KeyOfAddress(address);
}

}  // namespace

struct OnePort::Impl {
  // One that is looked at, or waits for a job.
  struct Waiting {
    net::Arrival arrival;
    net::HelloLook look;
    std::optional<RunTag> run;  // early, for this one
  };

  explicit Impl(OnePortOptions port_options)
      : options(std::move(port_options)), gate(options.limits) {
    CheckPortHost(options.host);
    net::SetNonBlocking(options.listener.socket);
    gate.SetKnown(options.known);
    thread = std::thread([this] { Run(); });
  }

  ~Impl() {
    {
      const std::lock_guard lock(mail->mutex);
      mail->stop = true;
      mail->Wake();
    }
    thread.join();
  }

  void Order(std::function<void()> order) {
    const std::lock_guard lock(mail->mutex);
    mail->orders.push_back(std::move(order));
    mail->Wake();
  }

  void Run();
  void Turn();
  bool HasMail();
  bool TakeMail();
  void WaitForSockets();
  void AcceptAll();
  void Begin(net::Arrival arrival);
  void Look(Gate::Id id);
  void Route(Gate::Id id, const std::string& server_name);
  std::optional<RunTag> RunOfStripe(const std::string& server_name);
  void ServeNode(Gate::Id id);
  void PassEarly(const RunTag& run);
  void Close(const Gate::Ids& ids, uint64_t& counted);
  void Report();

  // What a connection does may fail for want of memory: that ends it alone.
  template <class Act>
  void Guarded(Gate::Id id, Act act) {
    try {
      act();
    } catch (const std::exception&) {
      ++counts.failures;
      gate.Leave(id);
      waiting.erase(id);
      served.erase(id);
    }
  }

  OnePortOptions options;
  Gate gate;
  std::shared_ptr<PortMail> mail = std::make_shared<PortMail>();
  std::map<Gate::Id, Waiting> waiting;
  std::map<Gate::Id, net::Socket> served;  // second descriptors, to shut down by
  struct Job {
    net::Socket channel;
    std::optional<uint32_t> stripes = {};  // once it has said so
    SteadyClock::time_point pass_from = {};
  };
  std::map<RunTag, Job> jobs;
  SteadyClock::time_point accept_from{};
  std::vector<pollfd> polled;
  // What `polled` stands for, after the wake-up and the listener: connections, then jobs.
  std::vector<Gate::Id> polled_connections;
  std::vector<RunTag> polled_jobs;
  OnePortCounts counts, reported;
  mutable std::mutex counts_mutex;  // of `reported`
  std::thread thread;
};

void OnePort::Impl::Run() {
  for (;;) {
    try {
      if (!TakeMail()) return;
      Turn();
    } catch (const std::exception&) {  // memory that is not there: others may give some back
      ++counts.failures;
      accept_from = SteadyClock::now() + kAcceptAgain;
    }
  }
}

// Whose time is up, who waits with a hello, what jobs can take, then who is new.
void OnePort::Impl::Turn() {
  Close(gate.Expire(SteadyClock::now()), counts.expired);
  Report();
  WaitForSockets();
  if (HasMail()) return;  // what was ordered before somebody came counts for him
  const size_t first_job = 2 + polled_connections.size();
  for (size_t i = 0; i < polled_connections.size(); ++i) {
    if (polled[2 + i].revents == 0) continue;
    const Gate::Id id = polled_connections[i];
    Guarded(id, [&] { Look(id); });
  }
  for (size_t i = 0; i < polled_jobs.size(); ++i) {
    const short events = polled[first_job + i].revents;
    if ((events & (POLLHUP | POLLERR)) != 0) {
      jobs.erase(polled_jobs[i]);
    } else if (events != 0) {
      PassEarly(polled_jobs[i]);
    }
  }
  if (polled[1].revents != 0) AcceptAll();
}

bool OnePort::Impl::HasMail() {
  const std::lock_guard lock(mail->mutex);
  return mail->stop || !mail->orders.empty() || !mail->left.empty();
}

// False once the port is to end.
bool OnePort::Impl::TakeMail() {
  std::vector<std::function<void()>> orders;
  std::vector<Gate::Id> left;
  {
    const std::lock_guard lock(mail->mutex);
    mail->Sleep();
    if (mail->stop) return false;
    orders.swap(mail->orders);
    left.swap(mail->left);
  }
  for (const Gate::Id id : left) {
    gate.Leave(id);
    served.erase(id);
  }
  for (const auto& order : orders) order();
  return true;
}

void OnePort::Impl::WaitForSockets() {
  const SteadyClock::time_point now = SteadyClock::now();
  std::optional<SteadyClock::time_point> until = gate.NextExpiry();
  const bool accepts = now >= accept_from;
  if (!accepts && (!until || accept_from < *until)) until = accept_from;
  polled.clear();
  polled_connections.clear();
  polled_jobs.clear();
  polled.push_back({mail->wake.fd(), POLLIN, 0});
  polled.push_back({accepts ? options.listener.socket.fd() : -1, POLLIN, 0});
  std::set<RunTag> awaited;
  for (const auto& [id, connection] : waiting) {
    // An early one has unread bytes; only its end is news.
    const short events = connection.run ? POLLRDHUP : POLLIN;
    if (connection.run) awaited.insert(*connection.run);
    polled.push_back({connection.arrival.socket.fd(), events, 0});
    polled_connections.push_back(id);
  }
  for (const auto& [run, job] : jobs) {
    const bool waits = awaited.contains(run), passes = now >= job.pass_from;
    if (waits && !passes && (!until || job.pass_from < *until)) until = job.pass_from;
    const short events = waits && passes ? POLLOUT : 0;
    polled.push_back({job.channel.fd(), events, 0});
    polled_jobs.push_back(run);
  }
  int timeout_ms = -1;
  if (until) {
    const auto left = std::chrono::ceil<milliseconds>(*until - now);
    timeout_ms = static_cast<int>(std::max<milliseconds::rep>(left.count(), 0));
  }
  poll(polled.data(), polled.size(), timeout_ms);
}

void OnePort::Impl::AcceptAll() {
  for (int i = 0; i < kAcceptTurn; ++i) {
    net::Arrival arrival;
    arrival.socket = net::Accept(options.listener, arrival.remote);
    if (arrival.socket.valid()) {
      Begin(std::move(arrival));
      continue;
    }
    if (errno == ECONNABORTED || errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return;
    Gate::Ids close;
    if (!net::IsOutOfDescriptors(errno) || !gate.DropOldest(close)) {
      accept_from = SteadyClock::now() + kAcceptAgain;
      return;
    }
    Close(close, counts.crowded);
  }
}

void OnePort::Impl::Begin(net::Arrival arrival) {
  ++counts.accepted;
  const int fd = arrival.socket.fd();
  const AddressKey address = KeyOfPeer(fd);
  arrival.known = gate.IsKnown(address);
  Gate::Ids close;
  const Gate::Id id = gate.Arrive(address, SteadyClock::now(), close);
  Close(close, counts.crowded);
  Guarded(id, [&] {
    waiting.emplace(id, Waiting{std::move(arrival), net::HelloLook(fd), std::nullopt});
    Look(id);  // its hello may be there already
  });
}

void OnePort::Impl::Look(Gate::Id id) {
  const auto found = waiting.find(id);
  if (found == waiting.end()) return;
  if (found->second.run) return Close({id}, counts.refused);  // it gave up while it waited
  switch (found->second.look.Step()) {
    case net::HelloLook::State::kWaiting:
      return;
    case net::HelloLook::State::kRefused:
      return Close({id}, counts.refused);
    case net::HelloLook::State::kWhole:
      return Route(id, std::string(found->second.look.hello().server_name));
  }
}

void OnePort::Impl::Route(Gate::Id id, const std::string& server_name) {
  std::optional<RunTag> run = RunOf(server_name, options.host);
  if (!run) run = RunOfStripe(server_name);
  if (!run) return ServeNode(id);
  waiting.at(id).run = run;
  Gate::Ids close;
  gate.WaitForJob(id, SteadyClock::now(), close);
  Close(close, counts.crowded);
  PassEarly(*run);
}

// Nobody comes to a stripe before the parties of its run are connected, so its job has said by then how many
// there are; it is heard here, not when it speaks, so that no turn comes in between.
std::optional<RunTag> OnePort::Impl::RunOfStripe(const std::string& server_name) {
  const std::optional<RunStripe> stripe = StripeOf(server_name, options.host);
  if (!stripe) return std::nullopt;
  const auto found = jobs.find(stripe->run);
  if (found == jobs.end()) return std::nullopt;
  Job& job = found->second;
  if (!job.stripes) job.stripes = HearStripes(job.channel);
  if (stripe->stripe >= job.stripes.value_or(0)) return std::nullopt;
  return stripe->run;
}

void OnePort::Impl::ServeNode(Gate::Id id) {
  Gate::Ids close;
  gate.Serve(id, SteadyClock::now(), close);
  Close(close, counts.crowded);
  auto node = waiting.extract(id);
  net::Arrival& arrival = node.mapped().arrival;
  auto place = std::make_shared<PortPlace>(mail, id);
  served[id] = net::Socket(fcntl(arrival.socket.fd(), F_DUPFD_CLOEXEC, 0));
  ++counts.served;
  options.serve(std::move(arrival), std::move(place));
}

// Hands on what waits for the run, in the order in which it came, as far as its job takes it.
void OnePort::Impl::PassEarly(const RunTag& run) {
  const auto job = jobs.find(run);
  if (job == jobs.end()) return;
  for (auto entry = waiting.begin(); entry != waiting.end();) {
    if (entry->second.run != run) {
      ++entry;
      continue;
    }
    switch (PassSocket(job->second.channel, entry->second.arrival)) {
      case Passing::kBusy:
        // The system may refuse though the channel is writable.
        if (job->second.pass_from <= SteadyClock::now())
          job->second.pass_from = SteadyClock::now() + kPassAgain;
        return;
      case Passing::kGone:
        jobs.erase(job);
        return;
      case Passing::kPassed:
        ++counts.passed;
        gate.Leave(entry->first);
        entry = waiting.erase(entry);
    }
  }
}

// Connections that have left the gate, or leave it now.
void OnePort::Impl::Close(const Gate::Ids& ids, uint64_t& counted) {
  for (const Gate::Id id : ids) {
    ++counted;
    gate.Leave(id);
    waiting.erase(id);
    const auto found = served.find(id);
    if (found == served.end()) continue;
    shutdown(found->second.fd(), SHUT_RDWR);  // the node closes it
    served.erase(found);
  }
}

void OnePort::Impl::Report() {
  counts.looked_at = gate.looked_at();
  counts.early = gate.early();
  counts.being_served = gate.served();
  {
    const std::lock_guard lock(counts_mutex);
    if (counts == reported) return;
    reported = counts;
  }
  if (options.changed) options.changed(counts);
}

OnePort::OnePort(OnePortOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
OnePort::~OnePort() = default;

const std::string& OnePort::address() const { return impl_->options.listener.address; }

OnePortCounts OnePort::Counts() const {
  const std::lock_guard lock(impl_->counts_mutex);
  return impl_->reported;
}

void OnePort::Expect(const RunTag& tag, net::Socket job) {
  auto end = std::make_shared<net::Socket>(std::move(job));
  impl_->Order([impl = impl_.get(), tag, end] {
    impl->jobs.insert_or_assign(tag, Impl::Job{std::move(*end)});
    impl->PassEarly(tag);
  });
}

void OnePort::Forget(const RunTag& tag) {
  impl_->Order([impl = impl_.get(), tag] { impl->jobs.erase(tag); });
}

void OnePort::SetKnown(std::set<AddressKey> known) {
  auto addresses = std::make_shared<std::set<AddressKey>>(std::move(known));
  impl_->Order([impl = impl_.get(), addresses] { impl->gate.SetKnown(std::move(*addresses)); });
}

}  // namespace partita::node
