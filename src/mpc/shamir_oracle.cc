#include "mpc/shamir_oracle.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "mpc/kernels.h"
#include "mpc/linear_engine.h"

namespace partita::mpc {

template <typename F, size_t kSlices>
ShamirOracle<F, kSlices>::ShamirOracle(OracleSession& session, const ShamirParty<F, kSlices>& party,
                                       const shamir::OracleLayout& layout, const Vector& shares)
    : session_(session),
      party_(party),
      layout_(layout),
      shares_(shares),
      position_((party.self() + party.num_parties() - session.task().centre) %
                party.num_parties()) {
  Vector points;
  for (size_t i = 0; i <= 2 * party_.threshold(); ++i) points.push_back(PointOf<F>(Evaluator(i)));
  if (position_ < points.size()) coefficient_ = LagrangeAt<F>(points, 0)[position_];
}

template <typename F, size_t kSlices>
PartyIndex ShamirOracle<F, kSlices>::Evaluator(size_t i) const {
  return (session_.task().centre + i) % party_.num_parties();
}

template <typename F, size_t kSlices>
void ShamirOracle<F, kSlices>::Run(const OracleQueries& queries) {
  const size_t t = party_.threshold();
  if (session_.at_centre()) {
    queries([this](size_t kind, const IntMatrix& weights) { return Evaluate(kind, weights); });
    session_.Stop(party_.num_parties(), {}, 0);
    return;
  }
  const bool sent = position_ > t && position_ <= 2 * t;
  while (auto kind = session_.NextRequest(sent ? F::kBytes : 0)) Answer(*kind);
}

template <typename F, size_t kSlices>
auto ShamirOracle<F, kSlices>::Read(PartyIndex peer, uint64_t offset, size_t num_rows,
                                    size_t cols) const -> Vector {
  return party_.ReadElements(party_.Pair(peer), offset + next_row_ * cols * F::kTapeBytes,
                             num_rows * cols);
}

template <typename F, size_t kSlices>
auto ShamirOracle<F, kSlices>::Part(const Vector& weights, size_t rows) const -> Vector {
  const auto [d, m] = session_.values();
  Vector part(rows * m);
  MatMulAccumulate<F>(weights, shares_, rows, d, m, part);
  Scale<F>(part, coefficient_, part);
  return part;
}

template <typename F, size_t kSlices>
IntMatrix ShamirOracle<F, kSlices>::Evaluate(size_t kind, const IntMatrix& weights) {
  session_.Begin(kind, weights);
  const auto [d, m] = session_.values();
  const size_t q = weights.shape.rows, n = party_.num_parties(), t = party_.threshold();
  const Dealing<F>& dealing = party_.dealing(party_.self());
  const Vector plain = ToWords<F>(weights);
  std::vector<Vector> tapes;
  for (PartyIndex peer : dealing.random()) {
    tapes.push_back(Read(peer, layout_.weights_offset, q, d));
  }
  auto share_of = [&](PartyIndex party, std::span<Word> out) {
    const Vector& c = dealing.coefficients(party);
    for (size_t e = 0; e < out.size(); ++e) {
      out[e] = F::Mul(c[0], plain[e]);
      for (size_t r = 0; r < tapes.size(); ++r) {
        out[e] = F::Add(out[e], F::Mul(c[r + 1], tapes[r][e]));
      }
    }
  };
  const auto head = OracleHead(1 + kind);
  std::vector<OracleRequest<F>> requests;
  requests.reserve(n);
  std::vector<net::Send> sends;
  for (size_t i = 1; i < n; ++i) {
    if (i <= t || i > 2 * t) {
      sends.push_back({Evaluator(i), head, 0, nullptr});
      continue;
    }
    requests.emplace_back(kind, q * d);
    share_of(Evaluator(i), requests.back().words());
    sends.push_back({Evaluator(i), requests.back().bytes(), 0, nullptr});
  }
  std::vector<Vector> replies(2 * t, Vector(q * m));
  std::vector<net::Receive> receives(2 * t);
  for (size_t i = 0; i < 2 * t; ++i) {
    receives[i].from = Evaluator(i + 1);
    receives[i].into = WireBytes(Words<F>(replies[i]));
  }
  session_.channel().Exchange(sends, receives);
  Vector own(q * d);
  share_of(party_.self(), own);
  Vector result = Part(own, q);
  next_row_ += q;
  for (size_t i = 0; i < 2 * t; ++i) {
    if (!std::all_of(replies[i].begin(), replies[i].end(), F::IsCanonical)) {
      throw Error(ErrorCode::kPeerFault,
                  "party " + session_.channel().names()[Evaluator(i + 1)] +
                      " answered an oracle with what is not an element of the field",
                  "compare versions and run the study again");
    }
    Add<F>(result, replies[i], result);
  }
  return FromWords<F>({q, m}, result);
}

template <typename F, size_t kSlices>
void ShamirOracle<F, kSlices>::Answer(size_t kind) {
  const auto [d, m] = session_.values();
  const size_t q = session_.task().kinds[kind].rows, t = party_.threshold();
  if (position_ > 2 * t) return;
  Vector weights(q * d);
  if (position_ <= t) {
    weights = Read(session_.task().centre, layout_.weights_offset, q, d);
  } else {
    std::memcpy(weights.data(), session_.body().data(), weights.size() * F::kBytes);
    if (!std::all_of(weights.begin(), weights.end(), F::IsCanonical)) {
      throw Error(ErrorCode::kPeerFault,
                  "party " + session_.channel().names()[session_.task().centre] +
                      " sent an oracle weights that are not elements of the field",
                  "compare versions and run the study again");
    }
  }
  Vector reply = Part(weights, q);
  // Any two of the parties that reply have a term in common, which cancels in the sum.
  for (size_t i = 1; i <= 2 * t; ++i) {
    if (i == position_) continue;
    const Vector zero = Read(Evaluator(i), layout_.zero_offset, q, m);
    position_ < i ? Add<F>(reply, zero, reply) : Sub<F>(reply, zero, reply);
  }
  next_row_ += q;
  const net::Send send{session_.task().centre, WireBytes(ConstWords<F>(reply)), 0, nullptr};
  session_.channel().Exchange({&send, 1}, {});
}

#define PARTITA_INSTANTIATE(F, kSlices) template class ShamirOracle<F, kSlices>;
PARTITA_FOR_SHAMIR_FIELDS(PARTITA_INSTANTIATE)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
