// What the steward of a restored site signs of its budgets: the finding of the own job, held against the answers of other
// sites once more.
//
// The daemon carries both, and the signer believes neither it nor the list that the job had: the finding is signed by the
// key of the jobs, each answer by a node key of the newest list of parties that this signer knows, for the mark of the
// finding. A budget is signed as kept only if every party of that list that is not revoked has a whole memory, and no
// answer names a newer entry of the account than the finding says. That the copy has these entries is the job's word.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "node/job/kept_budgets.h"
#include "node/parties/party_list.h"

namespace partita::node {

// job: fingerprint of the key of the jobs. given_up: accounts that this steward gave up after an earlier restore, of which
// the backup of this one may know nothing; they come back as lost, whatever the job found. Throws kUntrusted for what does not fit together, kBadInput for what is
// none, kRefused if the finding is older than a day or if no budget is kept: there is nothing to sign then.
KeptBudgets RequireKept(ByteView finding, const std::vector<Bytes>& answers,
                        const RestoredMark& mark, const PartyList& list, const Digest& job,
                        const std::set<Digest>& given_up, int64_t now);

// What is shown of any finding, and signed with one that keeps budgets: lines for people. When it was found,
// who answered and when, which accounts keep
// what is left of their budgets and under which policy, and what the steward states beside.
std::vector<std::string> KeptLines(const KeptBudgets& kept, const std::vector<Bytes>& answers);

}  // namespace partita::node
