// Parties of a test, connected by TLS on loopback.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "net/tls_transport.h"
#include "tests/net/parties.h"

namespace partita::net {

// Identities, listening sockets and a roster that fits them.
struct TlsWorld {
  std::vector<crypto::Identity> identities;
  std::vector<Listener> listeners;
  Roster roster;

  explicit TlsWorld(size_t count) {
    for (const std::string& name : PartyNames(count)) {
      identities.push_back(crypto::MakeIdentity({.name = name}));
      listeners.push_back(Listen("127.0.0.1", "0"));
      roster.push_back(
          {name, listeners.back().address, crypto::Fingerprint(*identities.back().certificate)});
    }
  }

  TlsOptions Options(PartyIndex self) {
    TlsOptions options;
    options.identity = identities[self];
    options.roster = roster;
    options.self = self;
    options.listener = std::move(listeners[self]);
    return options;
  }
};

// Begins to connect to the numeric address of a roster's entry.
inline Socket ConnectTo(const std::string& where) {
  const Address address = ParseAddress(where);
  std::string why;
  return StartConnect(NumericEndpoints(address.host, address.port).at(0), why);
}

// Connects every party in its own thread; `options` by party.
inline std::vector<std::optional<Error>> ConnectAll(std::vector<TlsOptions> options,
                                                    std::chrono::milliseconds patience,
                                                    Transports& transports) {
  const Deadline deadline = Deadline::After(patience);
  transports.resize(options.size());
  std::vector<std::optional<Error>> errors(options.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < options.size(); ++i) {
    threads.emplace_back([&, i] {
      try {
        transports[i] = ConnectTls(std::move(options[i]), deadline);
      } catch (const Error& error) {
        errors[i] = error;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

inline Transports TlsParties(size_t count, uint64_t records_per_key = uint64_t{1} << 23) {
  TlsWorld world(count);
  std::vector<TlsOptions> options;
  for (size_t i = 0; i < count; ++i) {
    options.push_back(world.Options(i));
    options.back().records_per_key = records_per_key;
  }
  Transports transports;
  const auto errors = ConnectAll(std::move(options), std::chrono::seconds(60), transports);
  if (!Describe(errors).empty()) throw Error(ErrorCode::kInternal, Describe(errors));
  return transports;
}

}  // namespace partita::net
