// Correlations for a whole run, made before it: by a dealer that need not be there when they are
// used, or by two parties with oblivious transfers.
//
// What a run will ask for follows from shapes and from the rows that its products choose of fixed
// operands (OnlyRows), so the method's own protocol code is run ahead on an engine without values
// (as on the PlanEngine). What comes of it is one package per party: the key of its tape of masks,
// and for every Execute what is dealt. It serves one run: every Execute compares a digest of what
// it is about to ask for (shapes, owners, offsets, chosen rows) with that of the package. Products
// of other rows' masks would leave data unmasked in what opens. A second run would mask other
// values with the same masks, so a package is taken from a CorrelationStore, or from memory, once.
// Rows that are drawn in the run are known too late for a package.
//
// A linear oracle takes one step of its own: the centre keeps the rows of all evaluations that its
// task allows, used or not. Two parties without a dealer make nothing for it: they run it with
// transfers (ot/ot_oracle.h).
//
// Timing  that of ot/round.h and dealer_node.h, of which it is made: constant in masks; not in
//         shapes and rows (public). Not run as a whole by tests/ctime.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "crypto/hash.h"
#include "mpc/ahead_source.h"
#include "mpc/dealer_schedule.h"
#include "mpc/shape_engine.h"
#include "net/channel.h"

namespace partita::mpc {

// One party's correlations for one run.
struct AheadPackage {
  struct Step {
    crypto::Digest digest{};
    DealtPieces pieces;
  };
  crypto::Key tape;
  bool dealt_on_tape = false;  // AheadSource
  std::vector<Step> steps;     // by Execute, and by oracle of a dealer
};

// Of everything that an Execute asks a source for.
crypto::Digest DigestOf(const ScheduledExecution& execution);
// Of what an oracle asks a dealer for.
crypto::Digest DigestOf(const DealerOracleLayout& oracle);
// What a package is for: a digest of its steps' digests, the same at all parties. The label of a
// CorrelationStore.
crypto::Digest LabelOf(const AheadPackage& package);

Bytes EncodePackage(const AheadPackage& package);
// Throws kBadInput for bytes that EncodePackage did not write.
AheadPackage DecodePackage(ByteView bytes);

// Protocol code that is to run later.
using ShapeBody = std::function<void(Engine& engine)>;

// LabelOf the packages that are made for `body` on an engine with these capabilities
// (DealerCapabilities, OtCapabilities), over the ring of so many bits.
crypto::Digest LabelOf(const Capabilities& engine, size_t num_parties, int ring_bits,
                       const ShapeBody& body);

// At a computing party, while the dealer (the channel's last party) runs `body` on its DealerNode.
// Costs what the dealer would send during the run; the openings come later. Nothing is asked of the
// dealer, so its messages follow each other without waiting: one round.
template <typename R>
AheadPackage ReceiveFromDealer(net::Channel& channel, const ShapeBody& body);
// What the dealer sends to whom: by Execute and oracle one step with messages to one party or none.
std::vector<ExecutionCost> CostOfDealing(size_t num_parties, int ring_bits, const ShapeBody& body);
// At the dealer.
template <typename R>
void DealAhead(net::Channel& channel, const ShapeBody& body);

// Two parties, without a dealer: rounds and bytes as in ot/tasks.h, the batches of every Execute
// after each other, and the link's.
template <typename R>
AheadPackage MakeByTransfers(net::Channel& channel, crypto::RandomSource& random,
                             const ShapeBody& body);
// Its cost; steps are rounds.
ExecutionCost CostOfTransfers(int ring_bits, const ShapeBody& body);

// Throws kBadInput when an Execute asks for something else than the package was made for, before
// that Execute sends anything. The package is spent by then: labels are compared before
// (CorrelationStore::Take).
template <typename R>
std::unique_ptr<CorrelationSource<R>> SourceOf(AheadPackage package);

// The engines over Z_2^128 whose correlations are there. All parties of the channel compute.
std::unique_ptr<Engine> MakeDealerEngineAhead(net::Channel& channel, ReleaseGate& gate,
                                              AheadPackage package);
std::unique_ptr<Engine> MakeOtEngineAhead(net::Channel& channel, ReleaseGate& gate,
                                          AheadPackage package);

}  // namespace partita::mpc
