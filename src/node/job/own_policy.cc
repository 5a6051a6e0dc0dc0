#include "node/job/own_policy.h"

#include <fmt/format.h>

#include <vector>

#include "base/error.h"
#include "base/utc_time.h"
#include "node/job/closed.h"
#include "node/job/policy_study.h"
#include "node/job/policy_uses.h"
#include "study/approval/delegation.h"

namespace partita::node {
namespace {

[[noreturn]] void RefusePolicy(const std::string& what) {
  throw Error(ErrorCode::kRefused, "the own approval was made by a policy, " + what,
              "Let the steward approve this study itself.");
}

// A number is of one study, in whatever order studies run. Another study under a number that was seen: the signer's
// record was set back, or somebody else has the key.
void RequireOwnNumber(const PolicyUses& uses, const StudyId& study, uint64_t number) {
  if (const PolicyUse* before = uses.Of(study); before != nullptr && before->number != number)
    RefusePolicy("by another use than before");
  if (const PolicyUse* taken = uses.Numbered(number); taken != nullptr && taken->study != study)
    RefusePolicy(fmt::format("by use {}, which was that of another study", number));
}

void RequireDemands(const study::DisclosureSpec& asked, const study::DisclosureSpec& least) {
  if (asked.min_cell < least.min_cell || asked.min_rows < least.min_rows ||
      (least.refuse_small_samples && !asked.refuse_small_samples))
    RefusePolicy("and demands less than the policy");
}

}  // namespace

void RequireOwnPolicy(const JobSettings& settings, const Prepared& prepared, const Study& study,
                      const PartyList& list, const EndedList& ended, const std::string& table,
                      const study::SignedApproval& document) {
  const study::Approval& approval = document.approval;
  const PublishedPolicy* published = FindPolicy(ended, approval.envelope);
  if (published == nullptr) RefusePolicy("which the steward ended, or never signed");
  if (published->key != crypto::Sha256Of(document.signature.certificate))
    RefusePolicy("and signed by a key that is not the policy's");
  const study::Policy policy = ParsePolicy(published->text);
  RequireDemands(approval.disclosure, policy.disclosure);
  if (!IsPolicyOfNow(settings, published->from))
    RefusePolicy("from before this node was restored from a backup");

  PolicyUses uses(settings.studies / ("policy-" + ToHex(approval.envelope)), approval.envelope);
  RequireOwnNumber(uses, study.id, approval.use);
  const int64_t now = NowUtc();
  const study::PolicyStudy seen = PolicyStudyOf(prepared, list, study.proposer, table);
  const std::vector<study::PolicyReason> reasons =
      study::FitsPolicy(seen, policy, uses.SpentByOthers(study.id, now));
  if (!reasons.empty()) RefusePolicy("and " + reasons.front().sentence);
  if (uses.Of(study.id) == nullptr)
    uses.Add({approval.use, study.id, study::EpsilonOf(seen, policy).value(), ""}, now);
}

}  // namespace partita::node
