// What the signer signs without a passphrase: studies that fit a policy of the steward, by the key of that policy.
//
// A use is counted, durably, before it is signed: a crash in between spends it, and gives nothing back. The same study again
// gets the same bytes, and is not counted again.
#pragma once

#include <string>
#include <vector>

#include "node/job/ended_list.h"
#include "node/sign/for_steward.h"
#include "node/sign/signer_folder.h"
#include "study/approval/approval.h"

namespace partita::node {

// The policies as a study is to be held against them, with what was spent of each. Throws kRefused if the record of one is
// not here.
std::vector<OrderedPolicy> PoliciesToRead(const SignerFolder& folder,
                                          const std::vector<PublishedPolicy>& policies,
                                          int64_t now);

// A study that waits for the own approval, verified.
struct PolicyCase {
  StudyId study{};
  study::Approval draft;                  // of the own job, for the terms of the study
  std::vector<PublishedPolicy> policies;  // that it was held against
  std::vector<PolicyRead>
      reads;  // how, in the same order: the word of the process that reads studies
  int64_t now = 0;
};
struct PolicyAnswer {
  std::string policy, document;      // empty: none signs
  std::vector<std::string> reasons;  // then why
};
// By the first policy that the study fits. Looks again, under the lock of its record, at what is left. Throws kRefused if
// the policies were changed meanwhile; kInternal if `reads` is not that of `policies`.
PolicyAnswer ApproveByPolicy(const SignerFolder& folder, const PolicyCase& at);

struct SignedByPolicy {
  uint64_t number = 0;
  StudyId study{};
  double epsilon = 0;
  int64_t approved_at = 0;  // utc_time.h
};
struct PolicyState {
  std::string name, text;
  std::vector<std::string> tables;
  uint64_t exact = 0;  // study files whose results it opens without noise
  int64_t from = 0, until = 0;
  uint64_t results = 0, max_results = 0;
  double epsilon = 0;                // of all studies that were signed by it
  double epsilon_in_all = 0;         // 0: without this limit
  std::vector<SignedByPolicy> uses;  // in their order
};
std::vector<PolicyState> PolicyStates(const SignerFolder& folder, int64_t now);

}  // namespace partita::node
