// Keys under passphrases that open at once, for tests that open one a hundred times: in the programs that have this
// object, OpenSSL is asked for scrypt with N = 2 where crypto/passphrase_key.cc asks for 2^14. A file says with
// which numbers it was closed, so all else is as it is in `partita`, whose numbers crypto/passphrase_key_test.cc holds.
#include <dlfcn.h>
#include <openssl/x509.h>

extern "C" X509_ALGOR* PKCS5_pbe2_set_scrypt(const EVP_CIPHER* cipher, const unsigned char* salt,
                                             int salt_length, unsigned char* iv, uint64_t, uint64_t,
                                             uint64_t) {
  using Function = decltype(&PKCS5_pbe2_set_scrypt);
  static const auto openssl = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "PKCS5_pbe2_set_scrypt"));
  return openssl(cipher, salt, salt_length, iv, 2, 1, 1);
}
