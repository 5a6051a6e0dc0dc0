// Runs protocol code at every process of an engine as processes of this machine: over TLS on
// loopback, or over plain TCP to see what TLS costs.
#pragma once

#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/plain_transport.h"
#include "mpc/dealer_engine.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "net/delayed_transport.h"
#include "net/tls_transport.h"

namespace partita::mpc::bench {

// kind: "dealer" (num_parties computing parties and the dealer), "replicated", "shamir" or "ot".
struct Processes {
  std::string kind = "dealer";
  size_t num_parties = 2;
  bool tls = true;
  // What the body opens beside "out" and "gradient".
  std::vector<Release> releases = {};
  net::LinkModel link = {};  // added to loopback
};

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

// `body` runs once in every process; this one is party 0.
inline void RunProcesses(const Processes& setting, const std::function<void(Engine&)>& body) {
  const size_t count = setting.num_parties + (setting.kind == "dealer" ? 1 : 0);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) names.push_back("process" + std::to_string(i));
  const Connect connect = setting.tls ? PrepareTls(names) : PreparePlain(names);
  std::vector<pid_t> children;
  for (size_t i = count; i-- > 0;) {
    const net::PartyIndex self = i;
    const pid_t child = self == 0 ? 0 : fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    auto transport = connect(self);
    if (setting.link.latency.count() > 0) {
      transport = net::DelayTransport(std::move(transport), setting.link);
    }
    net::Channel channel(std::move(transport), Bytes{1}, 1);
    CountingReleaseGate gate;
    std::vector<Release> releases = setting.releases;
    releases.push_back({"out", "", "all", "exact", 1'000'000});
    releases.push_back({"gradient", "", "all", "exact", 1'000'000});
    gate.Reserve(releases);
    auto engine = setting.kind == "dealer"   ? MakeDealerEngine(channel, gate)
                  : setting.kind == "ot"     ? MakeOtEngine(channel, gate)
                  : setting.kind == "shamir" ? MakeShamirEngine(channel, gate)
                                             : MakeReplicatedEngine(channel, gate);
    body(*engine);
    if (self != 0) _exit(0);
  }
  for (pid_t child : children) waitpid(child, nullptr, 0);
}

}  // namespace partita::mpc::bench
