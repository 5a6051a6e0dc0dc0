#include "methods/mle/published/transfer_products.h"

#include <array>
#include <cmath>
#include <vector>

#include "crypto/prg.h"
#include "mpc/ot/base_ot.h"
#include "stats/blr/variates.h"

namespace partita::methods::mle::published {
namespace {

using RingMatrix = Matrix<UInt128>;

constexpr char kSession[] = "mle published oblivious transfer";

// Candidate j of a row is masked by stretching, for each bit of j, the key of that bit.
class RowPads {
 public:
  RowPads(Eigen::Index rows, Eigen::Index cols) : pad_(rows, cols), part_(rows, cols) {}

  // keys: one per bit of `candidate`.
  const RingMatrix& Make(const std::vector<const crypto::Key*>& keys, Eigen::Index candidate) {
    pad_.setZero();
    const auto bytes = static_cast<size_t>(part_.size()) * sizeof(UInt128);
    for (const crypto::Key* key : keys) {
      crypto::Prg stream(*key);
      stream.Seek(static_cast<uint64_t>(candidate) * bytes);
      stream.Fill({reinterpret_cast<uint8_t*>(part_.data()), bytes});
      pad_ += part_;
    }
    return pad_;
  }

 private:
  RingMatrix pad_, part_;
};

bool Bit(Eigen::Index number, int bit) { return (number >> bit & 1) != 0; }

// The real rows at these places, made-up ones elsewhere.
RingMatrix Candidates(const TransferShape& shape, const Eigen::MatrixXd& own,
                      const std::vector<Eigen::Index>& places, crypto::RandomSource& random) {
  const Eigen::RowVectorXd mean = own.colwise().mean();
  const Eigen::RowVectorXd deviation =
      ((own.rowwise() - mean).colwise().squaredNorm() / static_cast<double>(own.rows()))
          .cwiseSqrt();
  stats::blr::Variates variates(random);
  Eigen::MatrixXd all(shape.rows * shape.candidates(), shape.first_columns);
  for (Eigen::Index r = 0; r < all.rows(); ++r) {
    for (Eigen::Index c = 0; c < all.cols(); ++c) {
      all(r, c) = mean[c] + deviation[c] * variates.Normal();
    }
  }
  for (Eigen::Index i = 0; i < shape.rows; ++i) {
    all.row(i * shape.candidates() + places[static_cast<size_t>(i)]) = own.row(i);
  }
  return Encode<UInt128>(all, kDataBits<UInt128>);
}

}  // namespace

RingMatrix TransferAsFirst(net::Channel& channel, net::PartyIndex second,
                           const TransferShape& shape, const Eigen::MatrixXd& own,
                           crypto::RandomSource& random) {
  const Eigen::Index s = shape.candidates();
  std::vector<Eigen::Index> places;
  std::vector<bool> choices;
  for (Eigen::Index i = 0; i < shape.rows; ++i) {
    std::array<uint8_t, 2> bytes{};
    random.Fill(bytes);
    places.push_back((bytes[0] | bytes[1] << 8) % s);  // s is a power of two: uniform
    for (int bit = 0; bit < shape.choice_bits; ++bit) choices.push_back(Bit(places.back(), bit));
  }
  const RingMatrix candidates = Candidates(shape, own, places, random);
  const mpc::ot::BaseOtReceiver receiver(AsBytes(kSession), channel.names()[second], choices,
                                         random);
  net::Send message;
  message.to = second;
  message.bytes = receiver.message();
  channel.Exchange({{To(second, candidates), message}}, {});
  Bytes answer(mpc::ot::kBaseSenderBytes);
  net::Receive receive;
  receive.from = second;
  receive.into = answer;
  const Eigen::Index entries = shape.first_columns * shape.second_columns;
  RingMatrix masked(shape.rows * s, entries);
  channel.Exchange({}, {{receive, From(second, masked)}});
  const std::vector<crypto::Key> keys = receiver.Finish(answer);
  RowPads pads(1, entries);
  RingMatrix sum = RingMatrix::Zero(1, entries);
  for (Eigen::Index i = 0; i < shape.rows; ++i) {
    const Eigen::Index place = places[static_cast<size_t>(i)];
    std::vector<const crypto::Key*> chosen;
    for (int bit = 0; bit < shape.choice_bits; ++bit) {
      chosen.push_back(&keys[static_cast<size_t>(i * shape.choice_bits + bit)]);
    }
    sum += masked.row(i * s + place) - pads.Make(chosen, place);
  }
  return sum.reshaped<Eigen::RowMajor>(shape.first_columns, shape.second_columns);
}

RingMatrix TransferAsSecond(net::Channel& channel, net::PartyIndex first,
                            const TransferShape& shape, const Eigen::MatrixXd& own,
                            crypto::RandomSource& random, RingMatrix* sight) {
  const Eigen::Index s = shape.candidates();
  const auto transfers = static_cast<size_t>(shape.rows * shape.choice_bits);
  RingMatrix candidates(shape.rows * s, shape.first_columns);
  Bytes message(transfers * mpc::ot::kBaseReceiverBytes);
  net::Receive receive;
  receive.from = first;
  receive.into = message;
  channel.Exchange({}, {{From(first, candidates), receive}});
  if (sight != nullptr) *sight = candidates;
  const mpc::ot::BaseOtSender sender(AsBytes(kSession), channel.names()[first], random);
  const std::vector<mpc::ot::BaseOtKeys> keys = sender.Finish(message, transfers);
  const RingMatrix x = Encode<UInt128>(own, kDataBits<UInt128>);
  const Eigen::Index entries = shape.first_columns * shape.second_columns;
  const RingMatrix epsilon = DrawMask<UInt128>(shape.rows, entries, random);
  RingMatrix masked(shape.rows * s, entries);
  RowPads pads(1, entries);
  for (Eigen::Index i = 0; i < shape.rows; ++i) {
    for (Eigen::Index j = 0; j < s; ++j) {
      std::vector<const crypto::Key*> chosen;
      for (int bit = 0; bit < shape.choice_bits; ++bit) {
        const auto& pair = keys[static_cast<size_t>(i * shape.choice_bits + bit)];
        chosen.push_back(Bit(j, bit) ? &pair.one : &pair.zero);
      }
      const RingMatrix products = candidates.row(i * s + j).transpose() * x.row(i);
      masked.row(i * s + j) =
          products.reshaped<Eigen::RowMajor>(1, entries) - epsilon.row(i) + pads.Make(chosen, j);
    }
  }
  net::Send send;
  send.to = first;
  send.bytes = sender.message();
  channel.Exchange({{send, To(first, masked)}}, {});
  const RingMatrix sum = epsilon.colwise().sum();
  return sum.reshaped<Eigen::RowMajor>(shape.first_columns, shape.second_columns);
}

}  // namespace partita::methods::mle::published
