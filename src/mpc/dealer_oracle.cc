#include "mpc/dealer_oracle.h"

#include <cstring>

#include "mpc/linear_engine.h"

namespace partita::mpc {

template <typename R>
DealerOracle<R>::DealerOracle(OracleSession& session, CorrelationSource<R>& source,
                              const DealerOracleLayout& layout, size_t num_parties, bool has_dealer,
                              ConstWords<R> share)
    : session_(session),
      source_(source),
      layout_(layout),
      dealer_(num_parties),
      has_dealer_(has_dealer),
      share_(share),
      chunks_(layout.cost.rows_per_chunk, layout.cost.num_chunks) {}

template <typename R>
void DealerOracle<R>::Run(const OracleQueries& queries) {
  if (!session_.at_centre()) {
    SendOpening();
    while (auto kind = session_.NextRequest(R::kBytes)) Answer(*kind);
    return;
  }
  OpenAtCentre();
  queries([this](size_t kind, const IntMatrix& weights) { return Evaluate(kind, weights); });
  Vector outstanding;
  if (chunks_.outstanding()) {
    outstanding.resize(layout_.cost.rows_per_chunk * session_.values().cols);
  }
  session_.Stop(dealer_ + (has_dealer_ ? 1 : 0), WireBytes(Words<R>(outstanding)), dealer_);
}

template <typename R>
auto DealerOracle<R>::Mask(uint64_t offset, uint64_t row, Shape shape) -> Vector {
  Vector words(shape.size());
  source_.Mask(shape, offset + row * shape.cols * R::kBytes).fill(0, shape.rows, words);
  return words;
}

template <typename R>
auto DealerOracle<R>::FirstRows(StepMessages& messages) -> Vector {
  const uint64_t rows =
      has_dealer_ ? std::min(kFirstChunks, layout_.cost.num_chunks) * layout_.cost.rows_per_chunk
                  : layout_.dealt_rows;
  Vector dealt(rows * session_.values().cols);
  source_.Deal(layout_.dealt_offset, true, dealt, messages);
  return dealt;
}

// e = s_c + the others' s_i - b_i; the first dealt rows come along.
template <typename R>
void DealerOracle<R>::OpenAtCentre() {
  StepMessages messages;
  std::vector<Vector> shares(dealer_, Vector(share_.size()));
  for (PartyIndex party = 0; party < dealer_; ++party) {
    if (party == session_.task().centre) continue;
    messages.Receive(party, WireBytes(Words<R>(shares[party])));
  }
  Vector dealt = FirstRows(messages);
  messages.Exchange(session_.channel(), layout_.cost.setup, 0);
  operand_.assign(share_.begin(), share_.end());
  for (Vector& share : shares) {
    ReduceWords<R>(share);  // the own one is zero
    Add<R>(operand_, share, operand_);
  }
  KeepChunk(std::move(dealt), 0);
}

template <typename R>
void DealerOracle<R>::SendOpening() {
  operand_ = Mask(layout_.mask_offset, 0, session_.values());
  Vector masked(share_.size());
  Sub<R>(share_, operand_, masked);
  const net::Send send{session_.task().centre, WireBytes(ConstWords<R>(masked)), 0, nullptr};
  session_.channel().Exchange({&send, 1}, {});
}

// Rows before `first_needed` make room.
template <typename R>
void DealerOracle<R>::KeepChunk(Vector chunk, uint64_t first_needed) {
  ReduceWords<R>(chunk);
  const uint64_t dropped = (first_needed - first_dealt_row_) * session_.values().cols;
  dealt_.erase(dealt_.begin(), dealt_.begin() + static_cast<ptrdiff_t>(dropped));
  dealt_.insert(dealt_.end(), chunk.begin(), chunk.end());
  first_dealt_row_ = first_needed;
}

template <typename R>
IntMatrix DealerOracle<R>::Evaluate(size_t kind, const IntMatrix& weights) {
  session_.Begin(kind, weights);
  const auto [d, m] = session_.values();
  const size_t q = weights.shape.rows;
  const uint64_t row = chunks_.next_row();
  const OracleChunks::Moves moves = chunks_.Take(q);
  OracleRequest<R> request(kind, q * d);
  Words<R> masked = request.words();
  source_.Mask({q, d}, layout_.row_offset + row * d * R::kBytes).fill(0, q, masked);
  const Vector plain = ToWords<R>(weights);
  Sub<R>(plain, masked, masked);

  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  std::vector<Vector> replies(dealer_, Vector(q * m));
  for (PartyIndex party = 0; party < dealer_; ++party) {
    if (party == session_.task().centre) continue;
    sends.push_back({party, request.bytes(), 0, nullptr});
    net::Receive& receive = receives.emplace_back();
    receive.from = party;
    receive.into = WireBytes(Words<R>(replies[party]));
  }
  const auto more = OracleHead(kOracleMore);
  if (moves.request) sends.push_back({dealer_, more, 0, nullptr});
  Vector chunk;
  if (moves.deliver) {
    chunk.resize(layout_.cost.rows_per_chunk * m);
    net::Receive& receive = receives.emplace_back();
    receive.from = dealer_;
    receive.into = WireBytes(Words<R>(chunk));
  }
  session_.channel().Exchange(sends, receives);

  if (moves.deliver) KeepChunk(std::move(chunk), row);
  const ConstWords<R> own(dealt_.data() + (row - first_dealt_row_) * m, q * m);
  Vector result(own.begin(), own.end());
  for (Vector& reply : replies) {
    ReduceWords<R>(reply);  // the own one is zero
    Add<R>(result, reply, result);
  }
  MatMulAccumulate<R>(plain, operand_, q, d, m, result);
  return FromWords<R>({q, m}, result);
}

// (W - A) b_i + C_i.
template <typename R>
void DealerOracle<R>::Answer(size_t kind) {
  const auto [d, m] = session_.values();
  const size_t q = session_.task().kinds[kind].rows;
  Vector masked(q * d);
  std::memcpy(masked.data(), session_.body().data(), masked.size() * R::kBytes);
  ReduceWords<R>(masked);
  Vector reply = Mask(layout_.dealt_offset, next_row_, {q, m});
  next_row_ += q;
  MatMulAccumulate<R>(masked, operand_, q, d, m, reply);
  const net::Send send{session_.task().centre, WireBytes(ConstWords<R>(reply)), 0, nullptr};
  session_.channel().Exchange({&send, 1}, {});
}

template class DealerOracle<Ring128>;
template class DealerOracle<Ring64>;
template class DealerOracle<Ring16>;
template class DealerOracle<Ring8>;
template class DealerOracle<Ring4>;

}  // namespace partita::mpc
