// Covariance matrices of Cox's model on shares: against R's vcov and against the twin in plain code, of every kind of
// errors, with exactly the messages of the plan; none of a fit that did not converge.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/methods/survival/cox/run_cox.h"
#include "tests/thorough.h"

namespace partita::methods::survival::cox_covariance_test {
namespace {

using Eigen::Index;
using nlohmann::json;
using testing::Covariates;
using testing::CoxCase;
using testing::DealClusters;
using testing::DrawColumns;
using testing::ExpectTwin;
using testing::kFineBits;
using testing::kOfRounding;
using testing::MostTies;
using testing::NumberSchema;
using testing::NumericColumns;
using testing::Ran;
using testing::RealCase;
using testing::References;
using testing::RunCox;
using testing::TakeEfron;

// ---- R's matrices (tests/references/survival/covariance.json)

struct Real {
  std::string name, kind;
  size_t holders;
  std::string errors;  // as R's matrices are named
};

// The estimates are within 1e-4 standard errors of R's, and errors before they are rounded within 1e-4 of
// themselves (fitter_test): twice that of a product of two.
void ExpectMatrixOfR(const Real& real) {
  SCOPED_TRACE(real.name + " " + real.kind + " " + real.errors);
  std::ifstream file(FixturePath("references/survival/covariance.json"));
  const json wanted = json::parse(file)[real.name][real.errors];
  CoxCase of = RealCase(References()[real.name]);
  of.spec.proportional = false;
  of.spec.covariance = true;
  of.spec.robust = real.errors != "model";
  if (real.errors == "cluster") {
    DealClusters(of, "inst", real.holders);
  } else {
    testing::Deal(of, real.holders);
  }
  const Ran ran = RunCox(of, real.kind);
  const CoxModel& model = *ran.fitted.model;
  ASSERT_TRUE(model.converged);
  const auto p = static_cast<Index>(of.spec.columns.size());
  ASSERT_EQ(model.covariance.rows(), p);
  const double rounding = kOfRounding * std::ldexp(1.0, -2 * kFineBits);
  for (Index i = 0; i < p; ++i) {
    for (Index j = 0; j < p; ++j) {
      const auto a = static_cast<size_t>(i), b = static_cast<size_t>(j);
      const double units = HalfOf(of.spec.columns[a]) * HalfOf(of.spec.columns[b]);
      const double errors = std::sqrt(wanted[a][a].get<double>() * wanted[b][b].get<double>());
      EXPECT_NEAR(model.covariance(i, j) / units, wanted[a][b].get<double>(),
                  (2e-4 + rounding) * errors)
          << i << " " << j;
    }
    EXPECT_DOUBLE_EQ(model.standard_errors[i], std::sqrt(model.covariance(i, i)));
  }
}

TEST(CoxCovariance, IsThatOfR) {
  for (const Real& real : Cases<Real>({{"cox_veteran_breslow", "dealer", 2, "model"},
                                       {"cox_months_efron", "replicated", 3, "robust"},
                                       {"cox_months_breslow", "shamir", 3, "cluster"},
                                       {"cox_late_breslow", "dealer", 2, "robust"}},
                                      {{"cox_lung_breslow", "dealer", 2, "cluster"},
                                       {"cox_months_efron", "shamir", 3, "model"},
                                       {"cox_strata_breslow", "dealer", 3, "robust"},
                                       {"cox_late_efron", "replicated", 3, "model"},
                                       {"cox_late_efron", "dealer", 2, "cluster"},
                                       {"cox_veteran_efron", "dealer", 3, "robust"},
                                       {"cox_months_breslow", "ot", 2, "model"}})) {
    ExpectMatrixOfR(real);
  }
}

// ---- made-up rows

// Products of columns, strata of holders, a holder without rows and one with a single one, all tests beside.
TEST(CoxCovariance, IsItsTwin) {
  NumericColumns columns = DrawColumns(31, 240, 20);
  for (size_t r = 0; r < 240; ++r) columns["ward"].push_back(static_cast<double>(r % 30));
  data::Schema covariates = Covariates();
  covariates.columns.push_back(NumberSchema("ward", 0, 40, data::ColumnType::kInteger));
  CoxCase of = testing::CaseOf("age + dose * smoker", 20, covariates, columns);
  of.spec.covariance = of.spec.concordance = true;
  of.spec.report = {9};
  of.parts = {{}, {0}, {}};
  for (size_t r = 1; r < 240; ++r) of.parts[2].push_back(r);
  ExpectTwin(of, RunCox(of, "dealer", 6), 6);
  testing::Deal(of, 2);
  of.spec.proportional = true;
  TakeEfron(of, MostTies(of));
  ExpectTwin(of, RunCox(of, "dealer", 4), 4);
  of.spec.robust = true;
  ExpectTwin(of, RunCox(of, "dealer", 6), 6);
  DealClusters(of, "ward", 3);
  ExpectTwin(of, RunCox(of, "replicated", 6), 6);
}

// A single column, whose matrix is one number.
TEST(CoxCovariance, OfOneColumnIsTheSquareOfItsError) {
  CoxCase of = testing::CaseOf("age", 30, Covariates(), DrawColumns(32, 150, 30));
  testing::Deal(of, 2);
  of.spec.covariance = true;
  const Ran ran = RunCox(of, "dealer", 6);
  ExpectTwin(of, ran, 6);
  EXPECT_EQ(TaskOf(of, 6).num_errors(), 1u);
}

TEST(CoxCovariance, DoesNotOpenWithoutAFit) {
  NumericColumns columns = DrawColumns(4, 200, 30);
  for (size_t r = 0; r < 200; ++r) columns["died"][r] = columns["smoker"][r];
  CoxCase of = testing::CaseOf("age + smoker", 30, Covariates(), columns);
  testing::Deal(of, 2);
  of.spec.steps = 8;
  of.spec.covariance = true;
  for (const bool robust : {false, true}) {
    of.spec.robust = robust;
    const CoxModel model = *RunCox(of, "dealer", 6).fitted.model;
    EXPECT_FALSE(model.converged);
    EXPECT_EQ(model.covariance.size(), 4);
    EXPECT_EQ(model.covariance.norm(), 0);
    EXPECT_EQ(model.standard_errors.norm(), 0);
  }
}

}  // namespace
}  // namespace partita::methods::survival::cox_covariance_test
