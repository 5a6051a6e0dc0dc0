// What the parts of a sealed fit are written with: numbers on shares at kSealedBits with the bounds
// that the steps keep to.
#pragma once

#include <Eigen/Core>
#include <utility>
#include <vector>

#include "mpc/engine.h"
#include "mpc/functions/arithmetic.h"

namespace partita::methods::mle {

inline constexpr int kSealedBits = 40;

// Bounds of what the steps go through, in units of half-widths and of standard deviations.
inline constexpr double kLargestParameter = 0x1p8;
inline constexpr double kLargestEntry = 0x1p30;       // of A, S, B, Gram matrices and information
inline constexpr double kLargestCorrelation = 16;     // of R; beyond, a candidate is not taken
inline constexpr double kLargestPath = 0x1p10;        // of I + A, I + A + A^2, .. B, likewise
inline constexpr double kLargestDistance = 0x1p10;    // of means, likewise
inline constexpr double kLargestImplied = 0x1p44;     // of B S B' and distances for such a B
inline constexpr double kSmallestVariance = 0x1p-16;  // in units of a half-width squared
inline constexpr double kSmallestPivot = 0x1p-14;     // of R
inline constexpr double kLargestInverse = 1 / kSmallestPivot;  // of R^-1, and of an X near it
inline constexpr double kLargestResidual = 0x1p28;             // of E = I - X R, R within 16 p
inline constexpr double kMostResidualSquares = 16;  // |E|^2: powers of E are true numbers
inline constexpr double kSmallestInformation = 0x1p-20, kSmallestScaledPivot = 0x1p-18;
inline constexpr double kWorst = 0x1p30;  // F of a matrix that is no covariance
inline constexpr int kCoarseBits = 10;    // of numbers that are cut for their squares

mpc::PublicMatrix EncodeMatrix(const Eigen::MatrixXd& values, int bits);
mpc::Shared Constant(mpc::Engine& engine, mpc::Shape shape, double value, int bits = kSealedBits);
mpc::Shared Bounded(mpc::Shared value, double bound = kLargestEntry);
mpc::Shared Plus(mpc::Engine& engine, const mpc::Shared& a, const mpc::Shared& b,
                 double bound = kLargestEntry);
mpc::Shared Minus(mpc::Engine& engine, const mpc::Shared& a, const mpc::Shared& b,
                  double bound = kLargestEntry);
mpc::Shared Diagonal(mpc::Engine& engine, const mpc::Shared& square);  // as a column
// Rows and columns of a square matrix, in this order.
mpc::Shared SelectBoth(mpc::Engine& engine, const mpc::Shared& square,
                       const std::vector<size_t>& places);
mpc::Shared AsRow(const mpc::Shared& value);
mpc::Shared SumAll(mpc::Engine& engine, const mpc::Shared& value, double bound);
// square + constant I.
mpc::Shared PlusIdentity(mpc::Engine& engine, const mpc::Shared& square, double constant,
                         double bound);

// Products of independent operands, cut to kSealedBits.
class Products {
 public:
  explicit Products(mpc::Engine& engine) : round_(engine) {}
  // `result` is written by Run and must live until then.
  void Matrix(const mpc::Shared& a, const mpc::Shared& b, mpc::Shared& result,
              double bound = kLargestEntry) {
    Add(mpc::Product::Kind::kMatrix, a, b, result, bound);
  }
  // a' b.
  void Gram(const mpc::Shared& a, const mpc::Shared& b, mpc::Shared& result,
            double bound = kLargestEntry) {
    Add(mpc::Product::Kind::kGram, a, b, result, bound);
  }
  void Elementwise(const mpc::Shared& a, const mpc::Shared& b, mpc::Shared& result,
                   double bound = kLargestEntry) {
    Add(mpc::Product::Kind::kElementwise, a, b, result, bound);
  }
  void Run() { round_.Run(); }

 private:
  void Add(mpc::Product::Kind kind, const mpc::Shared& a, const mpc::Shared& b, mpc::Shared& result,
           double bound) {
    round_.AddCut(kind, a, b, bound, kSealedBits, result);
  }

  mpc::ProductRound round_;
};

}  // namespace partita::methods::mle
