#include "node/parties/introduction.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/utc_time.h"
#include "net/roster.h"

namespace partita::node {
namespace {

constexpr uint16_t kIntroductionFormat = 1;
constexpr size_t kMaxIntroductionAddress = 255;

[[noreturn]] void RefuseIntroduction(std::string_view introducer, const Introduction& introduction,
                                     const std::string& why) {
  throw Error(ErrorCode::kRefused,
              fmt::format("the introduction of {} by {} cannot be accepted: {}", introduction.name,
                          introducer, why),
              "Invite that site, and compare digits by telephone.");
}

Digest ReadKey(ByteReader& reader) {
  Digest key{};
  const ByteView bytes = reader.Raw(key.size());
  std::copy(bytes.begin(), bytes.end(), key.begin());
  return key;
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

Bytes EncodeIntroduction(const Introduction& introduction) {
  ByteWriter writer;
  writer.U16(kIntroductionFormat);
  writer.String(introduction.name);
  writer.Raw(introduction.node_key);
  writer.Raw(introduction.steward_key);
  writer.String(introduction.address);
  writer.U64(static_cast<uint64_t>(introduction.compared_at));
  return writer.Take();
}

Introduction DecodeIntroduction(ByteView body) {
  ByteReader reader(body);
  const bool known = reader.U16() == kIntroductionFormat;
  Introduction introduction;
  introduction.name = reader.String(crypto::kMaxPartyName);
  introduction.node_key = ReadKey(reader);
  introduction.steward_key = ReadKey(reader);
  introduction.address = reader.String(kMaxIntroductionAddress);
  introduction.compared_at = static_cast<int64_t>(reader.U64());
  reader.ExpectEnd();
  bool good = known && crypto::IsPartyName(introduction.name) && introduction.compared_at >= 0 &&
              introduction.compared_at <= kMaxUtc;
  try {
    net::ParseAddress(introduction.address);
  } catch (const Error&) {
    good = false;
  }
  if (!good) throw Error(ErrorCode::kPeerFault, "an introduction is malformed");
  return introduction;
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

}  // namespace partita::node
