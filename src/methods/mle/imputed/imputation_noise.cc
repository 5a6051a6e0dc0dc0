#include "methods/mle/imputed/imputation_noise.h"

#include <algorithm>
#include <cmath>

#include "methods/mle/sealed/values.h"

namespace partita::methods::mle {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Shape;
using mpc::Shared;

double PartOfDegrees(double degrees, size_t party, size_t parties) {
  const auto whole = static_cast<size_t>(degrees);
  const size_t part = whole / parties + (party < whole % parties ? 1 : 0);
  return static_cast<double>(part);
}

void ImputationNoise::Normals(stats::ImputationTape* tape, Shape shape, double n, Shared& result) {
  const auto rows = static_cast<Index>(shape.rows), columns = static_cast<Index>(shape.cols);
  MatrixXd own = MatrixXd::Zero(rows, columns);
  if (tape != nullptr && n > 0) {
    own = tape->Normals(rows, columns) / std::sqrt(static_cast<double>(engine_.num_parties()) * n);
  }
  Add(own, shape, result);
}

void ImputationNoise::Wishart(stats::ImputationTape* tape, double degrees, size_t size, double n,
                              Shared& result) {
  const auto rows = static_cast<Index>(size);
  MatrixXd own = MatrixXd::Zero(rows, rows);
  if (tape != nullptr && n > 0) {
    const double part = PartOfDegrees(degrees, *engine_.self(), engine_.num_parties());
    own = tape->Wishart(part, rows) / n;
  }
  Add(own, {size, size}, result);
}

void ImputationNoise::Add(const MatrixXd& own, Shape shape, Shared& result) {
  const std::vector<Int128> values = EncodeMatrix(own, kSealedBits).values.values;
  for (size_t party = 0; party < engine_.num_parties(); ++party) {
    mpc::PrivateMatrix matrix{static_cast<mpc::PartyIndex>(party), shape, kSealedBits,
                              kLargestNoise, nullptr};
    if (engine_.self() == party) {
      matrix.read = [values, cols = shape.cols](size_t first, size_t num, Int128* out) {
        std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(first * cols), num * cols, out);
      };
    }
    matrices_.push_back(std::move(matrix));
  }
  results_.push_back(&result);
}

void ImputationNoise::Run() {
  if (results_.empty()) return;
  const std::vector<Shared> inputs = engine_.Input(matrices_);
  auto next = inputs.cbegin();
  for (Shared* result : results_) {
    *result = *next++;
    for (size_t party = 1; party < engine_.num_parties(); ++party)
      *result = Plus(engine_, *result, *next++, kLargestNoise);
  }
  matrices_.clear();
  results_.clear();
}

}  // namespace partita::methods::mle
