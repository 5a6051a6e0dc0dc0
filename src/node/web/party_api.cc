#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/hex.h"
#include "base/utc_time.h"
#include "node/parties/introduction.h"
#include "node/parties/party_list.h"
#include "node/web/api.h"
#include "node/web/fields.h"

namespace partita::node::web {
namespace {

constexpr size_t kMostConfirmed = 64;

WebJson PartyJson(const ListedParty& party, const std::string& address) {
  return {{"name", party.name},
          {"address", address},
          {"known", party.known_by == KnownBy::kDigits ? "digits" : "introduced"},
          {"introducers", party.introducers},
          {"since", FormatUtc(party.known_at)},
          {"node_key", ToHex(party.node_key)},
          {"steward_key", ToHex(party.steward_key)},
          {"revoked", party.revoked_at == 0 ? "" : FormatUtc(party.revoked_at)}};
}

WebJson IntroductionJson(const WebJson& entry) {
  const SignedIntroduction said =
      DecodeIntroduction(FromHex(entry.at("introduction").get<std::string>()));
  const Introduction& introduction = said.introduction;
  return {{"name", introduction.name},
          {"address", introduction.address},
          {"introducer", said.introducer},
          {"node_key", ToHex(introduction.node_key)},
          {"steward_key", ToHex(introduction.steward_key)},
          {"compared", FormatUtc(introduction.compared_at)}};
}

PartyList ListIn(const WebJson& said) {
  return DecodePartyList(FromHex(said.at("list").get<std::string>()));
}

std::string FingerprintOf(const WebJson& certificate) {
  return ToHex(crypto::Sha256Of(FromHex(certificate.get<std::string>())));
}

WebJson PairingSaid(const Site& site, const std::string& number) {
  return site.AskNode({{"do", "pairing"}, {"number", number}});
}

// Whether the party that was met is on the list with the key that was compared. `said`: of the pairing.
bool IsMetAndListed(const WebJson& said, const PartyList& list) {
  if (!said.contains("party")) return false;
  const WebJson& party = said.at("party");
  const ListedParty* listed = FindListed(list, party.at("name").get<std::string>());
  return listed != nullptr &&
         ToHex(listed->node_key) == FingerprintOf(party.at("node_certificate")) &&
         listed->known_by == KnownBy::kDigits && listed->revoked_at == 0;
}

net::HttpResponse PartiesAnswer(const Site& site) {
  const WebJson said = site.AskNode({{"do", "parties"}});
  WebJson parties = WebJson::array(), waiting = WebJson::array(), pairings = WebJson::array();
  const PartyList list = ListIn(said);
  for (const ListedParty& party : list.parties)
    parties.push_back(PartyJson(party, said.at("addresses").value(party.name, "")));
  for (const WebJson& entry : said.at("waiting")) waiting.push_back(IntroductionJson(entry));
  for (const WebJson& entry : said.at("pairings")) {
    WebJson& pairing = pairings.emplace_back(entry);
    // The node still keeps it; there is nothing to be done about it any more.
    if (entry.at("state") == "met" &&
        IsMetAndListed(PairingSaid(site, entry.at("number").get<std::string>()), list))
      pairing["state"] = "over";
  }
  return JsonAnswer({{"parties", parties}, {"waiting", waiting}, {"pairings", pairings}});
}

WebJson PairingJson(const Site& site, const std::string& number, const WebJson& said) {
  WebJson json = {
      {"number", number},
      {"state", said.at("state")},
      {"listed", false},
      {"name", said.at("name")},
      {"role", said.at("role") == static_cast<int>(PairingRole::kInviter) ? "inviter" : "joiner"},
      {"shown", said.at("shown")},
      {"reach", said.at("reach")},
      {"party", nullptr}};
  if (!said.contains("party")) return json;
  const WebJson& party = said.at("party");
  json["party"] = {{"name", party.at("name")},
                   {"address", party.at("address")},
                   {"node_key", FingerprintOf(party.at("node_certificate"))},
                   {"steward_key", FingerprintOf(party.at("steward_certificate"))}};
  json["listed"] = IsMetAndListed(said, ListIn(site.AskNode({{"do", "parties"}})));
  return json;
}

net::HttpResponse PairingAnswer(const Site& site, const std::string& number) {
  return JsonAnswer(PairingJson(site, number, PairingSaid(site, number)));
}

std::string PassphraseIn(const Call& call) {
  Fields fields(call.request.body);
  std::string passphrase = fields.Text("passphrase", kMaxPassphraseBytes);
  fields.End();
  return passphrase;
}

// The node takes a list that the signer signed.
void TakeList(const Site& site, const Call& call, const WebJson& signed_word) {
  site.AskNodeFor(call, {{"do", "take-list"}, {"document", signed_word.at("document")}});
}

void SignDigits(Site& site, const std::string& number, const WebJson& said,
                const std::string& passphrase) {
  const WebJson word = site.AskSigner({{"do", "pairing"},
                                       {"name", said.at("name")},
                                       {"role", said.at("role")},
                                       {"hash", said.at("hash")},
                                       {"address", site.AskNode({{"do", "status"}}).at("address")},
                                       {"passphrase", passphrase}});
  site.AskNode({{"do", "sign-pairing"},
                {"number", number},
                {"certificate", word.at("certificate")},
                {"signature", word.at("signature")}});
  const std::lock_guard lock(site.mutex);
  if (site.confirmed.size() >= kMostConfirmed) site.confirmed.erase(site.confirmed.begin());
  site.confirmed[number] = said.at("hash");
}

void SignMet(Site& site, const Call& call, const std::string& number, const WebJson& said,
             const std::optional<std::string>& passphrase) {
  std::string hash = said.at("hash");
  {
    const std::lock_guard lock(site.mutex);
    const auto found = site.confirmed.find(number);
    if (found != site.confirmed.end()) hash = found->second;
  }
  WebJson request = {{"do", "add"},
                     {"hash", hash},
                     {"party", said.at("party")},
                     {"list", site.AskNode({{"do", "parties"}}).at("document")}};
  if (passphrase) request["passphrase"] = *passphrase;
  TakeList(site, call, site.AskSigner(request));
}

// Of those that wait, what introduces this party with the keys that were shown: who introduced it may have
// said others since.
WebJson IntroducedWith(const WebJson& waiting, const std::string& name, const std::string& node_key,
                       const std::string& steward_key) {
  WebJson same = WebJson::array();
  for (const WebJson& entry : waiting) {
    const WebJson shown = IntroductionJson(entry);
    if (shown.at("name") == name && shown.at("node_key") == node_key &&
        shown.at("steward_key") == steward_key)
      same.push_back(entry);
  }
  if (same.empty()) {
    throw Error(ErrorCode::kUntrusted, "nobody introduces this party with the keys that were shown",
                "Look at its keys again, and ask who introduced it.");
  }
  return same;
}

}  // namespace

net::HttpResponse ListParties(Site& site, const Call&) { return PartiesAnswer(site); }

net::HttpResponse InviteSite(Site& site, const Call& call) {
  Fields fields(call.request.body);
  const std::string name = fields.Text("name", 64);
  fields.End();
  const WebJson made = site.AskNodeFor(call, {{"do", "invite"}, {"name", name}});
  return JsonAnswer(
      {{"line", made.at("line")}, {"number", made.at("number")}, {"expires", made.at("expires")}});
}

net::HttpResponse JoinSite(Site& site, const Call& call) {
  Fields fields(call.request.body);
  const std::string line = fields.Text("line", 1024);
  fields.End();
  const WebJson made = site.AskNode({{"do", "join"}, {"line", line}});
  return PairingAnswer(site, made.at("number").get<std::string>());
}

net::HttpResponse LookAtPairing(Site& site, const Call& call) {
  return PairingAnswer(site, call.parts.at(0));
}

net::HttpResponse EnterDigits(Site& site, const Call& call) {
  Fields fields(call.request.body);
  std::string digits = fields.Text("digits", 16);
  fields.End();
  std::erase(digits, ' ');
  const std::string& number = call.parts.at(0);
  site.AskNodeFor(call, {{"do", "digits"}, {"number", number}, {"digits", digits}});
  return PairingAnswer(site, number);
}

net::HttpResponse ConfirmPairing(Site& site, const Call& call) {
  Fields fields(call.request.body);
  const std::optional<std::string> passphrase = fields.TextIf("passphrase", kMaxPassphraseBytes);
  fields.End();
  const std::string& number = call.parts.at(0);
  const WebJson said = PairingSaid(site, number);
  if (said.at("state") == "sign" && passphrase) {
    SignDigits(site, number, said, *passphrase);
  } else if (said.at("state") == "met") {
    if (!PairingJson(site, number, said).at("listed").get<bool>())
      SignMet(site, call, number, said, passphrase);
  } else {
    throw Error(ErrorCode::kRefused, "there is nothing to confirm at this pairing now",
                passphrase ? "Look at the pairing again." : "Confirm with the passphrase.");
  }
  return PairingAnswer(site, number);
}

net::HttpResponse AcceptParty(Site& site, const Call& call) {
  Fields fields(call.request.body);
  const std::string node_key = fields.Text("node_key", 64);
  const std::string steward_key = fields.Text("steward_key", 64);
  const std::string passphrase = fields.Text("passphrase", kMaxPassphraseBytes);
  fields.End();
  const WebJson said = site.AskNode({{"do", "parties"}});
  const std::string& name = call.parts.at(0);
  // The signer signs these and no others.
  TakeList(site, call,
           site.AskSigner(
               {{"do", "accept"},
                {"name", name},
                {"node_key", node_key},
                {"steward_key", steward_key},
                {"introductions", IntroducedWith(said.at("waiting"), name, node_key, steward_key)},
                {"list", said.at("document")},
                {"passphrase", passphrase}}));
  return PartiesAnswer(site);
}

net::HttpResponse RevokeParty(Site& site, const Call& call) {
  const std::string passphrase = PassphraseIn(call);
  const WebJson said = site.AskNode({{"do", "parties"}});
  TakeList(site, call,
           site.AskSigner({{"do", "revoke"},
                           {"name", call.parts.at(0)},
                           {"list", said.at("document")},
                           {"passphrase", passphrase}}));
  return PartiesAnswer(site);
}

}  // namespace partita::node::web
