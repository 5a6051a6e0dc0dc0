// Documents that their signer's certificate travels with: the list of parties and introductions
// (node/parties), the list of ended approvals and what jobs say of tables (node/job).
//
// All have one shape in bytes (base/bytes.h): fields, each kind its own; then the certificate (DER) and the
// signature, each a blob. Signed, in the domain of the kind, are the fields and the certificate. Who
// verifies knows which keys count, by the fingerprints of their certificates, and compares these before
// anything of the certificate is parsed.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "crypto/certificate.h"
#include "node/message/message.h"

namespace partita::node {

// Throws kBadInput for keys that sign nothing (crypto/signature.h).
Signature SignFields(const crypto::Identity& signer, std::string_view domain, const Bytes& fields);
// Whether the key of one of these certificates (fingerprints) signed the fields.
bool IsSignedBy(const Signature& signature, const std::vector<Digest>& keys,
                std::string_view domain, const Bytes& fields);

// The document.
Bytes WithSignature(const Bytes& fields, const Signature& signature);
// Reads all of a document: the fields by `read_fields`, what it is signed with, and no more. Throws `not_whole` where
// bytes are missing or left, and what else `read_fields` throws.
Signature ReadSigned(ByteView bytes, const std::function<void(ByteReader&)>& read_fields,
                     const Error& not_whole);

// 32 bytes as they are.
Digest ReadDigest(ByteReader& reader);

}  // namespace partita::node
