// One compute node's part in one round (study, epoch).
//
//   Accept    uploads, from any number of threads, until Freeze. What it acknowledges is durable.
//   Freeze    no more uploads. Its set goes to the other nodes; theirs come here.
//   Agree     records the agreed set (accepted_set.h, Intersect) for good: a node opens one set per
//             round, which it holds completely, of at least N - T_drop uploads. Adds up the set's
//             shares and commits to the sum. Signed closing. On a store that several processes
//             share, workers may do part of the summing (sum_worker.h).
//   Publish   given the closings of all M nodes: the sum that it committed to, with its own noise
//             if nodes add it, durable before it leaves. Again, after a crash too: the same words.
//
// What the store says is believed only as far as this node's keys vouch for it (node_secrets.h):
// the agreed set by its seal, a publication by its signature, the sum by the commitment. A store
// that was put back to an earlier state leads to the same words again, or to another set, which
// only the other nodes and a ledger outside the store can refuse (sums/service/round_charge.h).
//
// Revealed to this node: who uploads when, uniform shares, the sets, the sums. To whoever gets what
// Freeze, Agree and Publish return: the same sets and sums. Each step can be repeated after a crash
// at any point, by a new object on the same spool.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crypto/certificate.h"
#include "crypto/random.h"
#include "sums/protocol/closing.h"
#include "sums/protocol/locked_random.h"
#include "sums/protocol/masked_sum.h"
#include "sums/protocol/open_upload.h"
#include "sums/spool/spool.h"

namespace partita::sums {

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
  // The agreed set that is recorded, if there is one. Throws kBadInput if this node did not record
  // it.
  std::optional<AcceptedSet> Recorded();
  // Throws kRefused, and records nothing, if the node is not frozen, if it does not hold all of
  // `agreed`, if these are fewer than N - T_drop, or if another set was agreed before; kBadInput if
  // the store lacks a share or holds one that was changed.
  Bytes Agree(const AcceptedSet& agreed);
  // Throws kRefused if nothing was agreed or the closings are not those of all M nodes for one set,
  // this node's own among them; kUntrusted for a wrong signature.
  Agreement CheckClosings(std::span<const Bytes> signed_closings);
  // Under which agreement it published; nothing if it has not. Throws kBadInput for a publication
  // in the store that is not this node's, of the recorded set.
  std::optional<Agreement> Published();
  // The sum under the agreement of these closings. If it has published before: that publication,
  // whatever the closings; throws kRefused if that was under another agreement than CheckClosings
  // or Published returned before.
  Bytes Publish(std::span<const Bytes> signed_closings);

 private:
  // What this node closed the round with.
  struct Closed {
    Closing closing;
    std::optional<MaskedSum> sum;  // before noise; none while nothing needs it
  };

  AcceptedSet RecordedSet();
  MaskedSum Sum(const AcceptedSet& agreed);
  Closing ClosingOf(const AcceptedSet& agreed) const;  // without its commitment
  Closed CloseWith(const AcceptedSet& agreed);
  const Closed& OwnClosed();
  const MaskedSum& CommittedSum();
  Publication OpenStored(ByteView publication, const AcceptedSet& agreed) const;

  NodeSettings settings_;
  const ClientDirectory& clients_;
  Spool& spool_;
  LockedRandom random_;
  crypto::Key store_key_;
  std::optional<Closed> closed_;
  std::optional<Agreement> agreement_;
  std::array<std::atomic<uint64_t>, kVerdicts> counts_{};
};

}  // namespace partita::sums
