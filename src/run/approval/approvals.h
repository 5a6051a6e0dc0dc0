// Approvals in a run: the party shows its own to everybody and looks at everybody's before anything
// that depends on data is sent.
//
// Phase "approvals", right after the hello: one round, kApprovalBytes from every party (the dealer
// included, which approves without a table) to every other. Each party verifies all signatures
// against the certificates of the roster, that all approve the same hashes, and that the hello
// carried the commitment of the approved table. One that rejects or fails stops everybody, by name.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "crypto/certificate.h"
#include "crypto/random.h"
#include "net/channel.h"
#include "run/approval/approval_uses.h"
#include "run/method/study.h"
#include "study/approval/approval.h"
#include "study/plan/hashes.h"
#include "study/plan/plan.h"

namespace partita::run {

class RunLedger;

inline constexpr char kApprovalsPhase[] = "approvals";

// fingerprints: by channel index; none where there is no TLS. stewards: the same, of a roster that names
// any, and empty for a party that has none.
study::StudyIdentity StudyIdentityOf(const Study& study,
                                     const std::vector<std::string>& fingerprints,
                                     const std::vector<std::string>& stewards = {});
// What every approval of this study has to say.
study::ApprovalTerms TermsOf(const Study& study, const study::StudyIdentity& identity,
                             const study::Plan& plan);

// Where a run gets its own approval from, and whose word it takes for the others'. One object per
// run; the calls come in this order.
class Approvals {
 public:
  virtual ~Approvals() = default;

  // This party's own approval of `terms`, checked before any data is read. Throws kRefused.
  virtual void Open(const Study& study, size_t party, const study::ApprovalTerms& terms) = 0;
  // Under which the party commits to its table.
  virtual const crypto::Key& salt() const = 0;
  // Whether the approval has a run left, before anybody is connected. ledger: null: this party
  // keeps none. goes_on: with a run that was interrupted. Throws kRefused; counts nothing. By
  // default approvals are not counted.
  virtual void RequireRunLeft(RunLedger* ledger, bool goes_on);
  // The document to show, once the table is read and just before the first message leaves. Throws
  // kRefused if it is not the approved table (commitment: zero without a table), or if the envelope
  // is used up; counts a use of the envelope durably.
  virtual study::SignedApproval Show(const crypto::Digest& commitment) = 0;
  // Spends the reservation of the ledger, if there is one, and counts the run against the approval,
  // in one transaction: durable on return, so before the first message without which nobody can
  // open anything. More calls do nothing. Throws kRefused, and spends nothing, if another run was
  // faster and the approval is used up.
  virtual void Spend(RunLedger* ledger, const ApprovedRun& run);
  // Throws kRefused unless the document is signed as it must be by the party of that channel index.
  virtual void RequireSigner(size_t party, const study::SignedApproval& document) const = 0;
};

struct ApprovalSources {
  std::filesystem::path document;  // approval or envelope; approval_files.h says what is beside it
  crypto::Identity identity;       // signs approvals under an envelope
  std::vector<std::string> fingerprints;  // of the roster, by channel index
  // Whose approvals count instead, by channel index; empty, as a whole or for a party: the above. An
  // envelope counts for no party that has a steward: the key of the run cannot approve for it.
  std::vector<std::string> stewards = {};
};
// The deployed kind: signed by the keys of the roster's certificates, its stewards' where it names them,
// without exception.
std::unique_ptr<Approvals> SignedApprovals(ApprovalSources sources);

// For parties that are threads of one process, which have no certificates: everybody approves,
// nothing is signed, and unsigned documents are all that is accepted.
std::unique_ptr<Approvals> UnsignedApprovals(crypto::RandomSource& random);

// The phase among parties of any kind (a study, a matching). own: of this party. check: throws
// kRefused unless a peer's document is signed, and shows the table that its owner brings. Returns all
// documents by channel index. Throws kRefused naming the party; kPeerFault for a damaged document.
std::vector<study::SignedApproval> ExchangeDocuments(
    net::Channel& channel, const study::ApprovalTerms& terms, const study::SignedApproval& own,
    const std::function<void(size_t party, const study::SignedApproval& document)>& check);

// The same of a study. own: of Show. commitments: of the hello, by channel index.
std::vector<study::SignedApproval> ExchangeApprovals(net::Channel& channel, const Study& study,
                                                     const study::ApprovalTerms& terms,
                                                     const study::SignedApproval& own,
                                                     const std::vector<crypto::Digest>& commitments,
                                                     const Approvals& approvals);

}  // namespace partita::run
