// Three parties with real keys: a node key, a steward's and a run key each.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/utc_time.h"
#include "crypto/signature.h"
#include "node/message/bodies.h"
#include "node/service/key_trust.h"
#include "study/approval/approval.h"

namespace partita::node::real_keys {

inline const std::vector<std::string> kNames = {"north", "south", "west"};

inline Digest PrintOf(const crypto::Identity& identity) {
  return crypto::Sha256Of(crypto::EncodeCertificate(*identity.certificate));
}

struct Keys {
  crypto::Identity node, steward, run;
};

inline const std::map<std::string, Keys>& AllKeys() {
  static const std::map<std::string, Keys> all = [] {
    std::map<std::string, Keys> keys;
    for (const std::string& name : kNames) {
      keys[name] = {crypto::MakeIdentity({.name = name}), crypto::MakeIdentity({.name = name}),
                    crypto::MakeIdentity({.name = name})};
    }
    return keys;
  }();
  return all;
}

inline PartyList ListOf(const std::string& owner) {
  PartyList list;
  list.owner = owner;
  for (const std::string& name : kNames) {
    if (name == owner) continue;
    ListedParty& party = list.parties.emplace_back();
    party.name = name;
    party.node_key = PrintOf(AllKeys().at(name).node);
    party.steward_key = PrintOf(AllKeys().at(name).steward);
  }
  return list;
}

inline KeyTrust::Parts PartsOf(const std::string& name) {
  return {name, AllKeys().at(name).node, PrintOf(AllKeys().at(name).steward),
          [name] { return ListOf(name); }, [] { return NowUtc(); }};
}

inline study::Approval ApprovalOf(const std::string& party, const Digest& agreement,
                                  const Digest& plan, int64_t until) {
  study::Approval approval;
  approval.party = party;
  approval.study = "small";
  approval.agreement_hash = agreement;
  approval.plan_hash = plan;
  approval.approved_at = NowUtc();
  approval.valid_until = until;
  approval.software_version = "0.1.0";
  return approval;
}

inline std::string Signed(const study::Approval& approval, const std::string& signer) {
  return study::RenderApproval(study::SignApproval(approval, AllKeys().at(signer).steward));
}

inline Ended SignedEnd(const std::string& name, const StudyId& id, uint32_t attempt) {
  Ended ended;
  ended.attempt = attempt;
  ended.outcome = Outcome::kFinished;
  ended.result.fill(7);
  ended.signature =
      crypto::Sign(AllKeys().at(name).run, kEndedDomain, EndedFields(id, name, ended));
  return ended;
}

}  // namespace partita::node::real_keys
