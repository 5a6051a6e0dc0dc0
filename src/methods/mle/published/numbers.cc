#include "methods/mle/published/numbers.h"

#include <cmath>
#include <type_traits>

#include "mpc/fixed_point.h"

namespace partita::methods::mle::published {
namespace {

template <typename T>
constexpr bool kIsRing = std::is_same_v<T, UInt128>;

}  // namespace

std::string_view MasksName(Masks masks) { return masks == Masks::kRing ? "ring" : "paper"; }

template <typename T>
Matrix<T> Encode(const Eigen::MatrixXd& values, int bits) {
  if constexpr (kIsRing<T>) {
    return values.unaryExpr(
        [bits](double x) { return static_cast<UInt128>(mpc::EncodeFixed(x, bits)); });
  } else {
    return values;
  }
}

template <typename T>
Eigen::MatrixXd Decode(const Matrix<T>& values, int bits) {
  if constexpr (kIsRing<T>) {
    return values.unaryExpr(
        [bits](UInt128 x) { return mpc::DecodeFixed(static_cast<Int128>(x), bits); });
  } else {
    return values;
  }
}

template <typename T>
void Shorten(Matrix<T>& values, int bits) {
  if constexpr (kIsRing<T>) {
    values = values.unaryExpr(
        [bits](UInt128 x) { return static_cast<UInt128>(static_cast<Int128>(x) >> bits); });
  }
}

template <typename T>
T PowerOfTwo(int bits) {
  if constexpr (kIsRing<T>) {
    return static_cast<UInt128>(1) << bits;
  } else {
    return 1;
  }
}

template <typename T>
Matrix<T> DrawMask(Eigen::Index rows, Eigen::Index cols, crypto::RandomSource& random) {
  using Word = std::conditional_t<kIsRing<T>, UInt128, uint64_t>;
  Matrix<Word> words(rows, cols);
  random.Fill(
      {reinterpret_cast<uint8_t*>(words.data()), static_cast<size_t>(words.size()) * sizeof(Word)});
  if constexpr (kIsRing<T>) {
    return words;
  } else {
    return words.unaryExpr([](uint64_t word) {
      const double uniform = std::ldexp(static_cast<double>(word >> 11), -53);
      return kPaperMaskLow + (kPaperMaskHigh - kPaperMaskLow) * uniform;
    });
  }
}

template <typename T>
net::Send To(net::PartyIndex to, const Matrix<T>& matrix) {
  net::Send send;
  send.to = to;
  send.bytes = {reinterpret_cast<const uint8_t*>(matrix.data()),
                static_cast<size_t>(matrix.size()) * sizeof(T)};
  return send;
}

template <typename T>
net::Receive From(net::PartyIndex from, Matrix<T>& matrix) {
  net::Receive receive;
  receive.from = from;
  receive.into = {reinterpret_cast<uint8_t*>(matrix.data()),
                  static_cast<size_t>(matrix.size()) * sizeof(T)};
  return receive;
}

#define PARTITA_PUBLISHED_NUMBERS(T)                                                 \
  template Matrix<T> Encode<T>(const Eigen::MatrixXd&, int);                         \
  template Eigen::MatrixXd Decode<T>(const Matrix<T>&, int);                         \
  template void Shorten<T>(Matrix<T>&, int);                                         \
  template T PowerOfTwo<T>(int);                                                     \
  template Matrix<T> DrawMask<T>(Eigen::Index, Eigen::Index, crypto::RandomSource&); \
  template net::Send To<T>(net::PartyIndex, const Matrix<T>&);                       \
  template net::Receive From<T>(net::PartyIndex, Matrix<T>&);
PARTITA_PUBLISHED_NUMBERS(double)
PARTITA_PUBLISHED_NUMBERS(UInt128)
#undef PARTITA_PUBLISHED_NUMBERS

}  // namespace partita::methods::mle::published
