// Who signed an own approval, held by the job itself against what the steward signed of its deputies and what the tables
// of this site ask for.
//
// Peers see a deputy's word and its times. They do not see that it was ended: that is decided here, before data is read.
#pragma once

#include <cstdint>
#include <string>

#include "node/job/ended_list.h"
#include "node/job/settings.h"
#include "study/approval/approval.h"

namespace partita::node {

// How many persons have to sign for this table; 1 for none.
uint64_t StewardsNeeded(const JobSettings& settings, const std::string& table);

// list: the steward's, verified. The approval's signatures are verified (study::RequireSigned). Throws kRefused if it asks
// for fewer persons than the table, or if a deputy signed it who is not on the list by this key, with these times: ended,
// or named anew.
void RequireOwnPersons(const JobSettings& settings, const EndedList& list, const std::string& table,
                       const study::SignedApproval& document);

// A deputy who signed and is not on the list so; null: there is none.
const study::Deputy* UnnamedDeputy(const EndedList& list, const study::SignedApproval& document);

}  // namespace partita::node
