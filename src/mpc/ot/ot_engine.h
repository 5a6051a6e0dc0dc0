// The engine `ot`: two parties, no helper.
//
// Online it is the engine `dealer` with two parties (dealer_engine.h, dealer_schedule.h,
// dealer_bit_schedule.h): the same sharing, the same openings, the same errors of a rescale. What
// the dealer would deal, the parties make with each other by oblivious transfers (tasks.h), either
// right before the operation that uses it, or ahead of the run (ahead.h).
//
// Trust      Semi-honest: either party may be curious, neither deviates. No third party. The base
//            transfers and the extension are computational (gap Diffie-Hellman in ristretto255,
//            AES); the rest is as private as with a dealer. Masks come from a key that a party
//            draws for itself, so the other one knows nothing of them.
// Rounds     Two for the first use (the base transfers), then per Execute those of the engine
//            `dealer` and two for every batch of transfers.
// Bytes      Per party 8224 and 8192 in the set-up; then as stated in tasks.h: both parties
//            together 3.2 kB for a product of shared numbers in Z_2^128, 2.0 kB (shift 40) for
//            each rescaled entry, 8.25 bytes for the AND of two shared bits, 20 bytes for a bit to
//            ring, plus what the engine `dealer` opens.
// Oracle     Not masked and opened but by transfers in each evaluation: ot_oracle.h.
// Timing     constant in shares, tapes and private values; not in shapes (public). Proved by
//            tests/ctime.
#pragma once

#include <memory>

#include "mpc/dealer_engine.h"
#include "mpc/ot/link.h"

namespace partita::mpc {

// What the tapes between the two parties are derived under.
inline constexpr std::string_view kOtTapes = "engine ot";

// Makes the link when it is first needed, which both parties agree on.
class LazyLink {
 public:
  LazyLink(net::Channel& channel, crypto::RandomSource& random)
      : channel_(channel), random_(random) {}
  ot::Link& Get();

 private:
  net::Channel& channel_;
  crypto::RandomSource& random_;
  std::unique_ptr<ot::Link> link_;
};

template <typename R>
class OtEngine : public DealerEngine<R> {
 public:
  // Channel, gate and random must outlive the engine. tapes: with the other party, for openings.
  // Throws kBadInput unless the channel has two parties.
  OtEngine(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
           crypto::RandomSource& random, const DealerOptions& options = {});

  const Capabilities& capabilities() const override;
  OracleUse RunOracle(const Shared& values, const OracleTask& task,
                      const OracleQueries& queries) override;

 protected:
  // As above, with correlations from elsewhere; a link is made for oracles only.
  OtEngine(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
           std::unique_ptr<CorrelationSource<R>> source, std::shared_ptr<LazyLink> link,
           const DealerOptions& options);

 private:
  OtEngine(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
           std::shared_ptr<LazyLink> link, const crypto::Key& own, const DealerOptions& options);

  std::shared_ptr<LazyLink> link_;
};

const Capabilities& OtCapabilities();

// The engine of this process over Z_2^128.
std::unique_ptr<Engine> MakeOtEngine(net::Channel& channel, ReleaseGate& gate);
// As above, with correlations from elsewhere (ahead.h); transfers are made for oracles only.
std::unique_ptr<Engine> MakeOtEngine(net::Channel& channel, ReleaseGate& gate,
                                     std::unique_ptr<CorrelationSource<Ring128>> source);

// For the PlanEngine. ahead: the run uses correlations that were made before (ahead.h). Throws
// kBadInput unless there are two parties.
std::unique_ptr<CostModel> MakeOtCostModel(size_t num_parties, int ring_bits, bool ahead = false);

}  // namespace partita::mpc
