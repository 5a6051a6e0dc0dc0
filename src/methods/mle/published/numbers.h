// The numbers that the published protocols compute with: doubles, as the papers write them, or the
// ring of integers modulo 2^128, in which a uniform mask hides perfectly.
//
// In the ring a real is a multiple of 2^-bits; products add their bits and Shorten drops some.
#pragma once

#include <Eigen/Core>
#include <string_view>

#include "base/int128.h"
#include "crypto/random.h"
#include "net/channel.h"

// Eigen computes with UInt128 as with any other number; it only has to be told that it is one.
template <>
struct Eigen::NumTraits<partita::UInt128> : Eigen::GenericNumTraits<partita::UInt128> {
  using Real = partita::UInt128;
  using NonInteger = double;
  using Nested = partita::UInt128;
  enum {
    IsComplex = 0,
    IsInteger = 1,
    IsSigned = 0,
    RequireInitialization = 0,
    ReadCost = 2,
    AddCost = 2,
    MulCost = 6
  };
};

namespace partita::methods::mle::published {

// What masks are made of. kRing: uniform in the ring. kPaper: doubles, uniform in [500, 2000), as
// in the authors' program; they average out (methods.md 0, items 2 and 3).
enum class Masks { kRing, kPaper };
std::string_view MasksName(Masks masks);  // "ring", "paper"

inline constexpr double kPaperMaskLow = 500, kPaperMaskHigh = 2000;

// Rows are observations.
template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Of the ring; doubles have none.
template <typename T>
inline constexpr int kDataBits = 0;
template <>
inline constexpr int kDataBits<UInt128> = 26;
template <typename T>
inline constexpr int kWeightBits = 0;
template <>
inline constexpr int kWeightBits<UInt128> = 27;

// Real numbers as multiples of 2^-bits, rounded; doubles as they are. Throws kBadInput for a number
// of 2^(126 - bits) or more, or NaN.
template <typename T>
Matrix<T> Encode(const Eigen::MatrixXd& values, int bits);
template <typename T>
Eigen::MatrixXd Decode(const Matrix<T>& values, int bits);

// Drops the last `bits` bits of every signed element. Of both v + mask and mask: their difference
// is then v / 2^bits, rounded down or up, unless the sum passed the end of the ring, which for a
// uniform mask has probability |v| / 2^127 (Mohassel & Zhang, IEEE S&P 2017, theorem 1). Doubles
// stay as they are.
template <typename T>
void Shorten(Matrix<T>& values, int bits);

// 2^bits; 1 for doubles, which have no bits.
template <typename T>
T PowerOfTwo(int bits);

template <typename T>
Matrix<T> DrawMask(Eigen::Index rows, Eigen::Index cols, crypto::RandomSource& random);

// Messages are the matrices' memory, little-endian. Both borrow the matrix, which has its final
// shape already: all shapes are public.
template <typename T>
net::Send To(net::PartyIndex to, const Matrix<T>& matrix);
template <typename T>
net::Receive From(net::PartyIndex from, Matrix<T>& matrix);

}  // namespace partita::methods::mle::published
