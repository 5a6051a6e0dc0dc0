// One request to the signer (signer.h): what it takes from the caller, from the daemon and from the signer's folder, all of it
// verified before anything is signed.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "node/daemon/request_fields.h"
#include "node/job/policy_study.h"
#include "node/job/statement.h"
#include "node/sign/by_policy.h"
#include "node/sign/signer.h"
#include "node/study/study.h"
#include "study/approval/approval.h"

namespace partita::node {

// Throws kUntrusted.
[[noreturn]] void DistrustDaemon(const std::string& what);

// What the daemon passed on of a study.
struct PassedStudy {
  Study study;
  Bytes statement;
  std::string draft;
  std::string first;  // an approval that waits for its second signature; may be empty
};

// Throws kUntrusted for a study that is not the one its number stands for.
PassedStudy ReadPassed(RequestFields fields);

// A study as it is shown, all of it verified.
struct Shown {
  PassedStudy documents;
  ForSteward read;
  std::string code;                          // once it is settled
  std::optional<CommitStatement> statement;  // once the job has frozen the table
  std::optional<study::Approval> draft;
  std::optional<study::SignedApproval> first;  // what one person of two has signed
  std::vector<PublishedPolicy> policies;       // that it was held against, if it was
  bool ended = false, lowered = false;

  // Why nobody can approve it now; empty: it waits for an approval.
  std::string WhyNot() const;
};

class SignerTask {
 public:
  // lock: of the signer; reading: of its one child.
  SignerTask(const SignerParts& parts, Caller caller, RequestFields& request,
             std::unique_lock<std::mutex>& lock, std::mutex& reading)
      : parts_(parts),
        folder_(parts.folder),
        caller_(caller),
        request_(request),
        lock_(lock),
        reading_(reading),
        now_(parts.now()) {}

  const SignerFolder& folder() const { return folder_; }
  int64_t now() const { return now_; }
  std::string site() const { return folder_.Config().site; }
  PartyList TakeList() { return folder_.Parties(request_.Raw("list")); }
  // Everything else of the request first: a passphrase is looked at for what can be signed only.
  crypto::Identity TakeKey();
  // Of what a deputy may sign, too.
  Person TakePerson();
  // As WhoSigned says it.
  std::string PersonNamed();
  void End(const Study& study, const Person& person) const;
  // The study of `documents` is the one that the caller means: the daemon, whose documents these are,
  // does not choose which one is ended.
  void RequireMeant(const Study& study);

  enum class Wanted { kPlan, kPolicies, kDraft };
  // kPolicies: held against those that are published, in their order; kDraft: with the draft of one.
  Shown TakeStudy(Wanted wanted = Wanted::kPlan);

 private:
  // Other requests are answered meanwhile: a study that takes a minute keeps no withdrawal waiting.
  ForSteward Read(const ReadOrder& order);

  // What TakeDraft verifies before anything is signed: until then the table is the daemon's word.
  static void AddTable(const Shown& shown, ReadOrder& order);
  void AddPolicies(Shown& shown, ReadOrder& order) const;

  // The draft comes by the daemon: the job signed it together with its table, and what the terms do not
  // fix may not be more than one study's run.
  void TakeDraft(Shown& shown) const;

  // What one person signed comes by the daemon, too: it is under this draft, or it is for nothing.
  void TakeFirst(Shown& shown) const;

  const SignerParts& parts_;
  const SignerFolder& folder_;
  Caller caller_;
  RequestFields& request_;
  std::unique_lock<std::mutex>& lock_;
  std::mutex& reading_;
  int64_t now_;
};

}  // namespace partita::node
