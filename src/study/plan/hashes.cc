#include "study/plan/hashes.h"

#include <algorithm>

namespace partita::study {
namespace {

// The domain keeps the three kinds of hashes apart.
ByteWriter Begin(std::string_view domain) {
  ByteWriter writer;
  writer.String(domain);
  return writer;
}

void WriteIdentity(const StudyIdentity& identity, ByteWriter& writer) {
  writer.U32(identity.wire_version);
  writer.String(identity.method);
  writer.U32(identity.method_version);
  writer.String(identity.study_text);
  writer.U64(identity.parties.size());
  for (const PartyIdentity& party : identity.parties) {
    writer.String(party.name);
    writer.Blob(party.schema);
    writer.String(party.fingerprint);
  }
  // What follows otherwise is a commitment of 32 bytes, or nothing.
  const bool stewards =
      std::any_of(identity.parties.begin(), identity.parties.end(),
                  [](const PartyIdentity& party) { return !party.steward.empty(); });
  if (!stewards) return;
  writer.String("stewards");
  for (const PartyIdentity& party : identity.parties) writer.String(party.steward);
}

}  // namespace

Digest AgreementHash(const StudyIdentity& identity) {
  ByteWriter writer = Begin("partita study file");
  WriteIdentity(identity, writer);
  return crypto::Sha256Of(writer.bytes());
}

Digest StudyHash(const StudyIdentity& identity, std::span<const Digest> commitments) {
  if (commitments.size() != identity.parties.size()) {
    throw Error(ErrorCode::kInternal, "one snapshot commitment per party is needed");
  }
  ByteWriter writer = Begin("partita study");
  WriteIdentity(identity, writer);
  for (const Digest& commitment : commitments) writer.Blob(commitment);
  return crypto::Sha256Of(writer.bytes());
}

Digest PlanHash(const Plan& plan) {
  ByteWriter writer = Begin("partita plan");
  writer.Blob(NormativeBytes(plan));
  return crypto::Sha256Of(writer.bytes());
}

}  // namespace partita::study
