// Calibration and the area under the curve against R (tests/references/glm/risk.json), in the clear and as whole studies;
// groups of few rows.
#include "stats/glm/risk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "methods/glm/aggregates.h"
#include "methods/glm/section.h"
#include "methods/glm/study.h"
#include "tests/methods/glm/glm_text.h"
#include "tests/methods/glm/reference_text.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"
#include "tests/study/mistake.h"

namespace partita::methods::glm::risk_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using nlohmann::json;
using study::Edited;

json References() {
  std::ifstream file(FixturePath("references/glm/risk.json"));
  return json::parse(file);
}

const stats::glm::Law kLogistic = stats::glm::LawOf(stats::glm::Family::kBinomial);

// At R's estimates.
TEST(GlmRisk, TheTwinIsAsR) {
  const json references = References();
  EXPECT_EQ(references.size(), 3u);
  for (const auto& [name, wanted] : references.items()) {
    SCOPED_TRACE(name);
    const data::Schema dictionary = testing::DictionaryOf(wanted["data"]);
    const testing::PlainModel model =
        testing::PlainModelOf("binomial", wanted["formula"], dictionary);
    const stats::glm::Rows rows =
        testing::DataOf(model, testing::ReadParts(wanted["data"], 1).front(), dictionary).rows;
    VectorXd point(rows.x.cols());
    for (Index i = 0; i < point.size(); ++i) {
      const auto c = static_cast<size_t>(i);
      point[i] = wanted["estimate"][c].get<double>() * model.spec.parameters[c].scale;
    }
    const std::vector<double> cuts = wanted["cuts"];
    const stats::glm::RiskTable table =
        RiskTableAt(kLogistic, rows, point, testing::LimitsOfModel(model.spec), cuts);
    for (size_t g = 0; g <= cuts.size(); ++g) {
      const auto i = static_cast<Index>(g);
      EXPECT_EQ(table.events[i] + table.others[i], wanted["rows"][g].get<double>());
      EXPECT_EQ(table.events[i], wanted["events"][g].get<double>());
      EXPECT_NEAR(table.expected[i], wanted["expected"][g].get<double>(), 1e-9);
    }
    const stats::glm::BinnedArea area = stats::glm::AreaOf(table.bin_others, table.bin_events);
    EXPECT_NEAR(area.area, wanted["area"].get<double>(), area.error);
    // Patterns apart by more than a bin are counted as R counts them.
    if (wanted["clear"] == true) {
      EXPECT_NEAR(area.area, wanted["area"].get<double>(), 1e-12);
    } else {
      EXPECT_LT(area.error, 0.05);
    }
  }
}

// On random predictions, of which many are in one bin.
TEST(GlmRisk, TheAreaIsWithinItsError) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  for (int table = 0; table < 200; ++table) {
    const double spread = table % 2 == 0 ? 0.02 : 1.5;
    const Index n = 60;
    stats::glm::Rows rows{MatrixXd::Ones(n, 2), VectorXd(n), VectorXd::Zero(n)};
    for (Index i = 0; i < n; ++i) {
      rows.x(i, 1) = spread * normal(random);
      rows.y[i] = i % 3 == 0 ? 1 : 0;
    }
    const VectorXd point = (VectorXd(2) << -0.5, 1).finished();
    const stats::glm::RiskTable counts =
        RiskTableAt(kLogistic, rows, point, LimitsOf(kLogistic, 0, 1), {});
    double higher = 0;
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) {
        if (rows.y[i] == 1 && rows.y[j] == 0) higher += rows.x(i, 1) > rows.x(j, 1) ? 1 : 0;
      }
    }
    const stats::glm::BinnedArea area = stats::glm::AreaOf(counts.bin_others, counts.bin_events);
    EXPECT_LE(std::abs(area.area - higher / (20.0 * 40.0)), area.error + 1e-12);
  }
}

void ExpectStudyAsR(const json& wanted, const std::string& engine, size_t holders, bool shown,
                    const std::string& level = "iterates") {
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], holders);
  std::vector<std::string> tables;
  for (const data::Table& part : parts) tables.push_back(testing::CsvOf(part));
  const bool digits = level != "iterates";  // points are not rounded
  const std::string text =
      study::Edited(testing::ReferenceText(wanted, engine, parts), "steps = 4",
                    digits ? "protocol = \"" + level + "\"" : std::string("steps = 4")) +
      "[analysis.risk_groups]\ncuts = " + wanted["cuts"].dump() + "\n";
  const auto outcomes = partita::testing::Outcomes(partita::testing::RunStudy(text, tables));
  ASSERT_FALSE(outcomes.empty());
  partita::testing::ExpectPlannedTraffic(outcomes);
  const json result = partita::testing::ResultOf(outcomes.front());
  ASSERT_EQ(result["converged"], true);
  const json& risk = result["risk"];
  // Estimates on their grid move predictions within a bin, or by one.
  const double error = risk["area_error"], area = wanted["area"];
  EXPECT_NEAR(risk["area"], area, wanted["clear"] == true ? 0x1p-9 : error + 0.005);
  // Patterns are in few bins.
  EXPECT_LT(error, wanted["clear"] == true ? 0.15 : 0.05);
  EXPECT_EQ(risk["shown"], shown);
  ASSERT_EQ(risk["groups"].size(), shown ? wanted["rows"].size() : 0);
  for (size_t g = 0; g < risk["groups"].size(); ++g) {
    const json& group = risk["groups"][g];
    const double moved = digits || wanted["clear"] == true ? 0 : 3;
    EXPECT_NEAR(group["rows"], wanted["rows"][g].get<double>(), moved);
    EXPECT_NEAR(group["events"], wanted["events"][g].get<double>(), moved);
    EXPECT_NEAR(group["expected"], wanted["expected"][g].get<double>(),
                level == "aggregates" ? 1e-4
                : digits              ? 0x1p-7 + 1e-4 * group["rows"].get<double>()
                                      : moved + 0.5);
  }
}

TEST(GlmRisk, StudiesAreAsR) {
  const json references = References();
  ExpectStudyAsR(references["patterns"], "dealer", 2, true);
  ExpectStudyAsR(references["numbers"], "dealer", 2, true);
  ExpectStudyAsR(references["patterns"], "replicated", 3, true);
  ExpectStudyAsR(references["numbers"], "shamir", 4, true);
}

TEST(GlmRisk, StudiesAreAsRAtLevelAggregates) {
  const json references = References();
  for (const char* name : {"patterns", "numbers"})
    ExpectStudyAsR(references[name], "dealer", 2, true, "aggregates");
  ExpectStudyAsR(references["numbers"], "replicated", 3, true, "aggregates");
  ExpectStudyAsR(references["few"], "dealer", 2, false, "aggregates");
}

// Rows of which nobody knows the prediction.
TEST(GlmRisk, StudiesAreAsRAtLevelSealed) {
  const json references = References();
  for (const char* name : {"patterns", "numbers"})
    ExpectStudyAsR(references[name], "dealer", 2, true, "sealed");
  ExpectStudyAsR(references["numbers"], "replicated", 3, true, "sealed");
  ExpectStudyAsR(references["few"], "dealer", 2, false, "sealed");
}

// The numbers of groups are equations for the rows' covariates: here 3 x 3 + 3 of 5 columns.
TEST(GlmRisk, GroupsCountAmongTheRowsDetermined) {
  std::string text = study::Edited(testing::kGlmStudy, "method = \"glm\"\n",
                                   "method = \"glm\"\nprotocol = \"aggregates\"\n");
  text = study::Edited(text, "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]");
  const auto determined = [](const std::string& of) {
    return RowsDetermined(dynamic_cast<const GlmStudy&>(*partita::testing::Prepare(of)).task);
  };
  EXPECT_EQ(determined(text), 36u);
  text += "[analysis.risk_groups]\ncuts = [0.1, 0.3]\n";
  EXPECT_EQ(determined(text), 39u);
  const study::Plan plan = run::BuildPlan(*partita::testing::Prepare(text));
  EXPECT_THAT(plan.parties[0].learns, ::testing::Contains(::testing::HasSubstr("3 groups by")));
}

// One row is beyond the last cut point.
TEST(GlmRisk, GroupsOfFewRowsAreNotShown) {
  ExpectStudyAsR(References()["few"], "dealer", 2, false);
}

study::StudyFile Parse(const std::string& text) {
  const std::vector<study::SectionReader> readers = {GlmReader()};
  return study::ParseStudyFile(text, "g.toml", readers);
}

TEST(GlmRisk, MistakesHaveARemedy) {
  const std::string text = testing::kGlmStudy + "[analysis.risk_groups]\ncuts = [0.1, 0.3]\n";
  EXPECT_EQ(SpecOf(Parse(text).analyses.front()).cuts, (std::vector<double>{0.1, 0.3}));
  study::ExpectMistakes([](const std::string& edited) { Parse(edited); }, "g.toml", text,
                        {{"[0.1, 0.3]", "[0.3, 0.1]", "57:", "rise", "cuts = "},
                         {"[0.1, 0.3]", "[0, 0.1]", "57:", "between 0 and 1", "cuts = "},
                         {"[0.1, 0.3]", "[]", "57:", "no cut point", "cuts = "},
                         {"site = \"ignore\"", "site = \"fixed\"", "56:1",
                          "risk groups with effects of sites", "site = \"ignore\""},
                         {"\"binomial\"", "\"modified-poisson\"", "56:1", "binomial", "leave"}});
}

}  // namespace
}  // namespace partita::methods::glm::risk_test
