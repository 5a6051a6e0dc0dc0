// Robust standard errors over the engines equal lavaan's, and open what they declare.
#include "methods/mle/likelihood/robust.h"

#include <gtest/gtest.h>

#include "methods/mle/moments/public_scale.h"
#include "mpc/fixed_point.h"
#include "tests/methods/mle/robust_study.h"

namespace partita::methods::mle::robust_test {
namespace {

using stats::testing::LoadRobustCase;
using stats::testing::RobustCase;
using testing::ExpectLavaan;
using testing::ExpectPlanned;
using testing::RobustRun;
using testing::RunStudy;
using testing::Study;

constexpr int kBits = testing::kRobustBits;

// The rows of a case dealt out to parties, clusters together; one more variable in front that the
// analysis does not use, and the analysis variables in reverse order.
Study Deal(RobustCase source, size_t num_parties, size_t receiver) {
  Study study;
  study.num_parties = num_parties;
  study.analysis = testing::AnalysisOf(source.table, source.scale);
  const size_t p = study.analysis.variables.size(), groups = source.rows.size();
  RobustTask& task = study.task;
  task.name = "main";
  task.clustered = !source.clusters.empty();
  task.receiver = receiver;
  task.moments.num_variables = p + 1;
  task.moments.fraction_bits = kBits;
  for (size_t i = 0; i < p; ++i) task.variables.push_back(p - i);
  task.moments.cells.clear();
  task.moments.cells.push_back({"all", {}});
  // The last group is the rest.
  for (size_t g = 0; g < groups; ++g) {
    RowCell cell{"g" + std::to_string(g), {}};
    if (groups > 1 && g + 1 == groups) {
      cell.difference = RowCell::Difference{0, {}};
      for (size_t other = 1; other <= g; ++other) cell.difference->others.push_back(other);
    }
    if (groups > 1) task.moments.cells.push_back(cell);
    task.cells.push_back(groups > 1 ? 1 + g : 0);
  }
  std::vector<bool> selects(task.moments.cells.size(), groups > 1);
  selects[0] = false;
  if (groups > 1) selects.back() = false;
  study.cells.resize(num_parties, std::vector<std::vector<Int128>>(num_parties));
  study.local.resize(num_parties + 1);
  for (size_t party = 0; party < num_parties; ++party) {
    BlockHolder holder{party, {}, selects};
    for (size_t v = 0; v <= p; ++v) holder.variables.push_back(v);
    task.moments.blocks.push_back({"rows" + std::to_string(party), {}, {holder}});
  }
  for (RobustLocal& local : study.local) {
    local.blocks.resize(num_parties);
    local.clusters.resize(num_parties);
    for (LocalBlock& block : local.blocks) block.selectors.resize(task.moments.cells.size());
  }
  size_t at = 0;
  for (size_t g = 0; g < groups; ++g) {
    const auto rows = static_cast<size_t>(source.rows[g].rows());
    for (size_t r = 0; r < rows; ++r, ++at) {
      const uint64_t cluster = task.clustered ? source.clusters[g][r] : at;
      const size_t party = static_cast<size_t>(cluster) % num_parties;
      LocalBlock& block = study.local[party].blocks[party];
      ++block.num_rows;
      study.cells[party][party].push_back(12345);
      for (size_t i = 0; i < p; ++i) {
        const auto v = static_cast<Eigen::Index>(p - 1 - i);
        const double z =
            (source.rows[g](static_cast<Eigen::Index>(r), v) - source.scale.centre[v]) /
            source.scale.half_width[v];
        study.cells[party][party].push_back(mpc::EncodeFixed(z, kBits));
      }
      for (size_t c = 1; c + 1 < task.moments.cells.size(); ++c) {
        block.selectors[c].push_back(c == 1 + g ? 1 : 0);
      }
      study.local[party].clusters[party].push_back(cluster);
    }
    task.moments.max_rows += rows + 1000;
  }
  SilentProgress progress;
  study.fitted.moments = source.moments;
  study.fitted.fit = stats::FitSem(source.table, source.moments, {}, progress);
  study.source = std::move(source);
  return study;
}

class RobustCases : public ::testing::TestWithParam<std::string> {
 protected:
  void Check(const std::string& engine, size_t num_parties, size_t receiver) {
    RobustCase source = LoadRobustCase(GetParam());
    const Study study = Deal(std::move(source), num_parties, receiver);
    const RobustRun run = RunStudy(study, engine);
    ASSERT_EQ(net::Describe(run.outcome.errors), "");
    for (size_t process = 0; process < run.results.size(); ++process) {
      EXPECT_EQ(run.results[process].has_value(), process == receiver);
    }
    ExpectLavaan(study, *run.results[receiver]);
    ExpectPlanned(study, engine, run);
    for (size_t process = 0; process < num_parties; ++process) {
      for (const auto& count : run.outcome.openings[process]) {
        EXPECT_EQ(count.opened, 1u) << count.release.id;
      }
    }
  }
};

TEST_P(RobustCases, DealerReceiverHoldsRows) { Check("dealer", 2, 0); }
TEST_P(RobustCases, DealerFiveParties) { Check("dealer", 5, 3); }
TEST_P(RobustCases, Replicated) { Check("replicated", 3, 2); }

INSTANTIATE_TEST_SUITE_P(Mlr, RobustCases,
                         ::testing::Values("example", "example_clusters", "hs",
                                           "hs_clusters_no_means", "hs_group", "hs_group_clusters",
                                           "poldem_eq", "wine_fixed_x", "wine_fixed_x_means",
                                           "growth", "saturated"),
                         [](const auto& test) { return test.param; });

// The protocol equals its twin in the clear far below the tolerance against lavaan.
TEST(RobustProtocolTest, EqualsThePlaintext) {
  const Study study = Deal(LoadRobustCase("example_clusters"), 3, 1);
  const RobustRun run = RunStudy(study, "dealer");
  ASSERT_EQ(net::Describe(run.outcome.errors), "");
  const stats::StatisticsScale scale = PublicScale(study.analysis);
  const stats::RobustFit plain = stats::MakeRobust(
      study.source.table, study.fitted.moments, study.fitted.fit,
      stats::PublicModel(study.source.table, scale),
      stats::PlaintextRobustSums(study.source.table, study.fitted.moments, study.fitted.fit, scale,
                                 study.source.rows, study.source.clusters));
  const stats::RobustFit& secure = *run.results[1];
  for (size_t r = 0; r < plain.estimates.size(); ++r) {
    const double se = plain.estimates[r].standard_error;
    EXPECT_NEAR(secure.estimates[r].standard_error, se, 1e-10 * se);
  }
  EXPECT_NEAR(secure.scaling_factor, plain.scaling_factor, 1e-6);
}

// A row that counts twice is two rows.
TEST(RobustProtocolTest, WeightsCountRows) {
  Study twice = Deal(LoadRobustCase("example"), 2, 0);
  Study weighted = twice;
  for (size_t party = 0; party < 2; ++party) {
    std::vector<Int128>& cells = twice.cells[party][party];
    const std::vector<Int128> copy = cells;
    cells.insert(cells.end(), copy.begin(), copy.end());
    twice.local[party].blocks[party].num_rows *= 2;
    weighted.task.moments.blocks[party].holders[0].selects = {true};
    weighted.local[party].blocks[party].selectors[0].assign(
        weighted.local[party].blocks[party].num_rows, 2);
  }
  const RobustRun a = RunStudy(twice, "dealer"), b = RunStudy(weighted, "dealer");
  ASSERT_EQ(net::Describe(a.outcome.errors) + net::Describe(b.outcome.errors), "");
  for (size_t r = 0; r < a.results[0]->estimates.size(); ++r) {
    const double se = a.results[0]->estimates[r].standard_error;
    EXPECT_NEAR(b.results[0]->estimates[r].standard_error, se, 1e-10 * se);
  }
}

TEST(RobustProtocolTest, FixedEffectsAreRefused) {
  Study study = Deal(LoadRobustCase("example"), 2, 0);
  mpc::PlanEngine plan("dealer", 2);
  study.task.moments.centred = {true};
  EXPECT_THROW(RobustStandardErrors(plan, study.analysis, study.task, {}, nullptr), Error);
}

// A single cell as far out as the bounds of the encoding: refused by its holder alone.
TEST(RobustProtocolTest, RowsTooFarFromTheModelAreTheHoldersError) {
  Study study = Deal(LoadRobustCase("example"), 2, 0);
  study.cells[1][1][1] = Int128{1} << 62;  // 4096 half widths
  const RobustRun run = RunStudy(study, "dealer");
  ASSERT_TRUE(run.outcome.errors[1]);
  EXPECT_EQ(run.outcome.errors[1]->code(), ErrorCode::kBadData);
  ASSERT_TRUE(run.outcome.errors[0]);
  EXPECT_EQ(run.outcome.errors[0]->code(), ErrorCode::kPeerLost);
}

}  // namespace
}  // namespace partita::methods::mle::robust_test
