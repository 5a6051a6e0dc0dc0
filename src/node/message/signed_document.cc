#include "node/message/signed_document.h"

#include <algorithm>

#include "crypto/signature.h"

namespace partita::node {
namespace {

Bytes SignedPart(const Bytes& fields, const Bytes& certificate) {
  ByteWriter writer;
  writer.Raw(fields);
  writer.Blob(certificate);
  return writer.Take();
}

}  // namespace

Signature SignFields(const crypto::Identity& signer, std::string_view domain, const Bytes& fields) {
  Signature signature;
  signature.certificate = crypto::EncodeCertificate(*signer.certificate);
  signature.signature = crypto::Sign(signer, domain, SignedPart(fields, signature.certificate));
  return signature;
}

bool IsSignedBy(const Signature& signature, const std::vector<Digest>& keys,
                std::string_view domain, const Bytes& fields) {
  // The fingerprint first: nothing of a stranger's certificate is parsed.
  const Digest key = crypto::Sha256Of(signature.certificate);
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) return false;
  const auto certificate = crypto::DecodeCertificate(signature.certificate);
  return certificate != nullptr &&
         crypto::VerifySignature(*certificate, domain, SignedPart(fields, signature.certificate),
                                 signature.signature);
}

Bytes WithSignature(const Bytes& fields, const Signature& signature) {
  ByteWriter writer;
  writer.Raw(SignedPart(fields, signature.certificate));
  writer.Blob(signature.signature);
  return writer.Take();
}

Signature ReadSigned(ByteView bytes, const std::function<void(ByteReader&)>& read_fields,
                     const Error& not_whole) {
  Signature signature;
  try {
    ByteReader reader(bytes);
    read_fields(reader);
    signature.certificate = reader.Blob(crypto::kMaxCertificateBytes);
    signature.signature = reader.Blob(crypto::kMaxSignatureBytes);
    reader.ExpectEnd();
  } catch (const Error& error) {
    // What a reader of bytes says of missing ones.
    if (error.code() == ErrorCode::kPeerFault) throw not_whole;
    throw;
  }
  return signature;
}

Digest ReadDigest(ByteReader& reader) {
  Digest digest{};
  const ByteView bytes = reader.Raw(digest.size());
  std::copy(bytes.begin(), bytes.end(), digest.begin());
  return digest;
}

}  // namespace partita::node
