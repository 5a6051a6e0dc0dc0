// The signed messages by which compute nodes agree on what is opened, and open it.
//
//   closing      study, epoch, node, number and hash of the agreed set; one per node and round
//   publication  the same, and the node's sum of the agreed set's shares
//
// A node publishes only after it has seen the equal closings of all M nodes, so that a relay can
// neither make two honest nodes open different sets nor make one open two.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "crypto/certificate.h"
#include "methods/dca/accepted_set.h"
#include "methods/dca/contract.h"

namespace partita::methods::dca {

struct Closing {
  StudyHash study{};
  uint64_t epoch = 0;
  uint16_t node = 0;
  uint32_t count = 0;
  crypto::Digest set_hash{};

  bool operator==(const Closing&) const = default;
};

struct Publication {
  Closing closing;
  Bytes words;  // d ring elements, little-endian
};

// The certificates of the M compute nodes, in their order.
using NodeCertificates = std::vector<std::shared_ptr<x509_st>>;

// Message and signature by the node's identity.
Bytes SignClosing(const Closing& closing, const crypto::Identity& identity);
Bytes SignPublication(const Publication& publication, const crypto::Identity& identity);

// Throw kPeerFault for malformed bytes, kUntrusted unless the node that the message names signed
// it.
Closing OpenClosing(ByteView bytes, const NodeCertificates& nodes);
Publication OpenPublication(ByteView bytes, const Contract& contract,
                            const NodeCertificates& nodes);

// Throws kRefused unless there is exactly one closing of each node and all name the same study,
// epoch, count and set.
void RequireAgreement(std::span<const Closing> closings, size_t nodes);

}  // namespace partita::methods::dca
