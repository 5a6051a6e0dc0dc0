// Trust with real keys: the node key of this party, certificates of peers, documents of stewards.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "crypto/certificate.h"
#include "node/parties/party_list.h"
#include "node/study/trust.h"

namespace partita::node {

class KeyTrust : public Trust {
 public:
  struct Parts {
    std::string self;                 // name of the own party
    crypto::Identity node;            // its node key
    Digest steward{};                 // fingerprint of its steward's
    std::function<PartyList()> list;  // the signer's list as it is now, verified
    std::function<int64_t()> now;     // seconds of base/utc_time.h
  };

  explicit KeyTrust(Parts parts) : parts_(std::move(parts)) {}

  bool Knows(const std::string& party) const override;
  std::vector<std::string> Others() const override;
  // Zero for a party that is not on the list.
  Digest Steward(const std::string& party) const override;
  Signature SignMessage(const Message& message) const override;
  // By the key that counts now: what was signed in time by one that expired or was revoked since does
  // not count any more.
  bool SignedBySender(const SignedMessage& message) const override;
  bool IsRunCertificate(const std::string& party, ByteView certificate) const override;
  bool SignedByRunKey(ByteView certificate, std::string_view domain, ByteView fields,
                      ByteView signature) const override;
  DocumentFacts ReadDocument(const std::string& text, const std::string& party,
                             const Digest& steward) const override;

 private:
  bool NodeKeyIsOf(const std::string& party, const Digest& fingerprint) const;
  bool StewardKeyIsOf(const std::string& party, const Digest& fingerprint) const;

  Parts parts_;
};

}  // namespace partita::node
