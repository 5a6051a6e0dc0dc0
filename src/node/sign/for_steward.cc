#include "node/sign/for_steward.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "node/job/documents.h"
#include "node/job/policy_study.h"
#include "node/parties/base32.h"
#include "node/service/key_trust.h"
#include "study/plan/hashes.h"
#include "study/plan/plan.h"

namespace partita::node {
namespace {

constexpr size_t kCodeCharacters = 25;  // 125 bits

// Of the number that job, messages and the list of ended approvals know it by.
void RequireNumber(const Study& study) {
  if (StudyIdOf(study.file, study.proposer, study.nonce, study.expires) == study.id) return;
  throw Error(ErrorCode::kUntrusted, "the study is not the one that its number stands for",
              "This node does not do what it should: look at its log, and at who can write there.");
}

KeyTrust TrustOf(const ReadOrder& order) {
  KeyTrust::Parts parts;
  parts.self = order.list.owner;
  parts.node.certificate = crypto::DecodeCertificate(order.node_certificate);
  if (parts.node.certificate == nullptr)
    throw Error(ErrorCode::kBadInput, "the certificate of the own node cannot be read");
  parts.steward = order.steward;
  parts.list = [list = order.list] { return list; };
  parts.now = [] { return NowUtc(); };
  return KeyTrust(std::move(parts));
}

}  // namespace

std::string HowKnown(const ListedParty& party) {
  if (party.revoked_at != 0) return "revoked on " + FormatUtc(party.revoked_at);
  if (party.known_by == KnownBy::kDigits) return "digits compared on " + FormatUtc(party.known_at);
  return fmt::format("introduced by {}", fmt::join(party.introducers, ", "));
}

std::string CodeOf(const Study& study, const Digest& plan_hash) {
  crypto::Sha256 hash;
  const Digest code = hash.Field("partita plan code 1")
                          .Field(study.file)
                          .Field(study.roster)
                          .Field(plan_hash)
                          .Finish();
  return ToBase32(code).substr(0, kCodeCharacters);
}

ForSteward ReadForSteward(const ReadOrder& order) {
  RequireNumber(order.study);
  const std::string& self = order.list.owner;
  const Prepared prepared = Prepare(self, order.study.file);
  const run::Study& study = *prepared.study;
  ForSteward read;
  read.name = study.file.name;
  read.title = prepared.plan.title;
  read.is_holder = study.parties[prepared.party].holder;
  read.settled = !order.study.roster.empty();
  read.terms.study = study.file.name;
  read.terms.plan_hash = study::PlanHash(prepared.plan);
  read.terms.disclosure = study.file.disclosure;
  if (read.settled) {
    const KeyTrust trust = TrustOf(order);
    read.terms = DocumentsOf(prepared, SettledParties(order.study, prepared, self, trust)).terms;
  }
  read.plan_text = study::RenderPlanText(prepared.plan, study::DefaultNetworks());
  read.plan_json = study::RenderPlanJson(prepared.plan, study::DefaultNetworks());
  read.useless = UselessOf(study);
  for (const study::Party& party : study.file.parties) {
    if (party.name == self) continue;
    const ListedParty* listed = FindListed(order.list, party.name);
    read.parties.push_back({party.name, listed == nullptr ? "not known here" : HowKnown(*listed)});
  }
  read.trust = TrustWarnings(prepared, order.list);
  if (!read.settled) return read;
  const study::PolicyStudy seen =
      PolicyStudyOf(prepared, order.list, order.study.proposer, order.table);
  if (order.drafted_at != 0)
    read.policy_draft = study::DraftPolicy(seen, order.drafted_at, AllMethodNames());
  for (const OrderedPolicy& ordered : order.policies) {
    const study::Policy policy = ParsePolicy(ordered.text);
    PolicyRead& fits = read.policies.emplace_back();
    for (const study::PolicyReason& reason : study::FitsPolicy(seen, policy, ordered.spent))
      fits.reasons.push_back(reason.sentence);
    if (fits.reasons.empty()) fits.epsilon = study::EpsilonOf(seen, policy).value();
  }
  return read;
}

}  // namespace partita::node
