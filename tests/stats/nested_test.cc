// Comparison of nested models and modification indices against what lavaan's tutorial prints for
// the Holzinger and Swineford data (lavaan.ugent.be/tutorial, groups and modindices).
#include "stats/sem/nested.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "stats/sem/modification.h"
#include "tests/paths.h"
#include "tests/stats/sem_reference.h"

namespace partita::stats::nested_test {
namespace {

using testing::Json;

constexpr char kThreeFactors[] =
    "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\n";

Json Reference(const std::string& name) {
  return testing::ReadJson(FixturePath("references/sem/" + name + ".json"));
}

struct Fitted {
  ParameterTable table;
  std::vector<GroupMoments> moments;
  SemFit fit;
};

Fitted FitTo(const Json& reference, const SemModelOptions& options) {
  Fitted fitted;
  fitted.table = BuildParameterTable(kThreeFactors, options);
  fitted.moments = testing::SampleMoments(reference);
  SilentProgress progress;
  fitted.fit = FitSem(fitted.table, fitted.moments, {}, progress);
  EXPECT_TRUE(fitted.fit.converged);
  return fitted;
}

class Tutorial : public ::testing::Test {};

// The printed digits of chi-square, its difference, and p.
TEST_F(Tutorial, ComparesInvarianceAcrossSchools) {
  const Json reference = Reference("hs_cfa3_group");
  const std::vector<std::vector<std::string>> equal = {
      {}, {"loadings"}, {"loadings", "intercepts"}, {"loadings", "intercepts", "means"}};
  std::vector<ComparedModel> models;
  for (const auto& names : equal) {
    SemModelOptions options;
    options.family = SemFamily::kCfa;
    options.groups = {"Pasteur", "Grant-White"};
    options.group_equal = names;
    models.push_back(
        ComparedModelOf(std::to_string(names.size()), FitTo(reference, options).fit, nullptr, 2));
  }
  std::swap(models[0], models[2]);  // the order is found by the degrees of freedom
  const ModelComparison comparison = CompareNested(models);
  const double chisq[] = {115.851, 124.044, 164.103, 204.605};
  const double df[] = {48, 54, 60, 63};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(comparison.models[i].chisq, chisq[i], 6e-4);
    EXPECT_EQ(comparison.models[i].df, df[i]);
  }
  const double difference[] = {8.192, 40.059, 40.502};
  const double p_value[] = {0.2244, 4.435e-07, 8.338e-09};
  ASSERT_EQ(comparison.differences.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(comparison.differences[i].chisq, difference[i], 6e-4);
    EXPECT_NEAR(comparison.differences[i].p_value, p_value[i], 4e-4 * p_value[i]);
  }
  EXPECT_FALSE(comparison.scaled);
}

TEST_F(Tutorial, ListsModificationIndices) {
  SemModelOptions options;
  options.family = SemFamily::kCfa;
  const Fitted fitted = FitTo(Reference("hs_cfa3"), options);
  const std::vector<ModificationIndex> indices =
      ModificationIndices(fitted.table, fitted.moments, fitted.fit);
  // 18 loadings and 36 covariances of residuals.
  EXPECT_EQ(indices.size(), 54u);
  struct Printed {
    const char *lhs, *op, *rhs;
    double index, change, lv, all;
  };
  const Printed printed[] = {
      {"visual", "=~", "x9", 36.411, 0.577, 0.519, 0.515},
      {"x7", "~~", "x8", 34.145, 0.536, 0.536, 0.859},
      {"visual", "=~", "x7", 18.631, -0.422, -0.380, -0.349},
      {"x8", "~~", "x9", 14.946, -0.423, -0.423, -0.805},
      {"textual", "=~", "x3", 9.151, -0.272, -0.269, -0.238},
  };
  for (size_t i = 0; i < std::size(printed); ++i) {
    const Printed& expected = printed[i];
    EXPECT_EQ(indices[i].lhs, expected.lhs);
    EXPECT_EQ(indices[i].op, expected.op);
    EXPECT_EQ(indices[i].rhs, expected.rhs);
    EXPECT_NEAR(indices[i].index, expected.index, 6e-4);
    EXPECT_NEAR(indices[i].change, expected.change, 6e-4);
    EXPECT_NEAR(indices[i].change_lv, expected.lv, 6e-4);
    EXPECT_NEAR(indices[i].change_all, expected.all, 6e-4);
  }
}

ComparedModel Model(double chisq, double df, double scaling) {
  return {"m" + std::to_string(static_cast<int>(df)), chisq, df, 0, 0, 100, 1, scaling};
}

// By hand: c = (10 * 1.3 - 4 * 1.5) / 6.
TEST(CompareNested, ScalesTheDifference) {
  const ModelComparison comparison = CompareNested({Model(20, 10, 1.3), Model(6, 4, 1.5)});
  EXPECT_TRUE(comparison.scaled);
  EXPECT_NEAR(comparison.differences[0].chisq, 14 / (7.0 / 6), 1e-12);
  EXPECT_TRUE(
      std::isnan(CompareNested({Model(20, 10, 1.1), Model(6, 9, 1.5)}).differences[0].chisq));
}

TEST(CompareNested, RefusesWhatCannotBeCompared) {
  EXPECT_THROW(CompareNested({Model(20, 10, 1)}), Error);
  EXPECT_THROW(CompareNested({Model(20, 10, 1), Model(6, 4, 1.5)}), Error);
  ComparedModel other = Model(6, 4, 1);
  other.num_rows = 99;
  EXPECT_THROW(CompareNested({Model(20, 10, 1), other}), Error);
  EXPECT_THROW(ComparedModelOf("none", SemFit{}, nullptr, 1), Error);
  EXPECT_TRUE(
      std::isnan(CompareNested({Model(20, 10, 1), Model(6, 10, 1)}).differences[0].p_value));
}

}  // namespace
}  // namespace partita::stats::nested_test
