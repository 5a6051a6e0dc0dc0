// Inverses of unit lower triangular matrices against back substitution.
#include "mpc/functions/triangular.h"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <random>

#include "tests/mpc/evaluate.h"

namespace partita::mpc::testing::triangular_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

MatrixXd Lower(Index size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  MatrixXd lower = MatrixXd::Identity(size, size);
  for (Index i = 0; i < size; ++i) {
    for (Index j = 0; j < i; ++j) lower(i, j) = uniform(random);
  }
  return lower;
}

TestInput InputOf(const MatrixXd& matrix) {
  const auto size = static_cast<size_t>(matrix.rows());
  TestInput input{{{size, size}, {}}, 2, 40};
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (Index j = 0; j < matrix.cols(); ++j)
      input.values.values.push_back(EncodeFixed(matrix(i, j), 40));
  }
  return input;
}

// Sizes around powers of two, several at once; powers of the largest stay below 2^12.
TEST(TriangularTest, InversesOfSeveralMatrices) {
  const Index sizes[] = {1, 2, 3, 4, 5, 8, 9};
  std::vector<TestInput> inputs;
  std::vector<MatrixXd> lowers;
  for (const Index size : sizes) {
    lowers.push_back(Lower(size, static_cast<uint64_t>(size)));
    inputs.push_back(InputOf(lowers.back()));
  }
  for (const Setting& setting : kSettings) {
    SCOPED_TRACE(setting.kind);
    const auto opened =
        Evaluate(setting, inputs, [](Engine& engine, const std::vector<Shared>& values) {
          std::vector<Shared> inverses = values;
          std::vector<Shared*> all;
          for (Shared& inverse : inverses) all.push_back(&inverse);
          InvertUnitLower(engine, all, 40, 0x1p20);
          return inverses;
        });
    for (size_t k = 0; k < lowers.size(); ++k) {
      const Index size = lowers[k].rows();
      MatrixXd inverse(size, size);
      for (Index i = 0; i < size * size; ++i)
        inverse(i / size, i % size) = opened[k][static_cast<size_t>(i)];
      const MatrixXd product = lowers[k] * inverse;
      EXPECT_LT((product - MatrixXd::Identity(size, size)).cwiseAbs().maxCoeff(), 0x1p-26) << size;
      for (Index i = 0; i < size; ++i) {
        EXPECT_EQ(inverse(i, i), 1) << size;
        for (Index j = i + 1; j < size; ++j) EXPECT_EQ(inverse(i, j), 0) << size;
      }
    }
  }
}

TEST(TriangularTest, Rounds) {
  for (const Setting& setting : kSettings) {
    for (const size_t size : {size_t{3}, size_t{4}, size_t{9}}) {
      ExpectRounds(setting, 2 * (CeilLog2(size) - 1) * setting.c(), [size](Engine& engine) {
        Shared lower = Planned({size, size}, 40, 1);
        InvertUnitLower(engine, {&lower}, 40, 0x1p20);
      });
    }
  }
}

}  // namespace
}  // namespace partita::mpc::testing::triangular_test
