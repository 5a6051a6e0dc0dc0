// Runs every party of a test in its own thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "crypto/prg.h"
#include "net/channel.h"
#include "net/memory_transport.h"
#include "net/transport.h"

namespace partita::net {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

inline std::vector<std::string> PartyNames(size_t count) {
  const std::vector<std::string> names = {"north",  "south", "east",   "west",
                                          "centre", "coast", "island", "lake"};
  return {names.begin(), names.begin() + static_cast<ptrdiff_t>(count)};
}

inline crypto::Prg TestRandom(uint8_t seed) {
  crypto::Key key;
  key.Expose()[0] = seed;
  return crypto::Prg(key);
}

using Transports = std::vector<std::unique_ptr<Transport>>;

inline Transports MemoryParties(size_t count) {
  crypto::Prg random = TestRandom(1);
  return MakeMemoryTransports(PartyNames(count), random);
}

// What each party threw, by party. Each party's transport dies with its thread.
inline std::vector<std::optional<Error>> RunTransports(
    Transports transports, const std::function<void(std::unique_ptr<Transport>)>& party) {
  std::vector<std::optional<Error>> errors(transports.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < transports.size(); ++i) {
    threads.emplace_back([&errors, &party, i, transport = std::move(transports[i])]() mutable {
      try {
        party(std::move(transport));
      } catch (const Error& error) {
        errors[i] = error;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

inline const Bytes kTestRun = {1, 2, 3};

inline std::vector<std::optional<Error>> RunChannels(Transports transports,
                                                     const std::function<void(Channel&)>& party) {
  return RunTransports(std::move(transports), [&](std::unique_ptr<Transport> transport) {
    Channel channel(std::move(transport), kTestRun, 1);
    party(channel);
  });
}

inline std::string Describe(const std::vector<std::optional<Error>>& errors) {
  std::string text;
  for (size_t i = 0; i < errors.size(); ++i) {
    if (errors[i]) {
      text += "party " + std::to_string(i) + " [" + std::string(ErrorCodeName(errors[i]->code())) +
              "]: " + errors[i]->message() + "\n";
    }
  }
  return text;
}

// Party `from`'s message number `number` to `to`: distinct bytes that a test can recompute.
inline Bytes Pattern(PartyIndex from, PartyIndex to, size_t number, size_t size) {
  crypto::Key key;
  key.Expose()[1] = static_cast<uint8_t>(from);
  key.Expose()[2] = static_cast<uint8_t>(to);
  key.Expose()[3] = static_cast<uint8_t>(number);
  Bytes bytes(size);
  crypto::Prg(key).Fill(bytes);
  return bytes;
}

}  // namespace partita::net
