// Maximum likelihood over an oracle for linear statistics: every complete-data reference fit of
// lavaan is reproduced without its moments.
#include "stats/sem/oracle_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "tests/stats/sem_reference.h"

namespace partita::stats {
namespace {

using testing::Json;
using testing::Number;

const std::filesystem::path kShared = std::filesystem::path(PARTITA_SOURCE_DIR) / "../shared";
const std::filesystem::path kFolder = kShared / "reference/sem";

// Bounds as somebody would write them down who knows the columns roughly: off centre by more than a
// standard deviation, and unlike from column to column.
StatisticsScale RoughScale(const std::vector<GroupMoments>& moments) {
  const Eigen::Index p = moments.front().mean.size();
  StatisticsScale scale{Eigen::VectorXd(p), Eigen::VectorXd(p)};
  for (Eigen::Index i = 0; i < p; ++i) {
    const double sd = std::sqrt(moments.front().covariance(i, i));
    scale.centre[i] = moments.front().mean[i] + (i % 2 == 0 ? 1.3 : -0.6) * sd;
    scale.half_width[i] = (4 + 3 * static_cast<double>(i % 3)) * sd;
  }
  return scale;
}

struct Clear {
  OracleFitInput input;
  int calls = 0;
};

// `rounding`: relative error of the answers, as a stand-in for fixed point.
void MakeInput(const ParameterTable& table, const std::vector<GroupMoments>& moments,
               const StatisticsScale& scale, Clear& clear) {
  const StatisticsLayout layout{static_cast<Eigen::Index>(table.observed.size()),
                                static_cast<Eigen::Index>(table.groups.size()),
                                table.meanstructure};
  const Eigen::VectorXd statistics = SampleStatistics(layout, scale, moments);
  for (const GroupMoments& group : moments) clear.input.n.push_back(group.n);
  clear.input.scale = scale;
  clear.input.oracle = [statistics, &clear](const Eigen::MatrixXd& weights) -> OracleAnswer {
    ++clear.calls;
    return {weights * statistics, weights};
  };
}

class OracleReference : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kShared)) GTEST_SKIP() << "no reference fits on this machine";
    reference_ = testing::ReadJson(kFolder / (GetParam() + ".json"));
    table_ = testing::TableOf(reference_);
    moments_ = testing::SampleMoments(reference_);
    rows_ = testing::KeptRows(reference_);
  }

  Json reference_;
  ParameterTable table_;
  std::vector<GroupMoments> moments_;
  std::vector<Json> rows_;
};

TEST_P(OracleReference, EstimatesErrorsAndLikelihood) {
  Clear clear;
  MakeInput(table_, moments_, RoughScale(moments_), clear);
  SilentProgress progress;
  const OracleFit result = FitSemFromOracle(table_, clear.input, {}, progress);
  const SemFit& fit = result.fit;
  RecordProperty("gradients", result.usage.gradients);
  printf("%-22s values %d gradients %d rank %d of %d, q %d, iterations %d, sg %.1e\n",
         GetParam().c_str(), result.usage.values, result.usage.gradients, result.usage.rank,
         result.usage.num_statistics, OracleRows(table_) - 1, fit.iterations,
         fit.max_scaled_gradient);
  ASSERT_TRUE(fit.converged) << (fit.warnings.empty() ? "" : fit.warnings[0]);
  for (const std::string& warning : fit.warnings) ADD_FAILURE() << warning;
  ASSERT_EQ(fit.estimates.size(), rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    SCOPED_TRACE(rows_[r]["lhs"].get<std::string>() + rows_[r]["op"].get<std::string>() +
                 rows_[r]["rhs"].get<std::string>());
    const ParameterEstimate& e = fit.estimates[r];
    const double se = Number(rows_[r]["se"]), estimate = Number(rows_[r]["est"]);
    // A scaled gradient of 1e-8 is sqrt(n) 1e-8 standard errors from the optimum.
    EXPECT_NEAR(e.estimate, estimate, se > 0 ? 1e-5 * se : 1e-5 * std::abs(estimate) + 1e-9);
    EXPECT_NEAR(e.standard_error, se, 1e-5 * se);
    EXPECT_NEAR(e.std_all, Number(rows_[r]["std_all"]), 1e-5);
  }
  EXPECT_NEAR(fit.fit_measures.at("logl"), Number(reference_["fit"]["logl"]), 1e-6);
  for (const std::string name : {"npar", "df", "ntotal"}) {
    EXPECT_EQ(fit.fit_measures.at(name), Number(reference_["fit"][name])) << name;
  }
  for (const std::string name : {"aic", "bic", "bic2"}) {
    EXPECT_NEAR(fit.fit_measures.at(name), Number(reference_["fit"][name]), 2e-6) << name;
  }
  EXPECT_EQ(fit.fit_measures.count("chisq"), 0u);
  EXPECT_EQ(clear.calls, result.usage.values + result.usage.gradients);
}

INSTANTIATE_TEST_SUITE_P(Complete, OracleReference,
                         ::testing::Values("growth_linear6", "growth_openmx5", "growth_predictors",
                                           "hs_cfa3", "hs_cfa3_group", "hs_cfa3_mean",
                                           "hs_cfa3_stdlv", "onefactor", "path_indirect",
                                           "poldem_sem", "poldem_sem_eq", "reg_multiple",
                                           "reg_multiple_fixedx", "reg_simple", "saturated_hs9"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace partita::stats
