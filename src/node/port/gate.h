// Who of those that connect keeps a place: the limits of the one port, as a pure function of what
// happened and when. Knows no sockets; connections are numbers.
//
// A connection is looked at until its hello is whole. Then it waits for the job of its run (early),
// or is the node's (served), or leaves for a job, which has limits of its own. Where places run out
// the oldest goes, of the same address if that has too many, else of the strangers: an honest client
// needs its place for a few round trips, one who keeps places needs them for long. Addresses of known
// parties have places of their own, which no stranger can take.
#pragma once

#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "base/clock.h"

namespace partita::node {

// What counts as one address: an IPv4 address (also written as an IPv6 one), or the /64 of an IPv6
// address, which is what one customer has.
struct AddressKey {
  bool is_ipv6 = false;
  std::array<uint8_t, 8> bytes{};

  bool operator==(const AddressKey&) const = default;
  bool operator<(const AddressKey& other) const {
    return std::tie(is_ipv6, bytes) < std::tie(other.is_ipv6, other.bytes);
  }
};

// Of another family: the key of no address.
AddressKey KeyOfAddress(const sockaddr_storage& address);

struct GateLimits {
  size_t looked_at = 128, looked_at_per_address = 8;
  size_t early = 64;
  size_t served = 256;
  size_t later_per_address = 32;  // early and served together
  std::chrono::milliseconds hello{5'000};
  std::chrono::milliseconds early_wait{30'000};
};

class Gate {
 public:
  using Id = uint64_t;
  using Time = SteadyClock::time_point;
  using Ids = std::vector<Id>;  // connections to close; they have left the gate

  explicit Gate(const GateLimits& limits) : limits_(limits) {}

  // Addresses of parties on the own list, from now on.
  void SetKnown(std::set<AddressKey> known) { known_ = std::move(known); }
  bool IsKnown(const AddressKey& address) const { return known_.contains(address); }

  // A new connection, which is looked at. Its number was never used before.
  Id Arrive(const AddressKey& address, Time now, Ids& close);
  // Its hello is whole: it waits for a job, or is the node's. Only for one that is inside.
  void WaitForJob(Id id, Time now, Ids& close) { Move(id, Stage::kEarly, now, close); }
  void Serve(Id id, Time now, Ids& close) { Move(id, Stage::kServed, now, close); }
  // It went to its job, or ended. No effect for one that is not inside.
  void Leave(Id id) { inside_.erase(id); }
  // To make room where the system has none: the oldest that is looked at or early, strangers first.
  // False if there is none.
  bool DropOldest(Ids& close);

  // Those whose time is up.
  Ids Expire(Time now);
  // When Expire next has something to say.
  std::optional<Time> NextExpiry() const;

  size_t looked_at() const { return Count(Stage::kLookedAt); }
  size_t early() const { return Count(Stage::kEarly); }
  size_t served() const { return Count(Stage::kServed); }

 private:
  enum class Stage { kLookedAt, kEarly, kServed };
  struct Place {
    AddressKey address;
    Stage stage = Stage::kLookedAt;
    uint64_t order = 0;  // of entering the stage
    std::optional<Time> until;
  };

  void Move(Id id, Stage stage, Time now, Ids& close);
  void MakeRoom(const AddressKey& address, Stage stage, Ids& close);
  size_t Count(Stage stage) const;
  std::optional<Time> Until(Stage stage, Time now) const;

  GateLimits limits_;
  std::set<AddressKey> known_;
  std::map<Id, Place> inside_;
  Id last_id_ = 0;
  uint64_t last_order_ = 0;
};

}  // namespace partita::node
