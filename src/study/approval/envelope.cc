#include "study/approval/envelope.h"

#include <fmt/format.h>

#include "base/utc_time.h"
#include "study/approval/admitted.h"
#include "study/approval/signed_document.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

constexpr char kEnvelopeKind[] = "partita_envelope";
constexpr char kEnvelopeDomain[] = "partita envelope v1";

// The lists in the order in which they are signed and shown.
struct ListField {
  const char* key;
  NameList Envelope::*names;
};
constexpr ListField kLists[] = {
    {"methods", &Envelope::methods},     {"protocols", &Envelope::protocols},
    {"functions", &Envelope::functions}, {"engines", &Envelope::engines},
    {"receivers", &Envelope::receivers}, {"releases", &Envelope::releases},
    {"variables", &Envelope::variables},
};

Bytes EnvelopeFields(const Envelope& envelope) {
  ByteWriter writer;
  writer.String(envelope.party);
  writer.String(envelope.name);
  for (const ListField& list : kLists) {
    writer.U64((envelope.*list.names).size());
    for (const std::string& name : envelope.*list.names) writer.String(name);
  }
  writer.U64(envelope.max_results);
  WriteDisclosure(envelope.disclosure, writer);
  writer.U64(static_cast<uint64_t>(envelope.approved_at));
  writer.U64(static_cast<uint64_t>(envelope.valid_until));
  writer.String(envelope.software_version);
  return writer.Take();
}

}  // namespace

SignedEnvelope SignEnvelope(Envelope envelope, const crypto::Identity& identity) {
  Signature signature = SignFields(identity, kEnvelopeDomain, EnvelopeFields(envelope));
  return {std::move(envelope), std::move(signature)};
}

Digest EnvelopeDigest(const Envelope& envelope) {
  ByteWriter writer;
  writer.String(kEnvelopeDomain);
  writer.Blob(EnvelopeFields(envelope));
  return crypto::Sha256Of(writer.bytes());
}

std::string RenderEnvelope(const SignedEnvelope& document) {
  const Envelope& envelope = document.envelope;
  nlohmann::ordered_json object;
  object[kEnvelopeKind] = 1;
  object["party"] = envelope.party;
  object["name"] = envelope.name;
  for (const ListField& list : kLists) object[list.key] = envelope.*list.names;
  object["max_results"] = envelope.max_results;
  AddDisclosure(envelope.disclosure, object);
  object["approved_at"] = FormatUtc(envelope.approved_at);
  object["valid_until"] = FormatUtc(envelope.valid_until);
  object["software_version"] = envelope.software_version;
  AddSignature(document.signature, object);
  return RenderObject(object);
}

SignedEnvelope ParseEnvelope(std::string_view text, std::string_view file) {
  const DocumentReader reader(text, file, kEnvelopeKind);
  SignedEnvelope document;
  Envelope& envelope = document.envelope;
  envelope.party = reader.PartyName("party");
  envelope.name = reader.StudyName("name");
  for (const ListField& list : kLists)
    envelope.*list.names = reader.Texts(list.key, kMaxEnvelopeNameBytes);
  envelope.max_results = reader.Number("max_results", 1, kMaxEnvelopeResults);
  envelope.disclosure = reader.Disclosure();
  envelope.approved_at = reader.Time("approved_at");
  envelope.valid_until = reader.Time("valid_until");
  envelope.software_version = reader.Text("software_version", kMaxVersionBytes);
  document.signature = reader.ReadSignature();
  reader.RequireForm(RenderEnvelope(document));
  return document;
}

bool IsEnvelope(std::string_view text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return object.is_object() && object.contains(kEnvelopeKind);
}

void RequireSigned(const SignedEnvelope& document, const std::string& party,
                   const std::string& fingerprint) {
  RequireSignature(document.signature, kEnvelopeDomain, EnvelopeFields(document.envelope),
                   "the envelope of party " + party, party, fingerprint);
}

void RequireValid(const Envelope& envelope, const std::string& party, int64_t now) {
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the envelope '{}' of party {} {}", envelope.name, party, what), hint);
  };
  if (envelope.party != party) {
    refuse("was made by party " + envelope.party, "Name this party's own envelope.");
  }
  if (envelope.approved_at > now + kClockSkewSeconds) {
    refuse("was made at " + FormatUtc(envelope.approved_at) + ", but here it is only " +
               FormatUtc(now),
           "Set this machine's clock right.");
  }
  if (envelope.valid_until <= now) {
    refuse("expired at " + FormatUtc(envelope.valid_until),
           "Sign a new one, or approve the study by itself.");
  }
}

void RequireInside(const StudyFile& study, const Envelope& envelope) {
  NameList found;
  for (const auto& outside : {OutsideEngines(study, envelope), OutsideReceivers(study, envelope),
                              OutsideMethods(study, envelope), OutsideProtocols(study, envelope),
                              OutsideFunctions(study, envelope), OutsideReleases(study, envelope),
                              OutsideVariables(study, envelope)})
    found.insert(found.end(), outside.begin(), outside.end());
  if (found.empty()) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("{}: outside the envelope '{}' of party {}: {}", study.file_name,
                          envelope.name, envelope.party, Join(found)),
              "Approve this study by itself, or sign a wider envelope.");
}

}  // namespace partita::study
