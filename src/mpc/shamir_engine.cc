#include "mpc/shamir_engine.h"

#include <bit>

#include "crypto/random.h"
#include "mpc/bit_rules.h"
#include "mpc/release_ok.h"
#include "mpc/shamir_execution.h"
#include "mpc/shamir_oracle.h"

namespace partita::mpc {

using shamir::Group;
using shamir::IsMember;

namespace {

template <typename F>
shamir::Parameters ParametersOf(size_t num_parties, std::optional<size_t> threshold,
                                int statistical_bits) {
  shamir::CheckNumParties(num_parties);
  shamir::Parameters parameters;
  parameters.num_parties = num_parties;
  parameters.threshold = threshold.value_or(ShamirThreshold(num_parties));
  shamir::CheckThreshold(num_parties, parameters.threshold);
  parameters.mask_bits = F::kMaskBits;
  parameters.element_bytes = F::kBytes;
  parameters.tape_bytes = F::kTapeBytes;
  parameters.statistical_bits = statistical_bits;
  parameters.mersenne_bits = F::kMaskBits == F::kBits - 1 ? F::kBits : 0;
  return parameters;
}

template <size_t kSlices>
constexpr std::array<bool, kSlices> OnesInSliceZero() {
  std::array<bool, kSlices> carries{};
  carries[0] = true;
  return carries;
}

}  // namespace

template <typename F, size_t kSlices>
ShamirEngine<F, kSlices>::ShamirEngine(net::Channel& channel, ReleaseGate& gate,
                                       const GroupTapes& tapes, int statistical_bits,
                                       std::optional<size_t> threshold)
    : LinearEngine<F, 1, kSlices>({channel.num_parties(), channel.self(), F::kBits}, {true},
                                  OnesInSliceZero<kSlices>()),
      gate_(gate),
      party_(channel, ParametersOf<F>(channel.num_parties(), threshold, statistical_bits).threshold,
             tapes),
      scheduler_(ParametersOf<F>(channel.num_parties(), threshold, statistical_bits)) {
  if (scheduler_.parameters().slices() != kSlices) {
    throw Error(ErrorCode::kUsage, "the engine shamir was made for another number of parties",
                "use MakeShamirEngine");
  }
}

template <typename F, size_t kSlices>
void ShamirEngine<F, kSlices>::AgreeToOpen() {
  mpc::AgreeToOpen(party_.channel(), gate_, this->num_parties());
}

template <typename F, size_t kSlices>
FixedOperand ShamirEngine<F, kSlices>::Register(PrivateMatrix matrix) {
  CheckPrivate(matrix, this->facts());
  FixedOperand operand{std::move(matrix), ++num_registered_};
  scheduler_.Register(operand);
  return operand;
}

template <typename F, size_t kSlices>
OracleUse ShamirEngine<F, kSlices>::RunOracle(const Shared& values, const OracleTask& task,
                                              const OracleQueries& queries) {
  OracleSession session(party_.channel(), gate_, values, task, this->facts());
  const shamir::OracleLayout layout = scheduler_.NextOracle(values.shape, task);
  ShamirOracle<F, kSlices>(session, party_, layout, this->SharesOf(values).components[0])
      .Run(queries);
  return session.use();
}

// The exclusive or of one bit per group. Every coalition of t misses one group.
template <typename F, size_t kSlices>
SharedBits ShamirEngine<F, kSlices>::RandomBits(Shape shape, size_t width, crypto::RandomSource&) {
  const size_t words = width * WordsPerPlane(shape);
  const uint64_t offset = scheduler_.ReserveBits(words);
  auto bits = MakeSlices<kSlices>(words);
  for (size_t g = 0; g < party_.groups().size(); ++g) {
    const Group group = party_.groups()[g];
    if (!IsMember(group, party_.self())) continue;
    auto part = MakeSlices<kSlices>(words);
    part[0] = party_.ReadBits(party_.TapeOf(group), offset, words);
    AddScaled<kSlices>(part, party_.bit_group_share(g), bits);
  }
  return this->WithBits({shape, width, nullptr}, std::move(bits));
}

template <typename F, size_t kSlices>
void ShamirEngine<F, kSlices>::Execute(std::span<Operation> operations) {
  for (Operation& operation : operations) CheckOperation(operation, this->facts());
  scheduler_.CheckMasks(operations);
  AskGate(gate_, operations);
  ShamirExecution<F, kSlices>(*this, operations).Run();
}

namespace {

// The keys of groups of more than two, from the first member to the others.
std::map<Group, crypto::Key> ShareGroupKeys(net::Channel& channel, size_t threshold) {
  const PartyIndex self = channel.self();
  const ExecutionCost cost = shamir::SetupCost(channel.num_parties(), threshold);
  std::map<Group, crypto::Key> keys;
  if (cost.steps == 0) return keys;
  crypto::SystemRandom random;
  StepMessages messages;
  for (Group group : shamir::GroupsOf(channel.num_parties(), threshold)) {
    if (!IsMember(group, self)) continue;
    const auto first = static_cast<PartyIndex>(std::countr_zero(group));
    if (first == self) {
      auto& key = keys.emplace(group, crypto::RandomKey(random)).first->second.Expose();
      for (PartyIndex member = self + 1; member < channel.num_parties(); ++member) {
        if (IsMember(group, member)) messages.Send(member, key);
      }
    } else {
      messages.Receive(first, keys[group].Expose());
    }
  }
  messages.Exchange(channel, cost, 0);
  return keys;
}

}  // namespace

GroupTapes ChannelGroupTapes(net::Channel& channel, size_t threshold) {
  auto pairs = ChannelTapes(channel, "shamir");
  auto keys = std::make_shared<std::map<Group, crypto::Key>>(ShareGroupKeys(channel, threshold));
  return [pairs = std::move(pairs), keys, self = channel.self()](Group group) {
    if (std::has_single_bit(group)) {
      crypto::SystemRandom random;
      return KeyTape(crypto::RandomKey(random));
    }
    if (std::popcount(group) > 2) return KeyTape(keys->at(group));
    return pairs(static_cast<PartyIndex>(std::countr_zero(group & ~(Group{1} << self))));
  };
}

namespace {

std::unique_ptr<Engine> MakeOver(net::Channel& channel, ReleaseGate& gate,
                                 std::optional<size_t> threshold) {
  constexpr int kBits = 64;
  const shamir::Parameters parameters =
      ParametersOf<Field127>(channel.num_parties(), threshold, kBits);
  const GroupTapes tapes = ChannelGroupTapes(channel, parameters.threshold);
  if (parameters.slices() == 2) {
    return std::make_unique<ShamirEngine<Field127, 2>>(channel, gate, tapes, kBits, threshold);
  }
  return std::make_unique<ShamirEngine<Field127, 3>>(channel, gate, tapes, kBits, threshold);
}

}  // namespace

std::unique_ptr<Engine> MakeShamirEngine(net::Channel& channel, ReleaseGate& gate) {
  return MakeOver(channel, gate, {});
}

std::unique_ptr<Engine> MakeShamirEngineFor(size_t threshold, net::Channel& channel,
                                            ReleaseGate& gate) {
  return MakeOver(channel, gate, threshold);
}

namespace {

template <size_t kSlices>
const std::vector<PartyIndex>* CorrectedOf(const Engine& engine) {
  auto* shamir = dynamic_cast<const ShamirEngine<Field127, kSlices>*>(&engine);
  return shamir == nullptr ? nullptr : &shamir->corrected();
}

}  // namespace

std::vector<PartyIndex> CorrectedParties(const Engine& engine) {
  for (auto* corrected : {CorrectedOf<2>(engine), CorrectedOf<3>(engine)}) {
    if (corrected != nullptr) return *corrected;
  }
  return {};
}

#define PARTITA_INSTANTIATE(F, kSlices) template class ShamirEngine<F, kSlices>;
PARTITA_FOR_SHAMIR_FIELDS(PARTITA_INSTANTIATE)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
