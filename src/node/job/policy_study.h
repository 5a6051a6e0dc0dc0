// A study as policies see it, from what the caller verified: the same for the signer and for the job.
#pragma once

#include <string>
#include <vector>

#include "node/job/documents.h"
#include "node/parties/party_list.h"
#include "study/approval/fits.h"

namespace partita::node {

// Why the result would hardly be useful; empty: it would.
std::string UselessOf(const run::Study& study);
// Warnings of the path of trust (parties/trust.h): who could read a table together with parties that it introduced.
std::vector<std::string> TrustWarnings(const Prepared& prepared, const PartyList& list);

// table: of node.toml, that the own job bound; empty: none. Refers to `prepared`.
study::PolicyStudy PolicyStudyOf(const Prepared& prepared, const PartyList& list,
                                 const std::string& proposer, const std::string& table);

// Of study files.
std::vector<std::string> AllMethodNames();
// With all methods. Throws kBadInput.
study::Policy ParsePolicy(const std::string& text);

}  // namespace partita::node
