#include "mpc/replicated_oracle.h"

#include <cstring>

#include "mpc/linear_engine.h"

namespace partita::mpc {

using replicated::kParties;
using replicated::Next;
using replicated::Previous;

template <typename R>
ReplicatedOracle<R>::ReplicatedOracle(OracleSession& session, Tape& own_tape, Tape& previous_tape,
                                      const replicated::OracleLayout& layout,
                                      const std::array<Vector, 2>& shares)
    : session_(session),
      own_tape_(own_tape),
      previous_tape_(previous_tape),
      layout_(layout),
      shares_(shares) {}

template <typename R>
void ReplicatedOracle<R>::Run(const OracleQueries& queries) {
  if (session_.at_centre()) {
    sum_.resize(shares_[0].size());
    Add<R>(shares_[0], shares_[1], sum_);
    queries([this](size_t kind, const IntMatrix& weights) { return Evaluate(kind, weights); });
    session_.Stop(kParties, {}, 0);
  } else if (session_.channel().self() == Next(session_.task().centre)) {
    while (auto kind = session_.NextRequest(0)) AnswerFromTape(*kind);
  } else {
    while (auto kind = session_.NextRequest(R::kBytes)) AnswerFromMessage(*kind);
  }
}

template <typename R>
auto ReplicatedOracle<R>::Read(Tape& tape, uint64_t offset, size_t num_rows, size_t cols) const
    -> Vector {
  Vector words(num_rows * cols);
  tape.Read(offset + next_row_ * cols * R::kBytes, WireBytes(Words<R>(words)));
  ReduceWords<R>(words);
  return words;
}

template <typename R>
IntMatrix ReplicatedOracle<R>::Evaluate(size_t kind, const IntMatrix& weights) {
  session_.Begin(kind, weights);
  const auto [d, m] = session_.values();
  const size_t q = weights.shape.rows;
  const PartyIndex self = session_.channel().self();
  const auto head = OracleHead(1 + kind);
  OracleRequest<R> rest(kind, q * d);  // V = W - U
  const Vector plain = ToWords<R>(weights);
  Sub<R>(plain, Read(own_tape_, layout_.split_offset, q, d), rest.words());
  next_row_ += q;
  const net::Send sends[] = {{Next(self), head, 0, nullptr},
                             {Previous(self), rest.bytes(), 0, nullptr}};
  std::array<Vector, 2> replies{Vector(q * m), Vector(q * m)};
  std::array<net::Receive, 2> receives;
  receives[0].from = Next(self);
  receives[1].from = Previous(self);
  for (size_t i = 0; i < 2; ++i) receives[i].into = WireBytes(Words<R>(replies[i]));
  session_.channel().Exchange(sends, receives);
  Vector result(q * m);
  for (Vector& reply : replies) {
    ReduceWords<R>(reply);
    Add<R>(result, reply, result);
  }
  MatMulAccumulate<R>(plain, sum_, q, d, m, result);
  return FromWords<R>({q, m}, result);
}

// U s + z at party c + 1, where s is its own component.
template <typename R>
void ReplicatedOracle<R>::AnswerFromTape(size_t kind) {
  const auto [d, m] = session_.values();
  const size_t q = session_.task().kinds[kind].rows;
  Vector reply = Read(own_tape_, layout_.zero_offset, q, m);
  const Vector split = Read(previous_tape_, layout_.split_offset, q, d);
  MatMulAccumulate<R>(split, shares_[0], q, d, m, reply);
  Reply(reply);
  next_row_ += q;
}

// V s - z at party c - 1, where s is its previous component.
template <typename R>
void ReplicatedOracle<R>::AnswerFromMessage(size_t kind) {
  const auto [d, m] = session_.values();
  const size_t q = session_.task().kinds[kind].rows;
  Vector rest(q * d);
  std::memcpy(rest.data(), session_.body().data(), rest.size() * R::kBytes);
  ReduceWords<R>(rest);
  Vector reply(q * m);
  MatMulAccumulate<R>(rest, shares_[1], q, d, m, reply);
  Sub<R>(reply, Read(previous_tape_, layout_.zero_offset, q, m), reply);
  Reply(reply);
  next_row_ += q;
}

template <typename R>
void ReplicatedOracle<R>::Reply(const Vector& reply) {
  const net::Send send{session_.task().centre, WireBytes(ConstWords<R>(reply)), 0, nullptr};
  session_.channel().Exchange({&send, 1}, {});
}

template class ReplicatedOracle<Ring128>;
template class ReplicatedOracle<Ring64>;
template class ReplicatedOracle<Ring16>;
template class ReplicatedOracle<Ring8>;
template class ReplicatedOracle<Ring4>;

}  // namespace partita::mpc
