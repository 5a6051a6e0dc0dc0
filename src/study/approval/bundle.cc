#include "study/approval/bundle.h"

#include "base/utc_time.h"
#include "study/approval/signed_document.h"

namespace partita::study {
namespace {

constexpr char kBundleKind[] = "partita_bundle";
constexpr char kBundleDomain[] = "partita bundle v1";

Bytes BundleFields(const Bundle& bundle) {
  ByteWriter writer;
  writer.String(bundle.party);
  writer.String(bundle.study);
  writer.U64(static_cast<uint64_t>(bundle.made_at));
  writer.String(bundle.study_file);
  writer.String(bundle.roster);
  return writer.Take();
}

}  // namespace

SignedBundle SignBundle(Bundle bundle, const crypto::Identity& identity) {
  Signature signature = SignFields(identity, kBundleDomain, BundleFields(bundle));
  return {std::move(bundle), std::move(signature)};
}

std::string RenderBundle(const SignedBundle& document) {
  const Bundle& bundle = document.bundle;
  nlohmann::ordered_json object;
  object[kBundleKind] = 1;
  object["party"] = bundle.party;
  object["study"] = bundle.study;
  object["made_at"] = FormatUtc(bundle.made_at);
  object["study_file"] = bundle.study_file;
  object["roster"] = bundle.roster;
  AddSignature(document.signature, object);
  return RenderObject(object);
}

SignedBundle ParseBundle(std::string_view text, std::string_view file) {
  const DocumentReader reader(text, file, kBundleKind);
  SignedBundle document;
  Bundle& bundle = document.bundle;
  bundle.party = reader.PartyName("party");
  bundle.study = reader.StudyName("study");
  bundle.made_at = reader.Time("made_at");
  bundle.study_file = reader.LongText("study_file", kMaxStudyFileBytes);
  bundle.roster = reader.LongText("roster", kMaxRosterBytes);
  document.signature = reader.ReadSignature();
  reader.RequireForm(RenderBundle(document));
  return document;
}

void RequireSigned(const SignedBundle& document, const std::string& fingerprint) {
  const std::string& party = document.bundle.party;
  RequireSignature(document.signature, kBundleDomain, BundleFields(document.bundle),
                   "the bundle of party " + party, party, fingerprint);
}

}  // namespace partita::study
