// Studies of method `classify` through the whole path, on every protocol: what the parties get,
// what the plan says, what is charged, what is refused.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "methods/classify/study.h"
#include "methods/prepare_study.h"
#include "run/ledger/ledger_charges.h"
#include "run/party/build_plan.h"
#include "run/simulate/simulate.h"
#include "tests/methods/classify/classify_text.h"
#include "tests/run/reference_study.h"
#include "tests/run/results.h"
#include "tests/study/study_text.h"

namespace partita::methods::classify::classify_study_test {
namespace {

using run::BuildPlan;
using run::PartyOutcome;
using study::Edited;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr int kRows[] = {500, 400, 300};

// Without the keys that only one protocol has.
std::string WithProtocol(const std::string& protocol) {
  std::string text = Edited(kClassifyStudy, "dp-sgd", protocol);
  const size_t from = text.find("iterations = 60"), to = text.find("evaluation = ");
  return text.erase(from, to - from);
}

// Relapse: chance by age, dose and sex. Stage: by dose.
std::vector<std::filesystem::path> WriteTables(const std::string& folder) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform;
  std::vector<std::filesystem::path> data;
  const char* names[] = {"north", "south", "west"};
  for (int p = 0; p < 3; ++p) {
    const std::filesystem::path home = std::filesystem::path(folder) / names[p];
    std::filesystem::create_directories(home);
    std::ofstream csv(home / "data.csv");
    csv << "age,dose,sex,relapse,stage,onset_time,onset_event\n";
    for (int i = 0; i < kRows[p]; ++i) {
      const double age = 20 + 60 * uniform(random), dose = 10 * uniform(random);
      const bool male = uniform(random) < 0.5;
      const double score = 0.06 * (age - 50) - 0.5 * (dose - 5) + (male ? 0.5 : 0);
      const bool relapse = uniform(random) < 1 / (1 + std::exp(-score));
      const double noisy = dose + uniform(random);
      csv << fmt::format("{:.3f},{:.3f},{},{},{},1,0\n", age, dose, male ? "male" : "female",
                         relapse ? "yes" : "no",
                         noisy < 3.5 ? "one"
                         : noisy < 7 ? "two"
                                     : "three");
    }
    data.push_back(home / "data.csv");
  }
  data.emplace_back();  // the dealer
  return data;
}

std::unique_ptr<const run::Study> Prepare(const std::string& text) {
  return PrepareStudy(ParseStudyFile(text, "study.toml"));
}

std::vector<PartyOutcome> RunStudy(const std::string& text) {
  const std::unique_ptr<const run::Study> study = Prepare(text);
  std::vector<std::filesystem::path> data = WriteTables(testing::MakeTemporaryFolder("classify"));
  data.resize(study->parties.size());
  SilentProgress progress;
  std::vector<PartyOutcome> outcomes;
  for (run::PartyEnd& end : run::SimulateInProcess(*study, data, {}, progress)) {
    if (end.error) {
      ADD_FAILURE() << end.party << ": " << end.error->message();
      continue;
    }
    outcomes.push_back(*std::move(end.outcome));
  }
  return outcomes;
}

nlohmann::json ResultOf(const PartyOutcome& outcome) {
  return nlohmann::json::parse(testing::DocumentOf(outcome).json);
}

// A row without a usable value is there by the number of rows, and zero: without gradient,
// curvature or place in the counts.
TEST(ClassifyStudyTest, NeutralRowsAreZeroInTrainingAndInNoTest) {
  const auto study = Prepare(kClassifyStudy);
  const Classification& design = dynamic_cast<const ClassifyStudy&>(*study).design;
  constexpr Eigen::Index kMany = 80;
  OwnTable table;
  table.x = Eigen::MatrixXd::Constant(kMany, 3, 1);
  for (Eigen::Index i = 0; i < kMany; ++i) table.x(i, 0) = 25 + static_cast<double>(i) / 2;
  table.level.assign(kMany, 1);
  crypto::SystemRandom random;
  const OwnClassification all = PrepareOwn(design, table, random);
  EXPECT_EQ(all.test.x.rows(), kMany / 4);
  table.neutral.assign(kMany, 0);
  for (size_t i = 0; i < kMany; i += 2) table.neutral[i] = 1;
  const OwnClassification some = PrepareOwn(design, table, random);
  EXPECT_EQ(some.train.x.rows(), all.train.x.rows());
  Eigen::Index zero = 0;
  for (Eigen::Index i = 0; i < some.train.x.rows(); ++i) {
    const double norm = some.train.x.row(i).norm();
    EXPECT_TRUE(norm == 0 || norm > 0.5);
    zero += norm == 0 ? 1 : 0;
  }
  for (Eigen::Index i = 0; i < some.test.x.rows(); ++i) EXPECT_GT(some.test.x.row(i).norm(), 0.5);
  EXPECT_EQ(zero + (kMany / 4 - some.test.x.rows()), kMany / 2);
  EXPECT_GT(zero, 0);
}

// Everybody learns the same classifier; it finds who relapses; what was sent is what was planned.
TEST(ClassifyStudyTest, EveryProtocolGivesEverybodyAClassifier) {
  const std::string huge = "epsilon = 100";
  for (const char* protocol : {"dp-sgd", "local-aggregation", "psgd", "approximate-minima"}) {
    SCOPED_TRACE(protocol);
    const std::string text =
        Edited(Edited(std::string(protocol) == "dp-sgd" ? kClassifyStudy : WithProtocol(protocol),
                      "epsilon = 4", huge),
               "lambda = 0.001", "lambda = 0.005");
    const std::vector<PartyOutcome> outcomes = RunStudy(text);
    ASSERT_EQ(outcomes.size(), 4u);
    const nlohmann::json result = ResultOf(outcomes[0]);
    for (size_t p = 1; p < 3; ++p) {
      EXPECT_EQ(ResultOf(outcomes[p])["coefficients"], result["coefficients"]);
    }
    EXPECT_EQ(outcomes[3].result, nullptr);
    EXPECT_EQ(result["columns"],
              (std::vector<std::string>{"age", "dose", "sex.male", "(intercept)"}));
    const auto w = result["coefficients"]["yes"].get<std::vector<double>>();
    EXPECT_GT(w[0], 0);
    EXPECT_LT(w[1], 0);
    EXPECT_GT(result["evaluation"]["accuracy"], 0.65);
    EXPECT_GT(result["evaluation"]["area"], 0.72);
    // The truth: 0.06, -0.5, 0.5 and 0.06 * -50 + 0.5 * 5; 5 standard errors are 6e-7 each.
    const auto estimate = result["intervals"]["estimate"].get<std::vector<double>>();
    const auto upper = result["intervals"]["upper"].get<std::vector<double>>();
    const double truth[] = {0.06, -0.5, 0.5, -0.5};
    for (size_t j = 0; j < 4; ++j) {
      const double error = (upper[j] - estimate[j]) / 1.6449;
      EXPECT_NEAR(estimate[j], truth[j], 5 * error + 0.05 * std::abs(truth[j])) << j;
    }
    const study::PlanTotals planned = study::Totals(outcomes[0].plan);
    uint64_t bytes = 0;
    for (const PartyOutcome& outcome : outcomes) {
      for (const net::PhaseTraffic& phase : outcome.traffic) {
        for (const net::LinkTraffic& link : phase.links) bytes += link.bytes_sent;
      }
    }
    EXPECT_EQ(bytes, planned.bytes);
  }
}

// With a real budget the plan has a row for every adversary, and the losses are within it.
TEST(ClassifyStudyTest, ThePlanStatesWhatIsCharged) {
  const auto study = Prepare(kClassifyStudy);
  const study::Plan plan = BuildPlan(*study);
  EXPECT_EQ(plan.method, "classify");
  EXPECT_EQ(plan.leakage_level, "noised-statistics");
  ASSERT_TRUE(plan.privacy_statement);
  double party = 0;
  for (const privacy::StatementRow& row : plan.privacy_statement->rows) {
    if (row.adversary.kind == privacy::AdversaryKind::kParty && !row.adversary.with_dealer) {
      party = row.loss.epsilon_upper;
    }
  }
  EXPECT_LE(party, 4 * (1 + 1e-4));
  EXPECT_GT(party, 3.9);
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("No disclosure checks")));
  EXPECT_EQ(study->releases.size(), 3u);

  privacy::ledger::Policy policy;
  policy.table = "t";
  policy.outside.adjacency = privacy::Adjacency::kReplace;
  policy.coalition = 1;
  EXPECT_EQ(study->Charges(policy).size(), 1u);  // no insider budget
  policy.insider = policy.outside;
  const auto charges = study->Charges(policy);
  ASSERT_EQ(charges.size(), 2u);
  EXPECT_EQ(std::get<privacy::ledger::ApproximateDp>(charges[1].mechanism).epsilon, party);
  policy.coalition = 3;
  EXPECT_THROW(study->Charges(policy), Error);
  policy.coalition = 1;
  policy.outside.adjacency = privacy::Adjacency::kAddRemove;
  EXPECT_THROW(study->Charges(policy), Error);
}

// As above, for protocols that are not private: local evaluation, no intervals.
std::string ForComparison(const std::string& protocol, const std::string& release) {
  std::string text = WithProtocol(protocol);
  text = Edited(text, "evaluation = \"private\"", "evaluation = \"local\"");
  text = Edited(text, "score_bins = 8\ninterval_share = 0.4\nlevel = 0.9\n", "");
  text = Edited(text, "lambda = 0.001", "lambda = 0.005");
  if (!release.empty()) {
    text = Edited(text, "lambda", fmt::format("release = [\"{}\"]\nlambda", release));
  }
  if (protocol != "objective-perturbation") text.erase(text.find("[analysis.privacy]"));
  return text;
}

// Each opens what it declares and no more; the plan says that nothing limits it; the account of a
// table gets it as an exact release.
TEST(ClassifyStudyTest, ProtocolsForComparisonOpenWhatTheyDeclare) {
  const std::pair<const char*, const char*> protocols[] = {
      {"objective-perturbation", "perturbed-minimum"},
      {"model-average", "exact-average"},
      {"federated", "exact-gradients"}};
  for (const auto& [protocol, release] : protocols) {
    SCOPED_TRACE(protocol);
    const std::string text = ForComparison(protocol, release);
    const auto study = Prepare(text);
    EXPECT_FALSE(study->IsPrivate());
    const study::Plan plan = BuildPlan(*study);
    EXPECT_FALSE(plan.privacy_statement);
    ASSERT_FALSE(plan.privacy.empty());
    for (const study::PlanPrivacy& row : plan.privacy) {
      EXPECT_THAT(row.loss, HasSubstr("no bound"));
    }
    EXPECT_EQ(plan.releases.back().mechanism, "exact");
    privacy::ledger::Policy policy;
    policy.table = "t";
    const auto request = run::ChargesOf(*study, policy);
    EXPECT_TRUE(request.charges.empty());
    ASSERT_FALSE(request.exact.empty());
    EXPECT_EQ(request.exact.back().values, 4u * (std::string(protocol) == "federated" ? 100 : 1));

    const std::vector<PartyOutcome> outcomes = RunStudy(text);
    ASSERT_EQ(outcomes.size(), 4u);
    const nlohmann::json result = ResultOf(outcomes[0]);
    EXPECT_EQ(ResultOf(outcomes[2])["coefficients"], result["coefficients"]);
    EXPECT_EQ(outcomes[3].result, nullptr);
    const auto w = result["coefficients"]["yes"].get<std::vector<double>>();
    EXPECT_GT(w[0], 0);
    EXPECT_LT(w[1], 0);
    bool told = false;
    for (const std::string& paragraph :
         testing::DocumentOf(outcomes[0]).sections.front().paragraphs) {
      told = told || paragraph.find("NOT private") != std::string::npos;
    }
    EXPECT_TRUE(told);
    const study::PlanTotals planned = study::Totals(outcomes[0].plan);
    uint64_t bytes = 0;
    for (const PartyOutcome& outcome : outcomes) {
      for (const net::PhaseTraffic& phase : outcome.traffic) {
        for (const net::LinkTraffic& link : phase.links) bytes += link.bytes_sent;
      }
    }
    EXPECT_EQ(bytes, planned.bytes);
  }
}

// Each party has a classifier of its own rows, which no file and no other party gets.
TEST(ClassifyStudyTest, ASinglePartysFitStaysThere) {
  const std::string text = ForComparison("single-party", "");
  const auto study = Prepare(text);
  EXPECT_TRUE(study->releases.empty());
  EXPECT_EQ(BuildPlan(*study).leakage_level, "nothing");
  const std::vector<PartyOutcome> outcomes = RunStudy(text);
  ASSERT_EQ(outcomes.size(), 4u);
  std::vector<double> slopes;
  for (size_t p = 0; p < 3; ++p) {
    EXPECT_FALSE(ResultOf(outcomes[p]).contains("coefficients"));
    const study::Document& document = testing::DocumentOf(outcomes[p]);
    const study::DocumentSection& coefficients = document.sections.front();
    EXPECT_TRUE(coefficients.own_rows);
    slopes.push_back(std::get<double>(coefficients.tables.at(0).rows[1][1]));
    EXPECT_LT(slopes.back(), 0);
    EXPECT_EQ(document.sections.back().heading, "Own test rows");
    EXPECT_GT(std::get<double>(document.sections.back().tables.at(0).rows[0][1]), 0.6);
  }
  EXPECT_NE(slopes[0], slopes[1]);
  EXPECT_NE(slopes[1], slopes[2]);
}

// Levels against the rest, evaluated by each party on its own rows, which no other report holds.
TEST(ClassifyStudyTest, SeveralLevelsAndLocalEvaluation) {
  std::string text =
      Edited(kClassifyStudy, "outcome = \"relapse\"\npositive = \"yes\"", "outcome = \"stage\"");
  text = Edited(text, "evaluation = \"private\"", "evaluation = \"local\"");
  text = Edited(text, "score_bins = 8\ninterval_share = 0.4\nlevel = 0.9\n", "");
  text = Edited(text, "epsilon = 4", "epsilon = 100");
  const auto outcomes = RunStudy(text);
  ASSERT_EQ(outcomes.size(), 4u);
  EXPECT_EQ(ResultOf(outcomes[0])["coefficients"].size(), 3u);
  for (size_t p = 0; p < 3; ++p) {
    const study::Document& document = testing::DocumentOf(outcomes[p]);
    const study::DocumentSection& own = document.sections.back();
    EXPECT_EQ(own.heading, "Own test rows");
    double rows = 0, right = 0;
    for (size_t i = 0; i < 3; ++i) {
      for (size_t j = 0; j < 3; ++j) {
        const double count = std::get<double>(own.tables.at(0).rows[i][j + 1]);
        rows += count;
        right += i == j ? count : 0;
      }
    }
    EXPECT_EQ(rows, kRows[p] / 4);
    EXPECT_GT(right / rows, 0.4);
  }
}

TEST(ClassifyStudyTest, AnotherEngineAndNoEvaluation) {
  std::string text =
      Edited(kClassifyStudy, "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n", "");
  text = Edited(text, "name = \"dealer\"", "name = \"replicated\"");
  text = Edited(text, "evaluation = \"private\"\ntest_share = 0.25\nscore_bins = 8\n", "");
  const auto outcomes = RunStudy(text);
  ASSERT_EQ(outcomes.size(), 3u);
  const nlohmann::json result = ResultOf(outcomes[2]);
  EXPECT_FALSE(result.contains("evaluation"));
  EXPECT_EQ(result["coefficients"], ResultOf(outcomes[0])["coefficients"]);
}

TEST(ClassifyStudyTest, WhatTheMethodDoesNotDoIsRefusedWithAReason) {
  const auto refusal = [](const std::string& from, const std::string& to) -> std::string {
    try {
      Prepare(Edited(kClassifyStudy, from, to));
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("missing = \"refuse\"", "missing = \"complete\""), HasSubstr("public"));
  const auto comparison_refusal = [](const std::string& text) -> std::string {
    try {
      Prepare(text);
    } catch (const Error& error) {
      return error.message() + " " + error.hint();
    }
    return "accepted";
  };
  // epsilon that is too small for the slack: Delta and a penalty that would do.
  for (const char* protocol : {"objective-perturbation", "approximate-minima", "psgd"}) {
    const bool uncovered = std::string(protocol) == "objective-perturbation";
    std::string text = uncovered
                           ? ForComparison(protocol, "perturbed-minimum")
                           : Edited(WithProtocol(protocol), "lambda = 0.001", "lambda = 0.005");
    EXPECT_THAT(comparison_refusal(Edited(text, "epsilon = 4", "epsilon = 0.01")),
                AllOf(HasSubstr("slack Delta = "), HasSubstr("write lambda = ")));
  }
  EXPECT_THAT(comparison_refusal(Edited(ForComparison("model-average", "exact-average"),
                                        "count = 300", "count = 19")),
              HasSubstr("'west' has 19 rows, fewer than min_rows = 20"));
  EXPECT_THAT(refusal("site = \"ignore\"", "site = \"fixed\""), HasSubstr("sites"));
  EXPECT_THAT(refusal("[engine]", "[population]\nmax_rows_per_person = 3\n[engine]"),
              HasSubstr("one row"));
  EXPECT_THAT(
      refusal("[engine]", "[population]\nsubset = [{variable = \"age\", at_least = 30}]\n[engine]"),
      HasSubstr("subset"));
  EXPECT_THAT(refusal("count = 400\n", ""), HasSubstr("block 's' declares none"));
  EXPECT_THAT(refusal("roles = [\"holder\", \"receiver\"]\nrows = [\"n\"]",
                      "roles = [\"holder\"]\nrows = [\"n\"]\n[[party]]\nname = \"reader\"\nroles = "
                      "[\"receiver\"]"),
              HasSubstr("'reader' computes, but holds no rows"));
}

}  // namespace
}  // namespace partita::methods::classify::classify_study_test
