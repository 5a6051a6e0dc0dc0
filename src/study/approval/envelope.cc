#include "study/approval/envelope.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utc_time.h"
#include "study/approval/signed_document.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

constexpr char kEnvelopeKind[] = "partita_envelope";
constexpr char kEnvelopeDomain[] = "partita envelope v1";

using NameList = std::vector<std::string>;

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

// Collects what lies outside, each thing once and in the order of the study file.
class Outside {
 public:
  // what: "the engine".
  void Check(const NameList& allowed, const std::string& what, const std::string& name) {
    if (std::find(allowed.begin(), allowed.end(), name) != allowed.end()) return;
    const std::string line = what + " " + Quote(name);
    if (std::find(found_.begin(), found_.end(), line) == found_.end()) found_.push_back(line);
  }
  const NameList& found() const { return found_; }

 private:
  NameList found_;
};

// variables: of the envelope, and those derived from them.
void CheckAnalysis(const AnalysisSpec& analysis, const Envelope& envelope,
                   const NameList& variables, Outside& outside) {
  const std::string of = " of analysis '" + analysis.name + "'";
  outside.Check(envelope.methods, "the method" + of, analysis.method);
  outside.Check(envelope.protocols, "the protocol" + of, analysis.protocol);
  SectionUses uses = analysis.section->Uses();
  uses.releases.insert(uses.releases.begin(), analysis.releases.begin(), analysis.releases.end());
  for (const std::string& function : uses.functions)
    outside.Check(envelope.functions, "the function" + of, function);
  for (const ReleaseSpec& release : uses.releases)
    outside.Check(envelope.releases, "the release" + of, release.what);
  for (const ReleaseSpec& release : uses.releases) {
    if (!release.to.empty())
      outside.Check(envelope.receivers, "the receiver of a release" + of, release.to);
  }
  for (const UsedVariable& variable : uses.variables)
    outside.Check(variables, variable.as + of, variable.name);
  for (const data::Condition& condition : analysis.subset)
    outside.Check(variables, "the variable in the subset" + of, condition.variable);
}

// Whatever is in the dictionary may be read and may stand in a model, so all of it counts.
void CheckVariables(const StudyFile& study, const Envelope& envelope, Outside& outside) {
  const NameList& allowed = envelope.variables;
  for (const data::ColumnSchema& column : study.dictionary.columns) {
    outside.Check(allowed, "the variable", column.name);
    for (const std::string& read : {column.time_column, column.event_column}) {
      if (!read.empty()) outside.Check(allowed, "the column of '" + column.name + "'", read);
    }
  }
  for (const data::DerivedVariable& derived : study.derived)
    outside.Check(allowed, "the source of '" + derived.name + "'", derived.from);
  for (const data::Condition& condition : study.population.subset)
    outside.Check(allowed, "the variable in the population's subset", condition.variable);
  if (!study.design.weights.empty()) outside.Check(allowed, "the weights", study.design.weights);
  if (!study.design.cluster.empty()) outside.Check(allowed, "the cluster", study.design.cluster);
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
  Outside outside;
  outside.Check(envelope.engines, "the engine", study.engine.name);
  for (const Party& party : study.parties) {
    if (party.receiver) outside.Check(envelope.receivers, "the receiver", party.name);
  }
  // What is derived is as good as its source, which CheckVariables looks at.
  NameList variables = envelope.variables;
  for (const data::DerivedVariable& derived : study.derived) variables.push_back(derived.name);
  for (const AnalysisSpec& analysis : study.analyses)
    CheckAnalysis(analysis, envelope, variables, outside);
  CheckVariables(study, envelope, outside);
  if (outside.found().empty()) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("{}: outside the envelope '{}' of party {}: {}", study.file_name,
                          envelope.name, envelope.party, Join(outside.found())),
              "Approve this study by itself, or sign a wider envelope.");
}

}  // namespace partita::study
