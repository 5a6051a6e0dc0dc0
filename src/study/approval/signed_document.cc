#include "study/approval/signed_document.h"

#include <algorithm>

#include "base/utc_time.h"
#include "crypto/signature.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

constexpr char kHint[] = "use the file exactly as partita wrote it";
constexpr size_t kMaxStudyName = 64;

Bytes SignedBytes(ByteView fields, ByteView certificate) {
  ByteWriter writer;
  writer.Blob(fields);
  writer.Blob(certificate);
  return writer.Take();
}

}  // namespace

DocumentReader::DocumentReader(std::string_view text, std::string_view file,
                               const std::string& kind, uint64_t format)
    : text_(text), file_(file) {
  object_ = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object_.is_object()) Fail("it is not a JSON object");
  if (!object_.contains(kind)) Fail("it has no key '" + kind + "'");
  if (Number(kind, 0, UINT64_MAX) != format)
    Fail("its format is not " + std::to_string(format) + ", the one that is read here");
}

void DocumentReader::Fail(const std::string& what) const {
  throw Error(ErrorCode::kBadInput, file_ + ": " + what, kHint);
}

const nlohmann::json& DocumentReader::Get(const std::string& key) const {
  const auto found = object_.find(key);
  if (found == object_.end()) Fail("it has no key '" + key + "'");
  return *found;
}

std::string DocumentReader::Text(const std::string& key, size_t max_bytes) const {
  const nlohmann::json& value = Get(key);
  if (!value.is_string()) Fail("'" + key + "' is not text");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > max_bytes || HasControl(text)) Fail("'" + key + "' is no text that fits here");
  return text;
}

std::string DocumentReader::LongText(const std::string& key, size_t max_bytes) const {
  const nlohmann::json& value = Get(key);
  if (!value.is_string()) Fail("'" + key + "' is not text");
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() > max_bytes) Fail("'" + key + "' is no text that fits here");
  return text;
}

std::string DocumentReader::PartyName(const std::string& key) const {
  std::string name = Text(key, crypto::kMaxPartyName);
  if (!crypto::IsPartyName(name)) Fail("'" + key + "' is not the name of a party");
  return name;
}

std::string DocumentReader::StudyName(const std::string& key) const {
  std::string name = Text(key, kMaxStudyName);
  const bool good = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (name.empty() || name[0] == '-' || !good) Fail("'" + key + "' is not the name of a study");
  return name;
}

std::vector<std::string> DocumentReader::Texts(const std::string& key, size_t max_bytes) const {
  const nlohmann::json& value = Get(key);
  if (!value.is_array()) Fail("'" + key + "' is not a list of texts");
  std::vector<std::string> texts;
  for (const nlohmann::json& item : value) {
    if (!item.is_string()) Fail("'" + key + "' is not a list of texts");
    const auto& text = item.get_ref<const std::string&>();
    if (text.empty() || text.size() > max_bytes || HasControl(text))
      Fail("'" + key + "' has a text that does not fit here");
    texts.push_back(text);
  }
  return texts;
}

uint64_t DocumentReader::Number(const std::string& key, uint64_t least, uint64_t most) const {
  const nlohmann::json& value = Get(key);
  if (!value.is_number_unsigned() || value.get<uint64_t>() < least || value.get<uint64_t>() > most)
    Fail("'" + key + "' is not a whole number from " + std::to_string(least) + " to " +
         std::to_string(most));
  return value.get<uint64_t>();
}

bool DocumentReader::Bool(const std::string& key) const {
  const nlohmann::json& value = Get(key);
  if (!value.is_boolean()) Fail("'" + key + "' is neither true nor false");
  return value.get<bool>();
}

bool DocumentReader::IsNull(const std::string& key) const { return Get(key).is_null(); }

int64_t DocumentReader::Time(const std::string& key) const {
  const auto time = ParseUtc(Text(key, 32));
  if (!time) Fail("'" + key + "' is not a time such as 2026-09-01T12:00:00Z");
  return *time;
}

Bytes DocumentReader::Hex(const std::string& key, size_t max_bytes) const {
  const std::string text = Text(key, 2 * max_bytes);
  try {
    return FromHex(text);
  } catch (const Error&) {
    Fail("'" + key + "' is not in hexadecimal digits");
  }
}

Digest DocumentReader::Hash(const std::string& key) const {
  Digest digest{};
  if (Get(key).is_null()) return digest;
  const Bytes bytes = Hex(key, digest.size());
  if (bytes.size() != digest.size()) Fail("'" + key + "' is not a hash of 64 hexadecimal digits");
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

DisclosureSpec DocumentReader::Disclosure() const {
  return {Number("min_cell", 0, kMaxThreshold), Number("min_rows", 0, kMaxThreshold),
          Bool("refuse_small_samples")};
}

Signature DocumentReader::ReadSignature() const {
  return {Hex("certificate", crypto::kMaxCertificateBytes),
          Hex("signature", crypto::kMaxSignatureBytes)};
}

void DocumentReader::RequireForm(std::string_view rendered) const {
  const auto trimmed = [](std::string_view text) {
    return text.substr(0, text.find_last_not_of(" \r\n") + 1);
  };
  if (trimmed(text_) != trimmed(rendered)) Fail("it is not in the form in which it was written");
}

nlohmann::json HashJson(const Digest& digest) {
  if (digest == Digest{}) return nullptr;
  return ToHex(digest);
}

void AddDisclosure(const DisclosureSpec& disclosure, nlohmann::ordered_json& object) {
  object["min_cell"] = disclosure.min_cell;
  object["min_rows"] = disclosure.min_rows;
  object["refuse_small_samples"] = disclosure.refuse_small_samples;
}

void AddSignature(const Signature& signature, nlohmann::ordered_json& object) {
  object["certificate"] = ToHex(signature.certificate);
  object["signature"] = ToHex(signature.signature);
}

std::string RenderObject(const nlohmann::ordered_json& object) { return object.dump(2) + "\n"; }

void WriteDisclosure(const DisclosureSpec& disclosure, ByteWriter& writer) {
  writer.U64(disclosure.min_cell);
  writer.U64(disclosure.min_rows);
  writer.U8(disclosure.refuse_small_samples ? 1 : 0);
}

Signature SignFields(const crypto::Identity& identity, std::string_view domain, ByteView fields) {
  Signature signature;
  signature.certificate = crypto::EncodeCertificate(*identity.certificate);
  signature.signature = crypto::Sign(identity, domain, SignedBytes(fields, signature.certificate));
  return signature;
}

void RequireSignature(const Signature& signature, std::string_view domain, ByteView fields,
                      const std::string& what, const std::string& party,
                      const std::string& fingerprint) {
  const auto refuse = [](const std::string& message, const std::string& hint) {
    throw Error(ErrorCode::kRefused, message, hint);
  };
  if (signature.certificate.empty() || signature.signature.empty()) {
    refuse(what + " is not signed",
           "Only what partita signed counts, such as what 'partita study approve' writes.");
  }
  const auto certificate = crypto::DecodeCertificate(signature.certificate);
  if (certificate == nullptr) {
    refuse(what + " carries no readable certificate",
           "Let that party sign again or approve again.");
  }
  if (const auto problem = crypto::CertificateProblem(*certificate, party, fingerprint)) {
    refuse(what + " was signed with a certificate that does not count: " + *problem,
           "Compare fingerprints over another way, correct the roster, and sign or approve again "
           "with the "
           "right key.");
  }
  if (!crypto::VerifySignature(*certificate, domain, SignedBytes(fields, signature.certificate),
                               signature.signature)) {
    refuse("the signature of " + what + " is wrong: it was changed after it was signed",
           "Let that party sign again or approve again, and find out who changed the file.");
  }
}

}  // namespace partita::study
