#include "node/study/roster_check.h"

#include <algorithm>

#include "base/error.h"
#include "net/roster.h"
#include "node/study/steps.h"

namespace partita::node {
namespace {

[[noreturn]] void RosterFault(const std::string& what) {
  throw Error(ErrorCode::kPeerFault, what,
              "Compare the parties' fingerprints by telephone before anything else.");
}

RosterParty PartyOf(const CheckedOffer& offer) {
  return {offer.party, offer.offer.run_certificate, offer.offer.steward, offer.offer.address};
}

std::string RosterText(const std::vector<RosterParty>& parties) {
  net::Roster roster;
  for (const RosterParty& party : parties) {
    roster.push_back({party.name, party.address, ToHex(crypto::Sha256Of(party.run_certificate)),
                      ToHex(party.steward)});
  }
  return net::FormatRoster(roster);
}

}  // namespace

CheckedOffer CheckOffer(const Study& study, const SignedMessage& message, const Trust& trust) {
  const Message& fields = message.message;
  const std::string whose = "an offer of party " + fields.from;
  if (fields.kind != Kind::kOffer || fields.version != kMessageVersion || fields.study != study.id)
    RosterFault(whose + " is not one for this study");
  if (!IsPartyOf(study, fields.from)) RosterFault(whose + ", which has no part in the study");
  if (!trust.SignedBySender(message))
    RosterFault(whose + " is not signed by the key that the own list of parties has");
  CheckedOffer checked{fields.from, DecodeOffer(fields.body)};
  const Offer& offer = checked.offer;
  if (!offer.valid()) return checked;
  if (offer.steward != trust.Steward(fields.from))
    RosterFault(whose + " names a steward who is not on the own list of parties");
  if (offer.plan_hash != study.facts.plan_hash) RosterFault(whose + " is for another plan");
  if (!trust.IsRunCertificate(fields.from, offer.run_certificate))
    RosterFault(whose + " has no run key of that party");
  try {
    net::ParseAddress(offer.address);
  } catch (const Error&) {
    RosterFault(whose + " has an address that is none");
  }
  return checked;
}

CheckedOffer CheckOffer(const Study& study, const Bytes& message, const Trust& trust) {
  return CheckOffer(study, DecodeMessage(message), trust);
}

std::vector<RosterParty> CheckRoster(const Study& study, const RosterFile& roster,
                                     const std::string& own, const Trust& trust) {
  const std::vector<std::string>& names = study.facts.parties;
  if (roster.offers.size() != names.size())
    RosterFault("a roster has not one offer of every party of the study");
  std::vector<RosterParty> parties;
  for (size_t i = 0; i < names.size(); ++i) {
    const CheckedOffer checked = CheckOffer(study, roster.offers[i], trust);
    if (checked.party != names[i]) RosterFault("a roster has its offers in another order");
    if (!checked.offer.valid()) RosterFault("a roster was made of an offer \"not here\"");
    if (checked.party == own && roster.offers[i] != study.own_offer)
      RosterFault("a roster has another offer of this node than it made");
    parties.push_back(PartyOf(checked));
    for (size_t before = 0; before < i; ++before) {
      if (parties[before].run_certificate == parties[i].run_certificate)
        RosterFault("a roster has one run key twice");
    }
  }
  if (roster.text != RosterText(parties))
    RosterFault("a roster says something else than its offers");
  return parties;
}

RosterFile MakeRoster(const Study& study, const Trust& trust) {
  RosterFile roster;
  std::vector<RosterParty> parties;
  for (const std::string& name : study.facts.parties) {
    const Bytes& offer = study.offers.at(name);
    parties.push_back(PartyOf(CheckOffer(study, offer, trust)));
    roster.offers.push_back(offer);
  }
  roster.text = RosterText(parties);
  return roster;
}

}  // namespace partita::node
