#include "study/approval/persons.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/signature.h"
#include "study/approval/signed_document.h"

namespace partita::study {
namespace {

constexpr char kDeputyDomain[] = "partita node deputy 1";
constexpr char kSecondDomain[] = "partita approval second 1";

Bytes DeputyFields(const std::string& party, const Digest& key, const Deputy& deputy) {
  ByteWriter writer;
  writer.String(party);
  writer.String(deputy.name);
  writer.Raw(key);
  writer.U64(static_cast<uint64_t>(deputy.from));
  writer.U64(static_cast<uint64_t>(deputy.until));
  return writer.Take();
}

Bytes SecondFields(const Approval& approval, int64_t at) {
  ByteWriter writer;
  writer.Raw(ApprovalDigest(approval));
  writer.U64(static_cast<uint64_t>(at));
  return writer.Take();
}

[[noreturn]] void RefusePerson(const std::string& party, const std::string& what) {
  throw Error(ErrorCode::kRefused, fmt::format("the approval of party {} {}", party, what),
              "Let the steward of that party sign.");
}

std::string NameOf(const std::optional<Deputy>& deputy) {
  return deputy ? deputy->name : kStewardName;
}

bool IsSigned(const Signature& signature) { return !signature.certificate.empty(); }

bool NeedsSteward(const SignedApproval& document) {
  return document.deputy && (!document.second || document.second->deputy);
}

void AddDeputy(const Deputy& deputy, const std::string& kind, const std::string& word,
               nlohmann::ordered_json& object) {
  object[kind + "_from"] = FormatUtc(deputy.from);
  object[kind + "_until"] = FormatUtc(deputy.until);
  object[word] = ToHex(deputy.signature);
}

Deputy ReadDeputy(const DocumentReader& reader, const std::string& name, const std::string& kind,
                  const std::string& word) {
  if (!crypto::IsPartyName(name)) reader.Fail("the name of a deputy is none");
  Deputy deputy;
  deputy.name = name;
  deputy.from = reader.Time(kind + "_from");
  deputy.until = reader.Time(kind + "_until");
  deputy.signature = reader.Hex(word, crypto::kMaxSignatureBytes);
  return deputy;
}

// The fingerprint of the key by which this person has to have signed.
std::string KeyOfPerson(const SignedApproval& document, const Signature& signature,
                        const std::optional<Deputy>& deputy, int64_t at, const std::string& party,
                        const std::string& fingerprint) {
  if (!deputy) return fingerprint;
  const Digest key = crypto::Sha256Of(signature.certificate);
  const std::string who = "by the deputy " + deputy->name;
  RequireSignature(
      {StewardCertificate(document), deputy->signature}, kDeputyDomain,
      DeputyFields(party, key, *deputy),
      fmt::format("the steward's word of party {} for its deputy {}", party, deputy->name), party,
      fingerprint);
  if (ToHex(key) == fingerprint) RefusePerson(party, who + " is signed by the steward's own key");
  if (deputy->until - deputy->from > kMaxDeputySeconds)
    RefusePerson(party, who + " is by one for more than a year");
  if (at < deputy->from || at > deputy->until) {
    RefusePerson(party,
                 fmt::format("{} was signed at {}, and that deputy signs from {} until {}", who,
                             FormatUtc(at), FormatUtc(deputy->from), FormatUtc(deputy->until)));
  }
  return ToHex(key);
}

void RequireFirst(const SignedApproval& document, const std::string& party,
                  const std::string& fingerprint, std::string_view domain, ByteView fields) {
  const std::string key = KeyOfPerson(document, document.signature, document.deputy,
                                      document.approval.approved_at, party, fingerprint);
  RequireSignature(document.signature, domain, fields, "the approval of party " + party, party,
                   key);
}

}  // namespace

Deputy SignDeputy(const std::string& party, const std::string& name, const Digest& key,
                  int64_t from, int64_t until, const crypto::Identity& steward) {
  Deputy deputy{name, from, until, {}};
  deputy.signature = SignFields(steward, kDeputyDomain, DeputyFields(party, key, deputy)).signature;
  return deputy;
}

bool IsDeputyOf(const Deputy& deputy, const std::string& party, const Digest& key,
                const x509_st& steward) {
  try {
    RequireSignature({crypto::EncodeCertificate(steward), deputy.signature}, kDeputyDomain,
                     DeputyFields(party, key, deputy), "a deputy", party,
                     crypto::Fingerprint(steward));
    return true;
  } catch (const Error&) {
    return false;
  }
}

const Bytes& StewardCertificate(const SignedApproval& document) {
  if (document.delegation) return document.delegation->signature.certificate;
  if (!document.deputy) return document.signature.certificate;
  if (document.second && !document.second->deputy) return document.second->signature.certificate;
  return document.steward_certificate;
}

SignedApproval SignSecond(SignedApproval document, const crypto::Identity& identity, int64_t at,
                          std::optional<Deputy> deputy) {
  Signature signature = SignFields(identity, kSecondDomain, SecondFields(document.approval, at));
  document.second = {at, std::move(signature), std::move(deputy)};
  if (!NeedsSteward(document)) document.steward_certificate.clear();
  return document;
}

std::vector<std::string> WhoSigned(const SignedApproval& document) {
  std::vector<std::string> names;
  if (document.delegation || !IsSigned(document.signature)) return names;
  names.push_back(NameOf(document.deputy));
  if (document.second) names.push_back(NameOf(document.second->deputy));
  return names;
}

std::vector<std::string> WhoSigned(std::string_view text) {
  try {
    return WhoSigned(ParseApproval(text, "an approval"));
  } catch (const Error&) {
    return {};
  }
}

bool NamesPersons(const SignedApproval& document) {
  return document.approval.stewards != 1 || document.deputy || document.second;
}

bool NamesPersons(std::string_view text) {
  const nlohmann::json object = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return object.is_object() && object.contains("stewards");
}

void AddPersons(const SignedApproval& document, nlohmann::ordered_json& object) {
  object["stewards"] = document.approval.stewards;
  object["deputy"] = document.deputy ? document.deputy->name : "";
  if (document.deputy) AddDeputy(*document.deputy, "deputy", "deputy_signature", object);
  object["second"] = nullptr;
  if (const auto& second = document.second) {
    object["second"] = second->deputy ? second->deputy->name : "";
    if (second->deputy) AddDeputy(*second->deputy, "second", "second_word", object);
    object["second_at"] = FormatUtc(second->at);
    object["second_certificate"] = ToHex(second->signature.certificate);
    object["second_signature"] = ToHex(second->signature.signature);
  }
  if (NeedsSteward(document)) object["steward_certificate"] = ToHex(document.steward_certificate);
}

void ReadPersons(const DocumentReader& reader, SignedApproval& document) {
  document.approval.stewards = reader.Number("stewards", 1, kMostStewards);
  if (const std::string name = reader.Text("deputy", kMaxDeputyName); !name.empty())
    document.deputy = ReadDeputy(reader, name, "deputy", "deputy_signature");
  if (!reader.IsNull("second")) {
    SecondSignature& second = document.second.emplace();
    if (const std::string name = reader.Text("second", kMaxDeputyName); !name.empty())
      second.deputy = ReadDeputy(reader, name, "second", "second_word");
    second.at = reader.Time("second_at");
    second.signature.certificate = reader.Hex("second_certificate", crypto::kMaxCertificateBytes);
    second.signature.signature = reader.Hex("second_signature", crypto::kMaxSignatureBytes);
  }
  if (NeedsSteward(document)) {
    document.steward_certificate = reader.Hex("steward_certificate", crypto::kMaxCertificateBytes);
  }
}

void RequirePersons(const SignedApproval& document, const std::string& party,
                    const std::string& fingerprint, std::string_view domain, ByteView fields) {
  RequireFirst(document, party, fingerprint, domain, fields);
  const auto& second = document.second;
  if (document.approval.stewards == 1 && !second) return;
  if (document.approval.stewards == 1)
    RefusePerson(party, "has a second signature, which it does not ask for");
  if (!second) RefusePerson(party, "is signed by one person and asks for two");
  const std::string key =
      KeyOfPerson(document, second->signature, second->deputy, second->at, party, fingerprint);
  RequireSignature(second->signature, kSecondDomain, SecondFields(document.approval, second->at),
                   "the second signature under the approval of party " + party, party, key);
  if (second->signature.certificate == document.signature.certificate ||
      NameOf(second->deputy) == NameOf(document.deputy))
    RefusePerson(party, "is signed by one person twice");
}

void RequireFirstPerson(const SignedApproval& document, const std::string& party,
                        const std::string& fingerprint, std::string_view domain, ByteView fields) {
  if (document.approval.stewards == 1 || document.second)
    RefusePerson(party, "does not wait for a second signature");
  RequireFirst(document, party, fingerprint, domain, fields);
}

}  // namespace partita::study
