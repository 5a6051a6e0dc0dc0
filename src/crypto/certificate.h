// Who a party is on the network: a private key that never leaves its host and a self-signed
// certificate that is pinned by its fingerprint in everybody's roster. Fingerprints are compared
// out of band (telephone, signed mail); there is no certificate authority to trust or to attack.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

struct x509_st;
struct evp_pkey_st;

namespace partita::crypto {

enum class KeyKind { kEd25519, kP256 };

struct CertificateRequest {
  std::string name;  // of the party, see IsPartyName
  int days = 730;    // of validity
  KeyKind kind = KeyKind::kEd25519;
  // Start of the validity, from now: a little in the past, for peers whose clock is behind.
  std::chrono::seconds start{-3600};
};

// Certificate and private key, as OpenSSL holds them (it wipes the key's memory).
struct Identity {
  std::shared_ptr<x509_st> certificate;
  std::shared_ptr<evp_pkey_st> key;
};

// What a certificate says, for people.
struct CertificateInfo {
  std::string name;        // the one DNS name in its subjectAltName; empty if there is not just one
  std::string valid_from;  // "2026-09-01 12:00:00 UTC"
  std::string valid_until;
  std::string fingerprint;  // SHA-256 of the DER form, 64 hexadecimal digits
};

// A new key and its self-signed certificate: extended key usage client and server, subjectAltName =
// the party's name, not a CA. Throws kUsage for a bad name or validity.
Identity MakeIdentity(const CertificateRequest& request);

// Writes both as PEM. The key file is created with mode 0600; no file is ever overwritten, and no
// half-written file stays. Throws kUsage.
void SaveIdentity(const Identity& identity, const std::filesystem::path& certificate_file,
                  const std::filesystem::path& key_file);

// Whether a key's file, as stat() describes it, is private to the user `reader`: theirs or the
// superuser's, and not readable by others. Throws kBadInput.
void CheckKeyFile(const struct stat& status, uid_t reader, const std::filesystem::path& file);

// Throws kBadInput if a file is missing, damaged, readable by others (the key), or if the two do
// not belong together.
Identity LoadIdentity(const std::filesystem::path& certificate_file,
                      const std::filesystem::path& key_file);
// Both in DER form, for another process of the same party: a secret. The second throws kBadInput for
// anything else, and if the two do not belong together.
Bytes EncodeIdentity(const Identity& identity);
Identity DecodeIdentity(ByteView bytes);
// The certificate alone, to show it.
std::shared_ptr<x509_st> LoadCertificate(const std::filesystem::path& file);
// From text; null if it holds no certificate in PEM form.
std::shared_ptr<x509_st> ParseCertificate(std::string_view pem);
std::string FormatCertificate(const x509_st& certificate);

std::string Fingerprint(const x509_st& certificate);
CertificateInfo Describe(const x509_st& certificate);

// Why this certificate must not be accepted now for the party `name` pinned at `fingerprint`: a
// clause like "it expired on ...". Empty if it may.
std::optional<std::string> CertificateProblem(const x509_st& certificate, std::string_view name,
                                              std::string_view fingerprint);

// 64 lower-case hexadecimal digits; accepts upper case and colons. Empty if it is no fingerprint.
std::optional<std::string> NormalFingerprint(std::string_view text);

// Throws kBadInput naming `file` unless `info` describes a certificate that MakeIdentity could have
// made: one DNS name, which is that of a party.
void RequirePartyCertificate(const CertificateInfo& info, const std::filesystem::path& file);

// The rule for party names, the same as in study files: 1 to 32 small letters, digits and '-', a
// letter or digit first.
inline constexpr size_t kMaxPartyName = 32;
inline constexpr char kPartyNameHint[] =
    "Use 1 to 32 small letters, digits and '-', a letter or digit first, as in the study file.";
bool IsPartyName(std::string_view name);

}  // namespace partita::crypto
