// What a client's row becomes, and that no row moves the sum further than is charged.
#include "sums/regression/rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"
#include "privacy/sampling/clipping.h"
#include "tests/sums/regression/specs.h"

namespace partita::sums::regression::rows_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SpecTest, ColumnsAreContrastsWithTheirBounds) {
  const stats::blr::Design design = DesignOf(SmallSpec());
  ASSERT_EQ(design.features.size(), 3U);
  EXPECT_EQ(design.features[0].name, "x");
  EXPECT_EQ(design.features[0].centre, 2);
  EXPECT_EQ(design.features[0].bound, 4);
  EXPECT_EQ(design.features[1].name, "g.b");
  EXPECT_EQ(design.features[2].name, "g.c");
  EXPECT_EQ(design.features[2].centre, 0.5);
  EXPECT_EQ(design.features[2].bound, 0.5);
  EXPECT_EQ(design.target.name, "y");
  EXPECT_EQ(design.target.centre, 50);
  // Five coordinates with the ones: 15 products without that of the ones.
  EXPECT_EQ(ShapeOf(SmallSpec(), design).dimension, 14U);
}

TEST(SpecTest, RefusesWhatIsNoRegression) {
  const auto refuses = [](const std::function<void(Spec&)>& change) {
    Spec spec = SmallSpec();
    change(spec);
    EXPECT_THROW(DesignOf(spec), Error);
  };
  refuses([](Spec& s) { s.variables.columns.clear(); });
  refuses([](Spec& s) { s.variables.columns.pop_back(); });  // the outcome is then a factor
  refuses([](Spec& s) { s.clip["x"] = {-3, 1}; });
  refuses([](Spec& s) { s.clip["x"] = {1, 1}; });
  refuses([](Spec& s) { s.clip["g"] = {0, 1}; });
  refuses([](Spec& s) { s.row_norm = -1; });
  refuses([](Spec& s) { s.variables.columns[0].name = "g.b"; });
  refuses([](Spec& s) { s.variables.columns[0].type = data::ColumnType::kSurvival; });
}

TEST(RowsTest, ScaledProductsOfClippedValues) {
  Spec spec = SmallSpec();
  spec.clip["x"] = {0, 4};
  const stats::blr::Design design = DesignOf(spec);
  const data::CsvContents csv = Read(spec, "y,g,x\n75,b,3\n50,a,5\n100,c,-1\n");
  const Rows rows = TakeRows(spec, design, csv.table, csv.report);
  ASSERT_EQ(rows.count, 3U);
  EXPECT_THAT(std::vector<double>(rows.values.begin(), rows.values.begin() + 4),
              ElementsAre(3, 1, 0, 75));
  // z = (1, 0.5, 1, -1, 0.5), rounded to 2^-24 and shrunk by clipping's margin at the bounds.
  const std::vector<double> vector = EncodeRow(spec, design, rows.row(0, 4));
  const double z[] = {1, 0.5, 1, -1, 0.5};
  size_t next = 0;
  for (size_t i = 0; i < 5; ++i) {
    for (size_t j = i; j < 5; ++j) {
      if (j > 0) {
        EXPECT_NEAR(vector[next++], z[i] * z[j], 4e-5);
      }
    }
  }
  EXPECT_EQ(next, vector.size());
  // The owner is told.
  ASSERT_EQ(rows.clipped.size(), 1U);
  EXPECT_EQ(rows.clipped[0].name, "x");
  EXPECT_EQ(rows.clipped[0].rows, 2U);
  EXPECT_THAT(ClippingNotes(rows, spec).at(0), HasSubstr("x: 2 of 3 rows"));
  // A row beyond the bounds is as if it lay on them.
  const std::vector<double> beyond = {5, 0, 0, 50}, at = {4, 0, 0, 50};
  EXPECT_EQ(EncodeRow(spec, design, beyond), EncodeRow(spec, design, at));
}

TEST(RowsTest, MissingCellsAreRefusedWithTheirLine) {
  const Spec spec = SmallSpec();
  const stats::blr::Design design = DesignOf(spec);
  const data::CsvContents csv = Read(spec, "x,g,y\n1,a,50\n,b,60\n");
  try {
    TakeRows(spec, design, csv.table, csv.report);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadData);
    EXPECT_THAT(error.message(), HasSubstr("line 3"));
    EXPECT_THAT(error.message(), HasSubstr("'x'"));
  }
  const std::vector<double> not_a_number = {std::nan(""), 0, 0, 50};
  EXPECT_THROW(EncodeRow(spec, design, not_a_number), Error);
}

Spec Variant(int kind) {
  Spec spec = SmallSpec();
  spec.intercept = kind % 2 == 0;
  spec.laplace = kind / 2 % 2 == 1;
  spec.collects = kind / 4 % 2 == 0 ? Collects::kStatistics : Collects::kSpread;
  if (kind >= 8) {
    spec.row_norm = 0.9;
    spec.laplace = false;
  }
  return spec;
}

// Corners, ends and random rows, in pairs: the charged sensitivity is never exceeded, and the clip
// of the sum changes nothing: what a client encodes is what is added up, bit for bit.
TEST(RowsTest, NoPairOfRowsExceedsTheSensitivityAndNoneIsChanged) {
  std::mt19937 random(3);
  for (int kind = 0; kind < 10; ++kind) {
    const Spec spec = Variant(kind);
    const stats::blr::Design design = DesignOf(spec);
    const SumShape shape = ShapeOf(spec, design);
    const privacy::ClipBound clip{spec.laplace ? privacy::Norm::kL1 : privacy::Norm::kL2,
                                  shape.bound, shape.fraction_bits};
    std::vector<std::vector<double>> vectors;
    double largest = 0;
    for (int r = 0; r < 120; ++r) {
      std::vector<double> row = {
          r < 60 ? (random() % 2 ? 6.0 : -2.0) : static_cast<double>(random() % 1000) / 50 - 7,
          static_cast<double>(random() % 2), 0,
          r < 60 ? (random() % 2 ? 100.0 : 0.0) : static_cast<double>(random() % 1000) / 5 - 50};
      row[2] = row[1] > 0 ? 0 : static_cast<double>(random() % 2);
      const std::vector<double> vector = EncodeRow(spec, design, row);
      ASSERT_EQ(vector.size(), shape.dimension);
      std::vector<Int128> grid(vector.size());
      privacy::ClipToGrid(vector, clip, grid);
      for (size_t i = 0; i < grid.size(); ++i)
        ASSERT_EQ(std::ldexp(static_cast<double>(grid[i]), -shape.fraction_bits), vector[i]);
      for (const std::vector<double>& other : vectors) {
        double sum = 0;
        for (size_t i = 0; i < vector.size(); ++i) {
          const double away = std::abs(vector[i] - other[i]);
          sum += spec.laplace ? away : away * away;
        }
        largest = std::max(largest, spec.laplace ? sum : std::sqrt(sum));
      }
      vectors.push_back(vector);
    }
    EXPECT_LE(largest, shape.sensitivity) << kind;
    EXPECT_LE(shape.sensitivity, 2 * shape.bound) << kind;
    // Not much too large, either (squares of 0/1 columns never change).
    EXPECT_GT(largest, 0.45 * shape.sensitivity) << kind;
  }
}

}  // namespace
}  // namespace partita::sums::regression::rows_test
