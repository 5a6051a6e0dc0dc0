#include "papers/smle_parties.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "base/error.h"
#include "crypto/hash.h"
#include "net/memory_transport.h"

namespace partita::papers {
namespace {

void RethrowCause(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr lost;
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const Error& own) {
      if (own.code() != ErrorCode::kPeerLost) throw;
      lost = error;
    }
  }
  if (lost) std::rethrow_exception(lost);
}

}  // namespace

void RunTogether(const std::vector<net::Channel*>& channels,
                 const std::function<void(size_t)>& body) {
  std::vector<std::exception_ptr> errors(channels.size());
  std::vector<std::thread> threads;
  for (size_t self = 0; self < channels.size(); ++self) {
    threads.emplace_back([&, self] {
      try {
        body(self);
      } catch (const Error& error) {
        errors[self] = std::current_exception();
        channels[self]->Abort(error);
      } catch (...) {
        errors[self] = std::current_exception();
        channels[self]->Abort(Error(ErrorCode::kInternal, "an internal error"));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  RethrowCause(errors);
}

PartyTraffic RunInThreads(size_t parties, net::PartyIndex watched,
                          const std::function<void(net::Channel&)>& body) {
  crypto::SystemRandom random;
  std::vector<std::string> names;
  for (size_t i = 0; i < parties; ++i) names.push_back(fmt::format("party{}", i + 1));
  Bytes run_id(crypto::Digest{}.size());
  random.Fill(run_id);
  std::vector<net::Channel> channels;
  for (auto& transport : net::MakeMemoryTransports(names, random)) {
    channels.emplace_back(std::move(transport), run_id, 1);
  }
  std::vector<net::Channel*> all;
  for (net::Channel& channel : channels) all.push_back(&channel);
  RunTogether(all, [&](size_t self) { body(channels[self]); });
  PartyTraffic traffic;
  traffic.phases = channels[watched].traffic();
  for (const net::Channel& channel : channels) {
    traffic.rounds = std::max(traffic.rounds, channel.depth());
    for (const net::PhaseTraffic& phase : channel.traffic()) {
      for (const net::LinkTraffic& link : phase.links) traffic.bytes += link.bytes_sent;
    }
  }
  return traffic;
}

}  // namespace partita::papers
