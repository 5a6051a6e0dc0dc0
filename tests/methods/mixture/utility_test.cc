// What a holder finds out about synthetic rows of its own columns.
#include "methods/mixture/utility.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "crypto/prg.h"
#include "methods/mixture/cells.h"
#include "stats/mixture/held_out_rows.h"
#include "stats/mixture/predictive.h"
#include "tests/data/expect_error.h"
#include "tests/data/tables.h"

namespace partita::methods::mixture::utility_test {
namespace {

using data::EncodingKind;
using stats::mixture::RowSplit;
using stats::mixture::SelectRows;
using stats::mixture::SplitRows;
using stats::mixture::Values;

crypto::Key KeyOf(uint8_t seed) { return crypto::Key(std::array<uint8_t, 32>{seed}); }

// Two components: "a", "no" and large numbers, or "b", "yes" and small ones. "f" and "s" are at
// party 0, "i" at party 1, and stand in mixed order.
FittedModel TwoKinds() {
  FittedModel model;
  model.parties = {"north", "south", "without"};
  model.columns = {{{data::Factor("f", {"a", "b"}), EncodingKind::kLevels, 0, {}}, 0},
                   {{data::Factor("i", {"no", "yes"}), EncodingKind::kIndicator, 0, {}}, 1},
                   {{data::Numeric("s", -1, 1), EncodingKind::kStandard, 0, {}}, 0}};
  model.mean.resize(2, 6);  // weights, two logits, one logit, mean and precision
  model.mean << 0.5, 4, 0, -3, 0.5, 30, -0.5, 0, 4, 3, -0.5, 30;
  model.log_scale = Eigen::ArrayXXd::Constant(2, 6, -12);
  return model;
}

// p(f, s) = sum over i of p(f, i, s).
TEST(DpviUtilityTest, TheModelOfAPartyIsTheMarginal) {
  const FittedModel model = TwoKinds(), own = ModelOfParty(model, 0);
  ASSERT_EQ(own.columns.size(), 2u);
  EXPECT_EQ(own.columns[1].encoding.column.name, "s");
  const auto density = [](const FittedModel& of, const Values& row) {
    const stats::mixture::Layout layout = ModelLayout(of.columns);
    return std::exp(stats::mixture::LogDensityOfRows(layout, stats::mixture::MakeRows(layout, row),
                                                     of.mean)(0));
  };
  for (const double f : {0.0, 1.0}) {
    for (const double s : {-0.8, 0.1, 0.6}) {
      const double sum = density(model, {{f}, {0}, {s}}) + density(model, {{f}, {1}, {s}});
      EXPECT_NEAR(density(own, {{f}, {s}}), sum, 1e-12 * sum);
    }
  }
  EXPECT_EQ(ModelOfParty(model, 1).mean.cols(), 2);
  EXPECT_EQ((ModelOfParty(model, 1).log_scale - -12).abs().maxCoeff(), 0);
  ExpectError(ErrorCode::kUsage, "holds no column", "", [&] { ModelOfParty(model, 2); });
}

// Real rows of the model's own law are like it, rows of independent columns are not. The distances
// of 20000 rows from 20000 have standard deviations below 0.005; bounds are ten of them away.
TEST(DpviUtilityTest, JudgesRealRows) {
  const FittedModel own = ModelOfParty(TwoKinds(), 0);
  const stats::mixture::Layout layout = ModelLayout(own.columns);
  crypto::Prg prg(KeyOf(1)), source(KeyOf(2));
  stats::blr::Variates variates(prg);
  const Values like = stats::mixture::DrawRows(layout, own.mean, 20000, variates);
  Values unlike = like;
  std::rotate(unlike[0].begin(), unlike[0].begin() + 1, unlike[0].end());
  const UtilityRequest request{20000, "f", "b"};
  const Utility good = JudgeSynthetic(own, {like, like}, request, source);
  const Utility bad = JudgeSynthetic(own, {unlike, unlike}, request, source);
  for (const auto& marginal : good.marginals) EXPECT_LT(marginal.total_variation, 0.05);
  ASSERT_EQ(good.associations.size(), 1u);
  EXPECT_NEAR(good.associations[0].real, good.associations[0].synthetic, 0.05);
  EXPECT_GT(good.associations[0].synthetic, 0.8);
  EXPECT_LT(bad.associations[0].real, 0.05);
  EXPECT_NEAR(good.from_synthetic->accuracy, good.from_real->accuracy, 0.05);
  EXPECT_GT(good.from_synthetic->accuracy, 0.9);
  EXPECT_LT(bad.from_synthetic->accuracy, 0.7);
  EXPECT_LT(bad.from_synthetic->auc, 0.6);
  EXPECT_GT(good.plug_in, bad.plug_in + 0.5);
  EXPECT_NEAR(good.plug_in, good.predictive, 0.01);  // scales of e^-12
  EXPECT_EQ(good.active_components, 2u);
  const Utility no_target = JudgeSynthetic(own, {like, {}}, {100, "", ""}, source);
  EXPECT_FALSE(no_target.from_synthetic);
  ExpectError(ErrorCode::kBadInput, "no column 'f' with a level 'c'", "", [&] {
    JudgeSynthetic(own, {like, {}}, {100, "f", "c"}, source);
  });
  ExpectError(ErrorCode::kBadInput, "no column 'i'", "", [&] {
    JudgeSynthetic(own, {like, {}}, {100, "i", "no"}, source);
  });
}

// A model of one kind has columns that are independent: each is as in the real rows, and nothing can
// be learned. V of 5000 rows of independent columns is below 0.1 by 5 standard deviations and more
// (phi is below 0.07 then), and of these kinds above 0.8.
TEST(DpviUtilityTest, SaysWhatIsPoorForLearning) {
  const FittedModel kinds = ModelOfParty(TwoKinds(), 0);
  FittedModel one = kinds;
  one.mean.row(1) = one.mean.row(0);
  crypto::Prg prg(KeyOf(3)), source(KeyOf(4));
  stats::blr::Variates variates(prg);
  const stats::mixture::Layout layout = ModelLayout(kinds.columns);
  const Values real = stats::mixture::DrawRows(layout, kinds.mean, 5000, variates);
  const Utility good = JudgeSynthetic(kinds, {real, real}, {5000, "f", "b"}, source);
  const Utility poor = JudgeSynthetic(one, {real, real}, {5000, "f", "b"}, source);
  EXPECT_FALSE(good.poor_for_learning());
  EXPECT_TRUE(poor.poor_for_learning());
  EXPECT_FALSE(JudgeSynthetic(one, {real, {}}, {5000, "f", "b"}, source).poor_for_learning());

  ASSERT_EQ(good.tables.size(), 5u);
  EXPECT_EQ(JudgeSynthetic(one, {real, {}}, {100, "", "", 2}, source).tables.size(), 2u);
  double mean = 0;
  for (const TableUtility& table : good.tables) mean += table.prediction->auc / 5;
  EXPECT_DOUBLE_EQ(good.from_synthetic->auc, mean);
  EXPECT_NE(good.tables[0].associations, good.tables[1].associations);
  EXPECT_LT(good.tables[0].associations, poor.tables[0].associations);

  for (const ColumnStrength& column : ColumnStrengths(kinds, 5000, 3, source))
    EXPECT_GT(column.association.least, 0.8) << column.column;
  const std::vector<ColumnStrength> weak = ColumnStrengths(one, 5000, 3, source);
  ASSERT_EQ(weak.size(), 2u);
  EXPECT_EQ(weak[1].column, "s");
  for (const ColumnStrength& column : weak) EXPECT_LT(column.association.most, kWeakAssociation);
}

TEST(DpviUtilityTest, SpreadsAreOfAllValues) {
  const Spread spread = SpreadOf({2, 5, -1});
  EXPECT_EQ(spread.mean, 2);
  EXPECT_EQ(spread.least, -1);
  EXPECT_EQ(spread.most, 5);
}

TEST(DpviUtilityTest, CellsHaveTheNamesOfTheirColumn) {
  using Names = std::vector<std::string>;
  const auto names = [](const data::ColumnSchema& schema, EncodingKind kind, uint32_t bins,
                        size_t cells, std::vector<std::string> pooled = {}) {
    return CellNames({{schema, kind, bins, std::move(pooled)}, 0}, cells);
  };
  const data::ColumnSchema factor = data::Factor("f", {"a", "b", "c", "d"});
  EXPECT_EQ(names(factor, EncodingKind::kLevels, 0, 4), (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(names(factor, EncodingKind::kLevels, 0, 3, {"d", "b"}), (Names{"a", "c", "d, b"}));
  EXPECT_EQ(names(data::Factor("i", {"no", "yes"}), EncodingKind::kIndicator, 0, 2),
            (Names{"no", "yes"}));
  EXPECT_EQ(names(data::Numeric("x", -1, 1), EncodingKind::kStandard, 0, 4),
            (Names{"[-1, -0.5)", "[-0.5, 0)", "[0, 0.5)", "[0.5, 1]"}));
  EXPECT_EQ(names(data::Numeric("x", 0, 30), EncodingKind::kBins, 2, 2),
            (Names{"[0, 15)", "[15, 30]"}));
  data::ColumnSchema whole = data::Numeric("n", 3, 5);
  whole.type = data::ColumnType::kInteger;
  EXPECT_EQ(names(whole, EncodingKind::kWhole, 0, 3), (Names{"3", "4", "5"}));
  data::ColumnSchema date = data::Numeric("d", 0, 31);
  date.type = data::ColumnType::kDate;
  EXPECT_EQ(names(date, EncodingKind::kUnit, 0, 2),
            (Names{"[1970-01-01, 1970-01-17)", "[1970-01-17, 1970-02-01]"}));
  ExpectError(ErrorCode::kUsage, "another column", "",
              [&] { names(factor, EncodingKind::kLevels, 0, 3); });

  const std::vector<CellShare> shares =
      CellShares({{{data::Factor("i", {"no", "yes"}), EncodingKind::kIndicator, 0, {}}, 0},
                  {{whole, EncodingKind::kWhole, 0, {}}, 0}},
                 {{"i", 0.25, {0.5, 0.5}, {0.75, 0.25}}, {"n", 0.5, {0.5, 0, 0.5}, {0, 0.5, 0.5}}});
  ASSERT_EQ(shares.size(), 5u);
  EXPECT_EQ(shares[1].cell, "yes");
  EXPECT_EQ(shares[1].synthetic, 0.25);
  const std::vector<CellShare> apart = FarthestApart(shares, 3);
  ASSERT_EQ(apart.size(), 3u);
  EXPECT_EQ(apart[0].column + apart[0].cell, "n3");
  EXPECT_EQ(apart[1].column + apart[1].cell, "n4");
  EXPECT_EQ(apart[2].column + apart[2].cell, "ino");
  EXPECT_EQ(FarthestApart(shares, 9).size(), 5u);
}

TEST(DpviUtilityTest, RowsAreSetAsideInPublic) {
  const RowSplit split = SplitRows(60, 15, 7), again = SplitRows(60, 15, 7);
  EXPECT_EQ(split.test, again.test);
  EXPECT_NE(split.test, SplitRows(60, 15, 8).test);
  ASSERT_EQ(split.test.size(), 15u);
  ASSERT_EQ(split.train.size(), 45u);
  EXPECT_TRUE(std::is_sorted(split.test.begin(), split.test.end()));
  EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
  std::vector<uint32_t> all(60);
  std::merge(split.train.begin(), split.train.end(), split.test.begin(), split.test.end(),
             all.begin());
  for (uint32_t row = 0; row < 60; ++row) EXPECT_EQ(all[row], row);
  EXPECT_TRUE(SplitRows(5, 0, 1).test.empty());
  EXPECT_TRUE(SplitRows(5, 5, 1).train.empty());
  ExpectError(ErrorCode::kUsage, "more test rows", "", [] { SplitRows(5, 6, 1); });
  EXPECT_EQ(SelectRows(Values{{1, 2, 3}, {4, 5, 6}}, {0, 2}), (Values{{1, 3}, {4, 6}}));
}

// Seeds are fixed, so this passes or fails for good; for another stream a row's count of 3000 draws
// with chance 3/10 would leave 900 +- 6.2 sqrt(630) with probability below 1e-8 for all ten.
TEST(DpviUtilityTest, EveryRowIsSetAsideAsOften) {
  std::array<int, 10> times{};
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    for (const uint32_t row : SplitRows(10, 3, seed).test) ++times[row];
  }
  for (const int count : times) EXPECT_NEAR(count, 900, 6.2 * std::sqrt(630));
}

TEST(DpviUtilityTest, AssociationsOfSyntheticRows) {
  crypto::Prg source(KeyOf(3));
  const auto all = SyntheticAssociations(TwoKinds(), 4000, source);
  ASSERT_EQ(all.size(), 3u);
  for (const auto& pair : all) {
    EXPECT_EQ(pair.real, pair.synthetic);
    EXPECT_GT(pair.synthetic, 0.7) << pair.first << pair.second;
  }
  const auto strongest =
      Strongest({{"a", "b", 0.1, 0.2}, {"a", "c", 0.3, 0}, {"b", "c", 0, 0.25}}, 2);
  ASSERT_EQ(strongest.size(), 2u);
  EXPECT_EQ(strongest[0].second, "c");
  EXPECT_EQ(strongest[1].first, "b");
}

}  // namespace
}  // namespace partita::methods::mixture::utility_test
