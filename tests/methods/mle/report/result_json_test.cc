#include "report/result_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "methods/mle/report/estimates_csv.h"
#include "methods/mle/report/json.h"
#include "methods/mle/report/report.h"
#include "methods/mle/report/sem_summary.h"
#include "tests/report/sample_run.h"

namespace partita::methods::mle::result_json_test {
namespace {

using nlohmann::json;
using report::FullFacts;
using report::LoadResultJson;
using report::ParseResultJson;
using report::SampleFacts;
using report::SamplePlan;
using report::SmallResult;
using report::StoredResult;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::span<const MleResult> One(const MleResult& result) { return {&result, 1}; }

json Document(const MleResult& result) {
  return json::parse(ResultJson(One(result), SamplePlan(), SampleFacts()));
}

std::vector<std::string> Keys(const json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(ResultJsonTest, HasExactlyTheDocumentedKeys) {
  const json document = Document(SmallResult());
  EXPECT_THAT(Keys(document),
              ElementsAre("analyses", "approvals", "corrected", "digits_of_agreement", "disclosure",
                          "hashes", "history", "leakage", "learned", "methods", "min_cell", "party",
                          "plan", "prediction", "privacy", "releases", "rows", "schema_version",
                          "seconds_total", "software", "started_at", "statements", "status",
                          "study", "traffic", "variables"));
  const json& analysis = document["analyses"][0];
  EXPECT_THAT(Keys(analysis),
              ElementsAre("convergence", "family", "fit", "fit_measures_available", "least_squares",
                          "likelihood", "model", "moments", "name", "notes", "parameters", "robust",
                          "status", "tables", "vcov", "warnings"));
  EXPECT_TRUE(analysis["moments"].is_null());
  EXPECT_THAT(Keys(analysis["parameters"][0]),
              ElementsAre("ci.lower", "ci.upper", "est", "exo", "free", "group", "label", "lhs",
                          "op", "pvalue", "rhs", "se", "std.all", "std.lv", "user", "z"));
  EXPECT_THAT(Keys(analysis["model"]),
              ElementsAre("estimator", "fixed_x", "free_parameters", "function", "groups",
                          "information", "latent", "meanstructure", "observed"));
  EXPECT_THAT(Keys(document["traffic"][0]),
              ElementsAre("bytes_received", "bytes_sent", "messages_received", "messages_sent",
                          "phase", "rounds", "seconds", "wire_bytes_received", "wire_bytes_sent"));
  EXPECT_THAT(Keys(document["releases"][0]),
              ElementsAre("id", "max_count", "mechanism", "opened", "to", "what"));
  EXPECT_THAT(Keys(document["hashes"]),
              ElementsAre("agreement", "agreement_and_tables", "plan", "run_id"));
}

TEST(ResultJsonTest, HoldsTheNumbersInFull) {
  const json document = Document(SmallResult());
  EXPECT_EQ(document["schema_version"], 3);
  EXPECT_EQ(document["status"], "converged");
  const json& analysis = document["analyses"][0];
  EXPECT_EQ(analysis["status"], "converged");
  EXPECT_EQ(analysis["parameters"][0]["est"].get<double>(), 1.0 / 3);
  EXPECT_EQ(analysis["parameters"][0]["label"], "b");
  EXPECT_EQ(analysis["parameters"][6]["op"], ":=");
  EXPECT_EQ(analysis["fit"]["chisq"], 1.25);
  EXPECT_TRUE(analysis["fit"]["rmsea.pvalue"].is_null());
  EXPECT_THAT(analysis["vcov"]["names"], ElementsAre("b", "y~~y", "b", "y~~y.g2"));
  EXPECT_EQ(analysis["vcov"]["values"][3][3], 0.01);
  EXPECT_EQ(analysis["model"]["groups"][1]["n"], 145);
  EXPECT_EQ(document["releases"][0]["opened"], 1);
  EXPECT_EQ(document["learned"][0]["learns"], json({"n", "the moments"}));
  EXPECT_THAT(ResultJson(One(SmallResult()), SamplePlan(), SampleFacts()),
              HasSubstr("\"est\": 0.3333333333333333,"));
}

// At others than the receiver of the moments.
TEST(ResultJsonTest, HoldsNoSampleMomentOfWhoWasTold) {
  MleResult result = SmallResult();
  const json document = Document(result);
  const json& covariate = document["analyses"][0]["parameters"][2];
  EXPECT_EQ(covariate["exo"], true);
  for (const char* key :
       {"est", "se", "z", "pvalue", "ci.lower", "ci.upper", "std.lv", "std.all"}) {
    EXPECT_TRUE(covariate[key].is_null()) << key;
  }
  EXPECT_EQ(document.dump().find("7.75"), std::string::npos);
}

TEST(ResultJsonTest, SaysThatAFitDidNotConverge) {
  MleResult result = SmallResult();
  result.fit.converged = false;
  result.fit.warnings = {"flat"};
  const json document = Document(result);
  EXPECT_EQ(document["status"], "not-converged");
  EXPECT_EQ(document["analyses"][0]["convergence"]["converged"], false);
  EXPECT_THAT(document["analyses"][0]["warnings"], ElementsAre("flat"));
}

std::unique_ptr<const report::Result> ReadAnalyses(const std::string& /*method*/,
                                                   const nlohmann::ordered_json& stored) {
  return ReadMleReport(stored);
}

TEST(ResultJsonTest, ReadsBackWhatItWrote) {
  std::vector<MleResult> results = {SmallResult()};
  for (const char* name : {"hs_cfa3", "hs_cfa3_group", "reg_multiple_fixedx"}) {
    results.push_back(report::ReferenceResult(name));
  }
  for (const MleResult& result : results) {
    const std::string text = ResultJson(One(result), SamplePlan(), SampleFacts());
    const StoredResult stored = ParseResultJson(text, "result.json", ReadAnalyses);
    EXPECT_EQ(stored.result->Json(stored.plan, stored.facts), text);
    EXPECT_EQ(stored.result->Text(stored.plan, stored.facts),
              TerminalSummary(One(result), SamplePlan(), SampleFacts()));
  }
  results[0].robust = report::RobustOf(results[0]);
  const auto p = static_cast<Eigen::Index>(results[1].table.observed.size());
  const Eigen::VectorXd mean = Eigen::VectorXd::LinSpaced(p, 0.1, 1.7);
  const Eigen::MatrixXd covariance = Eigen::MatrixXd::Identity(p, p) + mean * mean.transpose();
  results[1].moments.emplace().groups = {{301, mean, covariance}};
  ReleasedNoise& noise = results[1].moments->noise.emplace();
  noise.noise.scale = {mean, 2 * mean};
  noise.noise.variance = 0.3;
  noise.noise.noised_count = true;
  noise.mechanism = "w";
  noise.norm = 2;
  results[0].notes = {"A note."};
  results[0].likelihood = {{5, 4, 221, 20, 54}, "likelihood-oracle"};
  results[0].fit_measures_available = false;
  const std::string text = ResultJson(results, SamplePlan(), FullFacts());
  const StoredResult stored = ParseResultJson(text, "result.json", ReadAnalyses);
  EXPECT_EQ(AnalysesOf(stored.result.get()).size(), results.size());
  EXPECT_EQ(stored.result->Csv(), EstimatesCsv(results));
  EXPECT_EQ(stored.result->Json(stored.plan, stored.facts), text);
  EXPECT_EQ(stored.result->Text(stored.plan, stored.facts),
            TerminalSummary(results, SamplePlan(), FullFacts()));
}

// Programs find a robust standard error by its parameter's names and group.
TEST(ResultJsonTest, RobustParametersHaveNamesAndGroups) {
  methods::mle::MleResult result = SmallResult();
  result.robust = report::RobustOf(result);
  const json analysis = Document(result)["analyses"][0];
  ASSERT_EQ(analysis["robust"]["parameters"].size(), analysis["parameters"].size());
  for (size_t i = 0; i < analysis["parameters"].size(); ++i) {
    for (const char* key : {"lhs", "op", "rhs", "group", "label", "free", "user", "exo", "est"})
      EXPECT_EQ(analysis["robust"]["parameters"][i][key], analysis["parameters"][i][key]) << key;
  }
}

TEST(ResultJsonTest, HoldsEveryFactOfTheRun) {
  const json document = json::parse(ResultJson(One(SmallResult()), SamplePlan(), FullFacts()));
  EXPECT_EQ(document["approvals"][1]["kind"], "envelope");
  EXPECT_EQ(document["approvals"][1]["min_cell"], 10);
  EXPECT_EQ(document["rows"][0]["excluded"][1],
            json({{"reason", "not in the subset age >= 18"}, {"count", 40}}));
  EXPECT_EQ(document["variables"][0]["mean"], 4.9357695);
  EXPECT_TRUE(document["variables"][1]["mean"].is_null());
  EXPECT_EQ(document["disclosure"][1]["passed"], false);
  EXPECT_EQ(document["leakage"]["level"], "likelihood-oracle");
  EXPECT_EQ(document["digits_of_agreement"], 9);
  EXPECT_EQ(document["corrected"], json({"south"}));
  EXPECT_EQ(document["history"][0]["points"][1]["log_likelihood"], -3737.75);
  EXPECT_EQ(document["traffic"][0]["wire_bytes_sent"], 900);
  EXPECT_EQ(document["prediction"]["measured"]["bytes"], 1237067);
}

TEST(ResultJsonTest, HoldsAllAnalyses) {
  std::vector<MleResult> results = {SmallResult(), SmallResult()};
  results[0].name = "crude";
  results[1].name = "adjusted";
  const json document = json::parse(ResultJson(results, SamplePlan(), SampleFacts()));
  ASSERT_EQ(document["analyses"].size(), 2U);
  EXPECT_EQ(document["analyses"][1]["name"], "adjusted");
  EXPECT_EQ(document["status"], "converged");
  results[1].fit.converged = false;
  EXPECT_EQ(json::parse(ResultJson(results, SamplePlan(), SampleFacts()))["status"],
            "not-converged");
  EXPECT_THROW(ResultJson({}, SamplePlan(), SampleFacts()), Error);
  results[0].fit.estimates.pop_back();
  EXPECT_THROW(ResultJson(results, SamplePlan(), SampleFacts()), Error);
}

TEST(ResultJsonTest, RefusesOtherDocuments) {
  const auto message = [](const std::string& text) -> std::string {
    try {
      ParseResultJson(text, "r.json", ReadAnalyses);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return "accepted";
  };
  EXPECT_THAT(message(""), HasSubstr("r.json: this is no result"));
  EXPECT_THAT(message("[]"), HasSubstr("r.json: this is no result"));
  EXPECT_THAT(message("{}"), HasSubstr("schema_version"));
  json document = Document(SmallResult());
  document["schema_version"] = 1;
  EXPECT_THAT(message(document.dump()), HasSubstr("schema_version is not 3"));
  document = Document(SmallResult());
  document["analyses"][0]["parameters"][1].erase("se");
  EXPECT_THAT(message(document.dump()), HasSubstr("'se'"));
  document = Document(SmallResult());
  document["analyses"][0]["vcov"]["values"][1] = json::array({1});
  EXPECT_THAT(message(document.dump()), HasSubstr("r.json: this is no result"));
  document = Document(SmallResult());
  document["analyses"] = json::array();
  EXPECT_THAT(message(document.dump()), HasSubstr("no analysis"));
  document = Document(SmallResult());
  document["plan"]["phases"] = 3;
  EXPECT_THAT(message(document.dump()), ::testing::Ne("accepted"));
  EXPECT_THAT(message(report::RunJson(SamplePlan(), SampleFacts())),
              HasSubstr("received no result"));
}

TEST(ResultJsonTest, ReadsFiles) {
  const std::string path = ::testing::TempDir() + "partita_result_json_test.json";
  const std::string text = ResultJson(One(SmallResult()), SamplePlan(), SampleFacts());
  WriteFileAtomically(path, text);
  const StoredResult stored = LoadResultJson(path, ReadAnalyses);
  EXPECT_EQ(stored.result->Json(stored.plan, stored.facts), text);
  std::filesystem::remove(path);
  EXPECT_THROW(LoadResultJson(path, ReadAnalyses), Error);
  EXPECT_THROW(LoadResultJson(::testing::TempDir(), ReadAnalyses), Error);
}

TEST(RunJsonTest, IsTheSameDocumentWithoutStatistics) {
  const json document = json::parse(report::RunJson(SamplePlan(), SampleFacts()));
  EXPECT_EQ(document["status"], "finished");
  EXPECT_THAT(
      Keys(document),
      ElementsAre("approvals", "corrected", "digits_of_agreement", "disclosure", "hashes",
                  "history", "leakage", "learned", "min_cell", "party", "plan", "prediction",
                  "privacy", "releases", "rows", "schema_version", "seconds_total", "software",
                  "started_at", "status", "study", "traffic", "variables"));
}

}  // namespace
}  // namespace partita::methods::mle::result_json_test
