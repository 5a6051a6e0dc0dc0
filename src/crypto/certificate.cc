#include "crypto/certificate.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <vector>

#include "crypto/hash.h"

namespace partita::crypto {
namespace {

constexpr int kMaxDays = 3650;
constexpr long kSecondsPerDay = 86'400;

// OpenSSL's functions return 1 (or something positive) for success.
void CheckOpenSsl(int result, const char* what) {
  if (result > 0) return;
  char reason[256] = "no reason given";
  if (const unsigned long code = ERR_get_error(); code != 0) {
    ERR_error_string_n(code, reason, sizeof reason);
  }
  ERR_clear_error();
  throw Error(ErrorCode::kInternal, fmt::format("OpenSSL cannot {}: {}", what, reason));
}

std::shared_ptr<EVP_PKEY> MakeKey(KeyKind kind) {
  EVP_PKEY* key =
      kind == KeyKind::kP256 ? EVP_EC_gen("P-256") : EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  CheckOpenSsl(key != nullptr, "make a key");
  return {key, EVP_PKEY_free};
}

void AddExtension(X509& certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &certificate, &certificate, nullptr, nullptr, 0);
  std::unique_ptr<X509_EXTENSION, void (*)(X509_EXTENSION*)> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()), X509_EXTENSION_free);
  CheckOpenSsl(extension != nullptr, "make a certificate extension");
  CheckOpenSsl(X509_add_ext(&certificate, extension.get(), -1), "add a certificate extension");
}

void SetSerial(X509& certificate) {
  std::array<uint8_t, 16> serial{};
  CheckOpenSsl(RAND_bytes(serial.data(), static_cast<int>(serial.size())), "draw a serial number");
  serial[0] &= 0x7f;  // positive
  std::unique_ptr<BIGNUM, void (*)(BIGNUM*)> number(
      BN_bin2bn(serial.data(), static_cast<int>(serial.size()), nullptr), BN_free);
  CheckOpenSsl(BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(&certificate)) != nullptr,
               "set a serial number");
}

void SetName(X509& certificate, const std::string& name) {
  X509_NAME* subject = X509_get_subject_name(&certificate);
  CheckOpenSsl(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                          reinterpret_cast<const unsigned char*>(name.data()),
                                          static_cast<int>(name.size()), -1, 0),
               "set a name");
  CheckOpenSsl(X509_set_issuer_name(&certificate, subject), "set an issuer");
}

std::string ShowTime(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable date";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

// All DNS names; a name may hold any byte, so it is never treated as a C string.
std::vector<std::string> DnsNames(const X509& certificate) {
  std::vector<std::string> found;
  std::unique_ptr<GENERAL_NAMES, void (*)(GENERAL_NAMES*)> names(
      static_cast<GENERAL_NAMES*>(
          X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)),
      GENERAL_NAMES_free);
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_DNS) continue;
    const unsigned char* data = ASN1_STRING_get0_data(name->d.dNSName);
    found.emplace_back(reinterpret_cast<const char*>(data),
                       static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  return found;
}

}  // namespace

bool IsPartyName(std::string_view name) {
  auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= kMaxPartyName && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), allowed);
}

Identity MakeIdentity(const CertificateRequest& request) {
  if (!IsPartyName(request.name)) {
    throw Error(ErrorCode::kUsage, fmt::format("'{}' cannot be the name of a party", request.name),
                kPartyNameHint);
  }
  if (request.days < 1 || request.days > kMaxDays) {
    throw Error(ErrorCode::kUsage,
                fmt::format("a certificate cannot be valid for {} days", request.days),
                fmt::format("Choose 1 to {} days.", kMaxDays));
  }
  Identity identity;
  identity.key = MakeKey(request.kind);
  identity.certificate = {X509_new(), X509_free};
  CheckOpenSsl(identity.certificate != nullptr, "make a certificate");
  X509& certificate = *identity.certificate;
  CheckOpenSsl(X509_set_version(&certificate, X509_VERSION_3), "set a certificate version");
  SetSerial(certificate);
  SetName(certificate, request.name);
  const long start = static_cast<long>(request.start.count());
  CheckOpenSsl(X509_gmtime_adj(X509_getm_notBefore(&certificate), start) != nullptr, "set a date");
  CheckOpenSsl(X509_gmtime_adj(X509_getm_notAfter(&certificate),
                               start + request.days * kSecondsPerDay) != nullptr,
               "set a date");
  CheckOpenSsl(X509_set_pubkey(&certificate, identity.key.get()), "set a public key");
  AddExtension(certificate, NID_basic_constraints, "critical,CA:FALSE");
  AddExtension(certificate, NID_key_usage, "critical,digitalSignature");
  AddExtension(certificate, NID_ext_key_usage, "serverAuth,clientAuth");
  AddExtension(certificate, NID_subject_alt_name, "DNS:" + request.name);
  const EVP_MD* digest = request.kind == KeyKind::kP256 ? EVP_sha256() : nullptr;
  CheckOpenSsl(X509_sign(&certificate, identity.key.get(), digest), "sign a certificate");
  return identity;
}

std::string Fingerprint(const x509_st& certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(&certificate, &der);
  CheckOpenSsl(size, "encode a certificate");
  const Digest digest = Sha256Of({der, static_cast<size_t>(size)});
  OPENSSL_free(der);
  return ToHex(digest);
}

CertificateInfo Describe(const x509_st& certificate) {
  const std::vector<std::string> names = DnsNames(certificate);
  return {names.size() == 1 ? names[0] : "", ShowTime(X509_get0_notBefore(&certificate)),
          ShowTime(X509_get0_notAfter(&certificate)), Fingerprint(certificate)};
}

void RequirePartyCertificate(const CertificateInfo& info, const std::filesystem::path& file) {
  if (IsPartyName(info.name)) return;
  throw Error(ErrorCode::kBadInput, fmt::format("{} is not a Partita certificate", file.string()),
              "Use the cert.pem that 'partita cert new' made for that party.");
}

std::optional<std::string> CertificateProblem(const x509_st& certificate, std::string_view name,
                                              std::string_view fingerprint) {
  const CertificateInfo info = Describe(certificate);
  if (info.fingerprint != fingerprint) {
    return fmt::format("its fingerprint is {}, the roster says {}", info.fingerprint, fingerprint);
  }
  if (info.name != name) return fmt::format("it is not made out to '{}' alone", name);
  // 0 means that the date cannot be read.
  if (X509_cmp_current_time(X509_get0_notBefore(&certificate)) >= 0) {
    return fmt::format("it is valid only from {}", info.valid_from);
  }
  if (X509_cmp_current_time(X509_get0_notAfter(&certificate)) <= 0) {
    return fmt::format("it expired on {}", info.valid_until);
  }
  return std::nullopt;
}

std::optional<std::string> NormalFingerprint(std::string_view text) {
  std::string digits;
  for (char c : text) {
    if (c == ':') continue;
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return std::nullopt;
    digits.push_back(c);
  }
  if (digits.size() != 2 * sizeof(Digest)) return std::nullopt;
  return digits;
}

}  // namespace partita::crypto
