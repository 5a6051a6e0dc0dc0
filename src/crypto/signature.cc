#include "crypto/signature.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <string>

namespace partita::crypto {
namespace {

using Context = std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)>;

enum class Scheme { kNone, kEd25519, kEcdsaP256 };

Scheme SchemeOf(const EVP_PKEY* key) {
  if (key == nullptr) return Scheme::kNone;
  if (EVP_PKEY_is_a(key, "ED25519") == 1) return Scheme::kEd25519;
  char group[32];
  size_t length = 0;
  const bool p256 = EVP_PKEY_is_a(key, "EC") == 1 &&
                    EVP_PKEY_get_group_name(key, group, sizeof group, &length) == 1 &&
                    std::string_view(group, length) == "prime256v1";
  return p256 ? Scheme::kEcdsaP256 : Scheme::kNone;
}

// Ed25519 hashes by itself.
const EVP_MD* DigestOf(Scheme scheme) {
  return scheme == Scheme::kEcdsaP256 ? EVP_sha256() : nullptr;
}

Bytes SignedBytes(std::string_view domain, ByteView message) {
  ByteWriter writer;
  writer.String("partita signature v1");
  writer.String(domain);
  writer.Blob(message);
  return writer.Take();
}

Context NewContext() {
  Context context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  if (context == nullptr) throw Error(ErrorCode::kInternal, "OpenSSL is out of memory");
  return context;
}

}  // namespace

Bytes Sign(const Identity& identity, std::string_view domain, ByteView message) {
  const Scheme scheme = SchemeOf(identity.key.get());
  if (scheme == Scheme::kNone) {
    throw Error(
        ErrorCode::kBadInput, "the private key is not of a kind that signs approvals",
        "Make an Ed25519 key with 'partita cert new', and give the others its certificate.");
  }
  const Bytes bytes = SignedBytes(domain, message);
  const Context context = NewContext();
  Bytes signature(kMaxSignatureBytes);
  size_t size = signature.size();
  if (EVP_DigestSignInit(context.get(), nullptr, DigestOf(scheme), nullptr, identity.key.get()) !=
          1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, bytes.data(), bytes.size()) != 1) {
    ERR_clear_error();
    throw Error(ErrorCode::kInternal, "OpenSSL cannot sign with this party's key");
  }
  signature.resize(size);
  return signature;
}

bool VerifySignature(const x509_st& certificate, std::string_view domain, ByteView message,
                     ByteView signature) {
  EVP_PKEY* key = X509_get0_pubkey(&certificate);
  const Scheme scheme = SchemeOf(key);
  if (scheme == Scheme::kNone || signature.empty()) return false;
  const Bytes bytes = SignedBytes(domain, message);
  const Context context = NewContext();
  const bool good =
      EVP_DigestVerifyInit(context.get(), nullptr, DigestOf(scheme), nullptr, key) == 1 &&
      EVP_DigestVerify(context.get(), signature.data(), signature.size(), bytes.data(),
                       bytes.size()) == 1;
  ERR_clear_error();
  return good;
}

Bytes EncodeCertificate(const x509_st& certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(&certificate, &der);
  if (size <= 0) throw Error(ErrorCode::kInternal, "OpenSSL cannot encode a certificate");
  Bytes bytes(der, der + size);
  OPENSSL_free(der);
  if (bytes.size() > kMaxCertificateBytes) {
    throw Error(ErrorCode::kBadInput,
                "the certificate has " + std::to_string(bytes.size()) + " bytes, more than the " +
                    std::to_string(kMaxCertificateBytes) + " that an approval has room for",
                "Use a certificate that 'partita cert new' made.");
  }
  return bytes;
}

std::shared_ptr<x509_st> DecodeCertificate(ByteView der) {
  if (der.empty() || der.size() > kMaxCertificateBytes) return nullptr;
  const unsigned char* next = der.data();
  const std::shared_ptr<X509> certificate(d2i_X509(nullptr, &next, static_cast<long>(der.size())),
                                          X509_free);
  ERR_clear_error();
  return next == der.data() + der.size() ? certificate : nullptr;
}

}  // namespace partita::crypto
