#include "node/sign/signer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/utc_time.h"
#include "base/version.h"
#include "crypto/signature.h"
#include "node/daemon/control.h"
#include "node/daemon/request_fields.h"
#include "node/job/closed.h"
#include "node/job/own_persons.h"
#include "node/job/policy_study.h"
#include "node/job/statement.h"
#include "node/parties/introduction.h"
#include "node/parties/pairing.h"
#include "node/sign/by_policy.h"
#include "node/sign/kept_word.h"
#include "node/sign/signer_task.h"
#include "study/approval/approval.h"
#include "study/approval/persons.h"
#include "study/file/text.h"

namespace partita::node {
namespace {

using SignerJson = nlohmann::ordered_json;

constexpr int kMostPlanLevels = 32;

// The child's words: an error of its own if they are none.
SignerJson PlanOf(const ForSteward& read) {
  auto plan = ParseShallow<SignerJson>(read.plan_json, kMostPlanLevels);
  if (!plan.is_object())
    throw Error(ErrorCode::kInternal, "the process that reads studies wrote a plan that is none",
                "please report this");
  return plan;
}

// Who may sign now, of those who have not.
std::vector<std::string> WhoMaySign(const SignerFolder& folder, const Shown& shown, int64_t now) {
  std::vector<std::string> names = {study::kStewardName};
  for (const PublishedDeputy& deputy : folder.Ended().deputies) {
    if (now >= deputy.word.from && now <= deputy.word.until) names.push_back(deputy.word.name);
  }
  if (shown.first) std::erase(names, study::WhoSigned(*shown.first).front());
  return names;
}

SignerJson StudyJson(const SignerFolder& folder, const Shown& shown, const std::string& site,
                     int64_t now) {
  const ForSteward& read = shown.read;
  SignerJson parties = SignerJson::array();
  for (const PartyKnown& party : read.parties)
    parties.push_back({{"name", party.name}, {"known", party.how}});
  SignerJson table;
  if (shown.statement && !shown.statement->table.empty()) {
    table = {{"name", shown.statement->table},
             {"digest", ToHex(shown.statement->commitment)},
             {"rows", shown.statement->rows},
             {"missing_cells", shown.statement->missing},
             {"edition", shown.statement->edition},
             {"budget", shown.statement->budget},
             {"dictionary", shown.statement->dictionary}};
  }
  return {{"study", ToHex(shown.documents.study.id)},
          {"name", read.name},
          {"title", read.title},
          {"site", site},
          {"proposer", shown.documents.study.proposer},
          {"expires", FormatUtc(shown.documents.study.expires)},
          {"settled", read.settled},
          {"code", shown.code},
          {"plan_text", read.plan_text},
          {"plan", PlanOf(read)},
          {"min_cell", read.terms.disclosure.min_cell},
          {"useless", read.useless},
          {"trust", read.trust},
          {"parties", parties},
          {"can_approve", shown.WhyNot().empty()},
          {"why_not", shown.WhyNot()},
          {"table", table},
          {"stewards_needed", shown.draft ? shown.draft->stewards : 1},
          {"signed_by", shown.first ? study::WhoSigned(*shown.first) : std::vector<std::string>()},
          {"may_sign", WhoMaySign(folder, shown, now)},
          {"valid_until", shown.draft ? FormatUtc(shown.draft->valid_until) : ""},
          // Of the table that the job signed for.
          {"policy_draft", shown.statement ? read.policy_draft.text : ""},
          {"no_policy", shown.statement ? read.policy_draft.reasons : std::vector<std::string>()}};
}

// Stricter than the draft, where the steward wants it.
void Tighten(RequestFields& request, int64_t now, study::Approval& approval) {
  if (request.Has("min_cell")) {
    const int64_t min_cell = request.Number("min_cell");
    const uint64_t least = approval.disclosure.min_cell;
    if (min_cell < static_cast<int64_t>(least) ||
        min_cell > static_cast<int64_t>(study::kMaxThreshold)) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("the least cell is from {} to {}", least, study::kMaxThreshold),
                  "A steward may be stricter than the study, not laxer.");
    }
    approval.disclosure.min_cell = static_cast<uint64_t>(min_cell);
  }
  if (request.Has("valid_until")) {
    const auto until = ParseUtc(request.Text("valid_until"));
    if (!until || *until <= now || *until > approval.valid_until) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("an approval of this study ends between now and {}",
                              FormatUtc(approval.valid_until)),
                  "Write it like 2026-12-01T12:00:00Z.");
    }
    approval.valid_until = *until;
  }
}

// table: the digest that was shown; empty: the study reads no table here.
void RequireTableSeen(const Shown& shown, const std::string& table) {
  const bool has_table = shown.statement && !shown.statement->table.empty();
  if (table == (has_table ? ToHex(shown.statement->commitment) : "")) return;
  throw Error(ErrorCode::kUntrusted, "the table changed since you looked at it",
              "Look at the study again.");
}

void RequireWaits(const Shown& shown) {
  if (const std::string why = shown.WhyNot(); !why.empty())
    throw Error(ErrorCode::kRefused, "there is nothing to approve: " + why,
                "partita node studies shows what waits");
}

// By the steward or a deputy: the whole approval, or the first of its two signatures.
study::SignedApproval SignedFirst(const SignerFolder& folder, study::Approval approval,
                                  const Person& person, int64_t now) {
  if (person.deputy || approval.stewards > 1) approval.approved_at = now;
  study::SignedApproval document = study::SignApproval(std::move(approval), person.identity);
  document.deputy = person.deputy;
  if (person.deputy)
    document.steward_certificate = crypto::EncodeCertificate(*folder.Certificate().certificate);
  return document;
}

SignerJson ApproveStudy(SignerTask& task, RequestFields& request) {
  const Shown shown = task.TakeStudy();
  const std::string code = request.Text("code");
  RequireWaits(shown);
  if (code != shown.code)
    throw Error(ErrorCode::kUntrusted, "the code that was seen is not the code of this study",
                "Look at the study again, and compare its code by telephone.");
  if (request.Has("table")) RequireTableSeen(shown, request.Text("table"));
  if (shown.first && study::WhoSigned(*shown.first).front() == task.PersonNamed()) {
    throw Error(ErrorCode::kRefused,
                fmt::format("{} has signed already: two persons have to", task.PersonNamed()),
                "Let somebody else sign: --deputy NAME, or the steward without it.");
  }
  if (shown.first && (request.Has("min_cell") || request.Has("valid_until"))) {
    throw Error(ErrorCode::kUsage, "the second person signs what the first one has signed",
                "Sign it as it is, or reject the study.");
  }
  study::Approval approval = *shown.draft;
  Tighten(request, task.now(), approval);
  const bool accepts = request.Has("accept_useless") && request.Flag("accept_useless");
  if (!shown.read.useless.empty() && !accepts)
    throw Error(ErrorCode::kRefused, shown.read.useless,
                "--accept-useless approves it although its result is of little use");
  const Person person = task.TakePerson();
  const study::SignedApproval document =
      shown.first ? study::SignSecond(*shown.first, person.identity, task.now(), person.deputy)
                  : SignedFirst(task.folder(), approval, person, task.now());
  return {{"document", study::RenderApproval(document)},
          {"complete", shown.first.has_value() || approval.stewards == 1}};
}

SignerJson RejectStudy(SignerTask& task, RequestFields& request) {
  const Shown shown = task.TakeStudy();
  task.RequireMeant(shown.documents.study);
  study::Approval rejection;
  rejection.party = task.site();
  rejection.decision = study::Decision::kReject;
  rejection.reason = request.Text("reason");
  rejection.study = shown.read.name;
  rejection.agreement_hash = shown.read.terms.agreement_hash;
  rejection.plan_hash = shown.read.terms.plan_hash;
  rejection.disclosure = shown.read.terms.disclosure;
  crypto::SystemRandom random;
  random.Fill(rejection.nonce);
  rejection.approved_at = task.now();
  rejection.valid_until = task.now() + study::kApprovalSeconds;
  rejection.software_version = std::string(kVersion);
  // Throws for a reason that is no line, before any passphrase is looked at.
  study::RenderApproval({rejection, {}});
  const Person person = task.TakePerson();
  task.End(shown.documents.study, person);
  return {{"document",
           study::RenderApproval(SignedFirst(task.folder(), rejection, person, task.now()))}};
}

SignerJson WithdrawStudy(SignerTask& task, RequestFields& request) {
  const PassedStudy documents = ReadPassed(request.Object("documents"));
  task.RequireMeant(documents.study);
  task.End(documents.study, task.TakePerson());
  return SignerJson::object();
}

SignerJson UsePolicy(SignerTask& task, RequestFields& request) {
  const Shown shown = task.TakeStudy(SignerTask::Wanted::kPolicies);
  request.End();
  RequireWaits(shown);
  if (shown.draft->stewards > 1) {
    return {{"reasons",
             {fmt::format("two persons have to sign for the table '{}', and a policy is "
                          "none",
                          shown.statement->table)}}};
  }
  const PolicyAnswer answer = ApproveByPolicy(
      task.folder(),
      {shown.documents.study.id, *shown.draft, shown.policies, shown.read.policies, task.now()});
  if (answer.document.empty()) return {{"reasons", answer.reasons}};
  return {{"policy", answer.policy}, {"document", answer.document}};
}

SignerJson PoliciesJson(const SignerFolder& folder, int64_t now) {
  SignerJson policies = SignerJson::array();
  for (const PolicyState& policy : PolicyStates(folder, now)) {
    SignerJson uses = SignerJson::array();
    for (const SignedByPolicy& use : policy.uses) {
      uses.push_back({{"number", use.number},
                      {"study", ToHex(use.study)},
                      {"epsilon", use.epsilon},
                      {"approved", FormatUtc(use.approved_at)}});
    }
    policies.push_back({{"name", policy.name},
                        {"from", FormatUtc(policy.from)},
                        {"until", FormatUtc(policy.until)},
                        {"results", policy.results},
                        {"max_results", policy.max_results},
                        {"epsilon", policy.epsilon},
                        {"epsilon_in_all", policy.epsilon_in_all},
                        {"tables", policy.tables},
                        {"exact", policy.exact},
                        {"uses", uses},
                        {"text", policy.text}});
  }
  return {{"policies", policies}};
}

void RequireMayAskSigner(Caller caller, const std::vector<uid_t>& only_policies,
                         const std::string& what) {
  const bool is_bounded = caller && std::find(only_policies.begin(), only_policies.end(),
                                              *caller) != only_policies.end();
  if (!is_bounded || what == "policy-list" || what == "policy-approve") return;
  throw Error(ErrorCode::kRefused,
              fmt::format("this user may ask the signer about policies, not for '{}'", what),
              "Who else may ask stands in signer.toml (users).");
}

int64_t TimeField(RequestFields& request, const char* field) {
  const auto time = ParseUtc(request.Text(field));
  if (time) return *time;
  throw Error(ErrorCode::kUsage, fmt::format("'{}' is no time", field),
              "Write it like 2026-12-01T12:00:00Z.");
}

SignerJson DeputiesJson(const SignerFolder& folder, int64_t now) {
  SignerJson deputies = SignerJson::array();
  for (const KeptDeputy& deputy : folder.Deputies()) {
    const auto& word = deputy.word;
    const char* state = !word               ? "not named by the steward"
                        : now < word->from  ? "to come"
                        : now > word->until ? "over"
                                            : "signs";
    deputies.push_back({{"name", deputy.name},
                        {"key", ToHex(deputy.key)},
                        {"state", state},
                        {"from", word ? FormatUtc(word->from) : ""},
                        {"until", word ? FormatUtc(word->until) : ""}});
  }
  return {{"deputies", deputies}};
}

SignerJson AddDeputy(SignerTask& task, RequestFields& request) {
  const std::string name = request.Text("name");
  const auto key = request.Fixed<Digest>("key");
  const int64_t from = TimeField(request, "from"), until = TimeField(request, "until");
  const crypto::Identity steward = task.TakeKey();
  task.folder().AddDeputy(name, key, from, until, steward, task.now());
  return {{"name", name}, {"from", FormatUtc(from)}, {"until", FormatUtc(until)}};
}

SignerJson PartiesJson(const SignerFolder& folder, const PartyList& list) {
  SignerJson parties = SignerJson::array();
  for (const ListedParty& party : list.parties) {
    const bool digits = party.known_by == KnownBy::kDigits;
    parties.push_back({{"name", party.name},
                       {"node_key", ToHex(party.node_key)},
                       {"steward_key", ToHex(party.steward_key)},
                       {"known_by", digits ? "digits" : "introduction"},
                       {"known_at", FormatUtc(party.known_at)},
                       {"introducers", party.introducers},
                       {"revoked_at", party.revoked_at == 0 ? "" : FormatUtc(party.revoked_at)}});
  }
  return {{"parties", parties}, {"document", ToHex(folder.PartiesDocument())}};
}

PairedParty ReadParty(RequestFields fields) {
  PairedParty party;
  party.name = fields.Text("name");
  party.node_certificate = fields.Raw("node_certificate");
  party.steward_certificate = fields.Raw("steward_certificate");
  party.address = fields.Text("address");
  party.compared_at = fields.Number("compared_at");
  fields.End();
  return party;
}

PairingRole RoleOf(int64_t number) {
  const auto role = static_cast<PairingRole>(number);
  if (number >= 0 && number < 256 &&
      (role == PairingRole::kInviter || role == PairingRole::kJoiner))
    return role;
  throw Error(ErrorCode::kUsage, "a pairing has no such role",
              "Use the same version of Partita for the command and for the signer.");
}

SignerJson ListJson(const Bytes& document) { return {{"document", ToHex(document)}}; }

SignerJson AcceptIntroduced(SignerTask& task, RequestFields& request) {
  const std::string name = request.Text("name");
  const auto node_key = request.Fixed<Digest>("node_key");
  const auto steward_key = request.Fixed<Digest>("steward_key");
  PartyList list = task.TakeList();
  bool is_named = false;
  std::vector<std::string> introducers;
  for (RequestFields& entry : request.Objects("introductions")) {
    const SignedIntroduction said = DecodeIntroduction(entry.Raw("introduction"));
    const Introduction& introduction = said.introduction;
    entry.End();
    if (introduction.name != name) continue;
    is_named = true;
    // What came after the steward looked, or is another introducer's word, is not what was accepted.
    if (introduction.node_key != node_key || introduction.steward_key != steward_key) continue;
    list = WithIntroduced(list, said, task.now());
    introducers.push_back(said.introducer);
  }
  if (introducers.empty() && is_named) {
    throw Error(ErrorCode::kUntrusted,
                fmt::format("nobody introduces {} with the keys that were shown", name),
                "Look at the parties again, and compare the keys by telephone.");
  }
  if (introducers.empty()) {
    throw Error(ErrorCode::kUsage, fmt::format("nobody introduced {}", name),
                "partita node parties shows who was introduced");
  }
  const crypto::Identity steward = task.TakeKey();
  SignerJson answer = ListJson(task.folder().KeepParties(list, steward));
  answer["introducers"] = introducers;
  return answer;
}

// The own site's, of which the node gives the steward all: a word of the signer's binds the digest.
RestoredMark TakeMark(const SignerTask& task, RequestFields& request) {
  RestoredMark mark = DecodeRestoredMark(request.Raw("mark"));
  if (mark.owner != task.site()) {
    throw Error(ErrorCode::kUntrusted, "the mark of the restore is another site's",
                "Name the folder of this site's steward.");
  }
  return mark;
}

// What was found of the budgets after the restore of this mark, verified.
struct TakenKept {
  KeptBudgets kept;
  std::vector<Bytes> answers;
};
TakenKept TakeKept(SignerTask& task, RequestFields& request, const RestoredMark& mark) {
  const Bytes finding = request.Raw("finding");
  std::vector<Bytes> answers;
  for (RequestFields& entry : request.Objects("answers")) {
    answers.push_back(entry.Raw("answer"));
    entry.End();
  }
  KeptBudgets kept = RequireKept(finding, answers, mark, task.TakeList(), task.folder().JobKey(),
                                 task.folder().GivenUp(), task.now());
  return {std::move(kept), std::move(answers)};
}

SignerJson SignatureJson(const crypto::Identity& steward, const Bytes& signature) {
  return {{"certificate", ToHex(crypto::EncodeCertificate(*steward.certificate))},
          {"signature", ToHex(signature)}};
}

}  // namespace

void Signer::ForgetLate(int64_t now) {
  if (unlocked_ && (now > unlocked_->until || now < unlocked_->until - kPairedSeconds))
    unlocked_.reset();
}

bool Signer::Forget() {
  const std::lock_guard lock(mutex_);
  ForgetLate(parts_.now());
  return !unlocked_;
}

std::string Signer::Answer(const std::string& text, Caller caller) {
  RequestFields request(text, "signer");
  RequireMayAskSigner(caller, parts_.only_policies, request.what());
  std::unique_lock lock(mutex_);
  SignerTask task(parts_, caller, request, lock, reading_);
  const SignerFolder& folder = parts_.folder;
  ForgetLate(task.now());
  const std::string& what = request.what();
  SignerJson answer;
  if (what == "status") {
    request.End();
    const PartyList list = folder.Parties({});
    answer = {{"site", task.site()},
              {"steward", ToHex(folder.Steward())},
              {"serial", list.serial},
              {"parties", list.parties.size()},
              {"wait_seconds", folder.WaitSeconds(task.now(), caller)}};
  } else if (what == "parties") {
    const PartyList list = task.TakeList();
    request.End();
    answer = PartiesJson(folder, list);
  } else if (what == "study") {
    const Shown shown = task.TakeStudy(SignerTask::Wanted::kDraft);
    request.End();
    answer = StudyJson(folder, shown, task.site(), task.now());
  } else if (what == "approve") {
    answer = ApproveStudy(task, request);
  } else if (what == "reject") {
    answer = RejectStudy(task, request);
  } else if (what == "withdraw") {
    answer = WithdrawStudy(task, request);
  } else if (what == "pairing") {
    Unlocked unlocked;
    unlocked.name = request.Text("name");
    const PairingRole role = RoleOf(request.Number("role"));
    unlocked.hash = request.Fixed<Digest>("hash");
    const std::string address = request.Text("address");
    unlocked.until = task.now() + kPairedSeconds;
    unlocked.steward = task.TakeKey();
    const StewardWord word = SignPaired(role, unlocked.hash, unlocked.steward, address);
    answer = SignatureJson(unlocked.steward, word.signature);
    unlocked_ = std::move(unlocked);
  } else if (what == "add") {
    const auto hash = request.Fixed<Digest>("hash");
    const PairedParty party = ReadParty(request.Object("party"));
    const PartyList list = WithPaired(task.TakeList(), party, task.now());
    const bool is_open = unlocked_ && unlocked_->hash == hash && unlocked_->name == party.name;
    if (is_open && !request.Has("passphrase")) {
      request.End();
      answer = ListJson(folder.KeepParties(list, unlocked_->steward));
    } else {
      answer = ListJson(folder.KeepParties(list, task.TakeKey()));
    }
    if (is_open) unlocked_.reset();
  } else if (what == "accept") {
    answer = AcceptIntroduced(task, request);
  } else if (what == "revoke") {
    const std::string name = request.Text("name");
    const PartyList before = task.TakeList(), list = WithRevoked(before, name, task.now());
    const crypto::Identity steward = task.TakeKey();
    answer =
        ListJson(list == before ? folder.PartiesDocument() : folder.KeepParties(list, steward));
  } else if (what == "policy-add") {
    const std::string policy = request.Text("text");
    ParsePolicy(policy);  // before a passphrase is looked at
    const crypto::Identity steward = task.TakeKey();
    const PublishedPolicy added = folder.AddPolicy(policy, steward, task.now());
    answer = {{"name", ParsePolicy(policy).name}, {"until", FormatUtc(added.until)}};
  } else if (what == "policy-list") {
    request.End();
    answer = PoliciesJson(folder, task.now());
  } else if (what == "policy-end") {
    const std::string name = request.Text("name");
    const crypto::Identity steward = task.TakeKey();
    folder.EndPolicy(name, steward, task.now());
  } else if (what == "policy-approve") {
    answer = UsePolicy(task, request);
  } else if (what == "deputy-key") {
    const std::string name = request.Text("name"), passphrase = request.Text("passphrase");
    request.End();
    answer = {{"name", name}, {"key", ToHex(folder.MakeDeputyKey(name, passphrase))}};
  } else if (what == "deputy-add") {
    answer = AddDeputy(task, request);
  } else if (what == "deputy-list") {
    request.End();
    answer = DeputiesJson(folder, task.now());
  } else if (what == "deputy-end") {
    const std::string name = request.Text("name");
    const crypto::Identity steward = task.TakeKey();
    folder.EndDeputy(name, steward, task.now());
  } else if (what == "reopen") {
    const RestoredMark mark = TakeMark(task, request);
    const crypto::Identity steward = task.TakeKey();
    const Digest digest = DigestOf(mark);
    folder.GiveUp(mark.accounts);
    const Signature word = SignFields(steward, kReopenDomain, Bytes(digest.begin(), digest.end()));
    answer = SignatureJson(steward, word.signature);
  } else if (what == "publish") {
    request.End();
    folder.Publish();
  } else if (what == "kept-budgets") {
    const TakenKept taken = TakeKept(task, request, TakeMark(task, request));
    request.End();
    answer = {{"lines", KeptLines(taken.kept, taken.answers)}};
  } else if (what == "keep") {
    const RestoredMark mark = TakeMark(task, request);
    const KeptBudgets kept = TakeKept(task, request, mark).kept;
    const crypto::Identity steward = task.TakeKey();
    folder.GiveUp(GivenUpBy(kept, mark));
    answer = {{"document", ToHex(Encode(SignKept(kept, kKeptDomain, steward)))}};
  } else if (what == "go-on") {
    const auto asked = request.Fixed<Digest>("text");
    const crypto::Identity steward = task.TakeKey();
    answer = SignatureJson(steward, crypto::Sign(steward, kGoOnDomain, asked));
  } else {
    throw Error(ErrorCode::kUsage, "the signer knows no request of this kind",
                "Use the same version of Partita for the command and for the signer.");
  }
  return answer.dump(-1, ' ', false, SignerJson::error_handler_t::replace);
}

}  // namespace partita::node
