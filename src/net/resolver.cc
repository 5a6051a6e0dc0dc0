#include "net/resolver.h"

#include <fmt/format.h>
#include <netdb.h>

#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

namespace partita::net {
namespace {

constexpr std::chrono::seconds kBetweenLookUps{5};

std::vector<Endpoint> Ask(const std::string& host, const std::string& port, int flags,
                          std::string& reason) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(host.c_str(), port.c_str(), &hints, &found);
  if (result != 0) {
    reason = gai_strerror(result);
    return {};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, freeaddrinfo);
  std::vector<Endpoint> endpoints;
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    Endpoint endpoint;
    std::memcpy(&endpoint.address, at->ai_addr, at->ai_addrlen);
    endpoint.size = at->ai_addrlen;
    endpoints.push_back(endpoint);
  }
  return endpoints;
}

}  // namespace

struct Resolver::Pending {
  std::mutex mutex;
  bool done = false;
  std::vector<Endpoint> endpoints;
  std::string reason;
};

std::vector<Endpoint> NumericEndpoints(const std::string& host, const std::string& port) {
  std::string reason;
  return Ask(host, port, AI_NUMERICHOST, reason);
}

std::vector<Endpoint> SystemLookUp(const std::string& host, const std::string& port,
                                   std::string& reason) {
  return Ask(host, port, 0, reason);
}

Resolver::Resolver(std::string host, std::string port, LookUp look_up)
    : host_(std::move(host)),
      port_(std::move(port)),
      look_up_(std::move(look_up)),
      endpoints_(NumericEndpoints(host_, port_)),
      reason_(fmt::format("the name '{}' was not found in time", host_)),
      numeric_(!endpoints_.empty()) {}

void Resolver::Update() {
  if (numeric_) return;
  if (pending_ != nullptr) {
    const std::lock_guard lock(pending_->mutex);
    if (!pending_->done) return;
    if (!pending_->endpoints.empty()) endpoints_ = std::move(pending_->endpoints);
    reason_ = fmt::format("the name '{}' cannot be resolved: {}", host_, pending_->reason);
  }
  pending_ = nullptr;
  if (SteadyClock::now() >= next_) Begin();
}

void Resolver::Begin() {
  next_ = SteadyClock::now() + kBetweenLookUps;
  pending_ = std::make_shared<Pending>();
  try {
    // Detached: nothing can interrupt a look-up, and nobody should wait for it at the end.
    std::thread([pending = pending_, host = host_, port = port_, look_up = look_up_] {
      std::string reason = "no address found";
      std::vector<Endpoint> endpoints;
      try {
        endpoints = look_up(host, port, reason);
      } catch (const std::exception& error) {
        reason = error.what();
      }
      const std::lock_guard lock(pending->mutex);
      pending->endpoints = std::move(endpoints);
      pending->reason = std::move(reason);
      pending->done = true;
    }).detach();
  } catch (const std::system_error& error) {
    pending_ = nullptr;
    reason_ = error.what();
  }
}

}  // namespace partita::net
