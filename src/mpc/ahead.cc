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
// While the dealer is there.
DealerOptions AtOnce() {
  DealerOptions options;
  options.oracles_at_once = true;
  return options;
}

// Calls `execute` with what every Execute of a body asks for, and `oracle` with what every oracle
// asks a dealer for; without a dealer there are no such.
class Recorder : public ShapeEngine {
 public:
  struct Visits {
    std::function<void(const ScheduledExecution&)> execute;
    std::function<void(const DealerOracleLayout&)> oracle;
  };
  // capabilities: of the engine that will run the body.
  Recorder(size_t num_parties, int ring_bits, const Capabilities& capabilities,
           const DealerOptions& options, Visits visits)
      : ShapeEngine({num_parties, {}, ring_bits}),
        capabilities_(capabilities),
        schedule_(num_parties, static_cast<size_t>(ring_bits + 7) / 8, options),
        visits_(std::move(visits)) {}

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
    if (capabilities_.needs_dealer) visits_.oracle(schedule_.NextOracle(values.shape, task));
    return {std::vector<uint64_t>(task.kinds.size())};
  }

 protected:
  void Execute(std::span<Operation> operations) override {
    for (Operation& operation : operations) RunOnShapes(operation);
    visits_.execute(schedule_.Next(operations));
  }

 private:
  const Capabilities& capabilities_;
  DealerSchedule schedule_;
  Visits visits_;
  uint64_t num_registered_ = 0;
};

void Ignore(const DealerOracleLayout&) {}

// Of a run's messages, the dealer's alone.
ExecutionCost DealersPart(ExecutionCost cost, PartyIndex dealer) {
  std::erase_if(cost.parts, [&](const MessagePart& part) { return part.from != dealer; });
  return cost;
}

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
    Exchange(messages, execution.cost);
  }

  void Visit(const DealerOracleLayout& oracle) {
    AheadPackage::Step& step = package_.steps.emplace_back();
    step.digest = DigestOf(oracle);
    StepMessages messages;
    const uint64_t bytes = oracle.dealt_rows * oracle.values.cols * R::kBytes;
    if (self_ == oracle.centre && bytes > 0) {
      Bytes& piece = step.pieces[oracle.dealt_offset];
      piece.resize(bytes);
      messages.Receive(dealer_, piece);
    }
    Exchange(messages, oracle.cost.setup);
  }

 private:
  void Exchange(StepMessages& messages, const ExecutionCost& cost) {
    const ExecutionCost dealt = DealersPart(cost, dealer_);
    for (size_t i = 0; i < dealt.steps; ++i) messages.Exchange(channel_, dealt, i);
  }

  net::Channel& channel_;
  AheadPackage& package_;
  PartyIndex self_, dealer_;
};

// Phases are the run's; dealing ahead is one.
template <typename R>
class LeavingDealer : public DealerNode<R> {
 public:
  explicit LeavingDealer(net::Channel& channel)
      : DealerNode<R>(channel, ChannelTapes(channel, kDealerTapes), AtOnce()) {}
  void BeginPhase(std::string_view) override {}
};

template <typename R>
class PackageSource : public AheadSource<R> {
 public:
  explicit PackageSource(AheadPackage package)
      : AheadSource<R>(KeyTape(package.tape), package.dealt_on_tape),
        steps_(std::move(package.steps)) {}

  void Prepare(const ScheduledExecution& execution) override { GiveStep(DigestOf(execution)); }
  void PrepareOracle(const DealerOracleLayout& oracle) override { GiveStep(DigestOf(oracle)); }

 private:
  void GiveStep(const crypto::Digest& digest) {
    if (next_ == steps_.size() || steps_[next_].digest != digest) {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("step {} of this run asks for other correlations than were made", next_ + 1),
          "make correlations for this study as it is now");
    }
    this->Give(std::move(steps_[next_++].pieces));
  }

  std::vector<AheadPackage::Step> steps_;
  size_t next_ = 0;
};

void HashShape(crypto::Sha256& hash, Shape shape) { hash.U64(shape.rows).U64(shape.cols); }

void HashRows(crypto::Sha256& hash, const RowList& rows) {
  hash.U64(rows == nullptr ? 0 : 1);
  if (rows == nullptr) return;
  hash.U64(rows->size());
  for (const size_t row : *rows) hash.U64(row);
}

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
    HashRows(hash, product.left_rows);
    HashRows(hash, product.right_rows);
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
    hash.U64(decompose.size).U64(decompose.width).U64(decompose.windows ? 1 : 0);
    hash.U64(decompose.mask_offset).U64(decompose.dealt_offset);
  }
  hash.U64(bits.to_rings.size());
  for (const ScheduledToRing& to_ring : bits.to_rings) {
    hash.U64(to_ring.size).U64(to_ring.width);
    hash.U64(to_ring.mask_offset).U64(to_ring.dealt_offset);
  }
  return hash.Finish();
}

crypto::Digest DigestOf(const DealerOracleLayout& oracle) {
  crypto::Sha256 hash;
  hash.Field("partita correlations of an oracle");
  HashShape(hash, oracle.values);
  hash.U64(oracle.centre).U64(oracle.dealt_rows);
  hash.U64(oracle.mask_offset).U64(oracle.row_offset).U64(oracle.dealt_offset);
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
  auto add = [&](const auto& asked) { package.steps.push_back({DigestOf(asked), {}}); };
  Recorder recorder(num_parties, ring_bits, engine, Ahead(), {add, add});
  body(recorder);
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
    auto expect = [](bool good) {
      if (!good) throw Error(ErrorCode::kBadInput, "not what EncodePackage writes");
    };
    expect(reader.U64() == kPackageVersion);
    const ByteView key = reader.Raw(package.tape.Expose().size());
    std::copy(key.begin(), key.end(), package.tape.Expose().begin());
    const uint8_t on_tape = reader.U8();
    expect(on_tape <= 1);
    package.dealt_on_tape = on_tape == 1;
    const uint64_t steps = reader.U64();
    for (uint64_t i = 0; i < steps; ++i) {
      AheadPackage::Step& step = package.steps.emplace_back();
      const ByteView digest = reader.Raw(step.digest.size());
      std::copy(digest.begin(), digest.end(), step.digest.begin());
      const uint64_t pieces = reader.U64();
      for (uint64_t p = 0; p < pieces; ++p) {
        const uint64_t offset = reader.U64();
        // One encoding for one package: ascending.
        expect(step.pieces.empty() || step.pieces.rbegin()->first < offset);
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

template <typename R>
AheadPackage ReceiveFromDealer(net::Channel& channel, const ShapeBody& body) {
  const PartyIndex dealer = channel.num_parties() - 1;
  AheadPackage package;
  // The tape that ChannelTapes opens at the dealer.
  package.tape = channel.PairwiseKey(dealer, kDealerTapes, channel.NextInstance(kDealerTapes));
  package.dealt_on_tape = true;
  DealtReceiver<R> receiver(channel, package);
  auto visit = [&](const auto& asked) { receiver.Visit(asked); };
  Recorder recorder(dealer, R::kBits, DealerCapabilities(), AtOnce(), {visit, visit});
  body(recorder);
  return package;
}

std::vector<ExecutionCost> CostOfDealing(size_t num_parties, int ring_bits, const ShapeBody& body) {
  std::vector<ExecutionCost> costs;
  Recorder recorder(num_parties, ring_bits, DealerCapabilities(), AtOnce(),
                    {[&](const ScheduledExecution& execution) {
                       costs.push_back(DealersPart(execution.cost, num_parties));
                     },
                     [&](const DealerOracleLayout& oracle) {
                       costs.push_back(DealersPart(oracle.cost.setup, num_parties));
                     }});
  body(recorder);
  return costs;
}

template <typename R>
void DealAhead(net::Channel& channel, const ShapeBody& body) {
  LeavingDealer<R> dealer(channel);
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
                    {[&](const ScheduledExecution& execution) {
                       const auto tasks = ot::TasksOf(execution, R::kBits);
                       ot::Round<R> round(execution, *own, channel);
                       if (!tasks.empty()) round.Run(tasks, link.Get());
                       package.steps.push_back({DigestOf(execution), round.TakeResults()});
                     },
                     Ignore});
  body(recorder);
  return package;
}

ExecutionCost CostOfTransfers(int ring_bits, const ShapeBody& body) {
  ExecutionCost cost;
  Recorder recorder(2, ring_bits, OtCapabilities(), Ahead(),
                    {[&](const ScheduledExecution& execution) {
                       const auto tasks = ot::TasksOf(execution, static_cast<size_t>(ring_bits));
                       if (tasks.empty()) return;
                       if (cost.steps == 0) cost = ot::CostOfLink();
                       cost =
                           ot::InSequence(std::move(cost), ot::CostOfBatches(ot::BatchesOf(tasks)));
                     },
                     Ignore});
  body(recorder);
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
