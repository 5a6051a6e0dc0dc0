// Introductions: a party tells another one of a third whose digits it compared. The introducer's node key
// signs it, for the one that gets it: whoever passes it on, the own daemon too, can neither make one up nor
// change its name, keys or address, nor show one that was meant for another site. Nothing is accepted by itself,
// for the introducer could introduce a second key of its own: a steward accepts with a passphrase, or never.
//
// Bytes (node/message/signed_document.h): format u16 (2), introducer, to, name, node key (32), steward
// key (32), address, time of the comparison u64. One that was said once can be shown again: an introducer
// cannot take its word back, but revoked keys and other keys of a known party are refused.
#pragma once

#include <string>
#include <string_view>

#include "node/message/signed_document.h"
#include "node/parties/party_list.h"

namespace partita::node {

inline constexpr char kIntroductionDomain[] = "partita node introduction 1";
// Of any introduction in bytes.
inline constexpr size_t kMaxIntroductionBytes = 2048;

struct Introduction {
  std::string name;
  Digest node_key{}, steward_key{};  // fingerprints
  std::string address;               // "host:port"
  int64_t compared_at = 0;           // when the introducer compared digits

  bool operator==(const Introduction&) const = default;
};

struct SignedIntroduction {
  std::string introducer, to;  // names of parties; `to` owns the list that it is for
  Introduction introduction;
  Signature signature;  // of the introducer's node key

  bool operator==(const SignedIntroduction&) const = default;
};

// Of a party that this site compared digits with itself. Throws kRefused for any other: hearsay is
// not passed on.
Introduction MakeIntroduction(const PartyList& list, std::string_view name,
                              const std::string& address);
// introducer: the name of the party whose node key this is.
SignedIntroduction SignIntroduction(const Introduction& introduction, const std::string& introducer,
                                    const std::string& to, const crypto::Identity& node);

Bytes EncodeIntroduction(const SignedIntroduction& introduction);
// Throws kPeerFault for anything but what EncodeIntroduction writes, names that are none and
// addresses that are none. The signature is not looked at.
SignedIntroduction DecodeIntroduction(ByteView bytes);

// Throws kUntrusted unless it is for the owner of the list, and signed by a node key of its introducer that
// counts at `now` by the list.
void RequireSignedIntroduction(const PartyList& list, const SignedIntroduction& introduction,
                               int64_t now);
// Whether it can be shown to a steward at all, as the word of `introducer`. Throws kRefused if that
// is no party whose keys count, for itself or for the owner of the list, for a party that is known by
// digits, for one of the name with other keys, and for keys that are another's or were revoked.
void RequireIntroducible(const PartyList& list, std::string_view introducer,
                         const Introduction& introduction);
// Throws as RequireIntroducible. A second introducer of the same keys is added to the first.
PartyList WithIntroduced(PartyList list, std::string_view introducer,
                         const Introduction& introduction, int64_t now);
// The signer's, after the passphrase. Throws as RequireSignedIntroduction and RequireIntroducible.
PartyList WithIntroduced(PartyList list, const SignedIntroduction& introduction, int64_t now);

}  // namespace partita::node
