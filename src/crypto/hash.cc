#include "crypto/hash.h"

#include <openssl/evp.h>

namespace partita::crypto {
namespace {

void CheckHash(int result) {
  if (result != 1) throw Error(ErrorCode::kInternal, "OpenSSL cannot compute SHA-256");
}

// Fetched once: what EVP_sha256() gives is looked up by its name at every start, which takes several
// times as long as hashing a few dozen bytes.
const EVP_MD* Algorithm() {
  static const EVP_MD* const algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  if (algorithm == nullptr) throw Error(ErrorCode::kInternal, "OpenSSL has no SHA-256");
  return algorithm;
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  if (context_ == nullptr) throw Error(ErrorCode::kInternal, "OpenSSL is out of memory");
  CheckHash(EVP_DigestInit_ex(context_.get(), Algorithm(), nullptr));
}

Sha256::~Sha256() = default;

Sha256& Sha256::Update(ByteView bytes) {
  CheckHash(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
  return *this;
}

Sha256& Sha256::Field(ByteView bytes) { return U64(bytes.size()).Update(bytes); }

Sha256& Sha256::U64(uint64_t value) {
  std::array<uint8_t, 8> raw{};
  for (size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<uint8_t>(value >> (8 * i));
  return Update(raw);
}

Digest Sha256::Finish() {
  Digest digest;
  CheckHash(EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr));
  // The same algorithm again: named, it would be looked up among engines under a lock.
  CheckHash(EVP_DigestInit_ex(context_.get(), nullptr, nullptr));
  return digest;
}

Digest Sha256Of(ByteView bytes) {
  Sha256 hash;
  return hash.Update(bytes).Finish();
}

}  // namespace partita::crypto
