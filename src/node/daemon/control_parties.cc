// Of pairings and of the list of parties. Answers to requests (control.h).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hex.h"
#include "base/utc_time.h"
#include "node/daemon/control.h"
#include "node/daemon/request_fields.h"

namespace partita::node {
namespace {

using Answered = nlohmann::ordered_json;

Answered PartyJson(const PairedParty& party) {
  return {{"name", party.name},
          {"node_certificate", ToHex(party.node_certificate)},
          {"steward_certificate", ToHex(party.steward_certificate)},
          {"address", party.address},
          {"compared_at", party.compared_at}};
}

}  // namespace

// What is new on the list: a party with other keys than before is listed anew.
void Control::NoteList(const Actor& actor, const PartyList& before, const PartyList& after) {
  for (const ListedParty& party : after.parties) {
    const ListedParty* was = FindListed(before, party.name);
    const std::string key = "node key " + ToHex(party.node_key);
    if (was == nullptr || was->node_key != party.node_key ||
        was->steward_key != party.steward_key) {
      const std::string how =
          party.known_by == KnownBy::kDigits
              ? "digits were compared"
              : fmt::format("introduced by {}", fmt::join(party.introducers, ", "));
      Note(actor, AuditAction::kPartyListed, party.name, fmt::format("{}, {}", how, key));
    }
    if (party.revoked_at != 0 && (was == nullptr || was->revoked_at == 0))
      Note(actor, AuditAction::kPartyRevoked, party.name, key);
  }
}

Control::Answered Control::MakeInvitation(RequestFields& request, const Actor& actor) {
  const std::string name = request.Text("name");
  request.End();
  const Invitation line = parts_.desk.MakeLine(name);
  Note(actor, AuditAction::kInvitation, name);
  return {{"line", FormatInvitation(line)},
          {"number", ToHex(line.number)},
          {"expires", FormatUtc(line.expires)}};
}

Control::Answered Control::JoinPairing(RequestFields& request, const Actor& /*actor*/) {
  const std::string line = request.Text("line");
  request.End();
  return {{"number", ToHex(parts_.desk.Join(line))}};
}

Control::Answered Control::LookAtPairing(RequestFields& request, const Actor& /*actor*/) {
  const auto number = request.Fixed<InviteNumber>("number");
  request.End();
  const PairingView view = parts_.desk.Look(number);
  Answered answer = {
      {"state", PairingStateName(view.state)}, {"name", view.name},        {"shown", view.shown},
      {"role", static_cast<int>(view.role)},   {"hash", ToHex(view.hash)}, {"reach", view.reach}};
  if (view.met) answer["party"] = PartyJson(*view.met);
  return answer;
}

Control::Answered Control::EnterDigits(RequestFields& request, const Actor& actor) {
  const auto number = request.Fixed<InviteNumber>("number");
  const std::string digits = request.Text("digits");
  request.End();
  const std::string name = parts_.desk.Look(number).name;
  try {
    parts_.desk.Enter(number, digits);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage)
      Note(actor, AuditAction::kPairing, name, "not paired: " + error.message());
    throw;
  }
  Note(actor, AuditAction::kPairing, name, "the digits agreed");
  return Answered::object();
}

Control::Answered Control::SignPairing(RequestFields& request, const Actor& /*actor*/) {
  const auto number = request.Fixed<InviteNumber>("number");
  StewardWord word{request.Raw("certificate"), request.Raw("signature")};
  request.End();
  if (crypto::Sha256Of(word.certificate) != parts_.steward) {
    throw Error(ErrorCode::kRefused, "this is not the key of the site's steward",
                "Name the folder of the steward's key.");
  }
  parts_.desk.Sign(number, word);
  return Answered::object();
}

Control::Answered Control::ListParties(RequestFields& request, const Actor& /*actor*/) {
  request.End();
  const PartyList list = parts_.keeper.List();
  Answered addresses = Answered::object(), waiting = Answered::array();
  for (const ListedParty& party : list.parties)
    addresses[party.name] = parts_.keeper.AddressOf(party.name).value_or("");
  for (const SignedIntroduction& entry : parts_.keeper.Waiting())
    waiting.push_back({{"introduction", ToHex(EncodeIntroduction(entry))}});
  Answered pairings = Answered::array();
  for (const KeptPairing& pairing : parts_.keeper.Pairings()) {
    pairings.push_back({{"number", ToHex(pairing.number)},
                        {"name", pairing.name},
                        {"state", PairingStateName(parts_.desk.Look(pairing.number).state)}});
  }
  return {{"list", ToHex(EncodePartyList(list))},
          {"document", ToHex(parts_.keeper.Document())},
          {"addresses", addresses},
          {"waiting", waiting},
          {"pairings", pairings}};
}

Control::Answered Control::TakeList(RequestFields& request, const Actor& actor) {
  const Bytes document = request.Raw("document");
  request.End();
  const PartyList before = parts_.keeper.List();
  parts_.keeper.Take(DecodeSignedList(document), NowUtc());
  NoteList(actor, before, parts_.keeper.List());
  parts_.log.Write("list-signed", {{"serial", static_cast<int64_t>(parts_.keeper.List().serial)}});
  return Answered::object();
}

}  // namespace partita::node
