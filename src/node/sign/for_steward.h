// What a steward is shown of a study, and signs about: computed from the exact bytes of its documents by
// what the signer keeps itself, and by nothing that the daemon says of them.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "node/parties/party_list.h"
#include "node/study/study.h"
#include "study/approval/approval.h"
#include "study/approval/fits.h"
#include "study/approval/policy_draft.h"

namespace partita::node {

// Public bytes: the study as the daemon's store has it, of which the number, proposer, nonce, expiry, file,
// roster and offers are looked at; and what the signer compares them with.
struct OrderedPolicy {
  std::string text;
  study::PolicySpent spent;

  bool operator==(const OrderedPolicy&) const = default;
};

struct ReadOrder {
  Study study;
  PartyList list;          // the signer's, verified; its owner is the own party
  Bytes node_certificate;  // DER, of the own node key
  Digest steward{};        // fingerprint of the own steward key
  // Policies to hold it against, what was spent of each, and the table that the own job bound it to.
  std::vector<OrderedPolicy> policies = {};
  std::string table = {};
  int64_t drafted_at = 0;  // of the draft of a policy (utc_time.h); 0: none is wanted

  bool operator==(const ReadOrder&) const = default;
};

struct PartyKnown {
  std::string name;
  std::string how;  // "digits compared on 2026-09-01T12:00:00Z", "introduced by north"

  bool operator==(const PartyKnown&) const = default;
};

// How a study fits one of the policies.
struct PolicyRead {
  std::vector<std::string> reasons;  // why not; none: it fits
  double epsilon = 0;
};

struct ForSteward {
  std::string name, title;
  bool settled = false;  // else there is no roster yet: a plan, and nothing to be signed
  bool is_holder = false;
  study::ApprovalTerms terms;  // without a roster: no agreement
  std::string plan_text, plan_json;
  std::string useless;              // why its result would hardly be useful; else empty
  std::vector<std::string> trust;   // warnings of the path of trust (parties/trust.h)
  std::vector<PartyKnown> parties;  // all others of the study
  std::vector<PolicyRead>
      policies;  // in the order of those that were asked about; none without a roster
  study::PolicyDraft policy_draft;  // of a settled study, if it was wanted
};

std::string HowKnown(const ListedParty& party);

// What stewards compare by telephone: 25 characters, of the exact file, the exact roster and the hash of the
// plan. It parses nothing, so the signer computes it itself: a plan of another hash has another code.
std::string CodeOf(const Study& study, const Digest& plan_hash);

// Throws kRefused if the study is not the one of its number or the own party has no part, kBadInput for a
// file that is none, kPeerFault or kUntrusted for a roster that is not made of offers signed by the
// node keys of the list, each with the steward of the list.
ForSteward ReadForSteward(const ReadOrder& order);

}  // namespace partita::node
