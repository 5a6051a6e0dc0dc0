// An own approval that the key of a policy signed, held against the policy by the job itself.
//
// The key of a policy lies in the signer's folder without a passphrase. What bounds it is here: the policy's text, on the
// list that a steward signed; the same comparison as the signer's, on this job's own parse of the study; and a record of the
// uses that jobs of this site saw. So whoever has the key gets studies that fit the policy, within its numbers, until it is
// ended, and no other.
#pragma once

#include <string>

#include "node/job/documents.h"
#include "node/job/ended_list.h"
#include "node/parties/party_list.h"

namespace partita::node {

// list: of parties; ended: where the policies are; both verified. table: that this study is bound to here. The approval's
// signatures are verified (study::RequireSigned). All is compared at every attempt; the use is recorded, durably, before the
// first one goes on, and the same study is not another use. Throws kRefused with a reason.
void RequireOwnPolicy(const JobSettings& settings, const Prepared& prepared, const Study& study,
                      const PartyList& list, const EndedList& ended, const std::string& table,
                      const study::SignedApproval& document);

}  // namespace partita::node
