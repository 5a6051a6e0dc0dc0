// Robust standard errors where columns are split equal lavaan's and those of the pooled rows, and
// open what they declare.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "methods/mle/moments/public_scale.h"
#include "methods/mle/moments/split_products.h"
#include "mpc/fixed_point.h"
#include "stats/sem/column_frame.h"
#include "tests/methods/mle/robust_study.h"

namespace partita::methods::mle::split_robust_test {
namespace {

using Eigen::Index;
using stats::testing::LoadRobustCase;
using stats::testing::RobustCase;
using testing::ExpectLavaan;
using testing::ExpectPlanned;
using testing::kRobustBits;
using testing::RobustRun;
using testing::RunStudy;
using testing::Study;

struct Layout {
  std::string engine = "dealer";
  size_t num_parties = 2, receiver = 0;
  size_t first_columns = 0;  // columns of party 0 in the split block; 0: dealt out in turn
  bool mixed = false;        // the later half of the rows is whole, at the last party
  bool incomplete = false;   // one row in five is one more that both outer parties leave out
};

// A row of a block: one of the group's, or one that takes no part.
struct PlacedRow {
  size_t group = 0;
  Index row = -1;
};

// Columns of party `party` in block `block`.
std::vector<size_t> ColumnsOf(const Layout& layout, size_t party, size_t block, size_t p) {
  std::vector<size_t> columns;
  for (size_t v = 0; v < p; ++v) {
    const size_t turn = layout.first_columns == 0  ? v % layout.num_parties
                        : v < layout.first_columns ? 0
                        : layout.num_parties == 2  ? 1
                                                   : 1 + v % (layout.num_parties - 1);
    if (block == 1 || turn == party) columns.push_back(v);
  }
  return columns;
}

// Cell 0: all rows, or those that are complete. With groups a cell for each after it, the last the
// rest; the last party knows them.
void MakeCells(size_t groups, RobustTask& task) {
  task.moments.cells = {RowCell{"all", {}}};
  task.cells.clear();
  if (groups == 1) task.cells = {0};
  for (size_t g = 0; groups > 1 && g < groups; ++g) {
    RowCell cell{"g" + std::to_string(g), {}};
    if (g + 1 == groups) {
      cell.difference = RowCell::Difference{0, {}};
      for (size_t other = 1; other <= g; ++other) cell.difference->others.push_back(other);
    }
    task.cells.push_back(task.moments.cells.size());
    task.moments.cells.push_back(cell);
  }
}

BlockHolder MakeHolder(const Layout& layout, const RobustTask& task, size_t party, size_t block,
                       size_t p) {
  BlockHolder holder{party, ColumnsOf(layout, party, block, p), {}};
  const bool last = party + 1 == layout.num_parties;
  for (const RowCell& cell : task.moments.cells) {
    const bool group = last && holder.selects.size() > 0;
    const bool outer = block == 0 && layout.incomplete && (last || party == 0);
    holder.selects.push_back(!cell.difference && (group || outer));
  }
  return holder;
}

Int128 CellOf(const Study& study, const PlacedRow& row, size_t party, size_t variable) {
  if (row.row < 0) {  // takes no part: 4096 half widths where it is left out, else anything
    const bool outer = party == 0 || party + 1 == study.num_parties;
    return Int128{1} << (outer ? 62 : kRobustBits - 3);
  }
  const auto v = static_cast<Index>(variable);
  return mpc::EncodeFixed(
      (study.source.rows[row.group](row.row, v) - study.source.scale.centre[v]) /
          study.source.scale.half_width[v],
      kRobustBits);
}

Study Deal(RobustCase source, const Layout& layout) {
  Study study;
  study.num_parties = layout.num_parties;
  study.analysis = testing::AnalysisOf(source.table, source.scale);
  study.source = std::move(source);
  const size_t p = study.analysis.variables.size(), groups = study.source.rows.size();
  std::vector<std::vector<PlacedRow>> rows(layout.mixed ? 2 : 1);
  size_t at = 0;
  for (size_t g = 0; g < groups; ++g) {
    for (Index r = 0; r < study.source.rows[g].rows(); ++r, ++at) {
      rows[layout.mixed && at % 2 == 1 ? 1 : 0].push_back({g, r});
      if (layout.incomplete && at % 5 == 0) rows[0].push_back({g, -1});
    }
  }
  RobustTask& task = study.task;
  task.name = "main";
  task.receiver = layout.receiver;
  task.moments.num_variables = p;
  task.moments.fraction_bits = kRobustBits;
  for (size_t v = 0; v < p; ++v) task.variables.push_back(v);
  MakeCells(groups, task);
  for (size_t b = 0; b < rows.size(); ++b) {
    RowBlock block{b == 0 ? "shared" : "whole", rows[b].size(), {}};
    for (size_t party = 0; party < layout.num_parties; ++party) {
      if (b == 1 && party + 1 < layout.num_parties) continue;
      block.holders.push_back(MakeHolder(layout, task, party, b, p));
    }
    task.moments.blocks.push_back(block);
    task.moments.max_rows += rows[b].size();
  }
  study.local.resize(layout.num_parties + 1);
  study.cells.resize(layout.num_parties);
  for (RobustLocal& local : study.local) local.blocks.resize(rows.size());
  for (size_t b = 0; b < rows.size(); ++b) {
    for (const BlockHolder& holder : task.moments.blocks[b].holders) {
      LocalBlock& block = study.local[holder.party].blocks[b];
      block.num_rows = rows[b].size();
      block.selectors.resize(task.moments.cells.size());
      study.cells[holder.party].resize(rows.size());
      for (const PlacedRow& row : rows[b]) {
        for (const size_t v : holder.variables)
          study.cells[holder.party][b].push_back(CellOf(study, row, holder.party, v));
        for (size_t c = 0; c < holder.selects.size(); ++c) {
          if (!holder.selects[c]) continue;
          const bool group = c == 0 || holder.party + 1 < layout.num_parties || row.group + 1 == c;
          block.selectors[c].push_back(group && (row.row >= 0 || !layout.incomplete) ? 1 : 0);
        }
      }
    }
  }
  SilentProgress progress;
  study.fitted.moments = study.source.moments;
  study.fitted.fit = stats::FitSem(study.source.table, study.source.moments, {}, progress);
  return study;
}

// relative: of standard errors; the scaling factor to ten times that.
void ExpectPlaintext(const Study& study, const stats::RobustFit& secure, double relative) {
  const stats::StatisticsScale scale = PublicScale(study.analysis);
  const stats::RobustFit plain =
      stats::MakeRobust(study.source.table, study.fitted.moments, study.fitted.fit,
                        stats::PublicModel(study.source.table, scale),
                        stats::PlaintextRobustSums(study.source.table, study.fitted.moments,
                                                   study.fitted.fit, scale, study.source.rows, {}));
  for (size_t r = 0; r < plain.estimates.size(); ++r) {
    const double se = plain.estimates[r].standard_error;
    EXPECT_NEAR(secure.estimates[r].standard_error, se, relative * se) << r;
  }
  if (!std::isnan(plain.scaling_factor)) {
    EXPECT_NEAR(secure.scaling_factor, plain.scaling_factor, 10 * relative);
  }
}

void Check(const std::string& id, const Layout& layout) {
  SCOPED_TRACE(id + " " + layout.engine);
  RobustCase source = LoadRobustCase(id);
  const Study study = Deal(std::move(source), layout);
  const RobustRun run = RunStudy(study, layout.engine);
  ASSERT_EQ(net::Describe(run.outcome.errors), "");
  for (size_t process = 0; process < run.results.size(); ++process) {
    EXPECT_EQ(run.results[process].has_value(), process == layout.receiver);
  }
  ExpectLavaan(study, *run.results[layout.receiver]);
  ExpectPlaintext(study, *run.results[layout.receiver], 1e-6);
  ExpectPlanned(study, layout.engine, run);
  for (size_t process = 0; process < layout.num_parties; ++process) {
    for (const auto& count : run.outcome.openings[process]) {
      EXPECT_EQ(count.opened, 1u) << count.release.id;
    }
  }
}

class SplitRobustCases : public ::testing::TestWithParam<std::string> {};

TEST_P(SplitRobustCases, DealerTwoParties) { Check(GetParam(), {"dealer", 2, 0}); }
TEST_P(SplitRobustCases, DealerThreePartiesMixed) { Check(GetParam(), {"dealer", 3, 1, 0, true}); }
TEST_P(SplitRobustCases, ReplicatedOneColumn) { Check(GetParam(), {"replicated", 3, 2, 1}); }

INSTANTIATE_TEST_SUITE_P(Mlr, SplitRobustCases,
                         ::testing::Values("example", "hs", "hs_means", "hs_group", "poldem_eq",
                                           "wine_fixed_x", "wine_fixed_x_means", "growth",
                                           "saturated"),
                         [](const auto& test) { return test.param; });

TEST(SplitRobustTest, Shamir) { Check("hs_means", {"shamir", 3, 0}); }
TEST(SplitRobustTest, ObliviousTransfer) { Check("poldem_eq", {"ot", 2, 1, 1}); }

// Rows that two holders leave out, with groups that a third knows, are in no sum, whatever their
// values.
TEST(SplitRobustTest, SelectorsOfSeveralHolders) {
  Check("hs_means", {"dealer", 3, 0, 0, false, true});
  Check("hs_group", {"replicated", 3, 0, 0, true, true});
  Check("hs_group", {"dealer", 2, 1, 0, false, true});
}

// Scores do not depend on the point about which rows are taken.
TEST(SplitRobustTest, ColumnFramesGiveTheSameMeat) {
  const RobustCase source = LoadRobustCase("example");
  SilentProgress progress;
  const stats::SemFit fit = stats::FitSem(source.table, source.moments, {}, progress);
  const stats::ScorePoint point = stats::PointOf(source.table, source.scale, fit, source.moments);
  stats::FeatureProducts whitened(stats::FrameOf(point, 0)), plain(stats::ColumnFrameOf(point, 0));
  for (Index r = 0; r < source.rows[0].rows(); ++r) {
    whitened.AddRow(source.rows[0].row(r));
    plain.AddRow(source.rows[0].row(r));
  }
  const Eigen::MatrixXd a = stats::ScoreMap(point, 0), b = stats::ColumnScoreMap(point, 0);
  const Eigen::MatrixXd expected = a * whitened.Products() * a.transpose();
  const Eigen::MatrixXd got = b * plain.Products() * b.transpose();
  EXPECT_LT((got - expected).norm(), 1e-11 * expected.norm());
}

TEST(SplitRobustTest, ClustersAndWeightsAreRefused) {
  const Study study = Deal(LoadRobustCase("example"), {});
  mpc::PlanEngine plan("dealer", 2);
  RobustTask clustered = study.task, weighted = study.task;
  clustered.clustered = true;
  weighted.moments.max_weight = 2;
  for (const auto& [task, what] : {std::pair(clustered, "clusters"), {weighted, "weights"}}) {
    try {
      RobustStandardErrors(plan, study.analysis, task, {}, nullptr);
      ADD_FAILURE() << what;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_THAT(error.message(), ::testing::HasSubstr(what));
      EXPECT_THAT(error.message(), ::testing::HasSubstr("'shared'"));
    }
  }
}

// A single cell as far out as the bounds of the encoding: refused by its holder alone.
TEST(SplitRobustTest, RowsTooFarFromTheModelAreTheHoldersError) {
  Study study = Deal(LoadRobustCase("example"), {});
  study.cells[1][0][1] = Int128{1} << 62;  // 4096 half widths
  const RobustRun run = RunStudy(study, "dealer");
  ASSERT_TRUE(run.outcome.errors[1]);
  EXPECT_EQ(run.outcome.errors[1]->code(), ErrorCode::kBadData);
  EXPECT_THAT(run.outcome.errors[1]->hint(), ::testing::HasSubstr("64 standard deviations"));
  ASSERT_TRUE(run.outcome.errors[0]);
  EXPECT_EQ(run.outcome.errors[0]->code(), ErrorCode::kPeerLost);
}

}  // namespace
}  // namespace partita::methods::mle::split_robust_test
