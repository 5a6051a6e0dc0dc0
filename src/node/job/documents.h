// A study's documents, verified again by the job that acts on them: from their bytes, by what root and
// the signer gave to this site, and by nothing that the daemon or another node says of them.
//
// So a made-up roster reads nothing: run keys and stewards come from offers, each signed by a node key of
// the signer's list of parties; the own run key is the one in the study's folder; the own steward is
// one of root's file, whatever the roster says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "net/roster.h"
#include "node/job/folder.h"
#include "node/job/settings.h"
#include "node/parties/party_list.h"
#include "node/study/study.h"
#include "node/study/trust.h"
#include "run/method/study.h"
#include "study/approval/approval.h"
#include "study/plan/plan.h"

namespace partita::node {

// Why a study is not valid here, in words that every party may read: of a fixed list, without paths,
// counts or what a library said.
class NotHere : public Error {
 public:
  explicit NotHere(const std::string& reason) : Error(ErrorCode::kRefused, reason) {}
};

// Throws kRefused unless the study is the one that its number stands for, and has not expired. First in
// every job that binds, commits or runs: all else that a job says of a study hangs on its number.
void RequireStudy(const Study& study);

// A study file as it is run here.
struct Prepared {
  std::unique_ptr<const run::Study> study;
  study::Plan plan;
  size_t party = 0;  // channel index of the own
};
// self: the own party. Throws kBadInput for a file that is none of this release; NotHere if the own party has no part, or
// if nodes cannot run such a study.
Prepared Prepare(const std::string& self, const std::string& study_file);

// What this site asks of every study, by its node.toml. Throws NotHere.
void RequireHouseRules(const JobSettings& settings, const Prepared& prepared);

// By channel index.
struct Documents {
  net::Roster roster;  // with stewards
  std::vector<std::string> fingerprints, stewards;
  std::vector<Bytes> certificates;  // DER, of the run keys
  study::ApprovalTerms terms;       // what every approval has to say
};

// Fingerprints of the own stewards, from a file of PEM certificates. Throws kBadInput if it cannot be read, holds
// none, or if anybody but root and the own user may write it.
std::vector<Digest> OwnStewards(const std::filesystem::path& file);
// The signer's list of parties; none that is older than one that a job has seen. Throws kBadInput, kUntrusted.
PartyList OwnList(const JobSettings& settings, const std::vector<Digest>& stewards);

// Of a study that is settled and keeps to the house's rules; `study.offers` holds the offer of every party. Throws
// kRefused or kPeerFault saying what does not fit, kBadInput for a list or file of the own site that cannot be
// used.
Documents VerifyDocuments(const JobSettings& settings, const Study& study, const Prepared& prepared,
                          const StudyFolder& folder);

// The parties of a study that is settled, from its roster and the offer of each (study/roster_check.h), by
// the study file alone. Throws kRefused, kPeerFault.
std::vector<RosterParty> SettledParties(const Study& study, const Prepared& prepared,
                                        const std::string& self, const Trust& trust);
Documents DocumentsOf(const Prepared& prepared, const std::vector<RosterParty>& parties);

// The own approval: signed by a key of the stewards' file, approving these terms now, for one run, no longer
// than until the study expires, and by itself, not by an envelope; or by the key of a policy, held against it here
// (own_policy.h). table: that the study is bound to here. The draft came to the signer by the
// daemon, which may have changed it. Not of a study that a steward took back (ended_list.h). Throws
// kRefused; kUntrusted for an older list of those.
void RequireOwnApproval(const JobSettings& settings, const Documents& documents,
                        const Prepared& prepared, const Study& study, const std::string& table,
                        const std::string& approval);

}  // namespace partita::node
