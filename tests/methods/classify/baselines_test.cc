// The baselines among parties are those in the clear, on every engine; costs are as planned; they
// open what they declare, without noise.
#include "methods/classify/baselines.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "stats/erm/local_aggregation.h"
#include "tests/methods/classify/engine_cases.h"
#include "tests/stats/erm/reference.h"

namespace partita::methods::classify::baselines_test {
namespace {

using Eigen::VectorXd;
using mpc::Engine;
using mpc::testing::RunAndComparePlan;
using stats::erm::LabelledRows;
using stats::erm::Loss;
using stats::erm::LossKind;
using stats::erm::testing::SmallTable;

// (1 - r)^100 is 2e-23 for the logistic loss and 2e-16 for the Huber loss, r = sqrt(lambda /
// (lambda + c)): nothing beside the 1e-9 that sums on shares are held to.
BaselineTask MakeTask(size_t parties, const Loss& loss) {
  BaselineTask task;
  task.loss = loss;
  task.lambda = loss.kind == LossKind::kHuber ? 0.1 : 0.05;
  task.dimension = 3;
  task.rows = 24;
  task.party_rows = 17;
  task.iterations = 100;
  task.parties = static_cast<uint32_t>(parties);
  return task;
}

const Loss kLosses[] = {{}, {LossKind::kHuber, 0.5}};

TEST(Baselines, TheModelAverageIsThatOfTheLocalFits) {
  for (const EngineCase& engine_case : kEngines) {
    for (const Loss& loss : kLosses) {
      const auto tables = Tables(engine_case.parties);
      const BaselineTask task = MakeTask(engine_case.parties, loss);
      const NoisedSum sum = DesignModelAverage(task);
      const VectorXd expected =
          stats::erm::Average(stats::erm::LocalFits(tables, loss, task.lambda));
      const auto run =
          RunAndComparePlan(OptionsFor(engine_case, ReleaseOf(sum, "average", "all", 1)),
                            [&](Engine& engine, size_t) {
                              std::optional<LabelledRows> rows;
                              if (engine.self()) rows = tables[*engine.self()];
                              const VectorXd average = RunModelAverage(engine, task, sum, rows);
                              if (!engine.self()) {
                                EXPECT_EQ(average.size(), 0);
                                return;
                              }
                              ASSERT_EQ(average.size(), 3);
                              EXPECT_LT((average - expected).norm(), 1e-9) << engine_case.kind;
                            });
      run.ThrowIfFailed();
    }
  }
}

TEST(Baselines, TheFederatedFitIsThatOfThePooledRows) {
  for (const EngineCase& engine_case : kEngines) {
    for (const Loss& loss : kLosses) {
      const auto tables = Tables(engine_case.parties);
      const BaselineTask task = MakeTask(engine_case.parties, loss);
      const NoisedSum sum = DesignFederated(task);
      stats::erm::Objective objective;
      objective.loss = loss;
      objective.lambda = task.lambda;
      const VectorXd expected = stats::erm::Minimize(SmallTable(), objective).w;
      const auto run = RunAndComparePlan(
          OptionsFor(engine_case, ReleaseOf(sum, "gradients", "all", task.iterations)),
          [&](Engine& engine, size_t) {
            std::optional<LabelledRows> rows;
            if (engine.self()) rows = tables[*engine.self()];
            SilentProgress progress;
            const VectorXd w = RunFederated(engine, task, sum, rows, progress);
            if (!engine.self()) {
              EXPECT_EQ(w.size(), 0);
              return;
            }
            EXPECT_LT((w - expected).norm(), 1e-9) << engine_case.kind;
          });
      run.ThrowIfFailed();
    }
  }
}

TEST(Baselines, TablesThatAreNotAsDeclaredAndTasksOutOfRangeAreRefused) {
  BaselineTask task = MakeTask(2, {});
  const auto code = [&](const LabelledRows& rows) {
    try {
      OwnFit(task, rows);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::kInternal;
  };
  LabelledRows rows = Tables(2)[1];
  EXPECT_EQ(OwnFit(task, rows).size(), 3);
  EXPECT_EQ(code(SmallTable()), ErrorCode::kBadData);  // 24 rows
  rows.x.row(0) *= 1.5 / rows.x.row(0).norm();
  EXPECT_EQ(code(rows), ErrorCode::kBadData);
  rows = Tables(2)[1];
  rows.y(3) = 0;
  EXPECT_EQ(code(rows), ErrorCode::kBadData);
  task.lambda = 0;
  EXPECT_EQ(code(Tables(2)[1]), ErrorCode::kUsage);
  EXPECT_THROW(DesignFederated(task), Error);
  EXPECT_THROW(DesignModelAverage(task), Error);
}

}  // namespace
}  // namespace partita::methods::classify::baselines_test
