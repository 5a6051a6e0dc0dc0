// What was signed by one policy, on disk: at the signer, which counts before it signs, and at the jobs, which count what
// they saw. One process at a time; durable before anything is done with a use.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "crypto/state_file.h"
#include "node/study/study.h"
#include "run/party/locked_file.h"
#include "study/approval/fits.h"

namespace partita::node {

struct PolicyUse {
  uint64_t number = 0;  // from 1; each once
  StudyId study{};      // each once
  double epsilon = 0;
  std::string document;  // at the signer: the approval without its signature
};

class PolicyUses {
 public:
  // Of the signer: begins with the policy, so that a record that was removed is noticed.
  static void Start(const std::filesystem::path& file, const Digest& policy);

  // Waits for others that use the record; a file that is not there has no uses. Throws kBadInput for one that is no
  // record of this policy.
  PolicyUses(std::filesystem::path file, const Digest& policy);

  const PolicyUse* Of(const StudyId& study) const;   // null if there is none
  const PolicyUse* Numbered(uint64_t number) const;  // the same
  const std::vector<PolicyUse>& all() const { return uses_; }
  uint64_t newest() const;  // greatest number; 0 if there is none
  // By all studies but this one; the time is not before that of any use.
  study::PolicySpent SpentByOthers(const StudyId& study, int64_t now) const;
  study::PolicySpent Spent(int64_t now) const;
  // Durable on return. Throws kInternal unless its number and its study are new, and its epsilon finite and not
  // negative: no use gives anything back.
  void Add(PolicyUse use, int64_t now);

 private:
  study::PolicySpent SpentBut(const PolicyUse* own, int64_t now) const;
  Bytes Content() const;

  crypto::StateKind kind_;
  Digest policy_;
  std::filesystem::path file_;
  run::LockedFile lock_;
  std::vector<PolicyUse> uses_;
  int64_t latest_ = 0;  // greatest time of a use
};

}  // namespace partita::node
