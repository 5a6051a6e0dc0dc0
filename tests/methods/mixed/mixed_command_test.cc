// The example of method `mixed` by the program: plan, fit on the terminal and as files beside R's, all
// JSON of its schema (process.h compares).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::mixed_command_test {
namespace {

using ::testing::HasSubstr;

const std::string kExample = "examples/ward_recovery/study.toml";

TEST(MixedCommandTest, ThePlanSaysWhatOpens) {
  const ProcessResult text = Partita({"study", "plan", SourcePath(kExample)});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("whether the variance between groups is 0"));
  const ProcessResult json = Partita({"study", "plan", SourcePath(kExample), "--format", "json"});
  ASSERT_EQ(json.exit_code, 0) << json.err;
  EXPECT_EQ(nlohmann::json::parse(json.out)["data"]["method"], "mixed");
}

TEST(MixedCommandTest, TheExampleIsRs) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  const ProcessResult text = Partita(
      {"study", "simulate", SourcePath(kExample), "--in-process", "--output", result, "--force"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("correlation within groups"));
  EXPECT_THAT(StudyFolder::Read(folder.path() + "/report.html"),
              HasSubstr("Intervals of coefficients"));
  const ProcessResult report = Partita({"study", "report", result, "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto fit = nlohmann::json::parse(report.out)["data"]["result"];
  std::ifstream file(FixturePath("references/mixed/packages.json"));
  const nlohmann::json of_r = nlohmann::json::parse(file)["wards"]["fits"][0];
  ASSERT_EQ(of_r["reml"], true);
  for (size_t i = 0; i < 5; ++i) {
    const auto& row = fit["coefficients"][i];
    // Half a step of the grid, and 1e-4 standard errors.
    const double most =
        0.51 * row["step"].get<double>() + 1e-4 * row["standard_error"].get<double>();
    EXPECT_NEAR(row["estimate"], of_r["estimate"][i].get<double>(), most);
    EXPECT_NEAR(row["standard_error"], of_r["standard_error"][i].get<double>(), most);
  }
  EXPECT_EQ(fit["groups"], 37);
  EXPECT_EQ(fit["rows"], 1178);
  // Half of 2^-6 of the standard error of a logarithm: of log lambda 0.28, of sigma^2 0.042.
  EXPECT_NEAR(std::log(fit["within"]["value"].get<double>()),
              std::log(of_r["sigma_squared"].get<double>()), 0.0005);
  EXPECT_NEAR(std::log(fit["between"]["value"].get<double>()),
              std::log(of_r["tau_squared"].get<double>()), 0.004);
  // Of intervals besides what the standard error is rounded by, times 1.96, and what nlme's numerical
  // Hessian and the secant differ by.
  for (size_t end = 0; end < 2; ++end) {
    const char* name = end == 0 ? "lower" : "upper";
    EXPECT_NEAR(std::log(fit["within"][name].get<double>()),
                std::log(of_r["within_interval"][end].get<double>()), 0.002);
    EXPECT_NEAR(std::log(fit["between"][name].get<double>()),
                std::log(of_r["between_interval"][end].get<double>()), 0.0065);
  }
  const double icc = fit["intraclass_correlation"]["value"], icc_of_r = of_r["icc"];
  EXPECT_NEAR(std::log(icc / (1 - icc)), std::log(icc_of_r / (1 - icc_of_r)), 0.0025);
  EXPECT_NEAR(fit["minus_2_log_likelihood"], of_r["criterion"].get<double>(), 0x1p-6);
  EXPECT_NEAR(fit["aic"], of_r["aic"].get<double>(), 0x1p-6);
  EXPECT_NEAR(fit["bic"], of_r["bic"].get<double>(), 0x1p-6);
}

TEST(MixedCommandTest, TheLogisticExampleIsLme4s) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  const ProcessResult text =
      Partita({"study", "simulate", SourcePath("examples/ward_recovery/good.toml"), "--in-process",
               "--output", result, "--force"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("odds ratio"));
  EXPECT_THAT(text.out, HasSubstr("std. dev. between groups"));
  const ProcessResult report = Partita({"study", "report", result, "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto fit = nlohmann::json::parse(report.out)["data"]["result"];
  std::ifstream file(FixturePath("references/mixed/laplace.json"));
  const nlohmann::json of_r = nlohmann::json::parse(file)["wards"];
  for (size_t i = 0; i < 5; ++i) {
    const auto& row = fit["coefficients"][i];
    // The last point is within a step of where the next would be; half a step of the grid.
    const double most = 1.6 * row["step"].get<double>();
    EXPECT_NEAR(row["estimate"], of_r["estimate"][i].get<double>(), most);
    EXPECT_NEAR(row["standard_error"], of_r["standard_error"][i].get<double>(), most);
  }
  EXPECT_EQ(fit["groups"], 37);
  EXPECT_EQ(fit["rows"], 1178);
  // Half of 2^-6, and what estimates off by a step cost.
  EXPECT_NEAR(fit["log_likelihood"], of_r["log_likelihood"].get<double>(), 0.01);
  EXPECT_NEAR(fit["aic"], of_r["aic"].get<double>(), 0.02);
}

TEST(MixedCommandTest, TheExampleWithASlopeIsLme4s) {
  const StudyFolder folder;
  const std::string result = folder.path() + "/result.json";
  const ProcessResult text =
      Partita({"study", "simulate", SourcePath("examples/clinic_visits/study.toml"), "--in-process",
               "--output", result, "--force"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("correlation of intercepts and month"));
  const ProcessResult report = Partita({"study", "report", result, "--format", "json"});
  ASSERT_EQ(report.exit_code, 0) << report.err;
  const auto fit = nlohmann::json::parse(report.out)["data"]["result"];
  std::ifstream file(FixturePath("references/mixed/slopes.json"));
  const nlohmann::json of_r = nlohmann::json::parse(file)["visits"]["fits"][0];
  for (size_t i = 0; i < 5; ++i) {
    const auto& row = fit["coefficients"][i];
    // The last point is within a step of where the next would be; half a step of the grid.
    const double most = 1.6 * row["step"].get<double>();
    EXPECT_NEAR(row["estimate"], of_r["estimate"][i].get<double>(), most);
    EXPECT_NEAR(row["standard_error"], of_r["standard_error"][i].get<double>(), most);
  }
  const auto near = [&](double number, double wanted, size_t psi) {
    EXPECT_NEAR(number, wanted, 1.6 * std::ldexp(of_r["psi_errors"][psi].get<double>(), -6)) << psi;
  };
  const auto log_deviation = [](const nlohmann::json& part) {
    return std::log(part["value"].get<double>()) / 2;
  };
  const std::vector<double> deviations = of_r["deviations"];
  near(log_deviation(fit["between"]), std::log(deviations[0]), 0);
  near(log_deviation(fit["slope"]["variance"]), std::log(deviations[1]), 1);
  near(std::atanh(fit["slope"]["correlation"]["value"].get<double>()),
       std::atanh(of_r["correlation"].get<double>()), 2);
  near(log_deviation(fit["within"]), std::log(deviations[2]), 3);
  EXPECT_EQ(fit["groups"], 183);
  EXPECT_EQ(fit["rows"], 1081);
  // Half of 2^-6, and what estimates off by a step cost.
  EXPECT_NEAR(fit["minus_2_log_likelihood"], of_r["criterion"].get<double>(), 0.02);
  EXPECT_NEAR(fit["bic"], of_r["bic"].get<double>(), 0.02);
}

}  // namespace
}  // namespace partita::testing::mixed_command_test
