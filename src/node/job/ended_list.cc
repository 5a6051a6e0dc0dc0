#include "node/job/ended_list.h"

#include <algorithm>

#include "base/error.h"
#include "base/utc_time.h"

namespace partita::node {
namespace {

constexpr uint8_t kEndedListVersion = 1;
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

Bytes EndedListFields(const EndedList& list) {
  ByteWriter writer;
  writer.U8(kEndedListVersion);
  writer.String(list.owner);
  writer.U64(list.serial);
  writer.U32(static_cast<uint32_t>(list.studies.size()));
  for (const EndedStudy& study : list.studies) {
    writer.Raw(study.study);
    writer.U64(static_cast<uint64_t>(study.expires));
  }
  return writer.Take();
}

}  // namespace

bool IsEnded(const EndedList& list, const StudyId& study) {
  return std::any_of(list.studies.begin(), list.studies.end(),
                     [&](const EndedStudy& entry) { return entry.study == study; });
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
    if (reader.U8() != kEndedListVersion) throw EndedListFault("it is of another version");
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
