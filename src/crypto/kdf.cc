#include "crypto/kdf.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <memory>

namespace partita::crypto {
namespace {

OSSL_PARAM Octets(const char* name, ByteView bytes) {
  return OSSL_PARAM_construct_octet_string(name, const_cast<uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

void Hkdf(ByteView secret, ByteView salt, ByteView info, std::span<uint8_t> out) {
  std::unique_ptr<EVP_KDF, void (*)(EVP_KDF*)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                   EVP_KDF_free);
  std::unique_ptr<EVP_KDF_CTX, void (*)(EVP_KDF_CTX*)> context(EVP_KDF_CTX_new(kdf.get()),
                                                               EVP_KDF_CTX_free);
  char digest[] = "SHA256";
  const uint8_t empty = 0;  // OpenSSL wants an address even for no bytes
  if (salt.empty()) salt = ByteView(&empty, 0);
  if (info.empty()) info = ByteView(&empty, 0);
  OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
                             Octets(OSSL_KDF_PARAM_KEY, secret), Octets(OSSL_KDF_PARAM_SALT, salt),
                             Octets(OSSL_KDF_PARAM_INFO, info), OSSL_PARAM_construct_end()};
  if (context == nullptr ||
      EVP_KDF_derive(context.get(), out.data(), out.size(), parameters) != 1) {
    throw Error(ErrorCode::kInternal, "OpenSSL cannot derive a key (HKDF-SHA256)");
  }
}

Key DeriveKey(const Key& secret, std::string_view purpose,
              std::initializer_list<ByteView> context) {
  ByteWriter info;
  info.String(purpose);
  for (ByteView field : context) info.Blob(field);
  Key key;
  Hkdf(secret.Expose(), {}, info.bytes(), key.Expose());
  return key;
}

}  // namespace partita::crypto
