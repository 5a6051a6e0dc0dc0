// The signed messages by which compute nodes agree on what is opened, and open it.
//
//   closing      study, epoch, node, number and hash of the agreed set, and the node's commitment
//                to its sum of the set's shares; one per node and round
//   publication  the same, the hash of the M closings, and the node's sum, with the noise it adds
//
// A node publishes only after it has seen the closings of all M nodes for one set, so that a relay
// can neither make two honest nodes open different sets nor make one open two. What all of them
// closed with is the agreement: what a round is charged for, and the only thing that is opened.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "crypto/certificate.h"
#include "sums/protocol/accepted_set.h"
#include "sums/protocol/contract.h"

namespace partita::sums {

struct Closing {
  StudyHash study{};
  uint64_t epoch = 0;
  uint16_t node = 0;
  uint32_t count = 0;
  crypto::Digest set_hash{};
  // Of the node's sum, before noise: pseudo-random to everybody else (node_secrets.h).
  crypto::Digest commitment{};

  bool operator==(const Closing&) const = default;
};

// The closings of all nodes of a round, as one: who is in the sum, and what each node adds to it.
struct Agreement {
  uint32_t count = 0;
  crypto::Digest hash{};

  bool operator==(const Agreement&) const = default;
};

struct Publication {
  Closing closing;
  crypto::Digest agreement{};  // its hash
  Bytes words;                 // d ring elements, little-endian
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
// epoch, count and set. The order in which they are given does not matter.
Agreement RequireAgreement(std::span<const Closing> closings, size_t nodes);

}  // namespace partita::sums
