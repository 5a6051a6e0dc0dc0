#include "node/parties/party_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/utc_time.h"

namespace partita::node {
namespace {

constexpr uint16_t kListFormat = 1;
constexpr size_t kMaxListBytes = size_t{1} << 20;
constexpr size_t kMaxRevokedKeys = 4096;

Error ListFault(const std::string& what) {
  return Error(ErrorCode::kBadInput, fmt::format("the list of parties is not valid: {}", what),
               "Restore it from a backup; what was added since has to be compared again.");
}

[[noreturn]] void FailList(const std::string& what) { throw ListFault(what); }

[[noreturn]] void DistrustList(const std::string& what) {
  throw Error(ErrorCode::kUntrusted, fmt::format("the list of parties does not count: {}", what),
              "A steward of this site has to sign it again.");
}

bool IsTime(int64_t time) { return time >= 0 && time <= kMaxUtc; }

void WriteListed(const ListedParty& party, ByteWriter& writer) {
  writer.String(party.name);
  writer.Raw(party.node_key);
  writer.Raw(party.steward_key);
  writer.U8(static_cast<uint8_t>(party.known_by));
  writer.U64(static_cast<uint64_t>(party.known_at));
  writer.U32(static_cast<uint32_t>(party.introducers.size()));
  for (const std::string& name : party.introducers) writer.String(name);
  writer.U8(party.next_node_key ? 1 : 0);
  if (party.next_node_key) writer.Raw(*party.next_node_key);
  writer.U64(static_cast<uint64_t>(party.next_counts_from));
  writer.U64(static_cast<uint64_t>(party.revoked_at));
}

ListedParty ReadListed(ByteReader& reader) {
  ListedParty party;
  party.name = reader.String(crypto::kMaxPartyName);
  party.node_key = ReadDigest(reader);
  party.steward_key = ReadDigest(reader);
  party.known_by = static_cast<KnownBy>(reader.U8());
  party.known_at = static_cast<int64_t>(reader.U64());
  const size_t introducers = reader.U32();
  if (introducers > kMaxListedParties) FailList("too many introducers");
  for (size_t i = 0; i < introducers; ++i) {
    party.introducers.push_back(reader.String(crypto::kMaxPartyName));
  }
  if (reader.U8() == 1) party.next_node_key = ReadDigest(reader);
  party.next_counts_from = static_cast<int64_t>(reader.U64());
  party.revoked_at = static_cast<int64_t>(reader.U64());
  return party;
}

void CheckListed(const ListedParty& party, const PartyList& list) {
  if (!crypto::IsPartyName(party.name)) FailList("a name is none");
  if (party.name == list.owner) FailList("its owner is on it");
  if (!IsTime(party.known_at) || !IsTime(party.next_counts_from) || !IsTime(party.revoked_at)) {
    FailList("a time of " + party.name + " is none");
  }
  if (party.next_node_key.has_value() != (party.next_counts_from != 0)) {
    FailList("the successor of " + party.name + " has no time");
  }
  const std::vector<std::string>& names = party.introducers;
  const bool introduced = party.known_by == KnownBy::kIntroduction;
  if (!introduced && party.known_by != KnownBy::kDigits)
    FailList("how a party is known is unknown");
  if (introduced == names.empty()) FailList("who introduced " + party.name + " is not clear");
  if (std::adjacent_find(names.begin(), names.end(), std::greater_equal<>()) != names.end()) {
    FailList("introducers are not in order");
  }
  for (const std::string& name : names) {
    if (!crypto::IsPartyName(name) || name == party.name) FailList("an introducer's name is none");
  }
}

bool IsRevoked(const PartyList& list, const Digest& key) {
  return std::find(list.revoked_keys.begin(), list.revoked_keys.end(), key) !=
         list.revoked_keys.end();
}

void Revoke(PartyList& list, const Digest& key) {
  list.revoked_keys.push_back(key);
  std::sort(list.revoked_keys.begin(), list.revoked_keys.end());
}

ListedParty* FindMutable(PartyList& list, std::string_view name) {
  const auto found = std::find_if(list.parties.begin(), list.parties.end(),
                                  [&](const auto& party) { return party.name == name; });
  return found == list.parties.end() ? nullptr : &*found;
}

Bytes SignedListFields(const PartyList& list) {
  ByteWriter writer;
  writer.Blob(EncodePartyList(list));
  return writer.Take();
}

}  // namespace

void CheckPartyList(const PartyList& list) {
  if (!crypto::IsPartyName(list.owner)) FailList("its owner's name is none");
  if (!IsTime(list.made_at)) FailList("its time is none");
  if (list.parties.size() > kMaxListedParties) FailList("it is too long");
  std::set<Digest> keys;
  for (size_t i = 0; i < list.parties.size(); ++i) {
    const ListedParty& party = list.parties[i];
    CheckListed(party, list);
    if (i > 0 && list.parties[i - 1].name >= party.name) FailList("names are not in order");
    const bool new_keys = keys.insert(party.node_key).second &&
                          keys.insert(party.steward_key).second &&
                          (!party.next_node_key || keys.insert(*party.next_node_key).second);
    if (!new_keys) FailList("a key is there twice");
    const bool is_revoked = IsRevoked(list, party.node_key);
    if (is_revoked != (party.revoked_at != 0)) FailList("a key that was revoked is in use");
    if (party.next_node_key && IsRevoked(list, *party.next_node_key)) {
      FailList("a key that was revoked is a successor");
    }
  }
  const std::vector<Digest>& revoked = list.revoked_keys;
  if (revoked.size() > kMaxRevokedKeys ||
      std::adjacent_find(revoked.begin(), revoked.end(), std::greater_equal<>()) != revoked.end()) {
    FailList("revoked keys are not in order");
  }
}

Bytes EncodePartyList(const PartyList& list) {
  CheckPartyList(list);
  ByteWriter writer;
  writer.U16(kListFormat);
  writer.String(list.owner);
  writer.U64(list.serial);
  writer.U64(static_cast<uint64_t>(list.made_at));
  writer.U32(static_cast<uint32_t>(list.parties.size()));
  for (const ListedParty& party : list.parties) WriteListed(party, writer);
  writer.U32(static_cast<uint32_t>(list.revoked_keys.size()));
  for (const Digest& key : list.revoked_keys) writer.Raw(key);
  if (writer.bytes().size() > kMaxListBytes) FailList("it is too long");
  return writer.Take();
}

PartyList DecodePartyList(ByteView bytes) {
  PartyList list;
  try {
    ByteReader reader(bytes);
    if (reader.U16() != kListFormat) FailList("it is of another version");
    list.owner = reader.String(crypto::kMaxPartyName);
    list.serial = reader.U64();
    list.made_at = static_cast<int64_t>(reader.U64());
    const size_t count = reader.U32();
    if (count > kMaxListedParties) FailList("it is too long");
    for (size_t i = 0; i < count; ++i) list.parties.push_back(ReadListed(reader));
    const size_t revoked = reader.U32();
    if (revoked > kMaxRevokedKeys) FailList("too many keys were revoked");
    for (size_t i = 0; i < revoked; ++i) list.revoked_keys.push_back(ReadDigest(reader));
    reader.ExpectEnd();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kBadInput) throw;
    FailList("it is not whole");
  }
  if (EncodePartyList(list) != Bytes(bytes.begin(), bytes.end())) FailList("its form is another");
  return list;
}

ListMark MarkOf(const PartyList& list) {
  return {list.serial, crypto::Sha256Of(EncodePartyList(list))};
}

SignedPartyList SignPartyList(const PartyList& list, const crypto::Identity& steward) {
  return {list, SignFields(steward, kPartyListDomain, SignedListFields(list))};
}

void RequireSignedList(const SignedPartyList& document, std::string_view owner,
                       const std::vector<Digest>& stewards, const ListMark& last) {
  if (!IsSignedBy(document.signature, stewards, kPartyListDomain, SignedListFields(document.list)))
    DistrustList("it is not signed by a steward of this site");
  if (document.list.owner != owner) {
    DistrustList("it is that of " + document.list.owner);
  }
  if (document.list.serial < last.serial) {
    DistrustList("a newer one was signed");
  }
  const bool is_another = last.digest != Digest{} && MarkOf(document.list).digest != last.digest;
  if (document.list.serial == last.serial && is_another) {
    DistrustList("another one of the same serial was signed");
  }
}

Bytes EncodeSignedList(const SignedPartyList& document) {
  return WithSignature(SignedListFields(document.list), document.signature);
}

SignedPartyList DecodeSignedList(ByteView bytes) {
  SignedPartyList document;
  Bytes list;
  document.signature = ReadSigned(
      bytes, [&list](ByteReader& reader) { list = reader.Blob(kMaxListBytes); },
      ListFault("it is not whole"));
  document.list = DecodePartyList(list);
  return document;
}

const ListedParty* FindListed(const PartyList& list, std::string_view name) {
  const auto found = std::find_if(list.parties.begin(), list.parties.end(),
                                  [&](const auto& party) { return party.name == name; });
  return found == list.parties.end() ? nullptr : &*found;
}

bool NodeKeyCounts(const ListedParty& party, const Digest& fingerprint, int64_t now) {
  if (party.revoked_at != 0) return false;
  if (fingerprint == party.node_key) return true;
  return party.next_node_key == fingerprint && now >= party.next_counts_from;
}

bool StewardKeyCounts(const ListedParty& party, const Digest& fingerprint) {
  return party.revoked_at == 0 && fingerprint == party.steward_key;
}

PartyList WithPaired(PartyList list, const PairedParty& party, int64_t now, bool expired_before) {
  ListedParty added;
  added.name = party.name;
  added.node_key = crypto::Sha256Of(party.node_certificate);
  added.steward_key = crypto::Sha256Of(party.steward_certificate);
  added.known_by = KnownBy::kDigits;
  added.known_at = party.compared_at;
  ListedParty* before = FindMutable(list, party.name);
  const bool same_key = before != nullptr && before->node_key == added.node_key;
  if (before != nullptr && before->revoked_at == 0 && !expired_before && !same_key) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} is on the list of parties with other keys", party.name),
                "If its keys were stolen, revoke them first; a new site needs a name of its own.");
  }
  if (before != nullptr) {
    if (same_key) {
      added.next_node_key = before->next_node_key;
      added.next_counts_from = before->next_counts_from;
    }
    *before = added;
  } else {
    list.parties.push_back(added);
    std::sort(list.parties.begin(), list.parties.end(),
              [](const auto& a, const auto& b) { return a.name < b.name; });
  }
  ++list.serial;
  list.made_at = now;
  try {
    CheckPartyList(list);
  } catch (const Error& error) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} cannot be on the list of parties: {}", party.name, error.message()),
                "Each party needs a name and keys that no other has.");
  }
  return list;
}

PartyList WithRevoked(PartyList list, std::string_view name, int64_t now) {
  ListedParty* party = FindMutable(list, name);
  if (party == nullptr) {
    throw Error(ErrorCode::kRefused, fmt::format("there is no party {} on the list", name),
                "The page Parties shows the names.");
  }
  if (party->revoked_at != 0) return list;
  party->revoked_at = now;
  Revoke(list, party->node_key);
  // What a stolen key signed counts for nothing: a successor, and introductions, of those too that it
  // introduced. Who was introduced by nobody else is not known any more.
  if (party->next_node_key) Revoke(list, *party->next_node_key);
  party->next_node_key.reset();
  party->next_counts_from = 0;
  std::vector<std::string> gone = {std::string(name)};
  for (size_t i = 0; i < gone.size(); ++i) {
    for (ListedParty& other : list.parties) {
      if (std::erase(other.introducers, gone[i]) > 0 && other.introducers.empty() &&
          other.known_by == KnownBy::kIntroduction) {
        gone.push_back(other.name);
      }
    }
  }
  std::erase_if(list.parties, [&](const ListedParty& other) {
    return std::find(gone.begin() + 1, gone.end(), other.name) != gone.end();
  });
  ++list.serial;
  list.made_at = now;
  return list;
}

}  // namespace partita::node
