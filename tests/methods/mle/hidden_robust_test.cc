// Robust standard errors of rows of which nobody knows which match: equal to lavaan's and to those of
// the rows that match, exact sums on every engine, and messages that say nothing of the fit.
#include "methods/mle/likelihood/hidden_robust.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "methods/mle/moments/public_scale.h"
#include "methods/mle/moments/split_products.h"
#include "mpc/fixed_point.h"
#include "stats/sem/column_frame.h"
#include "tests/methods/mle/robust_study.h"

namespace partita::methods::mle::hidden_robust_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using stats::testing::LoadRobustCase;
using stats::testing::RobustCase;
using testing::ExpectLavaan;
using testing::ExpectPlanned;
using testing::kRobustBits;
using testing::LocalOf;
using testing::RobustRun;
using testing::RunParties;
using testing::RunStudy;
using testing::Study;

struct Layout {
  std::string engine = "dealer";
  size_t holders = 2;            // the last party is the receiver, without rows
  bool last_has_columns = true;  // else the last holder only has presence
  double bounds = 10;            // half-widths by standard deviations
  double outside = 1;            // cells of rows that do not match, in half-widths
};

// Bounds that are not about the mean: it lies a quarter of the half-width from the centre.
stats::StatisticsScale WideScale(const stats::GroupMoments& moments, double bounds) {
  stats::StatisticsScale scale;
  scale.half_width = bounds * moments.covariance.diagonal().cwiseSqrt();
  scale.centre = moments.mean + scale.half_width / 4;
  return scale;
}

// A position: somebody's row, and who of the holders has one there.
struct Position {
  Index row = -1;
  std::vector<bool> present;
};

// Every third position is one where not all holders have a row.
std::vector<Position> Positions(Index matches, size_t holders) {
  std::mt19937_64 random(7);
  std::vector<Position> positions;
  for (Index r = 0; r < matches; ++r) {
    positions.push_back({r, std::vector<bool>(holders, true)});
    if (r % 2 == 1) continue;
    Position partial{-1, std::vector<bool>(holders, false)};
    for (size_t h = 0; h < holders; ++h) partial.present[h] = random() % 2 == 0;
    partial.present[random() % holders] = false;
    positions.push_back(partial);
  }
  return positions;
}

Study Deal(RobustCase source, const Layout& layout) {
  Study study;
  study.num_parties = layout.holders + 1;
  source.scale = WideScale(source.moments.front(), layout.bounds);
  study.analysis = testing::AnalysisOf(source.table, source.scale);
  study.source = std::move(source);
  const size_t p = study.analysis.variables.size();
  const std::vector<Position> positions =
      Positions(study.source.rows.front().rows(), layout.holders);
  RobustTask& task = study.task;
  task.name = "main";
  task.hidden = true;
  task.receiver = layout.holders;
  task.cells = {0};
  task.moments.num_variables = p;
  task.moments.fraction_bits = kRobustBits;
  task.moments.max_rows = positions.size();
  for (size_t v = 0; v < p; ++v) task.variables.push_back(v);
  RowBlock block{"lists", positions.size(), {}};
  const size_t with_columns = layout.holders - (layout.last_has_columns ? 0 : 1);
  study.local.resize(study.num_parties + 1);
  study.cells.resize(study.num_parties);
  for (size_t h = 0; h < layout.holders; ++h) {
    BlockHolder holder{h, {}, {true}};
    for (size_t v = 0; v < p; ++v) {
      if (v % with_columns == h) holder.variables.push_back(v);
    }
    LocalBlock local;
    local.num_rows = positions.size();
    local.selectors.resize(1);
    std::vector<Int128> cells;
    for (const Position& position : positions) {
      local.selectors[0].push_back(position.present[h] ? 1 : 0);
      for (const size_t v : holder.variables) {
        const auto at = static_cast<Index>(v);
        const double z =
            position.row < 0
                ? layout.outside
                : (study.source.rows.front()(position.row, at) - study.source.scale.centre[at]) /
                      study.source.scale.half_width[at];
        // Where the holder has no row the reader gives anything.
        const bool nothing = position.row < 0 && !position.present[h];
        cells.push_back(nothing ? Int128{1} << 62 : mpc::EncodeFixed(z, kRobustBits));
      }
    }
    study.local[h].blocks = {local};
    study.cells[h] = {cells};
    block.holders.push_back(holder);
  }
  study.local[layout.holders].blocks.resize(1);
  task.moments.blocks = {block};
  SilentProgress progress;
  study.fitted.moments = study.source.moments;
  study.fitted.fit = stats::FitSem(study.source.table, study.source.moments, {}, progress);
  return study;
}

// Of the given rows in the clear.
stats::RobustFit InTheClear(const Study& study, const MatrixXd& rows) {
  const stats::StatisticsScale scale = PublicScale(study.analysis);
  return stats::MakeRobust(study.source.table, study.fitted.moments, study.fitted.fit,
                           stats::PublicModel(study.source.table, scale),
                           stats::PlaintextRobustSums(study.source.table, study.fitted.moments,
                                                      study.fitted.fit, scale, {rows}, {}));
}

// Rows as they are after their cells were rounded.
MatrixXd Rounded(const Study& study) {
  const stats::StatisticsScale scale = PublicScale(study.analysis);
  const int bits = BoundedCellBits(study.task);
  MatrixXd rows = study.source.rows.front();
  for (Index r = 0; r < rows.rows(); ++r) {
    for (Index v = 0; v < rows.cols(); ++v) {
      const double z = (rows(r, v) - scale.centre[v]) / scale.half_width[v];
      rows(r, v) = scale.centre[v] +
                   scale.half_width[v] * std::ldexp(std::round(std::ldexp(z, bits)), -bits);
    }
  }
  return rows;
}

void ExpectWithin(const stats::RobustFit& secure, const stats::RobustFit& plain, double relative) {
  for (size_t r = 0; r < plain.estimates.size(); ++r) {
    const double se = plain.estimates[r].standard_error;
    EXPECT_NEAR(secure.estimates[r].standard_error, se, relative * se) << r;
  }
  if (std::isnan(plain.scaling_factor)) return;
  EXPECT_NEAR(secure.scaling_factor, plain.scaling_factor, relative * plain.scaling_factor);
}

void Check(const std::string& id, const Layout& layout) {
  SCOPED_TRACE(id + " " + layout.engine);
  const Study study = Deal(LoadRobustCase(id), layout);
  const RobustRun run = RunStudy(study, layout.engine);
  ASSERT_EQ(net::Describe(run.outcome.errors), "");
  for (size_t process = 0; process < run.results.size(); ++process)
    EXPECT_EQ(run.results[process].has_value(), process == study.task.receiver);
  const stats::RobustFit& robust = *run.results[study.task.receiver];
  ExpectLavaan(study, robust);
  // What is computed on shares is within its own bound of the same of the rounded cells, and the
  // bound is small.
  EXPECT_LT(robust.relative_error, 1e-6);
  ExpectWithin(robust, InTheClear(study, Rounded(study)), robust.relative_error + 1e-11);
  // A rounding moves a cell by up to bounds 2^-(b + 1) deviations, and squares of scores, of the
  // fourth degree, by 4 times that and the cell, of up to 10 deviations.
  ExpectWithin(robust, InTheClear(study, study.source.rows.front()),
               40 * layout.bounds * std::ldexp(1.0, -BoundedCellBits(study.task) - 1));
  ExpectPlanned(study, layout.engine, run);
  for (size_t process = 0; process < study.num_parties; ++process) {
    EXPECT_EQ(run.outcome.openings[process].size(), 2u);
    for (const auto& count : run.outcome.openings[process]) {
      EXPECT_EQ(count.opened, 1u) << count.release.id;
      EXPECT_EQ(count.release.to_party, study.task.receiver) << count.release.id;
    }
  }
}

class HiddenRobustCases : public ::testing::TestWithParam<std::string> {};

TEST_P(HiddenRobustCases, EqualsLavaan) { Check(GetParam(), {}); }

// Of these one for the cut of what opens: a sum that opened whole would take fewer.
TEST(HiddenRobustTest, RoundsAreAFixedNumber) {
  const Study study = Deal(LoadRobustCase("growth"), {});
  const RobustRun run = RunStudy(study, "dealer");
  ASSERT_EQ(net::Describe(run.outcome.errors), "");
  EXPECT_EQ(run.outcome.traffic[0].back().rounds, 9U);
}

INSTANTIATE_TEST_SUITE_P(Mlr, HiddenRobustCases,
                         ::testing::Values("example", "hs", "hs_means", "poldem_eq", "wine_fixed_x",
                                           "wine_fixed_x_means", "growth", "saturated"),
                         [](const auto& test) { return test.param; });

TEST(HiddenRobustTest, OtherEngines) {
  Check("hs_means", {.engine = "replicated"});
  Check("poldem_eq", {.engine = "shamir"});
  Check("poldem_eq", {.engine = "shamir", .holders = 4});
}

TEST(HiddenRobustTest, HoldersWithPresenceOnly) {
  Check("growth", {.holders = 3, .last_has_columns = false});
  Check("example", {.engine = "replicated", .last_has_columns = false});
}

// ---------- The sums on shares

// sum of t t' over the rows that match, in whole numbers of 2^-(4 bits), rows of the upper triangle.
std::vector<Int128> ExactProducts(const Study& study) {
  const int bits = BoundedCellBits(study.task);
  const stats::StatisticsScale& scale = study.source.scale;
  const MatrixXd& rows = study.source.rows.front();
  const auto d = static_cast<size_t>(stats::NumFeatures(rows.cols()));
  std::vector<Int128> sums(d * (d + 1) / 2);
  for (Index r = 0; r < rows.rows(); ++r) {
    const Int128 one = Int128{1} << bits;
    std::vector<Int128> u, t = {one * one};
    for (Index v = 0; v < rows.cols(); ++v) {
      const double z = (rows(r, v) - scale.centre[v]) / scale.half_width[v];
      const Int128 cell = mpc::EncodeFixed(z, kRobustBits);
      u.push_back(static_cast<Int128>(
          std::round(std::ldexp(static_cast<double>(cell), bits - kRobustBits))));
    }
    for (const Int128 value : u) t.push_back(value * one);
    for (size_t i = 0; i < u.size(); ++i) {
      for (size_t j = i; j < u.size(); ++j) t.push_back(u[i] * u[j]);
    }
    size_t at = 0;
    for (size_t i = 0; i < d; ++i) {
      for (size_t j = i; j < d; ++j) sums[at++] += t[i] * t[j];
    }
  }
  return sums;
}

std::vector<Int128> ProductsOnShares(const Study& study, const std::string& engine_name, int bits) {
  std::vector<Int128> values;
  const mpc::Release release{"q", "", "", "exact", 1, study.task.receiver, std::nullopt};
  const testing::Outcome outcome = RunParties(
      engine_name, study.num_parties, {release}, [&](mpc::Engine& engine, size_t process) {
        engine.BeginPhase("products");
        const mpc::Shared products =
            BoundedProducts(engine, study.task, LocalOf(study, process), bits);
        const mpc::IntMatrix opened =
            engine.Reveal("q", {&products, 1}, study.task.receiver).front();
        if (process == study.task.receiver) values = opened.values;
      });
  EXPECT_EQ(net::Describe(outcome.errors), "");
  return values;
}

// Exact but for the last truncation, whatever stands in rows that do not match.
TEST(HiddenRobustTest, ProductsAreThoseOfTheRowsThatMatch) {
  constexpr int kBits = 59;
  for (const std::string engine : {"dealer", "replicated", "shamir"}) {
    for (const double outside : {1.0, -1.0, 0.3}) {
      SCOPED_TRACE(engine);
      const Study study = Deal(LoadRobustCase("poldem_eq"), {.engine = engine, .outside = outside});
      const std::vector<Int128> opened = ProductsOnShares(study, engine, kBits);
      const std::vector<Int128> exact = ExactProducts(study);
      ASSERT_EQ(opened.size(), exact.size());
      const int dropped = 4 * BoundedCellBits(study.task) + RowBits(study.task) - kBits;
      for (size_t i = 0; i < exact.size(); ++i) {
        const Int128 error = opened[i] - (exact[i] >> dropped);
        EXPECT_TRUE(error >= -1 && error <= 1) << i;
      }
    }
  }
}

// ---------- What goes wrong

std::vector<std::vector<uint64_t>> BytesOf(const RobustRun& run) {
  std::vector<std::vector<uint64_t>> bytes;
  for (const std::vector<net::PhaseTraffic>& of_process : run.outcome.traffic) {
    auto& row = bytes.emplace_back();
    if (of_process.empty()) continue;
    row.push_back(of_process.back().rounds);
    for (const auto& link : of_process.back().links) row.push_back(link.bytes_sent);
  }
  return bytes;
}

// Runs at every process; what the receiver throws stays there.
RobustRun RunQuietly(const Study& study, const FittedModel* fitted, std::optional<Error>& wrong) {
  RobustRun run;
  run.results.resize(study.num_parties + 1);
  run.outcome = RunParties(
      "dealer", study.num_parties, RobustReleases(study.analysis, study.task, "receiver"),
      [&](mpc::Engine& engine, size_t process) {
        engine.BeginPhase("robust");
        const bool receives = process == study.task.receiver;
        try {
          run.results[process] =
              RobustStandardErrors(engine, study.analysis, study.task, LocalOf(study, process),
                                   receives ? fitted : nullptr);
        } catch (const Error& error) {
          if (!receives) throw;
          wrong = error;
        }
      });
  return run;
}

// Without a fit, at estimates that ran away, of almost dependent variables, with bounds that are far
// too wide: the others see the same messages as of an ordinary study, and no error.
TEST(HiddenRobustTest, NobodySeesWhetherThereIsAFit) {
  const Study study = Deal(LoadRobustCase("poldem_eq"), {});
  std::optional<Error> wrong;
  const RobustRun ordinary = RunQuietly(study, &study.fitted, wrong);
  ASSERT_TRUE(ordinary.results[study.task.receiver]);
  ASSERT_FALSE(wrong);
  const auto expect_same = [&](const Study& other, const FittedModel* fitted) {
    std::optional<Error> error;
    const RobustRun run = RunQuietly(other, fitted, error);
    EXPECT_EQ(net::Describe(run.outcome.errors), "");
    EXPECT_EQ(BytesOf(run), BytesOf(ordinary));
    EXPECT_FALSE(run.results[study.task.receiver]);
    return error;
  };
  EXPECT_FALSE(expect_same(study, nullptr));

  FittedModel away = study.fitted;
  for (stats::ParameterEstimate& estimate : away.fit.estimates)
    estimate.estimate = std::numeric_limits<double>::quiet_NaN();
  std::optional<Error> error = expect_same(study, &away);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kBadInput);

  const Study wide = Deal(LoadRobustCase("poldem_eq"), {.bounds = 1e6});
  error = expect_same(wide, &wide.fitted);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kBadInput);
  EXPECT_THAT(error->message(), ::testing::HasSubstr("very wide beside their values"));
}

// Scores do not depend on the point about which rows are taken.
TEST(HiddenRobustTest, FeaturesOfOneFrameAreLinearInThoseOfAnother) {
  const RobustCase source = LoadRobustCase("example");
  SilentProgress progress;
  const stats::SemFit fit = stats::FitSem(source.table, source.moments, {}, progress);
  const stats::ScorePoint point = stats::PointOf(source.table, source.scale, fit, source.moments);
  const stats::FeatureFrame model = stats::FrameOf(point, 0),
                            bounds = stats::PublicFrame(source.scale);
  stats::FeatureProducts about_model(model), by_bounds(bounds);
  for (Index r = 0; r < source.rows[0].rows(); ++r) {
    about_model.AddRow(source.rows[0].row(r));
    by_bounds.AddRow(source.rows[0].row(r));
  }
  const MatrixXd change = stats::ChangeOfFrame(model, bounds);
  const MatrixXd expected = about_model.Products();
  const MatrixXd got = change * by_bounds.Products() * change.transpose();
  EXPECT_LT((got - expected).norm(), 1e-9 * expected.norm());
}

}  // namespace
}  // namespace partita::methods::mle::hidden_robust_test
