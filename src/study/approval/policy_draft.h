// The draft of a policy from a study: the smallest one by which the study, proposed once more, would be approved. For a
// steward, who reads it, changes it and signs it; nothing holds before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "study/approval/fits.h"

namespace partita::study {

// Of a draft. A longer one is the steward's wish.
inline constexpr int64_t kPolicyDraftDays = 30;

struct PolicyDraft {
  std::string text;  // of the format of policy.h; empty: no policy approves the study
  std::vector<std::string> reasons;  // then why

  bool operator==(const PolicyDraft&) const = default;
};

// Pure. The draft was parsed again and fits its study (FitsPolicy), which is the one result that it is for: one study, of
// the epsilon of this one, for 30 days from `now` (utc_time.h). Where something opens exactly it names this very file.
// methods: the names of all that there are. Never throws for what a study asks.
PolicyDraft DraftPolicy(const PolicyStudy& study, int64_t now,
                        const std::vector<std::string>& methods);

}  // namespace partita::study
