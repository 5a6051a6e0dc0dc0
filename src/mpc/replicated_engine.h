// The engine `replicated`: three parties, honest majority, no helper.
//
// Ideal function    Input, Multiply, Rescale and Reveal as mpc/engine.h says, over Z_2^k.
// Protocol          Replicated secret sharing; formulas, papers and the argument for privacy are in
//                   mpc/replicated_schedule.h.
// Threat model      Passive, static, one of the three parties. Two together see everything.
// Revealed          Shapes, and what Reveal opens to whom. A single party's view is otherwise
//                   uniform and independent of the others' inputs: proved by enumeration over tiny
//                   rings in tests/mpc/replicated_view_test.cc.
// Cost, in ring elements, declared by MakeReplicatedCostModel and checked in every step:
//   Input             1 per entry, owner to one peer; 1 round
//   Multiply          1 per entry of the result and party; 1 round. Private operands: also 1 per
//                     entry of the operand, and one more round
//   Rescale by f bits 3 and 3 f / k per entry, over all links; 2 rounds. Of a product as it is
//                     formed (MultiplyAndRescale) the same, and nothing for the product. Adding
//                     fraction bits is local.
//   Reveal            1 per entry and receiver; 1 round
// Memory            Private operands of kGram and kElementwise products are read, masked and
//                   received in blocks of rows; fixed ones up to 128 MiB are kept by one party.
// Not enforced      That shared values respect their bounds (only private values are checked, when
//                   they are read). Beyond 2^(k-2) a Rescale gives an arbitrary result.
// Timing            constant in shares, tapes and private values; not in shapes (public). Proved by
//                   tests/ctime.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "crypto/hash.h"
#include "mpc/linear_engine.h"
#include "mpc/release_gate.h"
#include "mpc/replicated_schedule.h"
#include "mpc/tape.h"
#include "net/channel.h"

namespace partita::mpc {

template <typename R>
class ReplicatedEngine : public LinearEngine<R, 2> {
 public:
  // The channel connects exactly the three parties. `tapes` gives the tape shared with a peer.
  // Channel and gate must outlive the engine. Throws kUsage for any other number of parties.
  ReplicatedEngine(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
                   const replicated::Options& options = {});

  const Capabilities& capabilities() const override { return replicated::ReplicatedCapabilities(); }
  void BeginPhase(std::string_view name) override { channel_.BeginPhase(name); }
  void AgreeToOpen() override;
  FixedOperand Register(PrivateMatrix matrix) override;
  OracleUse RunOracle(const Shared& values, const OracleTask& task,
                      const OracleQueries& queries) override;
  SharedBits RandomBits(Shape shape, size_t width, crypto::RandomSource& own) override;

 protected:
  void Execute(std::span<Operation> operations) override;

 private:
  template <typename>
  friend class ReplicatedExecution;

  net::Channel& channel_;
  ReleaseGate& gate_;
  replicated::Scheduler scheduler_;
  std::unique_ptr<Tape> own_tape_, previous_tape_;  // tapes i and i - 1 at party i
  uint64_t num_registered_ = 0;
  // Differences of fixed operands that this party received and keeps, by id.
  std::map<uint64_t, std::vector<typename R::Word>> kept_;
  // Digests of the blocks that this party sent of larger ones, by id.
  std::map<uint64_t, std::vector<crypto::Digest>> sent_;
};

// Over Z_2^128, with tapes from the channel's pairwise keys.
std::unique_ptr<Engine> MakeReplicatedEngine(net::Channel& channel, ReleaseGate& gate);

}  // namespace partita::mpc
