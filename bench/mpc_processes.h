// Runs protocol code at every process of an engine over TLS on loopback, as processes.
#pragma once

#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "mpc/dealer_engine.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/replicated_engine.h"
#include "net/tls_transport.h"

namespace partita::mpc::bench {

// kind: "dealer" (num_parties computing parties and the dealer), "replicated" or "ot".
struct Processes {
  std::string kind = "dealer";
  size_t num_parties = 2;
};

// `body` runs once in every process; this one is party 0.
inline void RunProcesses(const Processes& setting, const std::function<void(Engine&)>& body) {
  const size_t count = setting.num_parties + (setting.kind == "dealer" ? 1 : 0);
  std::vector<crypto::Identity> identities;
  std::vector<net::Listener> listeners;
  net::Roster roster;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = "process" + std::to_string(i);
    identities.push_back(crypto::MakeIdentity({name}));
    listeners.push_back(net::Listen("127.0.0.1", "0"));
    roster.push_back(
        {name, listeners.back().address, crypto::Fingerprint(*identities.back().certificate)});
  }
  std::vector<pid_t> children;
  for (size_t i = count; i-- > 0;) {
    const net::PartyIndex self = i;
    const pid_t child = self == 0 ? 0 : fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    net::TlsOptions options;
    options.identity = identities[self];
    options.roster = roster;
    options.self = self;
    options.listener = std::move(listeners[self]);
    net::Channel channel(
        net::ConnectTls(std::move(options), Deadline::After(std::chrono::seconds(10))), Bytes{1},
        1);
    CountingReleaseGate gate;
    gate.Reserve({{"out", "", "all", "exact", 1'000'000}});
    auto engine = setting.kind == "dealer" ? MakeDealerEngine(channel, gate)
                  : setting.kind == "ot"   ? MakeOtEngine(channel, gate)
                                           : MakeReplicatedEngine(channel, gate);
    body(*engine);
    if (self != 0) _exit(0);
  }
  for (pid_t child : children) waitpid(child, nullptr, 0);
}

}  // namespace partita::mpc::bench
