// Signatures with a party's identity key, for documents that outlive a connection.
//
// What is signed is (label, domain, message), each length-prefixed: a signature for one purpose is
// none for another, and none that TLS makes with the same key. Ed25519 (RFC 8032), or ECDSA over
// P-256 with SHA-256 (FIPS 186-4), whichever the key is for, through OpenSSL.
//
// Timing  that of OpenSSL, constant in keys by its own account; not in lengths (public). Not looked
//         at by tests/ctime.
#pragma once

#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "crypto/certificate.h"

namespace partita::crypto {

inline constexpr size_t kMaxCertificateBytes = 1024;  // DER
inline constexpr size_t kMaxSignatureBytes = 80;

// domain: what kind of document this is ("partita approval"). Throws kBadInput if the key is of
// another kind than `partita cert new` makes.
Bytes Sign(const Identity& identity, std::string_view domain, ByteView message);

// Whether `signature` was made over the same domain and message with the certificate's key. False
// for keys of another kind. Says nothing about the certificate: see CertificateProblem.
bool VerifySignature(const x509_st& certificate, std::string_view domain, ByteView message,
                     ByteView signature);

// DER, to travel beside a signature. Throws kBadInput if it is longer than kMaxCertificateBytes.
Bytes EncodeCertificate(const x509_st& certificate);
// Null unless `der` is exactly one certificate of at most kMaxCertificateBytes.
std::shared_ptr<x509_st> DecodeCertificate(ByteView der);

}  // namespace partita::crypto
