#include "node/parties/succession.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/signature.h"

namespace partita::node {
namespace {

constexpr uint16_t kSuccessionFormat = 1;
constexpr char kSuccessionHint[] =
    "Ask that site by telephone; if its key was stolen, revoke it, and invite it again.";

struct SuccessionDocument {
  Bytes old_certificate, new_certificate;  // DER
  int64_t made_at = 0;
  Bytes old_signature, new_signature;
};

Bytes SuccessionFields(const SuccessionDocument& document) {
  ByteWriter writer;
  writer.U16(kSuccessionFormat);
  writer.Blob(document.old_certificate);
  writer.Blob(document.new_certificate);
  writer.U64(static_cast<uint64_t>(document.made_at));
  return writer.Take();
}

SuccessionDocument ReadSuccession(ByteView bytes) {
  if (bytes.size() > kMaxSuccessionBytes) {
    throw Error(ErrorCode::kPeerFault, "a succession is too long");
  }
  ByteReader reader(bytes);
  SuccessionDocument document;
  if (reader.U16() != kSuccessionFormat) {
    throw Error(ErrorCode::kPeerFault, "a succession is of another version");
  }
  document.old_certificate = reader.Blob(crypto::kMaxCertificateBytes);
  document.new_certificate = reader.Blob(crypto::kMaxCertificateBytes);
  document.made_at = static_cast<int64_t>(reader.U64());
  document.old_signature = reader.Blob(crypto::kMaxSignatureBytes);
  document.new_signature = reader.Blob(crypto::kMaxSignatureBytes);
  reader.ExpectEnd();
  return document;
}

}  // namespace

Bytes MakeSuccession(const crypto::Identity& old_key, const crypto::Identity& new_key,
                     int64_t now) {
  const std::string name = crypto::Describe(*old_key.certificate).name;
  if (crypto::Describe(*new_key.certificate).name != name) {
    throw Error(ErrorCode::kUsage, fmt::format("the new certificate is not made out to {}", name),
                "A successor has the name of the certificate before.");
  }
  SuccessionDocument document;
  document.old_certificate = crypto::EncodeCertificate(*old_key.certificate);
  document.new_certificate = crypto::EncodeCertificate(*new_key.certificate);
  document.made_at = now;
  const Bytes fields = SuccessionFields(document);
  ByteWriter writer;
  writer.Raw(fields);
  writer.Blob(crypto::Sign(old_key, kSuccessionDomain, fields));
  writer.Blob(crypto::Sign(new_key, kSuccessionDomain, fields));
  return writer.Take();
}

PartyList WithSuccessor(PartyList list, ByteView succession, int64_t now) {
  const SuccessionDocument document = ReadSuccession(succession);
  const auto old_certificate = crypto::DecodeCertificate(document.old_certificate);
  const auto new_certificate = crypto::DecodeCertificate(document.new_certificate);
  if (old_certificate == nullptr || new_certificate == nullptr) {
    throw Error(ErrorCode::kPeerFault, "a succession holds what is no certificate");
  }
  const Bytes fields = SuccessionFields(document);
  const Digest old_key = crypto::Sha256Of(document.old_certificate);
  const Digest new_key = crypto::Sha256Of(document.new_certificate);
  const auto party =
      std::find_if(list.parties.begin(), list.parties.end(),
                   [&](const ListedParty& listed) { return NodeKeyCounts(listed, old_key, now); });
  if (party == list.parties.end() ||
      !crypto::VerifySignature(*old_certificate, kSuccessionDomain, fields,
                               document.old_signature) ||
      !crypto::VerifySignature(*new_certificate, kSuccessionDomain, fields,
                               document.new_signature)) {
    throw Error(ErrorCode::kUntrusted, "a succession is not signed by a key that counts here",
                kSuccessionHint);
  }
  if (party->next_node_key == new_key) return list;
  auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kRefused,
                fmt::format("the new certificate of {} is not taken: {}", party->name, why),
                kSuccessionHint);
  };
  const auto expired = crypto::CertificateProblem(*old_certificate, party->name, ToHex(old_key));
  if (expired) refuse("the one before is not valid: " + *expired);
  const auto problem = crypto::CertificateProblem(*new_certificate, party->name, ToHex(new_key));
  if (problem) refuse(*problem);
  const bool same_key = EVP_PKEY_eq(X509_get0_pubkey(old_certificate.get()),
                                    X509_get0_pubkey(new_certificate.get())) == 1;
  if (same_key) refuse("it has the key of the one before");
  if (old_key == party->node_key && party->next_node_key) {
    refuse("another was announced before");
  }
  // Of the successor, which counts: the first key is done with.
  if (old_key != party->node_key) party->node_key = old_key;
  party->next_node_key = new_key;
  party->next_counts_from = now + kSuccessionSeconds;
  ++list.serial;
  list.made_at = now;
  try {
    CheckPartyList(list);
  } catch (const Error& error) {
    refuse(error.message());
  }
  return list;
}

}  // namespace partita::node
