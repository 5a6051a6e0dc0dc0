#include "node/parties/introduction.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "net/roster.h"

namespace partita::node {
namespace {

constexpr uint16_t kIntroductionFormat = 2;
constexpr size_t kMaxIntroductionAddress = 255;

[[noreturn]] void RefuseIntroduction(std::string_view introducer, const Introduction& introduction,
                                     const std::string& why) {
  throw Error(ErrorCode::kRefused,
              fmt::format("the introduction of {} by {} cannot be accepted: {}", introduction.name,
                          introducer, why),
              "Invite that site, and compare digits by telephone.");
}

Error Malformed() { return Error(ErrorCode::kPeerFault, "an introduction is malformed"); }

Bytes IntroductionFields(const SignedIntroduction& document) {
  const Introduction& introduction = document.introduction;
  ByteWriter writer;
  writer.U16(kIntroductionFormat);
  writer.String(document.introducer);
  writer.String(document.to);
  writer.String(introduction.name);
  writer.Raw(introduction.node_key);
  writer.Raw(introduction.steward_key);
  writer.String(introduction.address);
  writer.U64(static_cast<uint64_t>(introduction.compared_at));
  return writer.Take();
}

bool IsAddress(const std::string& address) {
  try {
    net::ParseAddress(address);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Introduction MakeIntroduction(const PartyList& list, std::string_view name,
                              const std::string& address) {
  const ListedParty* party = FindListed(list, name);
  if (party == nullptr || party->revoked_at != 0 || party->known_by != KnownBy::kDigits) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} is no party whose digits were compared here", name),
                "Only such parties are introduced to others.");
  }
  net::ParseAddress(address);
  return {party->name, party->node_key, party->steward_key, address, party->known_at};
}

SignedIntroduction SignIntroduction(const Introduction& introduction, const std::string& introducer,
                                    const std::string& to, const crypto::Identity& node) {
  SignedIntroduction document{introducer, to, introduction, {}};
  document.signature = SignFields(node, kIntroductionDomain, IntroductionFields(document));
  return document;
}

Bytes EncodeIntroduction(const SignedIntroduction& introduction) {
  return WithSignature(IntroductionFields(introduction), introduction.signature);
}

SignedIntroduction DecodeIntroduction(ByteView bytes) {
  SignedIntroduction document;
  Introduction& introduction = document.introduction;
  const auto read_fields = [&](ByteReader& reader) {
    if (reader.U16() != kIntroductionFormat) throw Malformed();
    document.introducer = reader.String(crypto::kMaxPartyName);
    document.to = reader.String(crypto::kMaxPartyName);
    introduction.name = reader.String(crypto::kMaxPartyName);
    introduction.node_key = ReadDigest(reader);
    introduction.steward_key = ReadDigest(reader);
    introduction.address = reader.String(kMaxIntroductionAddress);
    introduction.compared_at = static_cast<int64_t>(reader.U64());
  };
  document.signature = ReadSigned(bytes, read_fields, Malformed());
  for (const std::string& name : {document.introducer, document.to, introduction.name}) {
    if (!crypto::IsPartyName(name)) throw Malformed();
  }
  if (introduction.compared_at < 0 || introduction.compared_at > kMaxUtc ||
      !IsAddress(introduction.address))
    throw Malformed();
  return document;
}

void RequireSignedIntroduction(const PartyList& list, const SignedIntroduction& introduction,
                               int64_t now) {
  const auto distrust = [&](const std::string& why) {
    throw Error(ErrorCode::kUntrusted,
                fmt::format("the introduction of {} by {} does not count: {}",
                            introduction.introduction.name, introduction.introducer, why),
                "Ask the introducer by telephone, or invite that site, and compare digits.");
  };
  if (introduction.to != list.owner) distrust("it is meant for " + introduction.to);
  const ListedParty* by = FindListed(list, introduction.introducer);
  const Digest key = crypto::Sha256Of(introduction.signature.certificate);
  if (by == nullptr || !NodeKeyCounts(*by, key, now) ||
      !IsSignedBy(introduction.signature, {key}, kIntroductionDomain,
                  IntroductionFields(introduction)))
    distrust("it is not signed by the node key that the own list has of " +
             introduction.introducer);
  const auto certificate = crypto::DecodeCertificate(introduction.signature.certificate);
  const auto problem =
      crypto::CertificateProblem(*certificate, introduction.introducer, ToHex(key));
  if (problem) distrust(*problem);
}

void RequireIntroducible(const PartyList& list, std::string_view introducer,
                         const Introduction& introduction) {
  const ListedParty* by = FindListed(list, introducer);
  if (by == nullptr || by->revoked_at != 0) {
    RefuseIntroduction(introducer, introduction, "the introducer is no party of this site");
  }
  if (introduction.name == introducer) {
    RefuseIntroduction(introducer, introduction, "nobody introduces itself");
  }
  if (introduction.name == list.owner) {
    RefuseIntroduction(introducer, introduction, "that is this site's own name");
  }
  const ListedParty* known = FindListed(list, introduction.name);
  if (known != nullptr && known->known_by == KnownBy::kDigits) {
    RefuseIntroduction(introducer, introduction, "its digits were compared here");
  }
  if (known != nullptr && (known->revoked_at != 0 || known->node_key != introduction.node_key ||
                           known->steward_key != introduction.steward_key)) {
    RefuseIntroduction(introducer, introduction, "it is known here with other keys");
  }
  for (const Digest& key : {introduction.node_key, introduction.steward_key}) {
    const bool revoked = std::find(list.revoked_keys.begin(), list.revoked_keys.end(), key) !=
                         list.revoked_keys.end();
    const bool others =
        std::any_of(list.parties.begin(), list.parties.end(), [&](const ListedParty& party) {
          return party.name != introduction.name &&
                 (party.node_key == key || party.steward_key == key || party.next_node_key == key);
        });
    if (revoked || others) {
      RefuseIntroduction(introducer, introduction, "one of its keys is another's, or was revoked");
    }
  }
  if (introduction.node_key == introduction.steward_key) {
    RefuseIntroduction(introducer, introduction, "node and steward have one key");
  }
}

PartyList WithIntroduced(PartyList list, std::string_view introducer,
                         const Introduction& introduction, int64_t now) {
  RequireIntroducible(list, introducer, introduction);
  auto place = std::lower_bound(
      list.parties.begin(), list.parties.end(), introduction.name,
      [](const ListedParty& party, const std::string& name) { return party.name < name; });
  if (place == list.parties.end() || place->name != introduction.name) {
    ListedParty added;
    added.name = introduction.name;
    added.node_key = introduction.node_key;
    added.steward_key = introduction.steward_key;
    added.known_by = KnownBy::kIntroduction;
    added.known_at = now;
    place = list.parties.insert(place, added);
  }
  std::vector<std::string>& names = place->introducers;
  const auto name = std::lower_bound(names.begin(), names.end(), introducer);
  if (name == names.end() || *name != introducer) names.emplace(name, introducer);
  ++list.serial;
  list.made_at = now;
  CheckPartyList(list);
  return list;
}

PartyList WithIntroduced(PartyList list, const SignedIntroduction& introduction, int64_t now) {
  RequireSignedIntroduction(list, introduction, now);
  return WithIntroduced(std::move(list), introduction.introducer, introduction.introduction, now);
}

}  // namespace partita::node
