// The engine `dealer` at a computing party: additive sharing over Z_2^k, n >= 2 parties.
//
// Protocol, privacy and the cost of every operation: dealer_schedule.h. Channel parties 0 .. n-1
// compute, channel party n is the dealer (dealer_node.h). All operations of one Execute take one
// round together. Elements are k / 8 bytes on the wire.
//
// Memory: masks are made in blocks of rows. Openings of private matrices pass by in such blocks in
// products by rows (elementwise and cross products). Of a large opening of a shared operand a party
// that it is for holds the sum, others nothing; between two parties it passes by in products by rows.
// Small openings are held whole, and those of fixed operands kept by their receivers (DealerOptions).
//
// Not enforced: that shared values respect their bounds (only a private matrix's values are checked
// when they are read). Beyond 2^(k-2) a Rescale gives an arbitrary result.
//
// Timing  constant in shares, tapes and private values; not in shapes (public). Proved by
//         tests/ctime.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "crypto/hash.h"
#include "mpc/correlation_source.h"
#include "mpc/dealer_schedule.h"
#include "mpc/linear_engine.h"
#include "mpc/release_gate.h"
#include "net/channel.h"

namespace partita::mpc {

// What the tapes of this engine are derived under.
inline constexpr std::string_view kDealerTapes = "engine dealer";

template <typename R>
class DealerEngine : public LinearEngine<R, 1> {
 public:
  // Channel and gate must outlive the engine. Tests pass tapes of their own; a run uses
  // ChannelTapes(channel, kDealerTapes).
  DealerEngine(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
               const DealerOptions& options = {});
  // Without a dealer: all parties of the channel compute, and everything that is dealt comes from
  // `source`.
  DealerEngine(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
               std::unique_ptr<CorrelationSource<R>> source, DealerOptions options);

  const Capabilities& capabilities() const override { return DealerCapabilities(); }
  void BeginPhase(std::string_view name) override { channel_.BeginPhase(name); }
  void AgreeToOpen() override;
  FixedOperand Register(PrivateMatrix matrix) override;
  OracleUse RunOracle(const Shared& values, const OracleTask& task,
                      const OracleQueries& queries) override;
  SharedBits RandomBits(Shape shape, size_t width, crypto::RandomSource& own) override;

 protected:
  void Execute(std::span<Operation> operations) override;
  net::Channel& channel() { return channel_; }
  ReleaseGate& gate() { return gate_; }

 private:
  class Run;  // one Execute
  // What is remembered of a fixed operand.
  struct Fixed {
    std::vector<typename R::Word> opening;  // at a receiver that keeps it
    std::vector<crypto::Digest> sent;       // at the owner: of every block of the opening
  };

  void OpenTapes(const TapeFactory& tapes);

  net::Channel& channel_;
  ReleaseGate& gate_;
  bool has_dealer_;
  uint64_t max_whole_bytes_;
  DealerSchedule schedule_;
  std::unique_ptr<CorrelationSource<R>> source_;
  std::vector<std::unique_ptr<Tape>> peer_tapes_;  // by party; none for this one
  uint64_t num_registered_ = 0;
  std::map<uint64_t, Fixed> fixed_;
};

// The engine of this process over Z_2^128: a DealerEngine, or the dealer's node if the channel's
// last party is this one (which opens nothing).
std::unique_ptr<Engine> MakeDealerEngine(net::Channel& channel, ReleaseGate& gate);

}  // namespace partita::mpc
