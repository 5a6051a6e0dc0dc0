#include "mpc/replicated_engine.h"

#include <optional>

#include "mpc/bit_kernels.h"
#include "mpc/release_ok.h"
#include "mpc/replicated_execution.h"
#include "mpc/replicated_oracle.h"

namespace partita::mpc {

template <typename R>
ReplicatedEngine<R>::ReplicatedEngine(net::Channel& channel, ReleaseGate& gate,
                                      const TapeFactory& tapes, const replicated::Options& options)
    // A public constant lives in component 0: party 0's own, party 1's previous.
    : LinearEngine<R, 2>({replicated::kParties, channel.self(), R::kBits},
                         {channel.self() == 0, channel.self() == 1}),
      channel_(channel),
      gate_(gate),
      scheduler_(R::kBytes, options) {
  if (channel.num_parties() != replicated::kParties) {
    throw Error(ErrorCode::kUsage, "the engine replicated needs exactly three parties",
                "use three parties in the roster, or the engine dealer");
  }
  own_tape_ = tapes(replicated::Next(channel.self()));
  previous_tape_ = tapes(replicated::Previous(channel.self()));
}

template <typename R>
void ReplicatedEngine<R>::AgreeToOpen() {
  mpc::AgreeToOpen(channel_, gate_, replicated::kParties);
}

template <typename R>
FixedOperand ReplicatedEngine<R>::Register(PrivateMatrix matrix) {
  CheckPrivate(matrix, this->facts());
  FixedOperand operand{std::move(matrix), ++num_registered_};
  scheduler_.Register(operand);
  return operand;
}

template <typename R>
OracleUse ReplicatedEngine<R>::RunOracle(const Shared& values, const OracleTask& task,
                                         const OracleQueries& queries) {
  OracleSession session(channel_, gate_, values, task, this->facts());
  const replicated::OracleLayout layout = scheduler_.NextOracle(values.shape, task);
  ReplicatedOracle<R>(session, *own_tape_, *previous_tape_, layout,
                      this->SharesOf(values).components)
      .Run(queries);
  return session.use();
}

template <typename R>
SharedBits ReplicatedEngine<R>::RandomBits(Shape shape, size_t width, crypto::RandomSource&) {
  BitMatrix own = MakeBits(shape, width), previous = own;
  const uint64_t offset = scheduler_.ReserveBits(own.words.size());
  if (!own.words.empty()) {
    own_tape_->Read(offset, BitBytes(BitWords(own.words)));
    previous_tape_->Read(offset, BitBytes(BitWords(previous.words)));
  }
  return this->WithBits({shape, width, nullptr}, {std::move(own.words), std::move(previous.words)});
}

template <typename R>
void ReplicatedEngine<R>::Execute(std::span<Operation> operations) {
  for (Operation& operation : operations) CheckOperation(operation, this->facts());
  AskGate(gate_, operations);
  ReplicatedExecution<R>(*this, operations).Run();
}

std::unique_ptr<Engine> MakeReplicatedEngine(net::Channel& channel, ReleaseGate& gate) {
  return std::make_unique<ReplicatedEngine<Ring128>>(channel, gate,
                                                     ChannelTapes(channel, "replicated"));
}

template class ReplicatedEngine<Ring128>;
template class ReplicatedEngine<Ring64>;
template class ReplicatedEngine<Ring16>;
template class ReplicatedEngine<Ring8>;
template class ReplicatedEngine<Ring4>;

}  // namespace partita::mpc
