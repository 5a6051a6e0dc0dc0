#include "node/service/key_trust.h"

#include "base/error.h"
#include "crypto/signature.h"
#include "study/approval/approval.h"

namespace partita::node {

bool KeyTrust::Knows(const std::string& party) const {
  if (party == parts_.self) return true;
  const PartyList list = parts_.list();
  const ListedParty* listed = FindListed(list, party);
  return listed != nullptr && listed->revoked_at == 0;
}

std::vector<std::string> KeyTrust::Others() const {
  std::vector<std::string> names;
  for (const ListedParty& party : parts_.list().parties) {
    if (party.revoked_at == 0 && party.name != parts_.self) names.push_back(party.name);
  }
  return names;
}

Digest KeyTrust::Steward(const std::string& party) const {
  if (party == parts_.self) return parts_.steward;
  const PartyList list = parts_.list();
  const ListedParty* listed = FindListed(list, party);
  return listed == nullptr ? Digest{} : listed->steward_key;
}

bool KeyTrust::NodeKeyIsOf(const std::string& party, const Digest& fingerprint) const {
  if (party == parts_.self)
    return ToHex(fingerprint) == crypto::Fingerprint(*parts_.node.certificate);
  const PartyList list = parts_.list();
  const ListedParty* listed = FindListed(list, party);
  return listed != nullptr && NodeKeyCounts(*listed, fingerprint, parts_.now());
}

bool KeyTrust::StewardKeyIsOf(const std::string& party, const Digest& fingerprint) const {
  if (party == parts_.self) return fingerprint == parts_.steward;
  const PartyList list = parts_.list();
  const ListedParty* listed = FindListed(list, party);
  return listed != nullptr && StewardKeyCounts(*listed, fingerprint);
}

Signature KeyTrust::SignMessage(const Message& message) const {
  Signature signature;
  signature.certificate = crypto::EncodeCertificate(*parts_.node.certificate);
  signature.signature =
      crypto::Sign(parts_.node, kMessageDomain, SignedBytes(message, signature.certificate));
  return signature;
}

bool KeyTrust::SignedBySender(const SignedMessage& message) const {
  const std::string& from = message.message.from;
  const Bytes& der = message.signature.certificate;
  const auto certificate = crypto::DecodeCertificate(der);
  if (certificate == nullptr || !NodeKeyIsOf(from, crypto::Sha256Of(der))) return false;
  // Pinned above; this looks at its name and at its time.
  if (crypto::CertificateProblem(*certificate, from, crypto::Fingerprint(*certificate)))
    return false;
  return crypto::VerifySignature(*certificate, kMessageDomain, SignedBytes(message.message, der),
                                 message.signature.signature);
}

bool KeyTrust::IsRunCertificate(const std::string& party, ByteView certificate) const {
  const auto decoded = crypto::DecodeCertificate(certificate);
  return decoded != nullptr &&
         !crypto::CertificateProblem(*decoded, party, crypto::Fingerprint(*decoded)).has_value();
}

bool KeyTrust::SignedByRunKey(ByteView certificate, std::string_view domain, ByteView fields,
                              ByteView signature) const {
  const auto decoded = crypto::DecodeCertificate(certificate);
  return decoded != nullptr && crypto::VerifySignature(*decoded, domain, fields, signature);
}

DocumentFacts KeyTrust::ReadDocument(const std::string& text, const std::string& party,
                                     const Digest& steward) const {
  if (!StewardKeyIsOf(party, steward)) {
    throw Error(ErrorCode::kRefused, "the steward's key of party " + party + " does not count",
                "Pair with that party again if its keys were revoked.");
  }
  const study::SignedApproval document =
      study::ParseApproval(text, "the document of party " + party);
  const bool waits =
      party == parts_.self && document.approval.stewards > 1 && !document.second.has_value();
  if (waits) {
    study::RequireFirstSigned(document, party, ToHex(steward));
  } else {
    study::RequireSigned(document, party, ToHex(steward));
  }
  const study::Approval& approval = document.approval;
  if (approval.party != party) {
    throw Error(ErrorCode::kRefused, "the document of party " + party + " names another party",
                "Let that party sign again.");
  }
  DocumentFacts facts;
  facts.approves = approval.decision == study::Decision::kApprove;
  facts.agreement_hash = approval.agreement_hash;
  facts.plan_hash = approval.plan_hash;
  facts.reason = approval.reason;
  facts.valid_until = approval.valid_until;
  facts.complete = !waits;
  return facts;
}

}  // namespace partita::node
