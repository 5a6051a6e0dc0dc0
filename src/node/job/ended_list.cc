#include "node/job/ended_list.h"

#include <algorithm>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "node/study/study.h"
#include "study/approval/delegation.h"

namespace partita::node {
namespace {

// A list without policies is of version 1, one without deputies of version 1 or 2.
constexpr uint8_t kEndedListVersion = 1, kPolicyListVersion = 2, kDeputyListVersion = 3;
// A deputy ends nothing after its time; by then every study that it ended has expired a week ago.
constexpr int64_t kDeputyKeptSeconds = kMaxStudySeconds + int64_t{7} * 86'400;
constexpr int64_t kKeptSeconds = int64_t{7} * 86'400;

Error EndedListFault(const std::string& what) {
  return Error(ErrorCode::kBadInput, "the list of ended approvals is not valid: " + what,
               "The steward's folder has the newest one: let the steward sign it again.");
}

[[noreturn]] void DistrustEndedList(const std::string& what) {
  throw Error(ErrorCode::kUntrusted, "the list of ended approvals does not count: " + what,
              "Look at who can write where it lies; the steward's folder has the newest one.");
}

bool IsBefore(const EndedStudy& one, const EndedStudy& other) { return one.study < other.study; }

uint8_t VersionOf(const EndedList& list) {
  if (!list.deputies.empty()) return kDeputyListVersion;
  return list.policies.empty() ? kEndedListVersion : kPolicyListVersion;
}

Bytes EndedListFields(const EndedList& list) {
  ByteWriter writer;
  const uint8_t version = VersionOf(list);
  writer.U8(version);
  writer.String(list.owner);
  writer.U64(list.serial);
  writer.U32(static_cast<uint32_t>(list.studies.size()));
  for (const EndedStudy& study : list.studies) {
    writer.Raw(study.study);
    writer.U64(static_cast<uint64_t>(study.expires));
  }
  if (version != kEndedListVersion) writer.U32(static_cast<uint32_t>(list.policies.size()));
  for (const PublishedPolicy& policy : list.policies) {
    writer.Raw(policy.salt);
    writer.Raw(policy.key);
    writer.U64(static_cast<uint64_t>(policy.from));
    writer.U64(static_cast<uint64_t>(policy.until));
    writer.String(policy.text);
  }
  if (version == kDeputyListVersion) writer.U32(static_cast<uint32_t>(list.deputies.size()));
  for (const PublishedDeputy& deputy : list.deputies) {
    writer.Raw(deputy.key);
    writer.String(deputy.word.name);
    writer.U64(static_cast<uint64_t>(deputy.word.from));
    writer.U64(static_cast<uint64_t>(deputy.word.until));
    writer.Blob(deputy.word.signature);
  }
  return writer.Take();
}

// least: of them; a list of version 2 has one at least, so that no list has two forms.
void ReadPublishedPolicies(ByteReader& reader, EndedList& list, uint32_t least) {
  const uint32_t count = reader.U32();
  if (count < least || count > kMaxPolicies) throw EndedListFault("it has no such policies");
  for (uint32_t i = 0; i < count; ++i) {
    PublishedPolicy& policy = list.policies.emplace_back();
    policy.salt = ReadDigest(reader);
    policy.key = ReadDigest(reader);
    policy.from = static_cast<int64_t>(reader.U64());
    policy.until = static_cast<int64_t>(reader.U64());
    policy.text = reader.String(kMaxPolicyBytes);
    if (policy.from < 0 || policy.until < policy.from || policy.until > kMaxUtc)
      throw EndedListFault("a time of a policy is none");
  }
}

void ReadPublishedDeputies(ByteReader& reader, EndedList& list) {
  const uint32_t count = reader.U32();
  if (count == 0 || count > kMaxDeputies) throw EndedListFault("it has no such deputies");
  for (uint32_t i = 0; i < count; ++i) {
    PublishedDeputy deputy;
    deputy.key = ReadDigest(reader);
    deputy.word.name = reader.String(crypto::kMaxPartyName);
    deputy.word.from = static_cast<int64_t>(reader.U64());
    deputy.word.until = static_cast<int64_t>(reader.U64());
    deputy.word.signature = reader.Blob(crypto::kMaxSignatureBytes);
    if (deputy.word.from < 0 || deputy.word.until < deputy.word.from || deputy.word.until > kMaxUtc)
      throw EndedListFault("a time of a deputy is none");
    if (!crypto::IsPartyName(deputy.word.name) || FindDeputy(list, deputy.word.name) != nullptr)
      throw EndedListFault("a name of a deputy is none, or there twice");
    list.deputies.push_back(std::move(deputy));
  }
}

void RemoveOver(EndedList& list, int64_t time) {
  std::erase_if(list.deputies, [&](const PublishedDeputy& deputy) {
    return deputy.word.until < time - kDeputyKeptSeconds;
  });
  std::erase_if(list.policies, [&](const PublishedPolicy& policy) { return policy.until < time; });
}

}  // namespace

bool IsEnded(const EndedList& list, const StudyId& study) {
  return std::any_of(list.studies.begin(), list.studies.end(),
                     [&](const EndedStudy& entry) { return entry.study == study; });
}

Digest CommitmentOf(const PublishedPolicy& policy) {
  return study::PolicyCommitment(policy.salt, policy.text);
}

const PublishedPolicy* FindPolicy(const EndedList& list, const Digest& commitment) {
  for (const PublishedPolicy& policy : list.policies) {
    if (CommitmentOf(policy) == commitment) return &policy;
  }
  return nullptr;
}

EndedList WithPolicy(EndedList list, const PublishedPolicy& policy, int64_t time) {
  RemoveOver(list, time);
  ++list.serial;
  if (list.policies.size() >= kMaxPolicies || policy.text.size() > kMaxPolicyBytes) {
    throw Error(ErrorCode::kRefused, "there are too many policies, or this one is too long",
                "End one first: partita node policy end NAME");
  }
  list.policies.push_back(policy);
  return list;
}

EndedList WithoutPolicy(EndedList list, const Digest& commitment, int64_t time) {
  RemoveOver(list, time);
  ++list.serial;
  std::erase_if(list.policies,
                [&](const PublishedPolicy& policy) { return CommitmentOf(policy) == commitment; });
  return list;
}

const PublishedDeputy* FindDeputy(const EndedList& list, const std::string& name) {
  for (const PublishedDeputy& deputy : list.deputies) {
    if (deputy.word.name == name) return &deputy;
  }
  return nullptr;
}

EndedList WithDeputy(EndedList list, const PublishedDeputy& deputy, int64_t time) {
  RemoveOver(list, time);
  ++list.serial;
  if (list.deputies.size() >= kMaxDeputies) {
    throw Error(ErrorCode::kRefused, "there are too many deputies",
                "End one first: partita node deputy end NAME");
  }
  for (const PublishedDeputy& other : list.deputies) {
    if (other.word.name == deputy.word.name || other.key == deputy.key) {
      throw Error(ErrorCode::kRefused,
                  "there is a deputy " + other.word.name + ", or one of this key, already",
                  "End it first: partita node deputy end " + other.word.name);
    }
  }
  list.deputies.push_back(deputy);
  return list;
}

EndedList WithoutDeputy(EndedList list, const std::string& name, int64_t time) {
  RemoveOver(list, time);
  ++list.serial;
  std::erase_if(list.deputies,
                [&](const PublishedDeputy& deputy) { return deputy.word.name == name; });
  return list;
}

std::filesystem::path EndedFileOf(const std::filesystem::path& ended, const std::string& deputy) {
  return ended.string() + "-" + deputy;
}

int64_t EndedListTime(int64_t before, int64_t now) {
  return std::min(now, before + kEndedListStep);
}

EndedList WithEnded(EndedList list, const EndedStudy& study, int64_t time) {
  std::erase_if(list.studies,
                [&](const EndedStudy& entry) { return entry.expires < time - kKeptSeconds; });
  ++list.serial;
  if (IsEnded(list, study.study)) return list;
  if (list.studies.size() >= kMaxEndedStudies) {
    throw Error(ErrorCode::kRefused, "the list of ended approvals is full",
                "Stop the node: partita node stop. Entries go a week after their study expires.");
  }
  list.studies.insert(std::upper_bound(list.studies.begin(), list.studies.end(), study, IsBefore),
                      study);
  return list;
}

SignedEndedList SignEndedList(const EndedList& list, const crypto::Identity& steward) {
  return {list, SignFields(steward, kEndedListDomain, EndedListFields(list))};
}

Bytes Encode(const SignedEndedList& document) {
  return WithSignature(EndedListFields(document.list), document.signature);
}

SignedEndedList DecodeSignedEndedList(ByteView bytes) {
  SignedEndedList document;
  EndedList& list = document.list;
  const auto read_fields = [&list](ByteReader& reader) {
    const uint8_t version = reader.U8();
    if (version < kEndedListVersion || version > kDeputyListVersion)
      throw EndedListFault("it is of another version");
    list.owner = reader.String(crypto::kMaxPartyName);
    list.serial = reader.U64();
    const uint32_t count = reader.U32();
    if (count > kMaxEndedStudies) throw EndedListFault("it is too long");
    for (uint32_t i = 0; i < count; ++i) {
      EndedStudy& study = list.studies.emplace_back();
      study.study = ReadDigest(reader);
      study.expires = static_cast<int64_t>(reader.U64());
      if (study.expires < 0 || study.expires > kMaxUtc) throw EndedListFault("a time is none");
      if (i > 0 && !IsBefore(list.studies[i - 1], study))
        throw EndedListFault("it is not in order");
    }
    if (version == kPolicyListVersion) ReadPublishedPolicies(reader, list, 1);
    if (version == kDeputyListVersion) {
      ReadPublishedPolicies(reader, list, 0);
      ReadPublishedDeputies(reader, list);
    }
  };
  document.signature = ReadSigned(bytes, read_fields, EndedListFault("it is not whole"));
  return document;
}

void RequireEndedList(const SignedEndedList& document, std::string_view owner,
                      const std::vector<Digest>& stewards, uint64_t least) {
  if (!IsSignedBy(document.signature, stewards, kEndedListDomain, EndedListFields(document.list)))
    DistrustEndedList("it is not signed by a steward of this site");
  if (document.list.owner != owner) DistrustEndedList("it is that of " + document.list.owner);
  if (document.list.serial < least) DistrustEndedList("a newer one was signed");
}

}  // namespace partita::node
