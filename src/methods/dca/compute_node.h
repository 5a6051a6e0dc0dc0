// One compute node's part in one round (study, epoch).
//
//   Accept    uploads, from any number of threads, until Freeze. What it acknowledges is durable.
//   Freeze    no more uploads. Its set goes to the other nodes; theirs come here.
//   Agree     records the agreed set (accepted_set.h, Intersect) for good: a node opens one set per
//             round, which it holds completely, of at least N - T_drop uploads. Signed closing.
//   Publish   given the equal closings of all M nodes: the sum of the agreed set, durable before it
//             leaves. Again, after a crash too: the same bytes. On a store that several processes
//             share, workers may do part of the summing (sum_worker.h).
//
// Revealed to this node: who uploads when, uniform shares, the sets, the sums. To whoever gets what
// Freeze, Agree and Publish return: the same sets and sums. Each step can be repeated after a crash
// at any point, by a new object on the same spool.
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "crypto/certificate.h"
#include "crypto/random.h"
#include "methods/dca/closing.h"
#include "methods/dca/locked_random.h"
#include "methods/dca/masked_sum.h"
#include "methods/dca/open_upload.h"
#include "methods/dca/spool.h"

namespace partita::methods::dca {

struct NodeSettings {
  NodeRound round;
  crypto::Identity identity;      // signs closings and publications
  NodeCertificates certificates;  // of all nodes
  unsigned threads = 2;           // for the sum
  std::string name = "node";      // of this process, where several share the summing
};

class ComputeNode {
 public:
  // The directory, the spool and the source of randomness must outlive the node; the source is
  // asked by one thread at a time. Throws as CheckContract, and kUsage if the settings do not fit
  // each other.
  ComputeNode(NodeSettings settings, const ClientDirectory& clients, Spool& spool,
              crypto::RandomSource& random);

  // One verdict each, in order; one durable transaction for all. When it throws, nothing may be
  // acknowledged.
  std::vector<Verdict> Accept(std::span<const ByteView> uploads);
  Verdict Accept(ByteView upload) { return Accept(std::span(&upload, 1)).front(); }
  // How often there was this verdict since this object was made.
  uint64_t Count(Verdict verdict) const { return counts_[static_cast<size_t>(verdict)]; }

  AcceptedSet Freeze();
  // Throws kRefused, and records nothing, if the node is not frozen, if it does not hold all of
  // `agreed`, if these are fewer than N - T_drop, or if another set was agreed before.
  Bytes Agree(const AcceptedSet& agreed);
  // Throws kRefused if nothing was agreed or the closings are not M equal ones, kUntrusted for a
  // wrong signature.
  void CheckClosings(std::span<const Bytes> signed_closings);
  // The same, unless it has published before.
  Bytes Publish(std::span<const Bytes> signed_closings);

  // What this node signs for a set.
  Closing OwnClosing(const AcceptedSet& agreed) const;

 private:
  AcceptedSet RecordedSet();
  MaskedSum Sum(const AcceptedSet& agreed);

  NodeSettings settings_;
  const ClientDirectory& clients_;
  Spool& spool_;
  LockedRandom random_;
  crypto::Key store_key_;
  std::array<std::atomic<uint64_t>, kVerdicts> counts_{};
};

}  // namespace partita::methods::dca
