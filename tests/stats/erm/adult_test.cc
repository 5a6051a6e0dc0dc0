// What private logistic regression costs in accuracy on UCI Adult: 30162 rows, epsilon 1, delta
// 1e-5, one row replaced, five parties of which one noise share may be known. Bounds are those of
// the public schema; steps, batches and the clipping norm were chosen without the test rows.
#include "methods/mixture/adult.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "privacy/accounting/accountant.h"
#include "stats/erm/descent.h"
#include "stats/erm/evaluate.h"
#include "stats/erm/simulated.h"
#include "stats/erm/unit_ball.h"
#include "tests/paths.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/erm/in_the_clear.h"
#include "tests/stats/erm/reference.h"

namespace partita::stats::erm::adult_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kEpsilon = 1, kDelta = 1e-5, kParties = 5;
constexpr double kNorm = 3;  // of a row: ten indicators and numbers within [-1, 1]

// Numbers by their bounds, amounts on a logarithmic scale; a column for every level.
LabelledRows ReadRows(const char* name) {
  const data::Table table = methods::mixture::ReadAdult(FixturePath(std::string("tables/") + name));
  std::vector<VectorXd> columns;
  VectorXd y;
  const auto rows = static_cast<Index>(table.num_rows);
  for (const data::Column& column : table.columns) {
    if (column.schema.name == "income") {
      y = VectorXd::Constant(rows, -1);
      for (Index i = 0; i < rows; ++i) {
        if (column.codes[static_cast<size_t>(i)] == 1) y(i) = 1;
      }
    } else if (data::HasLevels(column.schema.type)) {
      for (size_t level = 0; level < column.schema.levels.size(); ++level) {
        VectorXd indicator = VectorXd::Zero(rows);
        for (Index i = 0; i < rows; ++i) {
          if (column.codes[static_cast<size_t>(i)] == static_cast<int32_t>(level)) indicator(i) = 1;
        }
        columns.push_back(std::move(indicator));
      }
    } else {
      const bool amount = column.schema.name.starts_with("capital");
      const double top = amount ? std::log1p(column.schema.upper) : column.schema.upper;
      const double bottom = amount ? 0 : column.schema.lower;
      VectorXd numbers(rows);
      for (Index i = 0; i < rows; ++i) {
        const double value = column.numbers[static_cast<size_t>(i)];
        numbers(i) = 2 * ((amount ? std::log1p(value) : value) - bottom) / (top - bottom) - 1;
      }
      columns.push_back(std::move(numbers));
    }
  }
  LabelledRows result{MatrixXd(rows, static_cast<Index>(columns.size()) + 1), std::move(y)};
  for (size_t j = 0; j < columns.size(); ++j) result.x.col(static_cast<Index>(j)) = columns[j];
  result.x.col(result.x.cols() - 1).setOnes();
  for (Index i = 0; i < rows; ++i) {
    result.x.row(i) *= (1 - 0x1p-50) / std::max(kNorm, result.x.row(i).norm());
  }
  return result;
}

TEST(Adult, AccuracyStaysWithinOneAndAHalfPointsOfThatWithoutPrivacy) {
  const LabelledRows train = ReadRows("adult_train.csv.gz"), test = ReadRows("adult_test.csv.gz");
  ASSERT_EQ(train.x.rows(), 30162);
  MinibatchOptions options;
  options.step = 8;
  options.clip_norm = 0.5;
  options.rate = 0.05;
  options.iterations = 600;
  const auto events = [&](double noise) -> std::vector<privacy::Event> {
    return {{privacy::GaussianMechanism(noise, {privacy::Adjacency::kReplace, options.rate}),
             options.iterations}};
  };
  const double noise = privacy::NoiseForBudget(events, {kEpsilon, kDelta}).noise_multiplier *
                       options.clip_norm * std::sqrt(kParties / (kParties - 1));
  const double reference = testing::Reference("logistic.json")["adult"]["test_accuracy"];
  double sum = 0;
  constexpr int kRuns = 5;
  for (uint64_t run = 0; run < kRuns; ++run) {
    blr::TestRandom random(20 + run);
    blr::Variates variates(random);
    const auto sample = [&](size_t) {
      std::vector<Index> batch;
      for (Index i = 0; i < train.x.rows(); ++i) {
        if (variates.Uniform() < options.rate) batch.push_back(i);
      }
      return batch;
    };
    const VectorXd w = MinibatchDescent(train, options, sample, [&](size_t) {
      return DrawNormal(static_cast<size_t>(train.x.cols()), noise, variates);
    });
    const double accuracy = 1 - ErrorRate(test, w);
    EXPECT_GT(accuracy, reference - 0.015);
    sum += accuracy;
  }
  std::printf("mean accuracy %.4f, without privacy %.4f, noise on a sum %.3f\n", sum / kRuns,
              reference, noise);
}

}  // namespace
}  // namespace partita::stats::erm::adult_test
