// What both ends say once they found the digits right.
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/signature.h"
#include "net/roster.h"
#include "node/parties/pairing.h"

namespace partita::node {
namespace {

constexpr uint8_t kPairedVersion = 1;
constexpr size_t kMaxPairedAddress = 255;

struct PairedFields {
  PairingRole role = PairingRole::kInviter;
  Digest hash{};
  Bytes steward_certificate;
  std::string address;
};

Bytes PairedBytes(const PairedFields& fields) {
  ByteWriter writer;
  writer.U8(kPairedVersion);
  writer.U8(static_cast<uint8_t>(fields.role));
  writer.Raw(fields.hash);
  writer.Blob(fields.steward_certificate);
  writer.String(fields.address);
  return writer.Take();
}

PairingRole OtherRole(PairingRole role) {
  return role == PairingRole::kInviter ? PairingRole::kJoiner : PairingRole::kInviter;
}

[[noreturn]] void FailPaired(ErrorCode code, const std::string& name, const std::string& what) {
  throw Error(code, fmt::format("what {} sent after the digits {}", name, what),
              "Both sites forget each other after an hour: then invite again.");
}

}  // namespace

StewardWord SignPaired(PairingRole role, const Digest& hash, const crypto::Identity& steward,
                       const std::string& address) {
  StewardWord word;
  word.certificate = crypto::EncodeCertificate(*steward.certificate);
  word.signature = crypto::Sign(steward, kPairedStewardDomain,
                                PairedBytes({role, hash, word.certificate, address}));
  return word;
}

PendingPair BeginPaired(const Comparison& comparison, const crypto::Identity& identity,
                        const StewardWord& steward, const std::string& address, int64_t now) {
  if (!comparison.agreed()) {
    throw Error(ErrorCode::kInternal, "the digits of an invitation were not compared");
  }
  const bool is_inviter = comparison.role() == PairingRole::kInviter;
  const PairingEnds& ends = comparison.ends();
  net::ParseAddress(address);
  const Bytes fields =
      PairedBytes({comparison.role(), comparison.hash(), steward.certificate, address});
  const auto certificate = crypto::DecodeCertificate(steward.certificate);
  if (certificate == nullptr ||
      !crypto::VerifySignature(*certificate, kPairedStewardDomain, fields, steward.signature)) {
    throw Error(ErrorCode::kBadInput, "the steward's key did not sign this pairing",
                "Sign with the key of the certificate that the node has for its steward.");
  }
  PendingPair pending;
  pending.role = comparison.role();
  pending.hash = comparison.hash();
  pending.peer_certificate = is_inviter ? ends.joiner_certificate : ends.inviter_certificate;
  pending.agreed_at = now;
  ByteWriter writer;
  writer.Blob(fields);
  writer.Blob(steward.signature);
  const Bytes own = crypto::Sign(identity, kPairedDomain, writer.bytes());
  writer.Blob(own);
  pending.own_statement = writer.Take();
  return pending;
}

bool IsForgotten(const PendingPair& pending, int64_t now) {
  return now < pending.agreed_at || now > pending.agreed_at + kPairedSeconds;
}

PairedParty FinishPaired(const PendingPair& pending, ByteView statement, int64_t now) {
  const auto peer = crypto::DecodeCertificate(pending.peer_certificate);
  if (peer == nullptr) throw Error(ErrorCode::kInternal, "a stored certificate cannot be read");
  const crypto::CertificateInfo info = crypto::Describe(*peer);
  if (IsForgotten(pending, now)) {
    FailPaired(ErrorCode::kTimeout, info.name, "came after more than an hour");
  }
  if (statement.size() > kMaxPairedBytes) {
    FailPaired(ErrorCode::kPeerFault, info.name, "is too long");
  }
  ByteReader reader(statement);
  const Bytes fields = reader.Blob(kMaxPairedBytes);
  const Bytes steward_signature = reader.Blob(crypto::kMaxSignatureBytes);
  const ByteView signed_part = statement.first(statement.size() - reader.remaining());
  const Bytes signature = reader.Blob(crypto::kMaxSignatureBytes);
  reader.ExpectEnd();
  if (!crypto::VerifySignature(*peer, kPairedDomain, signed_part, signature)) {
    FailPaired(ErrorCode::kUntrusted, info.name, "is not signed with its key");
  }
  const auto problem = crypto::CertificateProblem(*peer, info.name, info.fingerprint);
  if (problem) FailPaired(ErrorCode::kUntrusted, info.name, "shows a certificate: " + *problem);
  PairedFields said;
  ByteReader body(fields);
  const uint8_t version = body.U8();
  said.role = static_cast<PairingRole>(body.U8());
  const ByteView hash = body.Raw(sizeof(Digest));
  std::copy(hash.begin(), hash.end(), said.hash.begin());
  said.steward_certificate = body.Blob(crypto::kMaxCertificateBytes);
  said.address = body.String(kMaxPairedAddress);
  body.ExpectEnd();
  if (version != kPairedVersion) {
    FailPaired(ErrorCode::kPeerFault, info.name, "is of another version");
  }
  if (said.role != OtherRole(pending.role) || said.hash != pending.hash) {
    FailPaired(ErrorCode::kUntrusted, info.name, "is about another invitation");
  }
  const auto steward = crypto::DecodeCertificate(said.steward_certificate);
  if (steward == nullptr ||
      EVP_PKEY_eq(X509_get0_pubkey(steward.get()), X509_get0_pubkey(peer.get())) == 1) {
    FailPaired(ErrorCode::kPeerFault, info.name, "has no certificate of a steward of its own");
  }
  const crypto::CertificateInfo steward_info = crypto::Describe(*steward);
  const auto steward_problem =
      crypto::CertificateProblem(*steward, info.name, steward_info.fingerprint);
  if (steward_problem) {
    FailPaired(ErrorCode::kUntrusted, info.name,
               "has a steward's certificate: " + *steward_problem);
  }
  if (!crypto::VerifySignature(*steward, kPairedStewardDomain, fields, steward_signature)) {
    FailPaired(ErrorCode::kUntrusted, info.name, "is not signed with the key of its steward");
  }
  try {
    net::ParseAddress(said.address);
  } catch (const Error&) {
    FailPaired(ErrorCode::kPeerFault, info.name, "has no address");
  }
  return {info.name, pending.peer_certificate, said.steward_certificate, said.address,
          pending.agreed_at};
}

}  // namespace partita::node
