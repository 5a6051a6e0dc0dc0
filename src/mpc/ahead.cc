#include "mpc/ahead.h"

#include <fmt/format.h>

#include "base/error.h"
#include "mpc/dealer_engine.h"
#include "mpc/dealer_node.h"
#include "mpc/ot/link.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/ot/round.h"
#include "mpc/ot/tasks.h"

namespace partita::mpc {
namespace {

constexpr uint64_t kPackageVersion = 1;

DealerOptions Ahead() {
  DealerOptions options;
  options.dealt_ahead = true;
  return options;
}

// Calls `visit` with what every Execute of a body asks for.
class Recorder : public ShapeEngine {
 public:
  using Visit = std::function<void(ScheduledExecution)>;
  // capabilities: of the engine that will run the body.
  Recorder(size_t num_parties, int ring_bits, const Capabilities& capabilities,
           const DealerOptions& options, Visit visit)
      : ShapeEngine({num_parties, {}, ring_bits}),
        capabilities_(capabilities),
        schedule_(num_parties, static_cast<size_t>(ring_bits + 7) / 8, options),
        visit_(std::move(visit)) {}

  const Capabilities& capabilities() const override { return capabilities_; }
  void BeginPhase(std::string_view) override {}
  FixedOperand Register(PrivateMatrix matrix) override {
    CheckPrivate(matrix, facts());
    FixedOperand operand{std::move(matrix), ++num_registered_};
    schedule_.Register(operand);
    return operand;
  }
  OracleUse RunOracle(const Shared& values, const OracleTask& task, const OracleQueries&) override {
    CheckOracle(values, task, facts());
    if (capabilities_.needs_dealer) {
      throw Error(ErrorCode::kUsage, "a linear oracle needs the dealer during the run",
                  "let the dealer take part in the run");
    }
    return {std::vector<uint64_t>(task.kinds.size())};
  }

 protected:
  void Execute(std::span<Operation> operations) override {
    for (Operation& operation : operations) RunOnShapes(operation);
    visit_(schedule_.Next(operations));
  }

 private:
  const Capabilities& capabilities_;
  DealerSchedule schedule_;
  Visit visit_;
  uint64_t num_registered_ = 0;
};

// The order in which the dealer sends (DealerNode::Execute) what the parties keep.
template <typename R>
class DealtReceiver {
 public:
  DealtReceiver(net::Channel& channel, AheadPackage& package)
      : channel_(channel),
        package_(package),
        self_(channel.self()),
        dealer_(channel.num_parties() - 1) {}

  void Visit(const ScheduledExecution& execution) {
    AheadPackage::Step& step = package_.steps.emplace_back();
    step.digest = DigestOf(execution);
    StepMessages messages;
    auto receive = [&](bool mine, uint64_t offset, uint64_t bytes) {
      if (!mine || bytes == 0) return;
      Bytes& piece = step.pieces[offset];
      piece.resize(bytes);
      messages.Receive(dealer_, piece);
    };
    for (const ScheduledProduct& product : execution.products) {
      const bool mine = product.route != ScheduledProduct::Route::kLocal && product.last == self_;
      receive(mine, product.dealt_offset, product.shape.size() * R::kBytes);
    }
    const bool last = self_ + 1 == dealer_;
    for (const ScheduledRescale& rescale : execution.rescales) {
      receive(last, rescale.dealt_offset, 2 * rescale.shape.size() * R::kBytes);
    }
    for (const ScheduledAnd& conjunction : execution.bits.ands) {
      receive(last, conjunction.dealt_offset, conjunction.words * sizeof(uint64_t));
    }
    for (const ScheduledDecompose& decompose : execution.bits.decomposes) {
      receive(last, decompose.dealt_offset, decompose.words * sizeof(uint64_t));
    }
    for (const ScheduledToRing& to_ring : execution.bits.to_rings) {
      receive(last, to_ring.dealt_offset, to_ring.size * to_ring.width * R::kBytes);
    }
    // Of the run's messages, the dealer's alone travel now.
    ExecutionCost cost = execution.cost;
    std::erase_if(cost.parts, [&](const MessagePart& part) { return part.from != dealer_; });
    for (size_t i = 0; i < cost.steps; ++i) messages.Exchange(channel_, cost, i);
  }

 private:
  net::Channel& channel_;
  AheadPackage& package_;
  PartyIndex self_, dealer_;
};

template <typename R>
class PackageSource : public AheadSource<R> {
 public:
  explicit PackageSource(AheadPackage package)
      : AheadSource<R>(KeyTape(package.tape), package.dealt_on_tape),
        steps_(std::move(package.steps)) {}

  void Prepare(const ScheduledExecution& execution) override {
    if (next_ == steps_.size() || steps_[next_].digest != DigestOf(execution)) {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("step {} of this run asks for other correlations than were made", next_ + 1),
          "make correlations for this study as it is now");
    }
    this->Give(std::move(steps_[next_++].pieces));
  }

 private:
  std::vector<AheadPackage::Step> steps_;
  size_t next_ = 0;
};

void HashShape(crypto::Sha256& hash, Shape shape) { hash.U64(shape.rows).U64(shape.cols); }

}  // namespace

crypto::Digest DigestOf(const ScheduledExecution& execution) {
  crypto::Sha256 hash;
  hash.Field("partita correlations of an execution");
  auto bools = [&](const std::vector<bool>& values) {
    hash.U64(values.size());
    for (bool value : values) hash.U64(value ? 1 : 0);
  };
  hash.U64(execution.masked.size());
  for (const MaskedOperand& masked : execution.masked) {
    HashShape(hash, masked.shape);
    hash.U64(masked.owner ? 1 + *masked.owner : 0).U64(masked.mask_offset);
  }
  hash.U64(execution.products.size());
  for (const ScheduledProduct& product : execution.products) {
    hash.U64(static_cast<uint64_t>(product.route)).U64(static_cast<uint64_t>(product.kind));
    hash.U64(product.left).U64(product.right).U64(product.dealt_offset).U64(product.last);
    bools(product.sharers);
    HashShape(hash, product.shape);
  }
  hash.U64(execution.rescales.size());
  for (const ScheduledRescale& rescale : execution.rescales) {
    hash.U64(static_cast<uint64_t>(rescale.shift));
    hash.U64(rescale.mask_offset).U64(rescale.dealt_offset);
    HashShape(hash, rescale.shape);
  }
  const DealerBitPlan& bits = execution.bits;
  hash.U64(bits.masked.size());
  for (const MaskedBits& masked : bits.masked) {
    HashShape(hash, masked.operand.shape);
    hash.U64(masked.operand.width).U64(masked.mask_offset);
  }
  hash.U64(bits.ands.size());
  for (const ScheduledAnd& conjunction : bits.ands) {
    hash.U64(conjunction.left).U64(conjunction.right).U64(conjunction.dealt_offset);
  }
  hash.U64(bits.decomposes.size());
  for (const ScheduledDecompose& decompose : bits.decomposes) {
    hash.U64(decompose.size).U64(decompose.width);
    hash.U64(decompose.mask_offset).U64(decompose.dealt_offset);
  }
  hash.U64(bits.to_rings.size());
  for (const ScheduledToRing& to_ring : bits.to_rings) {
    hash.U64(to_ring.size).U64(to_ring.width);
    hash.U64(to_ring.mask_offset).U64(to_ring.dealt_offset);
  }
  return hash.Finish();
}

crypto::Digest LabelOf(const AheadPackage& package) {
  crypto::Sha256 hash;
  hash.Field("partita correlations of a run").U64(package.steps.size());
  for (const AheadPackage::Step& step : package.steps) hash.Field(step.digest);
  return hash.Finish();
}

crypto::Digest LabelOf(const Capabilities& engine, size_t num_parties, int ring_bits,
                       const ShapeBody& body) {
  AheadPackage package;
  for (const auto& execution : ScheduleOf(engine, num_parties, ring_bits, body)) {
    package.steps.push_back({DigestOf(execution), {}});
  }
  return LabelOf(package);
}

Bytes EncodePackage(const AheadPackage& package) {
  ByteWriter writer;
  writer.U64(kPackageVersion);
  writer.Raw(package.tape.Expose());
  writer.U8(package.dealt_on_tape ? 1 : 0);
  writer.U64(package.steps.size());
  for (const AheadPackage::Step& step : package.steps) {
    writer.Raw(step.digest);
    writer.U64(step.pieces.size());
    for (const auto& [offset, piece] : step.pieces) {
      writer.U64(offset);
      writer.Blob(piece);
    }
  }
  return writer.Take();
}

AheadPackage DecodePackage(ByteView bytes) {
  try {
    ByteReader reader(bytes);
    AheadPackage package;
    if (reader.U64() != kPackageVersion) throw Error(ErrorCode::kBadInput, "another version");
    const ByteView key = reader.Raw(package.tape.Expose().size());
    std::copy(key.begin(), key.end(), package.tape.Expose().begin());
    package.dealt_on_tape = reader.U8() != 0;
    const uint64_t steps = reader.U64();
    for (uint64_t i = 0; i < steps; ++i) {
      AheadPackage::Step& step = package.steps.emplace_back();
      const ByteView digest = reader.Raw(step.digest.size());
      std::copy(digest.begin(), digest.end(), step.digest.begin());
      const uint64_t pieces = reader.U64();
      for (uint64_t p = 0; p < pieces; ++p) {
        const uint64_t offset = reader.U64();
        step.pieces[offset] = reader.Blob(reader.remaining());
      }
    }
    reader.ExpectEnd();
    return package;
  } catch (const Error&) {
    throw Error(ErrorCode::kBadInput, "stored correlations cannot be read by this version",
                "make new correlations");
  }
}

std::vector<ScheduledExecution> ScheduleOf(const Capabilities& engine, size_t num_parties,
                                           int ring_bits, const ShapeBody& body) {
  std::vector<ScheduledExecution> executions;
  Recorder recorder(num_parties, ring_bits, engine, Ahead(), [&](ScheduledExecution execution) {
    executions.push_back(std::move(execution));
  });
  body(recorder);
  return executions;
}

template <typename R>
AheadPackage ReceiveFromDealer(net::Channel& channel, const ShapeBody& body) {
  const PartyIndex dealer = channel.num_parties() - 1;
  AheadPackage package;
  // The tape that ChannelTapes opens at the dealer.
  package.tape = channel.PairwiseKey(dealer, kDealerTapes, channel.NextInstance(kDealerTapes));
  package.dealt_on_tape = true;
  DealtReceiver<R> receiver(channel, package);
  Recorder recorder(dealer, R::kBits, DealerCapabilities(), {},
                    [&](const ScheduledExecution& execution) { receiver.Visit(execution); });
  body(recorder);
  return package;
}

template <typename R>
void DealAhead(net::Channel& channel, const ShapeBody& body) {
  DealerNode<R> dealer(channel, ChannelTapes(channel, kDealerTapes));
  body(dealer);
}

template <typename R>
AheadPackage MakeByTransfers(net::Channel& channel, crypto::RandomSource& random,
                             const ShapeBody& body) {
  AheadPackage package;
  package.tape = crypto::RandomKey(random);
  const std::unique_ptr<Tape> own = KeyTape(package.tape);
  LazyLink link(channel, random);
  Recorder recorder(2, R::kBits, OtCapabilities(), Ahead(),
                    [&](const ScheduledExecution& execution) {
                      const auto tasks = ot::TasksOf(execution, R::kBits);
                      ot::Round<R> round(execution, *own, channel);
                      if (!tasks.empty()) round.Run(tasks, link.Get());
                      package.steps.push_back({DigestOf(execution), round.TakeResults()});
                    });
  body(recorder);
  return package;
}

ExecutionCost CostOfTransfers(int ring_bits, const ShapeBody& body) {
  ExecutionCost cost;
  for (const ScheduledExecution& execution : ScheduleOf(OtCapabilities(), 2, ring_bits, body)) {
    const auto tasks = ot::TasksOf(execution, static_cast<size_t>(ring_bits));
    if (tasks.empty()) continue;
    if (cost.steps == 0) cost = ot::CostOfLink();
    cost = ot::InSequence(std::move(cost), ot::CostOfBatches(ot::BatchesOf(tasks)));
  }
  return cost;
}

template <typename R>
std::unique_ptr<CorrelationSource<R>> SourceOf(AheadPackage package) {
  return std::make_unique<PackageSource<R>>(std::move(package));
}

std::unique_ptr<Engine> MakeDealerEngineAhead(net::Channel& channel, ReleaseGate& gate,
                                              AheadPackage package) {
  return std::make_unique<DealerEngine<Ring128>>(channel, gate, ChannelTapes(channel, kDealerTapes),
                                                 SourceOf<Ring128>(std::move(package)),
                                                 DealerOptions{});
}

std::unique_ptr<Engine> MakeOtEngineAhead(net::Channel& channel, ReleaseGate& gate,
                                          AheadPackage package) {
  return MakeOtEngine(channel, gate, SourceOf<Ring128>(std::move(package)));
}

template <typename R>
using SourcePointer = std::unique_ptr<CorrelationSource<R>>;

#define PARTITA_INSTANTIATE(R)                                                   \
  template AheadPackage ReceiveFromDealer<R>(net::Channel&, const ShapeBody&);   \
  template void DealAhead<R>(net::Channel&, const ShapeBody&);                   \
  template AheadPackage MakeByTransfers<R>(net::Channel&, crypto::RandomSource&, \
                                           const ShapeBody&);                    \
  template SourcePointer<R> SourceOf<R>(AheadPackage);
PARTITA_INSTANTIATE(Ring128)
PARTITA_INSTANTIATE(Ring64)
PARTITA_INSTANTIATE(Ring16)
PARTITA_INSTANTIATE(Ring8)
PARTITA_INSTANTIATE(Ring4)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
