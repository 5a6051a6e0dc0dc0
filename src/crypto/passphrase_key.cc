#include "crypto/passphrase_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/files.h"

namespace partita::crypto {
namespace {

namespace fs = std::filesystem;

using PassphraseBio = std::unique_ptr<BIO, void (*)(BIO*)>;

constexpr uint64_t kScryptN = 1 << 14, kScryptR = 8, kScryptP = 5;
constexpr char kPassphraseExists[] =
    "choose another folder, or move the old key away first: nothing is overwritten";

void CheckPassphrase(std::string_view passphrase) {
  if (passphrase.size() >= kMinPassphrase && passphrase.size() <= kMaxPassphrase) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("a passphrase has {} to {} characters", kMinPassphrase, kMaxPassphrase),
              "Take several words that do not belong together.");
}

// Null if OpenSSL has no memory, or not the algorithms.
std::shared_ptr<X509_SIG> UnderPassphrase(evp_pkey_st& key, std::string_view passphrase) {
  const std::shared_ptr<PKCS8_PRIV_KEY_INFO> info(EVP_PKEY2PKCS8(&key), PKCS8_PRIV_KEY_INFO_free);
  if (info == nullptr) return nullptr;
  X509_ALGOR* algorithm =
      PKCS5_pbe2_set_scrypt(EVP_aes_256_cbc(), nullptr, 0, nullptr, kScryptN, kScryptR, kScryptP);
  if (algorithm == nullptr) return nullptr;
  X509_SIG* closed =
      PKCS8_set0_pbe(passphrase.data(), static_cast<int>(passphrase.size()), info.get(), algorithm);
  if (closed == nullptr) X509_ALGOR_free(algorithm);
  return {closed, X509_SIG_free};
}

std::string PemOf(const X509_SIG& closed) {
  const PassphraseBio bio(BIO_new(BIO_s_mem()), BIO_free_all);
  if (bio == nullptr || PEM_write_bio_PKCS8(bio.get(), const_cast<X509_SIG*>(&closed)) != 1)
    return {};
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

int GivePassphrase(char* buffer, int size, int, void* argument) {
  const auto& passphrase = *static_cast<const std::string_view*>(argument);
  const size_t length = std::min(passphrase.size(), static_cast<size_t>(size));
  std::memcpy(buffer, passphrase.data(), length);
  return static_cast<int>(length);
}

}  // namespace

void SavePassphraseIdentity(const Identity& identity, const fs::path& certificate_file,
                            const fs::path& key_file, std::string_view passphrase) {
  CheckPassphrase(passphrase);
  const std::shared_ptr<X509_SIG> closed = UnderPassphrase(*identity.key, passphrase);
  const std::string pem = closed == nullptr ? "" : PemOf(*closed);
  if (pem.empty()) {
    ERR_clear_error();
    throw Error(ErrorCode::kInternal, "OpenSSL cannot encrypt a key");
  }
  WriteNewFile(key_file, pem, 0600, "the private key", kPassphraseExists);
  try {
    WriteNewFile(certificate_file, FormatCertificate(*identity.certificate), 0644,
                 "the certificate", kPassphraseExists);
  } catch (const Error&) {
    unlink(key_file.c_str());  // made a moment ago, useless alone
    throw;
  }
}

Identity LoadPassphraseIdentity(const fs::path& certificate_file, const fs::path& key_file,
                                std::string_view passphrase) {
  Identity identity;
  identity.certificate = LoadCertificate(certificate_file);
  struct stat status {};
  if (stat(key_file.c_str(), &status) != 0) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("cannot open the private key {}", key_file.string()),
                "Name the folder of the steward's key.");
  }
  CheckKeyFile(status, geteuid(), key_file);
  const std::string pem = ReadFile(key_file, 8192, "the private key");
  if (pem.find("BEGIN ENCRYPTED PRIVATE KEY") == std::string::npos) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the private key {} is under no passphrase", key_file.string()),
                "Make a steward's key with 'partita node steward'.");
  }
  const PassphraseBio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free_all);
  if (bio != nullptr) {
    identity.key = {PEM_read_bio_PrivateKey(bio.get(), nullptr, GivePassphrase, &passphrase),
                    EVP_PKEY_free};
  }
  if (identity.key == nullptr) {
    ERR_clear_error();
    throw Error(ErrorCode::kRefused, "the passphrase is wrong, or the key's file is damaged",
                "Type it again.");
  }
  if (X509_check_private_key(identity.certificate.get(), identity.key.get()) != 1) {
    ERR_clear_error();
    throw Error(ErrorCode::kBadInput,
                fmt::format("the private key {} does not belong to the certificate {}",
                            key_file.string(), certificate_file.string()),
                "Use the two files that were made together.");
  }
  return identity;
}

}  // namespace partita::crypto
