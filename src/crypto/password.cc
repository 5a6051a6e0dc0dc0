#include "crypto/password.h"

#include <sodium.h>

#include "base/error.h"

namespace partita::crypto {

std::string HashPassword(std::string_view password) {
  char hash[crypto_pwhash_STRBYTES];
  if (sodium_init() < 0 ||
      crypto_pwhash_str_alg(hash, password.data(), password.size(),
                            crypto_pwhash_OPSLIMIT_INTERACTIVE, crypto_pwhash_MEMLIMIT_INTERACTIVE,
                            crypto_pwhash_ALG_ARGON2ID13) != 0)
    throw Error(ErrorCode::kInternal, "a password cannot be hashed: memory is short");
  return hash;
}

bool IsPasswordOf(std::string_view password, const std::string& hash) {
  return sodium_init() >= 0 &&
         crypto_pwhash_str_verify(hash.c_str(), password.data(), password.size()) == 0;
}

}  // namespace partita::crypto
