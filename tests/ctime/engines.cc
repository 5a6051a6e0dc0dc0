// Whole engines: every operation, with private inputs and all random tapes poisoned, at every party
// and the dealer. Nothing is made public on the way, so what the parties open to each other under
// masks counts as secret too.
#include "mpc/compare.h"
#include "mpc/dealer_engine.h"
#include "mpc/dealer_node.h"
#include "mpc/functions/division.h"
#include "mpc/functions/exponential.h"
#include "mpc/functions/extremes.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/norm.h"
#include "mpc/functions/order.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/sigmoid.h"
#include "mpc/functions/softmax.h"
#include "mpc/ot/ot_engine.h"
#include "mpc/replicated_engine.h"
#include "mpc/shamir_engine.h"
#include "mpc/window_carries.h"
#include "tests/ctime/primitives.h"
#include "tests/ctime/secret_source.h"
#include "tests/mpc/harness.h"

namespace partita::ctime {
namespace {

using mpc::Engine;
using mpc::PartyIndex;
using mpc::Product;
using mpc::Ring128;
using mpc::Shared;

class SecretTape : public mpc::Tape {
 public:
  explicit SecretTape(std::unique_ptr<mpc::Tape> tape) : tape_(std::move(tape)) {}
  void Read(uint64_t offset, std::span<uint8_t> out) override {
    tape_->Read(offset, out);
    Poison(out);
  }

 private:
  std::unique_ptr<mpc::Tape> tape_;
};

mpc::TapeFactory SecretTapes(net::Channel& channel, std::string_view purpose) {
  return [plain = mpc::ChannelTapes(channel, purpose)](PartyIndex peer) {
    return std::make_unique<SecretTape>(plain(peer));
  };
}

mpc::PrivateMatrix SecretMatrix(const Engine& engine, PartyIndex owner, mpc::Shape shape) {
  mpc::PrivateMatrix matrix{owner, shape, 20, 1000.0, nullptr};
  if (engine.self() == owner) {
    matrix.read = [cols = shape.cols](size_t first, size_t count, Int128* out) {
      for (size_t i = 0; i < count * cols; ++i) out[i] = static_cast<Int128>(first + i) - 20;
      Poison(std::span(out, count * cols));
    };
  }
  return matrix;
}

void LocalOperations(Engine& engine, const Shared& a, const Shared& b) {
  const mpc::PublicMatrix factor = {{{3, 2}, {1, -2, 3, 4, -5, 6}}, 0};
  const mpc::PublicMatrix left = {{{4, 6}, std::vector<Int128>(24, -3)}, 0};
  const Shared sum = engine.Add(a, engine.Scale(engine.Subtract(a, b), -7));
  const Shared product = engine.Add(engine.MultiplyPublic(engine.MultiplyPublic(left, sum), factor),
                                    engine.Public({{{4, 2}, std::vector<Int128>(8, 5)}, 20}));
  const Shared rows = engine.SumRows(engine.Transpose(engine.Slice(product, 1, 0, {3, 2})));
  const Shared parts[] = {rows, rows};
  Use(engine.SelectRows(engine.Concatenate(parts, true), std::vector<size_t>{1, 0, 1}));
}

void BitOperations(Engine& engine, const Shared& a, const Shared& b) {
  const Shared values[] = {a, b};
  const size_t widths[] = {30, 7};
  const std::vector<mpc::CarryBits> carries = engine.Decompose(values, widths);
  if (mpc::HasWindows(engine)) Use(mpc::IsNegativeInWindows(engine, values)[0]);
  const mpc::BitProduct product = {carries[0].propagate, engine.Not(carries[0].generate)};
  const mpc::SharedBits both = engine.And(std::span(&product, 1))[0];
  const mpc::SharedBits sum = engine.Xor(both, carries[0].propagate);
  const std::vector<size_t> planes = {3, 0};
  const mpc::SharedBits parts[] = {engine.SelectPlanes(sum, planes), carries[1].propagate};
  const mpc::SharedBits joined = engine.JoinPlanes(parts);
  mpc::BitMatrix mask = mpc::MakeBits(joined.shape, joined.width);
  mask.words.assign(mask.words.size(), 0x123456789abcdef);
  SecretSource random;
  const mpc::SharedBits drawn = engine.RandomBits(joined.shape, joined.width, random);
  mpc::PrivateBits own = {0, mpc::MakeBits(joined.shape, joined.width)};
  if (engine.self() != PartyIndex{0}) own.values.words.clear();
  Poison(own.values.words);
  const mpc::SharedBits input = engine.InputBits(std::span(&own, 1))[0];
  const mpc::SharedBits flipped = engine.Xor(engine.PublicBits(mask), engine.Xor(input, drawn));
  const mpc::SharedBits kept = engine.Xor(engine.AndPublic(joined, mask), flipped);
  const std::vector<Shared> elements = engine.ToRing(std::span(&kept, 1));
  engine.Reveal("out", elements, mpc::kEverybody);
  engine.RevealBits("out", std::span(&kept, 1), 0);
  const mpc::Comparison comparison = {a, b};
  const mpc::Selection selection = {mpc::LessThan(engine, std::span(&comparison, 1))[0], a, b};
  engine.Reveal("out", mpc::Select(engine, std::span(&selection, 1)), 1);
}

// The weights are the centre's own, and it checks their sizes; the values are secret.
void Oracle(Engine& engine, const Shared& values) {
  const mpc::OracleTask task = {0, 0, 10, {{"oracle", 2, 3}}};
  const mpc::IntMatrix weights = {{2, 6}, {1, -1, 2, 0, 0, 3, 0, 0, 5, 0, -4, 1}};
  engine.RunOracle(values, task, [&](const mpc::OracleEvaluate& evaluate) {
    Use(evaluate(0, weights));
    Use(evaluate(0, weights));
  });
}

void EveryOperation(Engine& engine, size_t) {
  const std::vector<mpc::PrivateMatrix> inputs = {SecretMatrix(engine, 0, {6, 3}),
                                                  SecretMatrix(engine, 1, {6, 3})};
  const std::vector<Shared> shared = engine.Input(inputs);
  const Shared &a = shared[0], &b = shared[1];
  LocalOperations(engine, a, b);
  using Kind = Product::Kind;
  const std::vector<Product> products = {{Kind::kElementwise, a, b},
                                         {Kind::kElementwise, a, a},
                                         {Kind::kGram, a, b},
                                         {Kind::kMatrix, a, engine.Transpose(b)},
                                         {Kind::kGram, inputs[0], b},
                                         {Kind::kElementwise, a, inputs[1]},
                                         {Kind::kGram, inputs[0], inputs[1]},
                                         {Kind::kGram, engine.Register(inputs[1]), a}};
  const std::vector<Shared> results = engine.Multiply(products);
  const std::vector<Shared> cut = engine.Rescale(results, 20);
  BitOperations(engine, a, b);
  engine.Reveal("out", cut, mpc::kEverybody);
  const std::vector<std::optional<int>> digits(products.size(), 20);
  engine.Reveal("out", engine.MultiplyAndRescale(products, digits), 0);
  Oracle(engine, b);
}

// Whatever the values: beyond their bounds results are wrong, which nobody looks at.
void MostFunctions(Engine& engine, size_t) {
  const std::vector<mpc::PrivateMatrix> inputs = {SecretMatrix(engine, 0, {4, 3})};
  const std::vector<Shared> x = engine.Input(inputs);
  const std::vector<mpc::PositiveValue> positive = {{x[0], 0.5}};
  Use(mpc::Log(engine, positive, 30));
  Use(mpc::InverseRoot(engine, positive, 30));
  Use(mpc::RootAndInverse(engine, positive, 30));
  const mpc::Quotient quotient = {x[0], positive[0], 2000.0};
  Use(mpc::Divide(engine, std::span(&quotient, 1), 30));
  const mpc::BoundedAbove bounded = {x[0], 5.0};
  Use(mpc::Exponential(engine, std::span(&bounded, 1), 30));
  Use(mpc::Sigmoid(engine, x, 30));
  Use(mpc::RowSoftmax(engine, x, 30));
  Use(mpc::RowArgMax(engine, x));
  const mpc::RowsWithNorm rows = {x[0], 1.0};
  Use(mpc::RowNorm(engine, std::span(&rows, 1), 30));
  Use(mpc::ClipRows(engine, std::span(&rows, 1)));
  Use(mpc::CumulativeSums(engine, x[0]));
}

void RunEngine(const std::string& kind, size_t num_parties, const mpc::testing::EngineMaker& make,
               const mpc::testing::Body& body = EveryOperation) {
  mpc::testing::RunOptions options;
  options.kind = kind;
  options.num_parties = num_parties;
  options.make = make;
  options.releases = {{"out", "everything", "all", "exact", 10000},
                      {"oracle", "products", "the centre", "exact", 100, 0}};
  mpc::testing::RunAll(options, body).ThrowIfFailed();
}

void Dealer() {
  RunEngine("dealer", 2,
            [](net::Channel& channel, mpc::ReleaseGate& gate) -> std::unique_ptr<Engine> {
              const auto tapes = SecretTapes(channel, mpc::kDealerTapes);
              if (channel.self() == 2)
                return std::make_unique<mpc::DealerNode<Ring128>>(channel, tapes);
              return std::make_unique<mpc::DealerEngine<Ring128>>(channel, gate, tapes);
            });
}

std::unique_ptr<Engine> MakeReplicated(net::Channel& channel, mpc::ReleaseGate& gate) {
  return std::make_unique<mpc::ReplicatedEngine<Ring128>>(channel, gate,
                                                          SecretTapes(channel, "replicated"));
}

void Replicated() { RunEngine("replicated", 3, MakeReplicated); }
void Functions() { RunEngine("replicated", 3, MakeReplicated, MostFunctions); }

void Transfers() {
  RunEngine("ot", 2, [](net::Channel& channel, mpc::ReleaseGate& gate) {
    static SecretSource random;
    return std::make_unique<mpc::OtEngine<Ring128>>(channel, gate,
                                                    SecretTapes(channel, mpc::kOtTapes), random);
  });
}

template <size_t kParties, size_t kSlices>
void Shamir() {
  RunEngine("shamir", kParties, [](net::Channel& channel, mpc::ReleaseGate& gate) {
    const size_t threshold = mpc::ShamirThreshold(kParties);
    const mpc::GroupTapes tapes =
        [plain = mpc::ChannelGroupTapes(channel, threshold)](mpc::shamir::Group group) {
          return std::make_unique<SecretTape>(plain(group));
        };
    return std::make_unique<mpc::ShamirEngine<mpc::Field127, kSlices>>(channel, gate, tapes);
  });
}

}  // namespace

std::vector<Primitive> EnginePrimitives() {
  return {{"engine_dealer", Dealer},
          {"engine_replicated", Replicated},
          {"engine_shamir", Shamir<3, 2>}};
}

std::vector<Primitive> SlowPrimitives() {
  return {{"engine_shamir_five", Shamir<5, 3>}, {"engine_ot", Transfers}, {"functions", Functions}};
}

}  // namespace partita::ctime
