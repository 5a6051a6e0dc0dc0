#include "mpc/ot/ot_engine.h"

#include "base/error.h"
#include "mpc/ahead_source.h"
#include "mpc/ot/ot_oracle.h"
#include "mpc/ot/round.h"

namespace partita::mpc {
namespace {

void CheckParties(size_t num_parties) {
  if (num_parties != 2) {
    throw Error(ErrorCode::kBadInput, "the engine ot needs exactly two computing parties",
                "choose the engine dealer or replicated for more");
  }
}

// Makes what an Execute needs right before it.
template <typename R>
class TransferSource : public AheadSource<R> {
 public:
  TransferSource(std::unique_ptr<Tape> own, net::Channel& channel, std::shared_ptr<LazyLink> link)
      : AheadSource<R>(std::move(own), false), channel_(channel), link_(std::move(link)) {}

  void Prepare(const ScheduledExecution& execution) override {
    const std::vector<ot::OtTask> tasks = ot::TasksOf(execution, R::kBits);
    ot::Round<R> round(execution, this->own(), channel_);
    if (!tasks.empty()) round.Run(tasks, link_->Get());
    this->Give(round.TakeResults());
  }

 private:
  net::Channel& channel_;
  std::shared_ptr<LazyLink> link_;
};

class OtCostModel : public CostModel {
 public:
  OtCostModel(int ring_bits, bool ahead)
      : ring_bits_(ring_bits), ahead_(ahead), schedule_(2, ElementBytes(), Options()) {}

  const Capabilities& capabilities() const override { return OtCapabilities(); }
  size_t num_parties() const override { return 2; }
  size_t num_processes() const override { return 2; }
  int ring_bits() const override { return ring_bits_; }
  void Register(const FixedOperand& operand) override { schedule_.Register(operand); }
  ExecutionCost Execute(std::span<const Operation> operations) override {
    const ScheduledExecution execution = schedule_.Next(operations);
    if (ahead_) return execution.cost;
    const std::vector<ot::OtTask> tasks = ot::TasksOf(execution, RingBits());
    if (tasks.empty()) return execution.cost;
    ExecutionCost transfers = ot::CostOfBatches(ot::BatchesOf(tasks));
    if (!linked_) transfers = ot::InSequence(ot::CostOfLink(), transfers);
    linked_ = true;
    return ot::InSequence(std::move(transfers), execution.cost);
  }
  OracleCost Oracle(Shape values, const OracleTask& task) override {
    OracleCost cost = ot::CostOfOracle(values, task, RingBits(), linked_);
    linked_ = linked_ || ot::OracleNeedsLink(values);
    return cost;
  }

 private:
  size_t RingBits() const { return static_cast<size_t>(ring_bits_); }
  size_t ElementBytes() const { return (RingBits() + 7) / 8; }
  static DealerOptions Options() {
    DealerOptions options;
    options.dealt_ahead = true;
    return options;
  }

  int ring_bits_;
  bool ahead_, linked_ = false;
  DealerSchedule schedule_;
};

}  // namespace

ot::Link& LazyLink::Get() {
  if (link_ == nullptr) link_ = std::make_unique<ot::Link>(channel_, 1 - channel_.self(), random_);
  return *link_;
}

const Capabilities& OtCapabilities() {
  static const Capabilities capabilities = {
      "ot",
      "Semi-honest: two parties, neither of which deviates from the protocol; no helper. "
      "Correlations come from oblivious transfers and are as safe as Diffie-Hellman in "
      "ristretto255 and AES.",
      2, 2, false};
  return capabilities;
}

template <typename R>
OtEngine<R>::OtEngine(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
                      crypto::RandomSource& random, const DealerOptions& options)
    : OtEngine(channel, gate, tapes, std::make_shared<LazyLink>(channel, random),
               crypto::RandomKey(random), options) {}

template <typename R>
OtEngine<R>::OtEngine(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
                      std::shared_ptr<LazyLink> link, const crypto::Key& own,
                      const DealerOptions& options)
    : OtEngine(channel, gate, tapes,
               std::make_unique<TransferSource<R>>(KeyTape(own), channel, link), link, options) {}

template <typename R>
OtEngine<R>::OtEngine(net::Channel& channel, ReleaseGate& gate, const TapeFactory& tapes,
                      std::unique_ptr<CorrelationSource<R>> source, std::shared_ptr<LazyLink> link,
                      const DealerOptions& options)
    : DealerEngine<R>(channel, gate, tapes, std::move(source), options), link_(std::move(link)) {
  CheckParties(channel.num_parties());
}

template <typename R>
const Capabilities& OtEngine<R>::capabilities() const {
  return OtCapabilities();
}

template <typename R>
OracleUse OtEngine<R>::RunOracle(const Shared& values, const OracleTask& task,
                                 const OracleQueries& queries) {
  OracleSession session(this->channel(), this->gate(), values, task, this->facts());
  ot::Link* link = ot::OracleNeedsLink(values.shape) ? &link_->Get() : nullptr;
  ot::Oracle<R>(session, link, this->SharesOf(values).components[0]).Run(queries);
  return session.use();
}

template class OtEngine<Ring128>;
template class OtEngine<Ring64>;
template class OtEngine<Ring16>;
template class OtEngine<Ring8>;
template class OtEngine<Ring4>;

namespace {

// Randomness that outlives the engine.
class SystemOtEngine : private crypto::SystemRandom, public OtEngine<Ring128> {
 public:
  SystemOtEngine(net::Channel& channel, ReleaseGate& gate)
      : OtEngine(channel, gate, ChannelTapes(channel, kOtTapes),
                 static_cast<crypto::SystemRandom&>(*this)) {}
  SystemOtEngine(net::Channel& channel, ReleaseGate& gate,
                 std::unique_ptr<CorrelationSource<Ring128>> source)
      : OtEngine(channel, gate, ChannelTapes(channel, kOtTapes), std::move(source),
                 std::make_shared<LazyLink>(channel, static_cast<crypto::SystemRandom&>(*this)),
                 DealerOptions{}) {}
};

}  // namespace

std::unique_ptr<Engine> MakeOtEngine(net::Channel& channel, ReleaseGate& gate) {
  return std::make_unique<SystemOtEngine>(channel, gate);
}

std::unique_ptr<Engine> MakeOtEngine(net::Channel& channel, ReleaseGate& gate,
                                     std::unique_ptr<CorrelationSource<Ring128>> source) {
  return std::make_unique<SystemOtEngine>(channel, gate, std::move(source));
}

std::unique_ptr<CostModel> MakeOtCostModel(size_t num_parties, int ring_bits, bool ahead) {
  CheckParties(num_parties);
  return std::make_unique<OtCostModel>(ring_bits, ahead);
}

}  // namespace partita::mpc
