#include "node/job/ended_list.h"

#include <algorithm>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/signature.h"

namespace partita::node {
namespace {

constexpr uint8_t kEndedListVersion = 1;
constexpr int64_t kKeptSeconds = 86'400;

[[noreturn]] void FailEndedList(const std::string& what) {
  throw Error(ErrorCode::kBadInput, "the list of ended approvals is not valid: " + what,
              "The steward's folder has the newest one: let the steward sign it again.");
}

[[noreturn]] void DistrustEndedList(const std::string& what) {
  throw Error(ErrorCode::kUntrusted, "the list of ended approvals does not count: " + what,
              "Look at who can write where it lies; the steward's folder has the newest one.");
}

bool IsBefore(const EndedStudy& one, const EndedStudy& other) { return one.study < other.study; }

Bytes EndedListFields(const EndedList& list, const Bytes& certificate) {
  ByteWriter writer;
  writer.U8(kEndedListVersion);
  writer.String(list.owner);
  writer.U64(list.serial);
  writer.U32(static_cast<uint32_t>(list.studies.size()));
  for (const EndedStudy& study : list.studies) {
    writer.Raw(study.study);
    writer.U64(static_cast<uint64_t>(study.expires));
  }
  writer.Blob(certificate);
  return writer.Take();
}

}  // namespace

bool IsEnded(const EndedList& list, const StudyId& study) {
  return std::any_of(list.studies.begin(), list.studies.end(),
                     [&](const EndedStudy& entry) { return entry.study == study; });
}

EndedList WithEnded(EndedList list, const EndedStudy& study, int64_t now) {
  std::erase_if(list.studies,
                [&](const EndedStudy& entry) { return entry.expires < now - kKeptSeconds; });
  ++list.serial;
  if (IsEnded(list, study.study)) return list;
  if (list.studies.size() >= kMaxEndedStudies) {
    throw Error(ErrorCode::kRefused, "the list of ended approvals is full",
                "Stop the node: partita node stop. Entries go a day after their study expires.");
  }
  list.studies.insert(std::upper_bound(list.studies.begin(), list.studies.end(), study, IsBefore),
                      study);
  return list;
}

SignedEndedList SignEndedList(const EndedList& list, const crypto::Identity& steward) {
  SignedEndedList document;
  document.list = list;
  document.certificate = crypto::EncodeCertificate(*steward.certificate);
  document.signature =
      crypto::Sign(steward, kEndedListDomain, EndedListFields(list, document.certificate));
  return document;
}

Bytes Encode(const SignedEndedList& document) {
  ByteWriter writer;
  writer.Raw(EndedListFields(document.list, document.certificate));
  writer.Blob(document.signature);
  return writer.Take();
}

SignedEndedList DecodeSignedEndedList(ByteView bytes) {
  SignedEndedList document;
  EndedList& list = document.list;
  try {
    ByteReader reader(bytes);
    if (reader.U8() != kEndedListVersion) FailEndedList("it is of another version");
    list.owner = reader.String(crypto::kMaxPartyName);
    list.serial = reader.U64();
    const uint32_t count = reader.U32();
    if (count > kMaxEndedStudies) FailEndedList("it is too long");
    for (uint32_t i = 0; i < count; ++i) {
      EndedStudy& study = list.studies.emplace_back();
      const ByteView number = reader.Raw(study.study.size());
      std::copy(number.begin(), number.end(), study.study.begin());
      study.expires = static_cast<int64_t>(reader.U64());
      if (study.expires < 0 || study.expires > kMaxUtc) FailEndedList("a time is none");
      if (i > 0 && !IsBefore(list.studies[i - 1], study)) FailEndedList("it is not in order");
    }
    document.certificate = reader.Blob(crypto::kMaxCertificateBytes);
    document.signature = reader.Blob(crypto::kMaxSignatureBytes);
    reader.ExpectEnd();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kBadInput) throw;
    FailEndedList("it is not whole");
  }
  return document;
}

void RequireEndedList(const SignedEndedList& document, std::string_view owner,
                      const std::vector<Digest>& stewards, uint64_t least) {
  constexpr char kNotTheirs[] = "it is not signed by a steward of this site";
  // Its fingerprint first: nothing of a stranger's certificate is parsed.
  const Digest signer = crypto::Sha256Of(document.certificate);
  if (std::find(stewards.begin(), stewards.end(), signer) == stewards.end())
    DistrustEndedList(kNotTheirs);
  const auto certificate = crypto::DecodeCertificate(document.certificate);
  if (certificate == nullptr ||
      !crypto::VerifySignature(*certificate, kEndedListDomain,
                               EndedListFields(document.list, document.certificate),
                               document.signature))
    DistrustEndedList(kNotTheirs);
  if (document.list.owner != owner) DistrustEndedList("it is that of " + document.list.owner);
  if (document.list.serial < least) DistrustEndedList("a newer one was signed");
}

}  // namespace partita::node
