// The signer's list of parties: whom a study here may consist of, and how each came to be known.
//
// The daemon and other nodes write rosters; neither is trusted with them, so jobs compare them with
// this list. It is signed by a steward's key; changed by the signer alone, after a passphrase or
// a touch: whoever calls a function here that changes a list is the signer. Bytes are canonical:
// entries in the order of their names, each field once, one list has one encoding. A list is newer
// than another if its serial is greater, and a signer takes no older one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "crypto/certificate.h"
#include "crypto/hash.h"
#include "node/message/signed_document.h"
#include "node/parties/pairing.h"

namespace partita::node {

inline constexpr size_t kMaxListedParties = 256;
inline constexpr int64_t kSuccessionSeconds = int64_t{7} * 86'400;
inline constexpr char kPartyListDomain[] = "partita parties 1";

// Digits compared by this site itself, or accepted on the word of others.
enum class KnownBy : uint8_t { kDigits = 1, kIntroduction = 2 };

struct ListedParty {
  std::string name;
  Digest node_key{};     // fingerprint of its node certificate
  Digest steward_key{};  // of its steward's
  KnownBy known_by = KnownBy::kDigits;
  int64_t known_at = 0;  // when the digits were compared here, or the introduction was accepted
  // Of an introduction: the parties of the list that said so, in the order of their names.
  std::vector<std::string> introducers;
  // A node certificate that the last one signed, and from when it counts.
  std::optional<Digest> next_node_key;
  int64_t next_counts_from = 0;
  int64_t revoked_at = 0;  // when its node key was found stolen; 0: never

  bool operator==(const ListedParty&) const = default;
};

struct PartyList {
  std::string owner;  // the party that keeps it, which is not on it
  uint64_t serial = 0;
  int64_t made_at = 0;
  std::vector<ListedParty> parties;  // in the order of their names, no name and no key twice
  // Fingerprints that never count again, in order: of no party that is not revoked.
  std::vector<Digest> revoked_keys;

  bool operator==(const PartyList&) const = default;
};

// Throws kBadInput unless the list keeps to its rules.
void CheckPartyList(const PartyList& list);
// Throws kBadInput, too, for a list of more than 1 MiB, which nobody would take.
Bytes EncodePartyList(const PartyList& list);
// Throws kBadInput for anything but what EncodePartyList writes.
PartyList DecodePartyList(ByteView bytes);

struct SignedPartyList {
  PartyList list;
  Signature signature;  // of a steward
};

SignedPartyList SignPartyList(const PartyList& list, const crypto::Identity& steward);
// By which list a signer or a job took last: what it has to keep.
struct ListMark {
  uint64_t serial = 0;
  Digest digest{};  // of EncodePartyList; zero: none was taken yet

  bool operator==(const ListMark&) const = default;
};
ListMark MarkOf(const PartyList& list);

// Throws kUntrusted unless one of the own stewards (fingerprints; root's, in practice) signed it, and
// it is the list of `owner`, and the last one or newer: of one serial there is one list.
void RequireSignedList(const SignedPartyList& document, std::string_view owner,
                       const std::vector<Digest>& stewards, const ListMark& last);
Bytes EncodeSignedList(const SignedPartyList& document);
// Throws kBadInput. The signature is not looked at.
SignedPartyList DecodeSignedList(ByteView bytes);

// Null if there is no such party.
const ListedParty* FindListed(const PartyList& list, std::string_view name);
// Whether a node certificate with this fingerprint counts as the party's at `now`: its key, or the
// successor once it was shown for 7 days; nothing from when its keys were revoked.
bool NodeKeyCounts(const ListedParty& party, const Digest& fingerprint, int64_t now);
bool StewardKeyCounts(const ListedParty& party, const Digest& fingerprint);

// With the party of a pairing. One of the same name is replaced only if it has the same node key,
// was revoked, or if the caller says that its certificate has expired; throws kRefused otherwise, for
// the own name, and for keys that were revoked or that another party of the list has.
PartyList WithPaired(PartyList list, const PairedParty& party, int64_t now,
                     bool expired_before = false);
// Told by digits: neither the node key of the party nor what it signed counts any more, at once and
// for good; nor does the steward key, until the party is paired again. Throws kRefused if there is no
// such party.
PartyList WithRevoked(PartyList list, std::string_view name, int64_t now);

}  // namespace partita::node
