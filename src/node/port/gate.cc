#include "node/port/gate.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace partita::node {
namespace {

// ::ffff:a.b.c.d
constexpr std::array<uint8_t, 12> kMappedIpv4 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

}  // namespace

AddressKey KeyOfAddress(const sockaddr_storage& address) {
  AddressKey key;
  if (address.ss_family == AF_INET) {
    sockaddr_in ipv4{};
    std::memcpy(&ipv4, &address, sizeof ipv4);
    std::memcpy(key.bytes.data(), &ipv4.sin_addr, sizeof ipv4.sin_addr);
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 ipv6{};
    std::memcpy(&ipv6, &address, sizeof ipv6);
    const uint8_t* bytes = ipv6.sin6_addr.s6_addr;
    if (std::equal(kMappedIpv4.begin(), kMappedIpv4.end(), bytes)) {
      std::memcpy(key.bytes.data(), bytes + kMappedIpv4.size(), 4);
    } else {
      key.is_ipv6 = true;
      std::memcpy(key.bytes.data(), bytes, key.bytes.size());
    }
  }
  return key;
}

Gate::Id Gate::Arrive(const AddressKey& address, Time now, Ids& close) {
  MakeRoom(address, Stage::kLookedAt, close);
  const Id id = ++last_id_;
  inside_[id] = {address, Stage::kLookedAt, ++last_order_, Until(Stage::kLookedAt, now)};
  return id;
}

void Gate::Move(Id id, Stage stage, Time now, Ids& close) {
  const auto found = inside_.find(id);
  if (found == inside_.end()) return;
  const AddressKey address = found->second.address;
  inside_.erase(found);  // it must not be the one that makes room for itself
  MakeRoom(address, stage, close);
  inside_[id] = {address, stage, ++last_order_, Until(stage, now)};
}

// Afterwards one more may enter `stage`.
void Gate::MakeRoom(const AddressKey& address, Stage stage, Ids& close) {
  const bool later = stage != Stage::kLookedAt;
  const size_t per_address = later ? limits_.later_per_address : limits_.looked_at_per_address;
  const size_t all = stage == Stage::kLookedAt ? limits_.looked_at
                     : stage == Stage::kEarly  ? limits_.early
                                               : limits_.served;
  using Entry = std::map<Id, Place>::iterator;
  size_t same = 0, strangers = 0;
  Entry oldest_same = inside_.end(), oldest_stranger = inside_.end();
  auto keep_older = [this](Entry& oldest, Entry entry) {
    if (oldest == inside_.end() || entry->second.order < oldest->second.order) oldest = entry;
  };
  for (Entry entry = inside_.begin(); entry != inside_.end(); ++entry) {
    const Place& place = entry->second;
    if (later == (place.stage != Stage::kLookedAt) && place.address == address) {
      ++same;
      keep_older(oldest_same, entry);
    }
    if (place.stage == stage && !IsKnown(place.address)) {
      ++strangers;
      keep_older(oldest_stranger, entry);
    }
  }
  const auto drop = [&](Entry out) {
    close.push_back(out->first);
    inside_.erase(out);
  };
  if (same >= per_address) {
    // It may be of the other later stage: then this one still has no place.
    const bool makes_place = oldest_same->second.stage == stage && !IsKnown(address);
    if (makes_place) --strangers;
    if (oldest_same == oldest_stranger) oldest_stranger = inside_.end();
    drop(oldest_same);
  }
  if (strangers >= all && !IsKnown(address)) drop(oldest_stranger);
}

bool Gate::DropOldest(Ids& close) {
  auto oldest = inside_.end();
  for (auto entry = inside_.begin(); entry != inside_.end(); ++entry) {
    if (entry->second.stage == Stage::kServed) continue;
    if (oldest != inside_.end()) {
      const bool known = IsKnown(entry->second.address);
      const bool oldest_known = IsKnown(oldest->second.address);
      if (known != oldest_known ? known : entry->second.order > oldest->second.order) continue;
    }
    oldest = entry;
  }
  if (oldest == inside_.end()) return false;
  close.push_back(oldest->first);
  inside_.erase(oldest);
  return true;
}

Gate::Ids Gate::Expire(Time now) {
  Ids expired;
  for (auto entry = inside_.begin(); entry != inside_.end();) {
    if (entry->second.until && *entry->second.until <= now) {
      expired.push_back(entry->first);
      entry = inside_.erase(entry);
    } else {
      ++entry;
    }
  }
  return expired;
}

std::optional<Gate::Time> Gate::NextExpiry() const {
  std::optional<Time> next;
  for (const auto& [id, place] : inside_) {
    if (place.until && (!next || *place.until < *next)) next = place.until;
  }
  return next;
}

size_t Gate::Count(Stage stage) const {
  return static_cast<size_t>(
      std::count_if(inside_.begin(), inside_.end(),
                    [stage](const auto& entry) { return entry.second.stage == stage; }));
}

std::optional<Gate::Time> Gate::Until(Stage stage, Time now) const {
  if (stage == Stage::kServed) return std::nullopt;
  return now + (stage == Stage::kLookedAt ? limits_.hello : limits_.early_wait);
}

}  // namespace partita::node
