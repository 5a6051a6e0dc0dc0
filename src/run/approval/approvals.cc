#include "run/approval/approvals.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utc_time.h"
#include "base/version.h"
#include "net/frame.h"
#include "net/swap.h"
#include "run/approval/approval_files.h"
#include "run/approval/envelope_uses.h"
#include "run/ledger/run_ledger.h"
#include "run/party/own_error.h"

namespace partita::run {
namespace {

study::DisclosureSpec Stricter(study::DisclosureSpec a, const study::DisclosureSpec& b) {
  a.min_cell = std::max(a.min_cell, b.min_cell);
  a.min_rows = std::max(a.min_rows, b.min_rows);
  a.refuse_small_samples |= b.refuse_small_samples;
  return a;
}

study::Approval ApprovalOf(const study::ApprovalTerms& terms, const std::string& party) {
  study::Approval approval;
  approval.party = party;
  approval.study = terms.study;
  approval.agreement_hash = terms.agreement_hash;
  approval.plan_hash = terms.plan_hash;
  approval.disclosure = terms.disclosure;
  approval.approved_at = NowUtc();
  approval.valid_until = approval.approved_at + study::kApprovalSeconds;
  approval.software_version = kVersion;
  return approval;
}

ApprovalLedger LedgerOf(RunLedger* ledger) {
  if (ledger == nullptr) return {};
  return {[ledger](const crypto::Digest& approval) { return ledger->RunsOf(approval); },
          [ledger](const std::optional<privacy::ledger::Used>& use) { ledger->Spend(use); }};
}

class Signed : public Approvals {
 public:
  explicit Signed(ApprovalSources sources) : sources_(std::move(sources)) {}

  void Open(const Study& study, size_t party, const study::ApprovalTerms& terms) override {
    names_ = PartyNames(study);
    party_ = names_[party];
    terms_ = terms;
    const std::string text = ReadApprovalFile(sources_.document, party_);
    if (study::IsEnvelope(text)) {
      RequireNoSteward(party);
      OpenEnvelope(text, study, sources_.fingerprints[party]);
    } else {
      OpenApproval(text, study.parties[party].holder, Signer(party));
    }
  }

  const crypto::Key& salt() const override { return salt_; }

  void RequireRunLeft(RunLedger* ledger, bool goes_on) override {
    if (envelope_) return;  // counted when it is shown
    RequireApprovalLeft(UsesPath(sources_.document), approval_.approval, {{}, goes_on},
                        LedgerOf(ledger));
  }

  void Spend(RunLedger* ledger, const ApprovedRun& run) override {
    if (spent_) return;
    if (envelope_) {
      Approvals::Spend(ledger, run);
    } else {
      KeepToOwner(net::StopReason::kApproval, [&] {
        CountApprovalUse(UsesPath(sources_.document), approval_.approval, run, LedgerOf(ledger),
                         NowUtc());
      });
    }
    spent_ = true;
  }

  study::SignedApproval Show(const crypto::Digest& commitment) override {
    if (envelope_) return ShowUnderEnvelope(commitment);
    if (commitment != approval_.approval.commitment) {
      throw Error(
          ErrorCode::kRefused,
          fmt::format("the table of party {} has changed since it approved the study", party_),
          "Restore the table as it was, or approve again with the new one: partita study "
          "approve STUDY.");
    }
    return approval_;
  }

  void RequireSigner(size_t party, const study::SignedApproval& document) const override {
    study::RequireSigned(document, names_[party], Signer(party));
  }

 private:
  const std::string& Signer(size_t party) const {
    const std::vector<std::string>& stewards = sources_.stewards;
    return stewards.empty() || stewards[party].empty() ? sources_.fingerprints[party]
                                                       : stewards[party];
  }

  void RequireNoSteward(size_t party) const {
    if (Signer(party) == sources_.fingerprints[party]) return;
    throw Error(
        ErrorCode::kRefused,
        fmt::format("party {} has a steward, and an envelope does not count for it", party_),
        "Let the steward approve this study itself.");
  }

  void OpenApproval(const std::string& text, bool holder, const std::string& fingerprint) {
    approval_ = study::ParseApproval(text, sources_.document.string());
    study::RequireSigned(approval_, party_, fingerprint);
    study::RequireApproves(approval_.approval, party_, terms_, NowUtc());
    if (holder) salt_ = ReadSalt(SecretPath(sources_.document), approval_.approval);
  }

  void OpenEnvelope(const std::string& text, const Study& study, const std::string& fingerprint) {
    const study::SignedEnvelope document = study::ParseEnvelope(text, sources_.document.string());
    study::RequireSigned(document, party_, fingerprint);
    study::RequireValid(document.envelope, party_, NowUtc());
    study::RequireInside(study.file, document.envelope);
    envelope_ = document.envelope;
    crypto::SystemRandom random;
    salt_ = crypto::RandomKey(random);
  }

  study::SignedApproval ShowUnderEnvelope(const crypto::Digest& commitment) const {
    study::Approval approval = ApprovalOf(terms_, party_);
    approval.commitment = commitment;
    approval.disclosure = Stricter(approval.disclosure, envelope_->disclosure);
    approval.valid_until = envelope_->valid_until;
    approval.envelope = study::EnvelopeDigest(*envelope_);
    CountEnvelopeUse(UsesPath(sources_.document), approval.envelope, envelope_->max_results,
                     terms_.agreement_hash, approval.approved_at);
    return study::SignApproval(std::move(approval), sources_.identity);
  }

  ApprovalSources sources_;
  std::vector<std::string> names_;
  std::string party_;
  study::ApprovalTerms terms_;
  crypto::Key salt_;
  study::SignedApproval approval_;
  std::optional<study::Envelope> envelope_;  // instead of an approval
  bool spent_ = false;
};

class Unsigned : public Approvals {
 public:
  explicit Unsigned(crypto::RandomSource& random) : salt_(crypto::RandomKey(random)) {}

  void Open(const Study& study, size_t party, const study::ApprovalTerms& terms) override {
    names_ = PartyNames(study);
    approval_ = ApprovalOf(terms, names_[party]);
  }
  const crypto::Key& salt() const override { return salt_; }
  study::SignedApproval Show(const crypto::Digest& commitment) override {
    approval_.commitment = commitment;
    return {approval_, {}};
  }
  void RequireSigner(size_t party, const study::SignedApproval& document) const override {
    if (document.signature.certificate.empty() && document.signature.signature.empty()) return;
    throw Error(ErrorCode::kRefused,
                fmt::format("the approval of party {} is signed, but this process has nothing to "
                            "verify it with",
                            names_[party]));
  }

 private:
  crypto::Key salt_;
  std::vector<std::string> names_;
  study::Approval approval_;
};

// What a peer showed, against what it said in the hello.
void RequireTable(const Study& study, size_t party, const study::Approval& approval,
                  const crypto::Digest& commitment) {
  const bool table = approval.commitment != crypto::Digest{};
  if (approval.commitment == commitment && table == study.parties[party].holder) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("party {} does not bring the table that it approved", approval.party),
              "Let that party restore its table, or approve again with the new one.");
}

}  // namespace

void Approvals::RequireRunLeft(RunLedger* /*ledger*/, bool /*goes_on*/) {}

void Approvals::Spend(RunLedger* ledger, const ApprovedRun& /*run*/) {
  if (ledger != nullptr) ledger->Spend();
}

std::unique_ptr<Approvals> SignedApprovals(ApprovalSources sources) {
  return std::make_unique<Signed>(std::move(sources));
}

std::unique_ptr<Approvals> UnsignedApprovals(crypto::RandomSource& random) {
  return std::make_unique<Unsigned>(random);
}

study::StudyIdentity StudyIdentityOf(const Study& study,
                                     const std::vector<std::string>& fingerprints,
                                     const std::vector<std::string>& stewards) {
  study::StudyIdentity identity;
  identity.wire_version = net::kWireVersion;
  const MethodName method = study.Method();
  identity.method = method.name;
  identity.method_version = method.version;
  identity.study_text = study.file.text;
  for (size_t i = 0; i < study.parties.size(); ++i) {
    study::PartyIdentity party;
    party.name = study.parties[i].name;
    if (study.parties[i].holder) {
      party.schema = data::SchemaDigest(
          data::SchemaForParty(study.file.dictionary, study.partition, i, study.row_columns));
    }
    party.fingerprint = fingerprints.empty() ? "" : fingerprints[i];
    party.steward = stewards.empty() ? "" : stewards[i];
    identity.parties.push_back(std::move(party));
  }
  return identity;
}

study::ApprovalTerms TermsOf(const Study& study, const study::StudyIdentity& identity,
                             const study::Plan& plan) {
  return {study.file.name, study::AgreementHash(identity), study::PlanHash(plan),
          study.file.disclosure};
}

std::vector<study::SignedApproval> ExchangeDocuments(
    net::Channel& channel, const study::ApprovalTerms& terms, const study::SignedApproval& own,
    const std::function<void(size_t party, const study::SignedApproval& document)>& check) {
  channel.BeginPhase(kApprovalsPhase);
  const std::vector<Bytes> seen = net::Swap(channel, study::EncodeApproval(own));
  const int64_t now = NowUtc();
  const std::vector<std::string>& names = channel.names();
  std::vector<study::SignedApproval> documents(names.size());
  documents[channel.self()] = own;
  for (net::PartyIndex peer = 0; peer < names.size(); ++peer) {
    if (peer == channel.self()) continue;
    documents[peer] = study::DecodeApproval(seen[peer], names[peer]);
    check(peer, documents[peer]);
    study::RequireApproves(documents[peer].approval, names[peer], terms, now);
  }
  return documents;
}

std::vector<study::SignedApproval> ExchangeApprovals(net::Channel& channel, const Study& study,
                                                     const study::ApprovalTerms& terms,
                                                     const study::SignedApproval& own,
                                                     const std::vector<crypto::Digest>& commitments,
                                                     const Approvals& approvals) {
  std::vector<study::SignedApproval> documents = ExchangeDocuments(
      channel, terms, own, [&](size_t peer, const study::SignedApproval& document) {
        approvals.RequireSigner(peer, document);
      });
  for (net::PartyIndex peer = 0; peer < documents.size(); ++peer) {
    if (peer != channel.self())
      RequireTable(study, peer, documents[peer].approval, commitments[peer]);
  }
  return documents;
}

}  // namespace partita::run
