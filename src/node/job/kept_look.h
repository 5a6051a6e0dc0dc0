// Whether this site's copy of its ledger is the newest that any other site was ever shown.
//
// A run shows the head of an account to all parties after it reserved and before anything is spent
// (run/ledger/run_ledger.h). So a copy that has the newest head that anybody was shown has every reservation of a run
// in which another site with a ledger took part. The budget of an account is kept only if
//   - every party of the signed list that is not revoked, and every site that signed an entry of any account of the copy
//     (it may have seen this one, too), has answered for this mark, with a whole memory and by a key that counts now;
//   - each signer of an entry of the account remembers that entry or a newer one: who does not has forgotten;
//   - each one's journal began no later than the newest entry of the account that a site was shown, by the clocks of both:
//     a later one may be in the place of one that was lost;
//   - some site was shown the account, none was shown a newer head of it by another party, and the copy has exactly each entry that any was shown;
//   - no private sum was ever charged to it: those show no head to anybody (sums/service/round_charge.h);
//   - the copy has every account, and every place of its journal, that any site was shown.
// What comes after the newest shown entry no other site vouches for: a reservation that was open there, or was made
// later, counts as spent whatever the copy says of a refund, since the refund may be of the copy alone.
//
// Not seen: runs in which no other site kept a ledger, private sums after the copy was made, and sites that no list and no
// entry names. The steward signs that there were none (sign/kept_word.h).
#pragma once

#include <vector>

#include "net/socket.h"
#include "node/job/closed.h"
#include "node/job/heads_answer.h"
#include "node/job/kept_budgets.h"
#include "privacy/ledger/sqlite_ledger.h"

namespace partita::node {

// answers: as they came (SignedHeads); those that do not count are as none. Throws kBadInput for two of one party.
KeptBudgets LookForKept(privacy::ledger::SqliteLedger& book, const RestoredMark& mark,
                        const PartyList& list, const std::vector<Bytes>& answers, int64_t now);

inline constexpr size_t kMaxAllAnswers = size_t{17} << 20;
// Between daemon and job: number of answers u32, each a blob.
Bytes EncodeAnswers(const std::vector<Bytes>& answers);
// Throws kBadInput.
std::vector<Bytes> DecodeAnswers(ByteView bytes);

// A job that is asked for it: what it found by these answers (EncodeAnswers), signed with its key (SignedKept,
// kFoundDomain). Throws kRefused where there is nothing to keep, kBadInput, as run::OpenLedger.
Bytes FindKept(const JobSettings& settings, ByteView answers);

}  // namespace partita::node
