// The audit log of a node: what was done here, by whom, in the order in which it became durable.
//
// Entries are numbered from 1, and each holds the digest of the one before, so that one that is changed,
// taken out or put in shows at the next. What a log of its own cannot show: somebody who may write the file
// and computes all later entries anew.
//
// An entry about a study is of the same transaction as the study's new state (service/node.h): none without the
// other. Who an account is, logins and what happens to accounts is the word of the web process, and what it
// could not tell the node is missing.
//
// Bytes of an entry (base/bytes.h): version u8 (1), number u64, digest of the one before (32; zero: the first),
// time u64, kind of actor u8, its name, action u8, study (32; zero: none), subject, outcome, message (32; zero:
// none). Digest: SHA-256 over the fields kAuditDomain and these bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "node/message/message.h"

namespace partita::node {

inline constexpr char kAuditDomain[] = "partita node audit entry 1";
inline constexpr size_t kMaxAuditName = 64;
inline constexpr size_t kMaxAuditOutcome = 1000;  // what is longer is cut

// Numbers in the file: never used again for something else.
enum class ActorKind : uint8_t {
  kNode = 1,      // by itself: a job's word, the time
  kTerminal = 2,  // somebody who may command the node, at the machine
  kAccount = 3,   // of the pages
  kParty = 4,     // by a message that it signed
  kPolicy = 5,    // of the own steward; its signer says which one
};
std::string_view ActorKindName(ActorKind kind);  // "terminal"

struct Actor {
  ActorKind kind = ActorKind::kNode;
  std::string name;  // of an account, a party or a policy; else empty

  bool operator==(const Actor&) const = default;
};

// Numbers in the file: never used again for something else.
enum class AuditAction : uint8_t {
  kServe = 1,         // the node began to serve
  kProposal = 2,      // of a study
  kApproval = 3,      // subject: the party that approves
  kRejection = 4,     // subject: the party that rejects
  kWithdrawal = 5,    // of a study, or of the approval of this site
  kRunBegin = 6,      // of an attempt
  kRunEnd = 7,        // outcome: how, and whether something may have opened
  kStudyEnd = 8,      // outcome: how it ended here
  kInvitation = 9,    // subject: the site
  kPairing = 10,      // digits; outcome: agreed, or not
  kPartyListed = 11,  // by the steward's signature
  kPartyRevoked = 12,
  kStop = 13,  // emergency stop
  kGoOn = 14,
  kExport = 15,  // of a result; subject: the file
  kLogin = 16,
  kLoginFailed = 17,
  kAccountMade = 18,  // subject: the account
  kAccountDeleted = 19,
  kPasswordSet = 20,
  kPolicyRefused = 21,  // outcome: why the study fits no policy
  kPolicyEnded = 22,    // in the pages; subject: the policy
  kLogFault = 23,       // subject: the site whose log does not go on from what it told (log_days.h)
  kRestored = 24,       // of this node, from a backup
  kReopened = 25,       // the steward lets its tables be used again
  kDeleted = 26,      // of a study that is over; subject: "result", "documents" (study/retention.h)
  kWaiting = 27,      // a study, for the own steward; subject: this site
  kSigned = 28,       // by one person of two, of this site; subject: the steward, or the deputy
  kDeputyNamed = 29,  // by the steward; subject: the deputy; outcome: from when until when
  kDeputyEnded = 30,
  kBudgetsKept = 31,  // the steward lets tables be used again with what was left of their budgets
  kHeadsTold =
      32,  // to a site that was restored; subject: the site; outcome: of how many accounts and journals
  kHeadsHeard = 33,       // from another site since the own restore; subject: the site
  kDictionarySaved = 34,  // subject: the table; outcome: what changed
};
std::string_view AuditActionName(AuditAction action);  // "run-begin"
std::optional<AuditAction> AuditActionNamed(std::string_view name);
// Whether the own people say it of themselves: what no message and no state of a study shows.
bool IsNotedByPeople(AuditAction action);

struct AuditRecord {
  int64_t time = 0;  // seconds of base/utc_time.h, by the node's clock
  Actor actor;
  AuditAction action = AuditAction::kServe;
  StudyId study{};      // zero: none
  std::string subject;  // a party, an account or a file
  std::string outcome;  // one line for people; a peer may have written it
  Digest message{};     // name of the peer's message that says so; zero: none

  bool operator==(const AuditRecord&) const = default;
};

struct AuditEntry {
  uint64_t number = 0;
  Digest before{};
  AuditRecord record;

  bool operator==(const AuditEntry&) const = default;
};

// Number and digest of the newest entry; zero: there is none.
struct AuditHead {
  uint64_t number = 0;
  Digest digest{};

  bool operator==(const AuditHead&) const = default;
};

// The first entry that does not hold what the log needs.
struct AuditFault {
  uint64_t number = 0;
  std::string what;

  bool operator==(const AuditFault&) const = default;
};

// Which entries somebody wants to see; empty: all.
struct AuditFilter {
  std::optional<StudyId> study;
  std::string actor;  // a name, or the kind of one that has no name

  bool operator==(const AuditFilter&) const = default;
};

// The newest first.
struct AuditPage {
  std::vector<AuditEntry> entries;
  uint64_t next = 0;  // `before` of the next page; 0: there is none
  AuditHead head;
  std::optional<AuditFault> fault;  // of an entry of this page
};

struct AuditCheck {
  uint64_t next = 0;  // where to go on; 0: the log was looked at to its end
  std::optional<AuditFault> fault;
};

// What entries are found by: the name, or the kind of an actor without one.
std::string ActorText(const Actor& actor);

// Names and outcome are cut to what an entry takes.
AuditEntry EntryAfter(const AuditHead& head, AuditRecord record);
Bytes Encode(const AuditEntry& entry);
// Throws kBadInput for anything but what Encode writes.
AuditEntry DecodeAuditEntry(ByteView bytes);
AuditHead HeadOf(const AuditEntry& entry);

// What is wrong with an entry that should come right after `head`; empty: nothing. A digest that does not fit
// is the fault of the entry before.
std::optional<AuditFault> FaultOf(const AuditHead& head, const AuditEntry& entry);

}  // namespace partita::node
