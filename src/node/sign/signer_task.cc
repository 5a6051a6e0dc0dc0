#include "node/sign/signer_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hex.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "node/job/own_persons.h"
#include "study/approval/persons.h"

namespace partita::node {
namespace {

constexpr char kLookAtNode[] =
    "This node does not do what it should: look at its log, and at who can write there.";

}  // namespace

void DistrustDaemon(const std::string& what) {
  throw Error(ErrorCode::kUntrusted, what, kLookAtNode);
}

PassedStudy ReadPassed(RequestFields fields) {
  PassedStudy documents;
  Study& study = documents.study;
  study.id = fields.Fixed<StudyId>("study");
  study.proposer = fields.Text("proposer");
  study.nonce = fields.Fixed<Nonce>("nonce");
  study.expires = fields.Number("expires");
  study.file = fields.Text("file");
  study.roster = fields.Text("roster");
  study.own_offer = fields.Raw("own_offer");
  for (const auto& [party, offer] : fields.Object("offers").Texts())
    study.offers[party] = FromHex(offer);
  documents.statement = fields.Raw("statement");
  documents.draft = fields.Text("draft");
  documents.first = fields.Text("first");
  fields.End();
  if (study.expires < 0 || study.expires > kMaxUtc) DistrustDaemon("the study has no expiry");
  // Shown to the steward as it is.
  if (!crypto::IsPartyName(study.proposer))
    DistrustDaemon("the proposer of the study has a name that is none");
  if (StudyIdOf(study.file, study.proposer, study.nonce, study.expires) != study.id)
    DistrustDaemon("the study is not the one that its number stands for");
  return documents;
}

std::string Shown::WhyNot() const {
  if (!read.settled) return "the parties have not all answered the proposal yet";
  if (ended) return "this site took its approval back";
  if (!draft) return "the table is not frozen yet";
  if (lowered) {
    return fmt::format(
        "signer.toml asks for two persons to sign for the table '{}', and the node for one",
        statement->table);
  }
  return "";
}

crypto::Identity SignerTask::TakeKey() {
  if (request_.Has("deputy")) {
    throw Error(ErrorCode::kRefused,
                "a deputy approves, rejects and withdraws: this is for the steward alone",
                "Leave out the deputy, and let the steward type the passphrase.");
  }
  const std::string passphrase = request_.Text("passphrase");
  request_.End();
  return folder_.Open(passphrase, parts_.now(), caller_);
}

Person SignerTask::TakePerson() {
  if (!request_.Has("deputy")) return {TakeKey()};
  const std::string name = request_.Text("deputy"), passphrase = request_.Text("passphrase");
  request_.End();
  return folder_.OpenDeputy(name, passphrase, parts_.now(), caller_);
}

std::string SignerTask::PersonNamed() {
  if (!request_.Has("deputy")) return study::kStewardName;
  return request_.Peek("deputy");
}

void SignerTask::End(const Study& study, const Person& person) const {
  const EndedStudy ended{study.id, study.expires};
  if (person.deputy) return folder_.EndAsDeputy(ended, person, now_);
  folder_.End(ended, person.identity, now_);
}

void SignerTask::RequireMeant(const Study& study) {
  if (request_.Fixed<StudyId>("study") == study.id) return;
  DistrustDaemon("the documents are those of another study than the one that was named");
}

Shown SignerTask::TakeStudy(Wanted wanted) {
  Shown shown;
  shown.documents = ReadPassed(request_.Object("documents"));
  const Study& study = shown.documents.study;
  ReadOrder order;
  if (wanted != Wanted::kPlan) AddTable(shown, order);
  if (wanted == Wanted::kPolicies) AddPolicies(shown, order);
  if (wanted == Wanted::kDraft && !order.table.empty()) order.drafted_at = now_;
  order.study = study;
  order.list = TakeList();
  order.node_certificate = folder_.NodeCertificate();
  order.steward = folder_.Steward();
  shown.read = Read(order);
  if (shown.read.settled) shown.code = CodeOf(study, shown.read.terms.plan_hash);
  shown.ended = folder_.HasEnded(study.id);
  if (shown.read.settled && !shown.documents.draft.empty()) TakeDraft(shown);
  if (shown.draft && !shown.documents.first.empty()) TakeFirst(shown);
  return shown;
}

ForSteward SignerTask::Read(const ReadOrder& order) {
  lock_.unlock();
  ForSteward read;
  {
    const std::lock_guard one_child(reading_);
    read = parts_.reader(order);
  }
  lock_.lock();
  if (folder_.Parties({}) != order.list) {
    throw Error(ErrorCode::kRefused, "the list of parties was changed in the meantime",
                "Look at the study again.");
  }
  return read;
}

void SignerTask::AddTable(const Shown& shown, ReadOrder& order) {
  if (!shown.documents.statement.empty())
    order.table = DecodeSignedCommit(shown.documents.statement).statement.table;
}

void SignerTask::AddPolicies(Shown& shown, ReadOrder& order) const {
  shown.policies = folder_.Ended().policies;
  order.policies = PoliciesToRead(folder_, shown.policies, now_);
}

void SignerTask::TakeDraft(Shown& shown) const {
  const Study& study = shown.documents.study;
  const SignedCommit commit = DecodeSignedCommit(shown.documents.statement);
  RequireCommit(commit, folder_.JobKey(), study.id, shown.documents.draft);
  const study::Approval draft =
      study::ParseApproval(shown.documents.draft, "the draft of the approval").approval;
  RequireApproves(draft, site(), shown.read.terms, now_);
  if (draft.runs != 1 || draft.envelope != Digest{} || draft.valid_until > study.expires)
    DistrustDaemon("the draft of the approval is for more than one run, or too long");
  if (commit.statement.table.empty() == shown.read.is_holder)
    DistrustDaemon("the draft of the approval is for another role than this site has");
  const std::vector<std::string> four_eyes = folder_.Config().four_eyes;
  const bool is_listed =
      std::find(four_eyes.begin(), four_eyes.end(), commit.statement.table) != four_eyes.end();
  shown.lowered = is_listed && draft.stewards < study::kMostStewards;
  shown.statement = commit.statement;
  shown.draft = draft;
}

void SignerTask::TakeFirst(Shown& shown) const {
  const study::SignedApproval first =
      study::ParseApproval(shown.documents.first, "the first signature");
  study::RequireFirstSigned(first, site(), ToHex(folder_.Steward()));
  study::Approval same = *shown.draft;
  same.disclosure = first.approval.disclosure;
  same.valid_until = first.approval.valid_until;
  same.approved_at = first.approval.approved_at;
  if (study::ApprovalDigest(same) != study::ApprovalDigest(first.approval) ||
      same.valid_until > shown.draft->valid_until)
    DistrustDaemon("the first signature is under another draft than this study has");
  RequireApproves(first.approval, site(), shown.read.terms, now_);
  // Of a deputy that was ended meanwhile it does not count: somebody else signs first.
  if (UnnamedDeputy(folder_.Ended(), first) == nullptr) shown.first = first;
}

}  // namespace partita::node
