// Whom this node believes: signatures and the own list of parties. An interface, so that the life of
// a study needs neither keys nor the formats of documents; node/service/key_trust.h has the keys.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "node/message/message.h"

namespace partita::node {

// What an approval or rejection says, as far as a node looks at it.
struct DocumentFacts {
  bool approves = false;
  Digest agreement_hash{}, plan_hash{};
  std::string reason;  // of a rejection
  int64_t valid_until = 0;
  // Whether all have signed that it asks for; false only of an own document that waits for a second person.
  bool complete = true;
};

class Trust {
 public:
  virtual ~Trust() = default;

  // Whether the own list has this party, and its keys are not revoked. The own node is on it.
  virtual bool Knows(const std::string& party) const = 0;
  // All others of whom that is so.
  virtual std::vector<std::string> Others() const = 0;
  // The fingerprint of the party's steward key on the own list.
  virtual Digest Steward(const std::string& party) const = 0;
  // With the own node key.
  virtual Signature SignMessage(const Message& message) const = 0;
  // Whether this is signed by a node key that the own list has for its sender.
  virtual bool SignedBySender(const SignedMessage& message) const = 0;
  // Whether this is the certificate of a key that `party` may run with.
  virtual bool IsRunCertificate(const std::string& party, ByteView certificate) const = 0;
  virtual bool SignedByRunKey(ByteView certificate, std::string_view domain, ByteView fields,
                              ByteView signature) const = 0;
  // Throws kRefused or kBadInput unless the document is the party's and signed by that steward key,
  // which the own list still has. A document that two persons have to sign is none of another party before both have.
  virtual DocumentFacts ReadDocument(const std::string& text, const std::string& party,
                                     const Digest& steward) const = 0;
};

}  // namespace partita::node
