// Tests of nested models against R's anova (tests/references/glm/nested.json), as whole studies at both levels; what
// is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "methods/glm/section.h"
#include "methods/glm/study.h"
#include "tests/methods/glm/glm_text.h"
#include "tests/methods/glm/reference_text.h"
#include "tests/run/study_in_process.h"
#include "tests/study/edited.h"
#include "tests/study/mistake.h"
#include "tests/thorough.h"

namespace partita::methods::glm::nested_test {
namespace {

using nlohmann::json;
using study::Edited;

json References() {
  std::ifstream file(FixturePath("references/glm/nested.json"));
  return json::parse(file);
}

std::string NestedText(const json& wanted, const std::string& engine,
                       const std::vector<data::Table>& parts, bool aggregates) {
  std::string text = testing::ReferenceText(wanted, engine, parts);
  if (aggregates) text = Edited(text, "steps = 4", "protocol = \"aggregates\"");
  return text + "[analysis.nested]\ndrop = " + wanted["drop"].dump() + "\n";
}

void ExpectStudyAsR(const json& wanted, const std::string& engine, size_t holders,
                    bool aggregates) {
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], holders);
  std::vector<std::string> tables;
  for (const data::Table& part : parts) tables.push_back(testing::CsvOf(part));
  const std::string text = NestedText(wanted, engine, parts, aggregates);
  const auto study = partita::testing::Prepare(text);
  const auto& prepared = dynamic_cast<const GlmStudy&>(*study);
  const double grid = std::ldexp(1.01, -prepared.task.grid_bits);
  ASSERT_TRUE(prepared.smaller.has_value());
  const auto outcomes = partita::testing::Outcomes(partita::testing::RunStudy(text, tables));
  ASSERT_FALSE(outcomes.empty());
  partita::testing::ExpectPlannedTraffic(outcomes);
  const json result = partita::testing::ResultOf(outcomes.front());
  ASSERT_EQ(result["converged"], true);
  const json& nested = result["nested"];
  ASSERT_EQ(nested["converged"], true);
  EXPECT_EQ(nested["dropped"], wanted["drop"]);
  EXPECT_EQ(nested["df"], wanted["df"]);
  EXPECT_EQ(nested["df_residual"], wanted["df_residual"]);
  const double statistic = wanted["statistic"], p_value = wanted["p_value"];
  // Two numbers on the absolute grid, and what the estimates' grids add to deviances: half a step of 1/64 each,
  // squared, times its variance inflation. An F is their difference over k and a dispersion.
  const double within = aggregates ? 1e-6 * statistic : 4 * grid + 1e-3 * statistic;
  EXPECT_NEAR(nested["statistic"], statistic, within);
  EXPECT_NEAR(nested["p_value"], p_value, aggregates ? 1e-5 : within * 0.5);
  EXPECT_EQ(nested["coefficients"].size() + wanted["df"].get<size_t>(),
            result["coefficients"].size());
}

TEST(GlmNested, StudiesAreAsR) {
  const json references = References();
  EXPECT_EQ(references.size(), 10u);
  size_t number = 0;
  for (const auto& [name, wanted] : references.items()) {
    for (const bool aggregates : {false, true}) {
      // For `./test` each table in one of the two ways.
      if ((number++ + (aggregates ? 1 : 0)) % 4 > 1 && !Thorough()) continue;
      SCOPED_TRACE(name + (aggregates ? " aggregates" : " iterates"));
      ExpectStudyAsR(wanted, "dealer", 2, aggregates);
    }
  }
  ExpectStudyAsR(references["logistic"], "replicated", 3, false);
  ExpectStudyAsR(references["counts"], "shamir", 4, false);
}

// The bits of both models are held to the rule.
TEST(GlmNested, BothModelsCount) {
  const json wanted = References()["counts"];
  const std::vector<data::Table> parts = testing::ReadParts(wanted["data"], 2);
  const auto alone = partita::testing::Prepare(testing::ReferenceText(wanted, "dealer", parts));
  const auto both = partita::testing::Prepare(NestedText(wanted, "dealer", parts, false));
  const auto opened = [](const run::Study& study) {
    return dynamic_cast<const GlmStudy&>(study).Exposures().back();
  };
  EXPECT_GT(opened(*both).opened, opened(*alone).opened + 5);
  EXPECT_GT(opened(*both).bits->opened, opened(*alone).bits->opened + 30);
}

study::StudyFile Parse(const std::string& text) {
  const std::vector<study::SectionReader> readers = {GlmReader()};
  return study::ParseStudyFile(text, "g.toml", readers);
}

TEST(GlmNested, MistakesHaveARemedy) {
  const std::string text = testing::kGlmStudy + "[analysis.nested]\ndrop = [\"age\"]\n";
  EXPECT_EQ(SpecOf(Parse(text).analyses.front()).dropped, std::vector<std::string>{"age"});
  const std::string release = "release = [\"estimates\"]";
  study::ExpectMistakes(
      [](const std::string& edited) { Parse(edited); }, "g.toml", text,
      {{"[\"age\"]", "[\"aeg\"]", "57:", "no term 'aeg'", "age"},
       {"[\"age\"]", "[]", "57:", "drops no term", "drop = "},
       {"[\"age\"]", "[\"age\", \"age\"]", "57:", "twice", "remove"},
       {release, "errors = \"robust\"\n" + release, "57:1", "errors of the model", "Wald"},
       {release, "penalty = {ridge = 1}\n" + release, "57:1", "penalty", "leave"},
       {release, "protocol = \"sealed\"\n" + release, "57:1", "level sealed", "iterates"},
       {"event ~ age + smoker + stage", "event ~ age - 1", "57:8", "no column", "write a term"},
       {"event ~ age + smoker + stage", "event ~ age * smoker", "57:8", "without age",
        "main effects"}});
}

}  // namespace
}  // namespace partita::methods::glm::nested_test
