#include "node/sign/by_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/error.h"
#include "node/job/policy_study.h"
#include "node/job/policy_uses.h"

namespace partita::node {
namespace {

// It began with the policy: without it nothing is signed.
PolicyUses UsesOf(const SignerFolder& folder, const PublishedPolicy& policy) {
  const Digest commitment = CommitmentOf(policy);
  const std::filesystem::path file = folder.UsesOfPolicy(commitment);
  if (std::filesystem::exists(file)) return {file, commitment};
  const std::string name = ParsePolicy(policy.text).name;
  throw Error(ErrorCode::kRefused, fmt::format("the record of the policy '{}' is not here", name),
              fmt::format("Nothing is signed without it: partita node policy end {}", name));
}

// By one use, as it was counted. The signature is the same each time: the keys of policies are Ed25519.
PolicyAnswer SignedUse(const std::string& policy, const std::string& document,
                       const SignerFolder::PolicyKey& opened) {
  study::SignedApproval approval =
      study::SignApproval(study::ParseApproval(document, "a use of a policy").approval, opened.key);
  approval.delegation = opened.delegation;
  return {policy, study::RenderApproval(approval), {}};
}

study::Approval ApprovalBy(const study::Policy& policy, const Digest& commitment, uint64_t use,
                           const PolicyCase& at) {
  study::Approval approval = at.draft;
  approval.envelope = commitment;
  approval.use = use;
  approval.approved_at = at.now;
  study::DisclosureSpec& asked = approval.disclosure;
  asked.min_cell = std::max(asked.min_cell, policy.disclosure.min_cell);
  asked.min_rows = std::max(asked.min_rows, policy.disclosure.min_rows);
  asked.refuse_small_samples |= policy.disclosure.refuse_small_samples;
  return approval;
}

// Since the study was read, others may have been signed.
bool HasLeft(const study::Policy& policy, const study::PolicySpent& spent, double epsilon) {
  return spent.results < policy.max_results && spent.now < policy.valid_until &&
         (!policy.epsilon_in_all || spent.epsilon + epsilon <= *policy.epsilon_in_all);
}

// Signed by this policy; none, with a reason: nothing of it is left.
std::optional<PolicyAnswer> Use(const SignerFolder& folder, const PublishedPolicy& published,
                                double epsilon, const PolicyCase& at,
                                std::vector<std::string>& reasons) {
  const Digest commitment = CommitmentOf(published);
  const study::Policy policy = ParsePolicy(published.text);
  PolicyUses uses = UsesOf(folder, published);
  if (!HasLeft(policy, uses.Spent(at.now), epsilon)) {
    reasons.push_back(fmt::format("the policy '{}' is used up", policy.name));
    return std::nullopt;
  }
  const SignerFolder::PolicyKey opened = folder.OpenPolicy(commitment);
  if (at.now < opened.delegation.from || at.now >= opened.delegation.until) {
    reasons.push_back(
        fmt::format("the policy '{}' does not hold now, by the clock of the signer", policy.name));
    return std::nullopt;
  }
  // All approvals of a study are valid until it expires.
  if (at.draft.valid_until > opened.delegation.until) {
    reasons.push_back(fmt::format("the policy '{}' ends before the study expires", policy.name));
    return std::nullopt;
  }
  const uint64_t number = uses.newest() + 1;
  const std::string document =
      study::RenderApproval({ApprovalBy(policy, commitment, number, at), {}, opened.delegation});
  uses.Add({number, at.study, epsilon, document}, at.now);
  return SignedUse(policy.name, document, opened);
}

}  // namespace

std::vector<OrderedPolicy> PoliciesToRead(const SignerFolder& folder,
                                          const std::vector<PublishedPolicy>& policies,
                                          int64_t now) {
  std::vector<OrderedPolicy> ordered;
  for (const PublishedPolicy& policy : policies)
    ordered.push_back({policy.text, UsesOf(folder, policy).Spent(now)});
  return ordered;
}

PolicyAnswer ApproveByPolicy(const SignerFolder& folder, const PolicyCase& at) {
  if (folder.Ended().policies != at.policies) {
    throw Error(ErrorCode::kRefused, "the policies were changed in the meantime",
                "Ask about the study again.");
  }
  if (at.reads.size() != at.policies.size()) {
    throw Error(ErrorCode::kInternal, "the process that reads studies did not look at all policies",
                "please report this");
  }
  for (const PublishedPolicy& published : at.policies) {
    const Digest commitment = CommitmentOf(published);
    const PolicyUses uses = UsesOf(folder, published);
    const PolicyUse* before = uses.Of(at.study);
    if (before == nullptr) continue;
    return SignedUse(ParsePolicy(published.text).name, before->document,
                     folder.OpenPolicy(commitment));
  }
  PolicyAnswer none;
  for (size_t i = 0; i < at.policies.size(); ++i) {
    const PolicyRead& read = at.reads[i];
    none.reasons.insert(none.reasons.end(), read.reasons.begin(), read.reasons.end());
    if (!read.reasons.empty()) continue;
    if (auto answer = Use(folder, at.policies[i], read.epsilon, at, none.reasons)) return *answer;
  }
  if (at.policies.empty()) none.reasons.emplace_back("there is no policy at this site");
  return none;
}

std::vector<PolicyState> PolicyStates(const SignerFolder& folder, int64_t now) {
  std::vector<PolicyState> states;
  for (const PublishedPolicy& published : folder.Ended().policies) {
    const study::Policy policy = ParsePolicy(published.text);
    const PolicyUses uses = UsesOf(folder, published);
    const study::PolicySpent spent = uses.Spent(now);
    PolicyState& state = states.emplace_back();
    state.name = policy.name;
    state.text = published.text;
    state.tables = policy.tables;
    state.exact = policy.exact.size();
    state.from = published.from;
    state.until = published.until;
    state.results = spent.results;
    state.max_results = policy.max_results;
    state.epsilon = spent.epsilon;
    state.epsilon_in_all = policy.epsilon_in_all.value_or(0);
    for (const PolicyUse& use : uses.all()) {
      const int64_t approved_at =
          study::ParseApproval(use.document, "a use of a policy").approval.approved_at;
      state.uses.push_back({use.number, use.study, use.epsilon, approved_at});
    }
  }
  return states;
}

}  // namespace partita::node
