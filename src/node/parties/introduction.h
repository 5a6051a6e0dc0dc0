// Introductions: a party tells the others of one whose digits it compared. They are the body of a
// signed message; whoever receives one shows it. Nothing is accepted by itself, for the introducer
// could introduce a second key of its own: a steward accepts with a passphrase, or never.
#pragma once

#include <string>
#include <string_view>

#include "node/parties/party_list.h"

namespace partita::node {

struct Introduction {
  std::string name;
  Digest node_key{}, steward_key{};  // fingerprints
  std::string address;               // "host:port"
  int64_t compared_at = 0;           // when the introducer compared digits

  bool operator==(const Introduction&) const = default;
};

// Of a party that this site compared digits with itself. Throws kRefused for any other: hearsay is
// not passed on.
Introduction MakeIntroduction(const PartyList& list, std::string_view name,
                              const std::string& address);

Bytes EncodeIntroduction(const Introduction& introduction);
// Throws kPeerFault for anything but what EncodeIntroduction writes, names that are none and
// addresses that are none.
Introduction DecodeIntroduction(ByteView body);

// Whether it can be shown to a steward at all, as the word of `introducer`. Throws kRefused if that
// is no party whose keys count, for itself or for the owner of the list, for a party that is known by
// digits, for one of the name with other keys, and for keys that are another's or were revoked.
void RequireIntroducible(const PartyList& list, std::string_view introducer,
                         const Introduction& introduction);
// The signer's, after the passphrase. Throws as RequireIntroducible. A second introducer of the same
// keys is added to the first.
PartyList WithIntroduced(PartyList list, std::string_view introducer,
                         const Introduction& introduction, int64_t now);

}  // namespace partita::node
