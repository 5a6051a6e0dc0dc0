// Runs protocol code at every process of an engine as processes of this machine: over TLS on
// loopback, or over plain TCP to see what TLS costs.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/heap.h"
#include "bench/plain_transport.h"
#include "mpc/dealer_engine.h"
#include "mpc/dealer_node.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "net/delayed_transport.h"
#include "net/swap.h"
#include "net/tls_transport.h"

namespace partita::mpc::bench {

// One number per process, where all of them see it.
class SharedNumbers {
 public:
  SharedNumbers()
      : memory_(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
  }
  ~SharedNumbers() { munmap(memory_, kBytes); }
  SharedNumbers(const SharedNumbers&) = delete;
  SharedNumbers& operator=(const SharedNumbers&) = delete;

  double& operator[](size_t process) { return static_cast<double*>(memory_)[process]; }
  double Sum() {
    double sum = 0;
    for (size_t i = 0; i < kBytes / sizeof(double); ++i) sum += (*this)[i];
    return sum;
  }

 private:
  static constexpr size_t kBytes = 4096;
  void* memory_;
};

// Of this process, all threads together.
inline double ProcessorMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

// kind: "dealer" (num_parties computing parties and the dealer), "replicated", "shamir" or "ot".
struct Processes {
  std::string kind = "dealer";
  size_t num_parties = 2;
  bool tls = true;
  net::LinkModel link = {};          // added to every link
  SharedNumbers* tape_ms = nullptr;  // engines `dealer` and `replicated`: spent expanding tapes
  // What the body opens beside "out" and "gradient".
  std::vector<Release> releases = {};
};

// Adds up how long reading takes.
class TimedTape : public Tape {
 public:
  TimedTape(std::unique_ptr<Tape> inner, double& milliseconds)
      : inner_(std::move(inner)), milliseconds_(milliseconds) {}
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    const auto begin = SteadyClock::now();
    inner_->Read(offset, out);
    milliseconds_ += 1e3 * SecondsSince(begin);
  }

 private:
  std::unique_ptr<Tape> inner_;
  double& milliseconds_;
};

// The engines of the program, or the same with tapes that are timed.
inline std::unique_ptr<Engine> MakeEngine(const Processes& setting, net::Channel& channel,
                                          ReleaseGate& gate) {
  if (setting.kind == "ot") return MakeOtEngine(channel, gate);
  if (setting.kind == "shamir") return MakeShamirEngine(channel, gate);
  const bool dealer = setting.kind == "dealer";
  if (setting.tape_ms == nullptr) {
    return dealer ? MakeDealerEngine(channel, gate) : MakeReplicatedEngine(channel, gate);
  }
  double& milliseconds = (*setting.tape_ms)[channel.self()];
  const TapeFactory tapes = [plain = ChannelTapes(channel, kDealerTapes),
                             &milliseconds](PartyIndex peer) -> std::unique_ptr<Tape> {
    return std::make_unique<TimedTape>(plain(peer), milliseconds);
  };
  if (!dealer) return std::make_unique<ReplicatedEngine<Ring128>>(channel, gate, tapes);
  if (channel.self() == setting.num_parties) {
    return std::make_unique<DealerNode<Ring128>>(channel, tapes);
  }
  return std::make_unique<DealerEngine<Ring128>>(channel, gate, tapes);
}

// Connects process `self` of a mesh that was prepared before the processes were forked.
using Connect = std::function<std::unique_ptr<net::Transport>(net::PartyIndex self)>;

inline Connect PrepareTls(const std::vector<std::string>& names) {
  struct Mesh {
    std::vector<crypto::Identity> identities;
    std::vector<net::Listener> listeners;
    net::Roster roster;
  };
  auto mesh = std::make_shared<Mesh>();
  for (const std::string& name : names) {
    mesh->identities.push_back(crypto::MakeIdentity({name}));
    mesh->listeners.push_back(net::Listen("127.0.0.1", "0"));
    mesh->roster.push_back({name, mesh->listeners.back().address,
                            crypto::Fingerprint(*mesh->identities.back().certificate)});
  }
  return [mesh](net::PartyIndex self) {
    net::TlsOptions options;
    options.identity = mesh->identities[self];
    options.roster = mesh->roster;
    options.self = self;
    options.listener = std::move(mesh->listeners[self]);
    return net::ConnectTls(std::move(options), Deadline::After(std::chrono::seconds(10)));
  };
}

inline Connect PreparePlain(const std::vector<std::string>& names) {
  auto mesh = std::make_shared<PlainMesh>(MakePlainMesh(names.size()));
  std::vector<std::vector<crypto::Key>> secrets(names.size(),
                                                std::vector<crypto::Key>(names.size()));
  crypto::SystemRandom random;
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t j = i + 1; j < names.size(); ++j) {
      secrets[i][j] = secrets[j][i] = crypto::RandomKey(random);
    }
  }
  return [=](net::PartyIndex self) -> std::unique_ptr<net::Transport> {
    auto own =
        std::make_unique<PlainTransport>(std::move((*mesh)[self]), names, self, secrets[self]);
    mesh->clear();  // this process's copies of the others' connections
    return own;
  };
}

// All are connected to all before anybody begins, as after the hello of a run: a dealer may be done
// before the others have found each other, and whoever still waits for one takes a connection that
// closes for one that will come again.
inline void Meet(net::Channel& channel) { net::Swap(channel, Bytes{1}); }

// `body` runs once in every process; this one is party 0. Throws if another one fails.
inline void RunProcesses(const Processes& setting, const std::function<void(Engine&)>& body) {
  KeepFreedMemory();  // as the program does
  const size_t count = setting.num_parties + (setting.kind == "dealer" ? 1 : 0);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("process" + std::to_string(i));
  const Connect connect = setting.tls ? PrepareTls(names) : PreparePlain(names);
  std::vector<pid_t> children;
  const auto run = [&](net::PartyIndex self) {
    std::unique_ptr<net::Transport> transport = connect(self);
    if (setting.link.latency.count() > 0) {
      transport = net::DelayTransport(std::move(transport), setting.link);
    }
    net::Channel channel(std::move(transport), Bytes{1}, 1);
    Meet(channel);
    CountingReleaseGate gate;
    std::vector<Release> releases = setting.releases;
    releases.push_back({"out", "", "all", "exact", 1'000'000});
    releases.push_back({"gradient", "", "all", "exact", 1'000'000});
    gate.Reserve(releases);
    body(*MakeEngine(setting, channel, gate));
  };
  for (net::PartyIndex self = count - 1; self > 0; --self) {
    const pid_t child = fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    try {
      run(self);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", names[self].c_str(), error.what());
      _exit(1);
    }
    _exit(0);
  }
  run(0);
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) throw std::runtime_error("a process failed");
  }
}

}  // namespace partita::mpc::bench
