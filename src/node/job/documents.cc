#include "node/job/documents.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/error.h"
#include "base/files.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "crypto/state_file.h"
#include "methods/prepare_study.h"
#include "node/job/ended_list.h"
#include "node/job/own_persons.h"
#include "node/job/own_policy.h"
#include "node/parties/party_list.h"
#include "node/service/key_trust.h"
#include "node/study/roster_check.h"
#include "run/approval/approvals.h"
#include "run/party/build_plan.h"
#include "run/party/locked_file.h"
#include "study/approval/persons.h"
#include "study/plan/hashes.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxOwnFileBytes = size_t{4} << 20;
constexpr char kCompare[] = "Compare the parties' fingerprints by telephone before anything else.";

[[noreturn]] void RefuseDocuments(const std::string& what) {
  throw Error(ErrorCode::kRefused, what, kCompare);
}

// The greatest serial of a list of this site that a job has seen, so that no older one is taken.
class NewestSerial {
 public:
  // `what` the list is, in messages.
  NewestSerial(const fs::path& file, const std::string& what)
      : kind_{"partita node list serial 1", "the file with the serial of the newest " + what,
              "let a steward sign the " + what + " again"},
        file_(file),
        lock_(file, "the serial of the " + what) {
    if (const auto kept = crypto::ReadState(kind_, file_)) {
      crypto::DecodeState(kind_, kept->Expose(), {},
                          [&](ByteReader& content) { serial_ = content.U64(); });
    }
  }
  uint64_t serial() const { return serial_; }
  // Durable on return.
  void Saw(uint64_t serial) {
    if (serial <= serial_) return;
    serial_ = serial;
    ByteWriter writer;
    writer.U64(serial);
    crypto::WriteState(file_, crypto::EncodeState(kind_, {}, writer.bytes()));
  }

 private:
  crypto::StateKind kind_;
  fs::path file_;
  run::LockedFile lock_;
  uint64_t serial_ = 0;
};

}  // namespace

PartyList OwnList(const JobSettings& settings, const std::vector<Digest>& stewards) {
  NewestSerial newest(settings.studies / "list-serial", "list of parties");
  const std::string text = ReadFile(settings.parties, kMaxOwnFileBytes, "the list of parties");
  const SignedPartyList document = DecodeSignedList(AsBytes(text));
  RequireSignedList(document, settings.self, stewards, {newest.serial(), {}});
  newest.Saw(document.list.serial);
  return document.list;
}

namespace {

void RequireStands(const EndedList& list, const StudyId& study) {
  if (!IsEnded(list, study)) return;
  throw Error(ErrorCode::kRefused, "a steward of this party took its approval back",
              "A study that was withdrawn can be proposed again as a new one.");
}

// The deputy's own list is there as soon as the steward has named it.
void RequireNotEndedBy(const JobSettings& settings, const PublishedDeputy& deputy,
                       const StudyId& study) {
  const std::string what = "list of approvals that the deputy " + deputy.word.name + " ended";
  NewestSerial newest(settings.studies / ("ended-serial-" + ToHex(deputy.key)), what);
  const std::string text =
      ReadFile(EndedFileOf(settings.ended, deputy.word.name), kMaxEndedListBytes, "the " + what,
               "Let the steward sign it again.");
  const SignedEndedList document = DecodeSignedEndedList(AsBytes(text));
  RequireEndedList(document, settings.self, {deputy.key}, newest.serial());
  newest.Saw(document.list.serial);
  RequireStands(document.list, study);
}

// Whether a steward here took the approval of this study back, whatever the daemon says. The newest list; none
// where none is kept.
EndedList RequireNotEnded(const JobSettings& settings, const std::vector<Digest>& stewards,
                          const StudyId& study) {
  if (settings.ended.empty()) return {};
  NewestSerial newest(settings.studies / "ended-serial", "list of ended approvals");
  const std::string text =
      ReadFile(settings.ended, kMaxEndedListBytes, "the list of ended approvals",
               "Let the steward sign it again, or take 'ended' out of node.toml.");
  const SignedEndedList document = DecodeSignedEndedList(AsBytes(text));
  RequireEndedList(document, settings.self, stewards, newest.serial());
  newest.Saw(document.list.serial);
  RequireStands(document.list, study);
  for (const PublishedDeputy& deputy : document.list.deputies)
    RequireNotEndedBy(settings, deputy, study);
  return document.list;
}

// What the own offer says, if its steward is one of root's.
Digest StewardOfOffer(const Study& study, const std::vector<Digest>& stewards) {
  const SignedMessage message = DecodeMessage(study.own_offer);
  if (message.message.kind != Kind::kOffer) RefuseDocuments("the own offer is none");
  const Digest steward = DecodeOffer(message.message.body).steward;
  if (std::find(stewards.begin(), stewards.end(), steward) == stewards.end())
    RefuseDocuments("the roster names a steward of this party who is not in its stewards' file");
  return steward;
}

// The order of the channel, from that of the study file.
const RosterParty& PartyOf(const std::vector<RosterParty>& parties, const std::string& name) {
  const auto found = std::find_if(parties.begin(), parties.end(),
                                  [&](const RosterParty& party) { return party.name == name; });
  if (found == parties.end()) RefuseDocuments("the roster lacks a party of the study");
  return *found;
}

}  // namespace

void RequireStudy(const Study& study) {
  if (StudyIdOf(study.file, study.proposer, study.nonce, study.expires) != study.id)
    RefuseDocuments("the study is not the one that its number stands for");
  if (study.expires <= NowUtc()) RefuseDocuments("the study has expired");
}

std::vector<Digest> OwnStewards(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) {
    throw Error(ErrorCode::kBadInput,
                "cannot read the stewards' file " + file.string() + ": " + std::strerror(errno),
                "Put the certificates of the own stewards there, in PEM form.");
  }
  if ((status.st_uid != 0 && status.st_uid != ::geteuid()) || (status.st_mode & 022) != 0) {
    throw Error(ErrorCode::kBadInput,
                "the stewards' file " + file.string() + " can be written by other users",
                "Run: chown root " + file.string() + " && chmod 644 " + file.string());
  }
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  const std::string text = ReadFile(file, kMaxOwnFileBytes, "the stewards' file");
  std::vector<Digest> stewards;
  size_t at = 0;
  while (true) {
    const size_t end = text.find(kEnd, at);
    if (end == std::string::npos) break;
    const auto certificate =
        crypto::ParseCertificate(std::string_view(text).substr(at, end + kEnd.size() - at));
    if (certificate == nullptr) break;
    stewards.push_back(crypto::Sha256Of(crypto::EncodeCertificate(*certificate)));
    at = end + kEnd.size();
  }
  const bool rest_is_blank = text.find_first_not_of(" \r\n", at) == std::string::npos;
  if (stewards.empty() || !rest_is_blank) {
    throw Error(ErrorCode::kBadInput,
                "the stewards' file " + file.string() + " holds something else than certificates",
                "Put the certificates of the own stewards there, in PEM form.");
  }
  return stewards;
}

Prepared Prepare(const std::string& self, const std::string& study_file) {
  Prepared prepared;
  prepared.study = methods::PrepareStudy(methods::ParseStudyFile(study_file, "study.toml"));
  const run::Study& study = *prepared.study;
  const auto own = std::find_if(study.parties.begin(), study.parties.end(),
                                [&](const study::Party& party) { return party.name == self; });
  if (own == study.parties.end()) throw NotHere("this party has no part in it");
  if (study.file.engine.stored_correlations)
    throw NotHere("nodes do not run studies with stored correlations");
  prepared.party = static_cast<size_t>(own - study.parties.begin());
  prepared.plan = run::BuildPlan(study);
  return prepared;
}

void RequireHouseRules(const JobSettings& settings, const Prepared& prepared) {
  if (settings.ethics_required && prepared.study->file.declared.ethics.empty())
    throw NotHere(
        "this site takes no study without an ethics reference: the study file has none ('ethics' "
        "in "
        "[study])");
}

Documents VerifyDocuments(const JobSettings& settings, const Study& study, const Prepared& prepared,
                          const StudyFolder& folder) {
  RequireStudy(study);
  folder.RequireKept();
  RequireHouseRules(settings, prepared);

  const std::vector<Digest> stewards = OwnStewards(settings.stewards);
  PartyList list = OwnList(settings, stewards);
  KeyTrust::Parts parts;
  parts.self = settings.self;
  parts.node.certificate = crypto::LoadCertificate(settings.node_certificate);
  parts.steward = StewardOfOffer(study, stewards);
  parts.list = [&list] { return list; };
  parts.now = [] { return NowUtc(); };
  const KeyTrust trust(std::move(parts));
  const std::vector<RosterParty> parties = SettledParties(study, prepared, settings.self, trust);
  const auto own_key = folder.RunKey();
  if (!own_key || crypto::EncodeCertificate(*own_key->certificate) !=
                      PartyOf(parties, settings.self).run_certificate)
    RefuseDocuments("the roster names another run key of this party than the one made here");
  return DocumentsOf(prepared, parties);
}

std::vector<RosterParty> SettledParties(const Study& study, const Prepared& prepared,
                                        const std::string& self, const Trust& trust) {
  // What the checks below rely on, from the study file itself.
  Study checked = study;
  checked.facts.parties.clear();
  for (const study::Party& party : prepared.study->file.parties)
    checked.facts.parties.push_back(party.name);
  checked.facts.plan_hash = study::PlanHash(prepared.plan);
  RosterFile roster;
  roster.text = study.roster;
  for (const std::string& name : checked.facts.parties) {
    const auto offer = study.offers.find(name);
    if (offer == study.offers.end()) RefuseDocuments("the offer of party " + name + " is not here");
    roster.offers.push_back(offer->second);
  }
  return CheckRoster(checked, roster, self, trust);
}

Documents DocumentsOf(const Prepared& prepared, const std::vector<RosterParty>& parties) {
  Documents documents;
  for (const std::string& name : run::PartyNames(*prepared.study)) {
    const RosterParty& party = PartyOf(parties, name);
    documents.roster.push_back({party.name, party.address,
                                ToHex(crypto::Sha256Of(party.run_certificate)),
                                ToHex(party.steward)});
    documents.fingerprints.push_back(documents.roster.back().fingerprint);
    documents.stewards.push_back(documents.roster.back().steward);
    documents.certificates.push_back(party.run_certificate);
  }
  documents.terms = run::TermsOf(
      *prepared.study,
      run::StudyIdentityOf(*prepared.study, documents.fingerprints, documents.stewards),
      prepared.plan);
  return documents;
}

void RequireOwnApproval(const JobSettings& settings, const Documents& documents,
                        const Prepared& prepared, const Study& study, const std::string& table,
                        const std::string& approval) {
  const study::SignedApproval document = study::ParseApproval(approval, "the own approval");
  const Digest signer = crypto::Sha256Of(study::StewardCertificate(document));
  const std::vector<Digest> stewards = OwnStewards(settings.stewards);
  if (std::find(stewards.begin(), stewards.end(), signer) == stewards.end())
    RefuseDocuments("the own approval is not signed by a key of the stewards' file");
  study::RequireSigned(document, settings.self, documents.stewards[prepared.party]);
  study::RequireApproves(document.approval, settings.self, documents.terms, NowUtc());
  if (document.approval.runs != 1) RefuseDocuments("the own approval is for more than one run");
  if (document.approval.valid_until > study.expires)
    RefuseDocuments("the own approval is valid longer than the study");
  if (document.approval.envelope != Digest{} && !document.delegation)
    RefuseDocuments("the own approval was made under an envelope");
  const EndedList ended = RequireNotEnded(settings, stewards, study.id);
  RequireOwnPersons(settings, ended, table, document);
  if (document.delegation)
    RequireOwnPolicy(settings, prepared, study, OwnList(settings, stewards), ended, table,
                     document);
}

}  // namespace partita::node
