// Studies that a steward of this site took back: the list of ended approvals.
//
// A withdrawal reaches a job as an order of the daemon, which may keep it back. Therefore the steward's
// signer writes this list, signed with the steward's key, to the file that node.toml names, and a job
// runs no study that is on it, whatever the daemon says. Serials only grow, and jobs keep the greatest
// that they have seen, so an older list that is put back is noticed.
//
// The same list publishes the policies that hold (docs/approvals.md), with their texts: a job evaluates them by
// itself. A policy that is not on it is ended, whatever its key signs. Texts stay at the own site.
//
// And it names the deputies of the steward: one that is not on it has ended, whatever its peers still believe. What a
// deputy takes back stands on a list of its own beside this one (EndedFileOf), of the same form and signed by the
// deputy's key, since nobody but the steward may write policies and deputies.
//
// An approval is valid until its study expires and no longer, so entries go a week after. By which clock:
// EndedListTime.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/certificate.h"
#include "crypto/hash.h"
#include "node/message/signed_document.h"
#include "study/approval/approval.h"

namespace partita::node {

inline constexpr char kEndedListDomain[] = "partita node ended approvals 1";
inline constexpr size_t kMaxEndedListBytes = size_t{1} << 20;
inline constexpr size_t kMaxEndedStudies = 10'000;

struct EndedStudy {
  StudyId study{};
  int64_t expires = 0;  // of the study

  bool operator==(const EndedStudy&) const = default;
};

inline constexpr size_t kMaxPolicies = 16;
inline constexpr size_t kMaxPolicyBytes = 32 << 10;

struct PublishedPolicy {
  Digest salt{};  // of the commitment (study/approval/delegation.h)
  Digest key{};   // fingerprint of its certificate
  int64_t from = 0, until = 0;
  std::string text;  // of a policy file, as the steward signed it

  bool operator==(const PublishedPolicy&) const = default;
};
Digest CommitmentOf(const PublishedPolicy& policy);

inline constexpr size_t kMaxDeputies = 16;

struct PublishedDeputy {
  Digest key{};  // fingerprint of its certificate
  study::Deputy word;

  bool operator==(const PublishedDeputy&) const = default;
};

struct EndedList {
  std::string owner;
  uint64_t serial = 0;
  std::vector<EndedStudy> studies;  // in the order of their numbers, none twice
  std::vector<PublishedPolicy> policies;
  std::vector<PublishedDeputy> deputies;  // in the order in which they were named

  bool operator==(const EndedList&) const = default;
};

struct SignedEndedList {
  EndedList list;
  Signature signature;  // of a steward
};

bool IsEnded(const EndedList& list, const StudyId& study);
// With one more, and without those that expired more than a week before `time`; the next serial. Throws
// kRefused if the list is full.
EndedList WithEnded(EndedList list, const EndedStudy& study, int64_t time);
// With one more policy, or without one, and without those that are over at `time`; the next serial. Throws kRefused
// if there are too many.
EndedList WithPolicy(EndedList list, const PublishedPolicy& policy, int64_t time);
EndedList WithoutPolicy(EndedList list, const Digest& commitment, int64_t time);
// The same of deputies; one is over when nothing that it ended can run any more. Throws kRefused, too, for a name or key
// that is there.
EndedList WithDeputy(EndedList list, const PublishedDeputy& deputy, int64_t time);
EndedList WithoutDeputy(EndedList list, const std::string& name, int64_t time);
const PublishedDeputy* FindDeputy(const EndedList& list, const std::string& name);
// Where the deputy's own list is, beside the steward's.
std::filesystem::path EndedFileOf(const std::filesystem::path& ended, const std::string& deputy);
// Null if it is ended, or never was here.
const PublishedPolicy* FindPolicy(const EndedList& list, const Digest& commitment);

// The time by which entries go: that of the clock, but not above that of the change before by more than a day. So a
// clock that is ahead for a while, however far, forgets no study that may still run; seven changes in that
// time are safe.
inline constexpr int64_t kEndedListStep = 86'400;
int64_t EndedListTime(int64_t before, int64_t now);

SignedEndedList SignEndedList(const EndedList& list, const crypto::Identity& steward);
Bytes Encode(const SignedEndedList& document);
// Throws kBadInput for anything but what Encode writes. The signature is not looked at.
SignedEndedList DecodeSignedEndedList(ByteView bytes);

// Throws kUntrusted unless one of these stewards (fingerprints) signed it for `owner`, with a serial that
// is not below `least`.
void RequireEndedList(const SignedEndedList& document, std::string_view owner,
                      const std::vector<Digest>& stewards, uint64_t least);

}  // namespace partita::node
