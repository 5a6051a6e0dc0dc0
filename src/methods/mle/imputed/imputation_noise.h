// Random numbers on shares to which every computing party adds a part of its own: nobody knows one
// who does not know all parts, and their law is exact.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "mpc/engine.h"
#include "stats/sem/imputation.h"

namespace partita::methods::mle {

inline constexpr double kLargestNoise = 64;

// Degrees of freedom of party `party` among `parties`: whole numbers that add up to `degrees`.
double PartOfDegrees(double degrees, size_t party, size_t parties);

// tape: this party's own randomness, drawn from in the order of the calls; null at processes that
// are no party. Results at kSealedBits, in place when Run returns; one sharing of inputs for all.
class ImputationNoise {
 public:
  explicit ImputationNoise(mpc::Engine& engine) : engine_(engine) {}
  // Standard normals over the root of n; for n = 0 nothing is drawn, and they are 0.
  void Normals(stats::ImputationTape* tape, mpc::Shape shape, double n, mpc::Shared& result);
  // A Wishart matrix over n, size x size; n = 0 as above.
  void Wishart(stats::ImputationTape* tape, double degrees, size_t size, double n,
               mpc::Shared& result);
  void Run();

 private:
  void Add(const Eigen::MatrixXd& own, mpc::Shape shape, mpc::Shared& result);

  mpc::Engine& engine_;
  std::vector<mpc::PrivateMatrix> matrices_;
  std::vector<mpc::Shared*> results_;
};

}  // namespace partita::methods::mle
