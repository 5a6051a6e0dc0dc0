// The engine `shamir`: three to seven parties, honest majority, no helper; faulty openings are
// corrected or noticed.
//
// Ideal function    Input, Multiply, Rescale, Reveal and the operations on bits as mpc/engine.h
//                   says, for integers below p / 4 in magnitude. F = Field127; tiny fields in tests.
// Protocol          Shamir's sharing with pseudo-random dealings and one-round resharing; formulas,
//                   papers and the argument for privacy are in mpc/shamir_schedule.h.
// Threat model      Passive, static, t < n / 2 parties: as many as can be (1 of 3 or 4, 2 of 5 or
//                   6, 3 of 7), or fewer if the maker says so.
// Revealed          Shapes, and what Reveal opens to whom. A coalition's view is otherwise uniform
//                   and independent of the others' inputs, but for the masked openings of Rescale
//                   and the decompositions, which are within 2^-s, s >= 64, of it per element, and
//                   within 2^-127 if the value is too wide for a statistical mask. Distances add
//                   up over the elements of a run: 2^24 of them leave 2^-40.
//                   Enumerated over tiny fields in tests/mpc/shamir_view_test.cc.
// Faulty openings   Wrong shares of one opening, whoever it is to:
//                     parties   t   noticed for sure   corrected, their senders named
//                     3         1   1                  none
//                     4         1   2                  1
//                     5         2   2                  none
//                     6         2   3                  none
//                     7         3   3                  none
//                   and with a smaller threshold
//                     5         1   2                  1
//                     6         1   3                  1
//                     7         1   4                  1
//                     7         2   2                  2
//                   What is noticed but not corrected ends the run with a kPeerFault at the party
//                   that noticed. Lies in dealings and resharings are NOT noticed.
// Cost, in field elements (16 bytes; 8 over 2^61 - 1), with u = n - 1 - t, v = (2 t + 1) u and
// l = ceil(log2(t + 1)), declared by MakeShamirCostModel and checked in every step:
//   Making it         n = 3: nothing. Else 32 bytes from the first member of each group of n - t to
//                     every other member; 1 round
//   Input             u per entry; 1 round
//   Multiply          v per entry of the result (3, 6, 10, 15 and 21 for three to seven parties);
//                     1 round. Private operands: also u per entry of the operand, and one more
//                     round
//   Rescale by m bits t u m + v (q m + 1) + n (n - 1) per entry, with q = 0 for t = 1 and
//                     floor((t + 1) / 2) above; 2 + l rounds. Three parties: m + 9. Wide values
//                     also t u D + v w, with w = 2 D - 2, 5 D - 5 or 8 D - 8 for t = 1, 2 or 3.
//                     Adding fraction bits is local
//   Reveal            n - 1 per entry and receiver; 1 round
//   Bits              an AND as a product, of 2 bits (n = 3) or 3 bits per share; Decompose as
//                     Rescale, of wide values a round and an AND per bit more; ToRing 1 + l
//                     rounds
// Memory            Operands are dealt and kept whole, fixed ones as long as the engine lives.
// Not enforced      That shared values respect their bounds (only private values are checked, when
//                   they are read). Beyond the bound, a Rescale or Decompose gives an arbitrary
//                   result, and where the mask is statistical it opens the value's excess high
//                   bits to everybody: a mask of k + s bits hides values of k bits only.
// Timing            constant in shares, tapes and private values; not in shapes, in whether shares
//                   are elements and in whether those of an opening agree (public). Proved by
//                   tests/ctime.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "mpc/linear_engine.h"
#include "mpc/release_gate.h"
#include "mpc/shamir_schedule.h"
#include "mpc/shamir_transfers.h"
#include "net/channel.h"

namespace partita::mpc {

template <typename F, size_t kSlices>
class ShamirEngine : public LinearEngine<F, 1, kSlices> {
 public:
  // The channel connects exactly the computing parties, as many as kSlices has points for. Channel
  // and gate must outlive the engine. threshold: t, the largest unless it is given. Throws
  // kBadInput for fewer than three parties or more than seven, and for a threshold that they do not
  // admit.
  ShamirEngine(net::Channel& channel, ReleaseGate& gate, const GroupTapes& tapes,
               int statistical_bits = 64, std::optional<size_t> threshold = {});

  const Capabilities& capabilities() const override { return shamir::ShamirCapabilities(); }
  void BeginPhase(std::string_view name) override { party_.channel().BeginPhase(name); }
  void AgreeToOpen() override;
  FixedOperand Register(PrivateMatrix matrix) override;
  OracleUse RunOracle(const Shared& values, const OracleTask& task,
                      const OracleQueries& queries) override;
  SharedBits RandomBits(Shape shape, size_t width, crypto::RandomSource& own) override;

  // Parties whose wrong shares were corrected in openings to this one so far, ascending.
  const std::vector<PartyIndex>& corrected() const { return party_.corrected(); }

 protected:
  void Execute(std::span<Operation> operations) override;

 private:
  template <typename, size_t>
  friend class ShamirExecution;

  ReleaseGate& gate_;
  ShamirParty<F, kSlices> party_;
  shamir::Scheduler scheduler_;
  uint64_t num_registered_ = 0;
  // This party's shares of fixed operands, by id.
  std::map<uint64_t, std::vector<typename F::Word>> kept_;
};

// Tapes from the channel's pairwise keys. The keys of larger groups travel at once: one round.
GroupTapes ChannelGroupTapes(net::Channel& channel, size_t threshold);

// Over 2^127 - 1, with the largest threshold.
std::unique_ptr<Engine> MakeShamirEngine(net::Channel& channel, ReleaseGate& gate);
// The same with threshold t: fewer parties are tolerated, more lies corrected. Throws kBadInput
// unless 1 <= t < n / 2.
std::unique_ptr<Engine> MakeShamirEngineFor(size_t threshold, net::Channel& channel,
                                            ReleaseGate& gate);

// ShamirEngine::corrected(); empty for other engines.
std::vector<PartyIndex> CorrectedParties(const Engine& engine);

}  // namespace partita::mpc
