// Reading and writing the PEM files of an Identity.
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "crypto/certificate.h"

namespace partita::crypto {
namespace {

namespace fs = std::filesystem;

using Bio = std::unique_ptr<BIO, void (*)(BIO*)>;

constexpr size_t kMaxPemBytes = 8192;

// The contents of a memory BIO, without a copy.
std::string_view TextOf(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

Bio OpenFile(const fs::path& file, const char* what) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  Bio bio(fd < 0 ? nullptr : BIO_new_fd(fd, BIO_CLOSE), BIO_free_all);
  if (bio == nullptr && fd >= 0) close(fd);
  if (bio == nullptr) {
    ERR_clear_error();
    throw Error(ErrorCode::kBadInput, fmt::format("cannot open the {} {}", what, file.string()),
                "Check the path; 'partita cert' makes a new key and certificate.");
  }
  return bio;
}

[[noreturn]] void NotPem(const fs::path& file, const char* what) {
  ERR_clear_error();
  throw Error(ErrorCode::kBadInput, fmt::format("{} holds no {} in PEM form", file.string(), what),
              "Use the files that 'partita cert' made; keys under a passphrase are not read.");
}

// Asks nobody for a passphrase.
int NoPassphrase(char*, int, int, void*) { return 0; }

// Of the open file, not of its path, which may have come to name another one.
void CheckPrivate(BIO* bio, const fs::path& file) {
  int fd = -1;
  struct stat status {};
  if (BIO_get_fd(bio, &fd) < 0 || fstat(fd, &status) != 0) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("cannot tell who may read the private key {}", file.string()),
                "Keep the key in an ordinary file of this machine.");
  }
  CheckKeyFile(status, geteuid(), file);
}

std::shared_ptr<EVP_PKEY> LoadKey(const fs::path& file) {
  Bio bio = OpenFile(file, "private key");
  CheckPrivate(bio.get(), file);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassphrase, nullptr);
  if (key == nullptr) NotPem(file, "private key");
  return {key, EVP_PKEY_free};
}

// The DER form that `encode` (of OpenSSL, i2d_...) makes.
template <typename T>
Bytes DerOf(int (*encode)(const T*, unsigned char**), const T* object) {
  const int size = encode(object, nullptr);
  if (size <= 0) throw Error(ErrorCode::kInternal, "OpenSSL cannot encode a key and certificate");
  Bytes der(static_cast<size_t>(size));
  unsigned char* at = der.data();
  encode(object, &at);
  return der;
}

void RequirePair(const Identity& identity, const std::string& what) {
  if (X509_check_private_key(identity.certificate.get(), identity.key.get()) == 1) return;
  ERR_clear_error();
  throw Error(ErrorCode::kBadInput, what, "Use the two files that were made together.");
}

}  // namespace

void CheckKeyFile(const struct stat& status, uid_t reader, const fs::path& file) {
  if (status.st_uid != reader && status.st_uid != 0) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the private key {} belongs to another user (number {})", file.string(),
                            status.st_uid),
                "Run as the user who owns the key, or make a key of your own.");
  }
  if ((status.st_mode & 077) != 0) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the private key {} can be read by other users (mode {:04o})",
                            file.string(), static_cast<unsigned>(status.st_mode & 07777)),
                fmt::format("Run: chmod 600 {}", file.string()));
  }
}

void SaveIdentity(const Identity& identity, const fs::path& certificate_file,
                  const fs::path& key_file) {
  // Secure memory is wiped when freed.
  Bio key(BIO_new(BIO_s_secmem()), BIO_free_all), certificate(BIO_new(BIO_s_mem()), BIO_free_all);
  if (key == nullptr || certificate == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(key.get(), identity.key.get(), nullptr, nullptr, 0, nullptr,
                                    nullptr) != 1 ||
      PEM_write_bio_X509(certificate.get(), identity.certificate.get()) != 1) {
    throw Error(ErrorCode::kInternal, "OpenSSL cannot encode a key and certificate");
  }
  const std::string if_it_exists =
      "choose another name, or move the old file away if you are sure that no roster uses it: "
      "nothing is overwritten";
  WriteNewFile(key_file, TextOf(key.get()), 0600, "the private key", if_it_exists);
  try {
    WriteNewFile(certificate_file, TextOf(certificate.get()), 0644, "the certificate",
                 if_it_exists);
  } catch (const Error&) {
    unlink(key_file.c_str());  // made a moment ago, useless alone
    throw;
  }
}

std::shared_ptr<x509_st> LoadCertificate(const fs::path& file) {
  Bio bio = OpenFile(file, "certificate");
  X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr);
  if (certificate == nullptr) NotPem(file, "certificate");
  return {certificate, X509_free};
}

std::shared_ptr<x509_st> ParseCertificate(std::string_view pem) {
  if (pem.size() > kMaxPemBytes) return nullptr;
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free_all);
  X509* certificate =
      bio == nullptr ? nullptr : PEM_read_bio_X509(bio.get(), nullptr, NoPassphrase, nullptr);
  ERR_clear_error();
  return {certificate, X509_free};
}

std::string FormatCertificate(const x509_st& certificate) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free_all);
  if (bio == nullptr || PEM_write_bio_X509(bio.get(), &certificate) != 1) {
    throw Error(ErrorCode::kInternal, "OpenSSL cannot encode a certificate");
  }
  return std::string(TextOf(bio.get()));
}

Identity LoadIdentity(const fs::path& certificate_file, const fs::path& key_file) {
  Identity identity{LoadCertificate(certificate_file), LoadKey(key_file)};
  RequirePair(identity, fmt::format("the private key {} does not belong to the certificate {}",
                                    key_file.string(), certificate_file.string()));
  return identity;
}

Bytes EncodeIdentity(const Identity& identity) {
  ByteWriter writer;
  writer.Blob(DerOf<X509>(i2d_X509, identity.certificate.get()));
  writer.Blob(DerOf<EVP_PKEY>(i2d_PrivateKey, identity.key.get()));
  return writer.Take();
}

Identity DecodeIdentity(ByteView bytes) {
  ByteReader reader(bytes);
  const Bytes certificate = reader.Blob(kMaxPemBytes), key = reader.Blob(kMaxPemBytes);
  reader.ExpectEnd();
  const unsigned char *certificate_at = certificate.data(), *key_at = key.data();
  Identity identity;
  identity.certificate = {d2i_X509(nullptr, &certificate_at, static_cast<long>(certificate.size())),
                          X509_free};
  identity.key = {d2i_AutoPrivateKey(nullptr, &key_at, static_cast<long>(key.size())),
                  EVP_PKEY_free};
  if (identity.certificate == nullptr || identity.key == nullptr) {
    ERR_clear_error();
    throw Error(ErrorCode::kBadInput, "these bytes hold no key and certificate");
  }
  RequirePair(identity, "a private key does not belong to its certificate");
  return identity;
}

}  // namespace partita::crypto
