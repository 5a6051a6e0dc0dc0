// Every complete-data reference fit of lavaan is reproduced from its sample moments.
#include "tests/stats/sem_reference.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "tests/paths.h"

namespace partita::stats::sem_reference_test {
namespace {

using testing::Json;
using testing::Number;

class SemReference : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    reference_ = testing::ReadJson(FixturePath("references/sem/" + GetParam() + ".json"));
    table_ = testing::TableOf(reference_);
    moments_ = testing::SampleMoments(reference_);
    rows_ = testing::KeptRows(reference_);
  }

  SemFit Fit(Information information = Information::kExpected) const {
    SemFitOptions options;
    options.information = information;
    SilentProgress progress;
    return FitSem(table_, moments_, options, progress);
  }

  Json reference_;
  ParameterTable table_;
  std::vector<GroupMoments> moments_;
  std::vector<Json> rows_;
};

std::string RowText(const Json& row) {
  return row["lhs"].get<std::string>() + " " + row["op"].get<std::string>() + " " +
         row["rhs"].get<std::string>() + " group " + std::to_string(row["group"].get<int>());
}

TEST_P(SemReference, ConvergesWithoutWarnings) {
  const SemFit fit = Fit();
  EXPECT_TRUE(fit.converged);
  EXPECT_LT(fit.max_scaled_gradient, 1e-10);
  for (const std::string& warning : fit.warnings) ADD_FAILURE() << warning;
}

TEST_P(SemReference, EstimatesAndStandardErrors) {
  const SemFit fit = Fit();
  ASSERT_EQ(fit.estimates.size(), rows_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    SCOPED_TRACE(RowText(rows_[r]));
    const ParameterEstimate& e = fit.estimates[r];
    const double se = Number(rows_[r]["se"]), estimate = Number(rows_[r]["est"]);
    // Fixed parameters have standard error 0 and the value itself.
    EXPECT_NEAR(e.estimate, estimate, se > 0 ? 1e-6 * se : 1e-12 * std::abs(estimate));
    EXPECT_NEAR(e.standard_error, se, 1e-7 * se);
    if (se > 0) {
      EXPECT_NEAR(e.z, Number(rows_[r]["z"]), 1e-5);
      EXPECT_NEAR(e.p_value, Number(rows_[r]["pvalue"]), 1e-6);
    } else {
      EXPECT_TRUE(std::isnan(e.z));
      EXPECT_TRUE(std::isnan(e.p_value));
    }
    EXPECT_NEAR(e.ci_lower, Number(rows_[r]["ci_lower"]), 1e-5 * se + 1e-12 * std::abs(estimate));
    EXPECT_NEAR(e.ci_upper, Number(rows_[r]["ci_upper"]), 1e-5 * se + 1e-12 * std::abs(estimate));
  }
}

TEST_P(SemReference, StandardErrorsOfBothKindsOfInformation) {
  const SemFit expected = Fit(Information::kExpected), observed = Fit(Information::kObserved);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    SCOPED_TRACE(RowText(rows_[r]));
    const double se = Number(rows_[r]["se_expected"]);
    EXPECT_NEAR(expected.estimates[r].standard_error, se, 1e-7 * se);
    // lavaan differentiates its gradient numerically for the observed information.
    const double se_observed = Number(rows_[r]["se_observed"]);
    EXPECT_NEAR(observed.estimates[r].standard_error, se_observed, 1e-6 * se_observed);
  }
}

TEST_P(SemReference, StandardizedSolutions) {
  const SemFit fit = Fit();
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    SCOPED_TRACE(RowText(rows_[r]));
    EXPECT_NEAR(fit.estimates[r].std_lv, Number(rows_[r]["std_lv"]), 1e-6);
    EXPECT_NEAR(fit.estimates[r].std_all, Number(rows_[r]["std_all"]), 1e-6);
  }
}

TEST_P(SemReference, FitMeasures) {
  const SemFit fit = Fit();
  // Tolerances: absolute. lavaan finds the interval's ends to 1.2e-4 in the noncentrality.
  const std::map<std::string, double> tolerances = {{"npar", 0},
                                                    {"fmin", 1e-9},
                                                    {"chisq", 1e-6},
                                                    {"df", 0},
                                                    {"pvalue", 1e-8},
                                                    {"baseline.chisq", 1e-5},
                                                    {"baseline.df", 0},
                                                    {"baseline.pvalue", 1e-8},
                                                    {"cfi", 1e-8},
                                                    {"tli", 1e-8},
                                                    {"logl", 1e-6},
                                                    {"unrestricted.logl", 1e-6},
                                                    {"aic", 1e-6},
                                                    {"bic", 1e-6},
                                                    {"bic2", 1e-6},
                                                    {"ntotal", 0},
                                                    {"rmsea", 1e-7},
                                                    {"rmsea.ci.lower", 1e-5},
                                                    {"rmsea.ci.upper", 1e-6},
                                                    {"rmsea.pvalue", 1e-7},
                                                    {"srmr", 1e-7}};
  for (const auto& [name, tolerance] : tolerances) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(fit.fit_measures.count(name));
    const double value = fit.fit_measures.at(name), reference = Number(reference_["fit"][name]);
    if (std::isnan(reference)) {
      EXPECT_TRUE(std::isnan(value)) << value;
    } else if (name == "rmsea" && reference < 1e-6) {
      EXPECT_LT(value, 1e-6);  // the root of a chi-square that is zero but for rounding
    } else {
      EXPECT_NEAR(value, reference, tolerance);
    }
  }
}

TEST_P(SemReference, CovarianceOfTheEstimates) {
  const SemFit fit = Fit();
  const Eigen::MatrixXd vcov = testing::ToMatrix(reference_["vcov"]);
  ASSERT_EQ(fit.vcov.rows(), vcov.rows());
  const Eigen::VectorXd se = vcov.diagonal().cwiseSqrt();
  for (Eigen::Index i = 0; i < vcov.rows(); ++i) {
    for (Eigen::Index j = 0; j < vcov.cols(); ++j) {
      EXPECT_NEAR(fit.vcov(i, j), vcov(i, j), 1e-6 * se[i] * se[j]) << i << ' ' << j;
    }
  }
}

TEST_P(SemReference, ImpliedMoments) {
  const SemFit fit = Fit();
  for (std::size_t g = 0; g < moments_.size(); ++g) {
    const Eigen::MatrixXd covariance = testing::ToMatrix(reference_["moments"][g]["implied_cov"]);
    const Eigen::VectorXd mean = testing::ToVector(reference_["moments"][g]["implied_mean"]);
    const Eigen::VectorXd sd = covariance.diagonal().cwiseSqrt();
    for (Eigen::Index i = 0; i < mean.size(); ++i) {
      if (table_.meanstructure) {
        EXPECT_NEAR(fit.implied_mean[g][i], mean[i], 1e-7 * sd[i]);
      } else {
        EXPECT_EQ(fit.implied_mean[g][i], moments_[g].mean[i]);
      }
      for (Eigen::Index j = 0; j < mean.size(); ++j) {
        EXPECT_NEAR(fit.implied_covariance[g](i, j), covariance(i, j), 1e-7 * sd[i] * sd[j]);
      }
    }
  }
}

// The same from the rows of the CSV: divisor n, groups in order of appearance.
std::vector<GroupMoments> MomentsFromCsv(const Json& reference, const ParameterTable& table) {
  const std::string data = reference["data"];
  std::ifstream file(SourcePath(data));
  if (!file) throw std::runtime_error("cannot open " + data);
  const auto split = [](const std::string& line) {
    std::vector<std::string> cells;
    std::stringstream stream(line);
    for (std::string cell; std::getline(stream, cell, ',');) {
      cell.erase(std::remove(cell.begin(), cell.end(), '"'), cell.end());
      cell.erase(std::remove(cell.begin(), cell.end(), '\r'), cell.end());
      cells.push_back(cell);
    }
    return cells;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = split(line);
  const auto column = [&header](const std::string& name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  const Eigen::Index p = static_cast<Eigen::Index>(table.observed.size());
  std::map<std::string, std::vector<Eigen::VectorXd>> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = split(line);
    Eigen::VectorXd row(p);
    for (Eigen::Index i = 0; i < p; ++i) {
      row[i] = std::stod(cells.at(column(table.observed[static_cast<std::size_t>(i)])));
    }
    const bool grouped = reference["group"].is_string();
    rows[grouped ? cells.at(column(reference["group"])) : ""].push_back(row);
  }
  std::vector<GroupMoments> moments;
  for (const std::string& group : table.groups) {
    const std::vector<Eigen::VectorXd>& mine = rows.at(table.groups.size() > 1 ? group : "");
    const double n = static_cast<double>(mine.size());
    GroupMoments m{n, Eigen::VectorXd::Zero(p), Eigen::MatrixXd::Zero(p, p)};
    for (const Eigen::VectorXd& row : mine) m.mean += row / n;
    for (const Eigen::VectorXd& row : mine) {
      m.covariance += (row - m.mean) * (row - m.mean).transpose() / n;
    }
    moments.push_back(m);
  }
  return moments;
}

TEST_P(SemReference, FromTheRowsOfTheTable) {
  moments_ = MomentsFromCsv(reference_, table_);
  const SemFit fit = Fit();
  EXPECT_NEAR(fit.fit_measures.at("logl"), Number(reference_["fit"]["logl"]), 1e-6);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    const double se = Number(rows_[r]["se"]);
    if (se == 0) continue;
    EXPECT_NEAR(fit.estimates[r].estimate, Number(rows_[r]["est"]), 1e-6 * se) << RowText(rows_[r]);
  }
}

INSTANTIATE_TEST_SUITE_P(Complete, SemReference,
                         ::testing::Values("growth_linear6", "growth_openmx5", "growth_predictors",
                                           "hs_cfa3", "hs_cfa3_group", "hs_cfa3_mean",
                                           "hs_cfa3_stdlv", "onefactor", "path_indirect",
                                           "poldem_sem", "poldem_sem_eq", "reg_multiple",
                                           "reg_multiple_fixedx", "reg_simple", "saturated_hs9"),
                         [](const auto& test) { return test.param; });

TEST(SemReferenceFolder, HoldsNoOtherCompleteDataFit) {
  int fits = 0;
  for (const auto& entry : std::filesystem::directory_iterator(FixturePath("references/sem"))) {
    const std::string name = entry.path().stem();
    if (entry.path().extension() != ".json" || name == "pca_hs9") continue;
    if (name.size() > 5 && name.substr(name.size() - 5) == "_fiml") continue;
    ++fits;
  }
  EXPECT_EQ(fits, 15);
}

}  // namespace
}  // namespace partita::stats::sem_reference_test
