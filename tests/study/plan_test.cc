#include "study/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "study/plan/hashes.h"
#include "study/plan/shown_correlations.h"
#include "tests/report/sample_run.h"

namespace partita::study::plan_test {
namespace {

using report::SamplePlan;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<NetworkModel> kNetworks = {{"slow", 0.5, 1000}};

TEST(PlanTest, AddsUp) {
  const PlanTotals totals = Totals(SamplePlan());
  EXPECT_EQ(totals.rounds, 3U);
  EXPECT_EQ(totals.messages, 4U);
  EXPECT_EQ(totals.bytes, 1048U + 2500U + 1234567U);
}

TEST(PlanTest, EstimatesByTheBusiestDirectedLinkOfEachPhase) {
  EXPECT_DOUBLE_EQ(EstimateSeconds(SamplePlan(), kNetworks[0]), 3 * 0.5 + 1.048 + 1234.567);
  // Two entries for one link add up; the other direction is a link of its own.
  Plan plan = SamplePlan();
  plan.phases = {{"p", 0, {{"a", "b", 1, 3000}, {"b", "a", 1, 4000}, {"a", "b", 1, 2000}}}};
  EXPECT_DOUBLE_EQ(EstimateSeconds(plan, kNetworks[0]), 5.0);
}

TEST(PlanTest, NamesTheSlowestPhaseAndWhatItWaitsFor) {
  Plan plan = SamplePlan();
  EXPECT_EQ(SlowestPhase(plan, {"far", 1000, 1e9}),
            "far: 67 % is the phase 'moments', and 100 % of that is the way of 2 rounds "
            "of messages, one after the other.");
  plan.phases = {{"p", 3, {{"a", "b", 1, 1000}}}, {"q", 1, {{"a", "b", 1, 4000}}}};
  EXPECT_EQ(SlowestPhase(plan, {"even", 1, 1000}),
            "even: 56 % is the phase 'q', and 80 % of that is sending 4,000 bytes over "
            "the busiest link.");
  plan.phases.clear();
  EXPECT_EQ(SlowestPhase(plan, {"none", 1, 1000}), "");
}

TEST(PlanTest, RendersAsText) {
  EXPECT_EQ(RenderPlanText(SamplePlan(), kNetworks),
            R"(Plan of study three-factor: Three ability factors
study file SHA-256 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
method mle version 1, protocol pooled-moments, engine dealer, vertical partition

Parties
  north (holder, receiver): x1 of 156 rows
  south (holder): x2 of 156 rows
  helper (dealer): no data

Who learns what (leakage level: sufficient-statistics)
  north (holder and receiver) learns: n; the moments.
  south (holder) learns: nothing beyond this plan.
  helper (dealer) learns: nothing beyond this plan.

Releases
  moments: n, sums and cross products of x1, x2; to north, exact, at most once

Assumptions
  The dealer sees no data and colludes with nobody.

Messages (payload bytes)
  phase    rounds  from    to     messages      bytes
  set-up        1  helper  south         1      1,048
  moments       2  north   south         1      2,500
                   south   north         2  1,234,567
  total         3                        4  1,238,115

Correlated randomness
  kind                       count
  matrix triple 1 x 156 x 1      1

Estimated network time (not part of what is approved)
  phase    rounds         slow
  set-up        1       1.55 s
  moments       2  20 min 36 s
  total         3  20 min 37 s
  slow: 100 % is the phase 'moments', and 100 % of that is sending 1,234,567 bytes over the busiest
    link.

Notes
  A note.
)");
}

TEST(PlanTest, ManyShapesOfCorrelationsAreShownByKind) {
  Plan plan;
  for (int i = 1; i <= 12; ++i)
    plan.correlations.push_back({"pairwise masks, " + std::to_string(i) + " x 1", 2});
  EXPECT_EQ(ShownCorrelations(plan).size(), size_t{12});
  plan.correlations.push_back({"triple, matrix product, 3 x 3 and 3 x 1", 5});
  const std::vector<PlanCorrelation> shown = ShownCorrelations(plan);
  ASSERT_EQ(shown.size(), size_t{2});
  EXPECT_EQ(shown[0].name, "pairwise masks (12 shapes)");
  EXPECT_EQ(shown[0].count, 24u);
  EXPECT_EQ(shown[1].name, "triple, matrix product (1 shape)");
  EXPECT_EQ(shown[1].count, 5u);
}

TEST(PlanTest, WhatDeterminesTheRowsIsLeftOutWhereTheirNumberIsSecret) {
  Plan plan = report::FullPlan();
  plan.exposures[0].statistics = 0;
  const std::string text = RenderPlanText(plan, {});
  EXPECT_THAT(text, HasSubstr("moments, to north: at most 6 numbers (level"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("determine every analysis")));
}

TEST(PlanTest, RendersTheContract) {
  const std::string text = RenderPlanText(report::FullPlan(), {});
  EXPECT_THAT(text, HasSubstr(R"(
Analyses
  main (pooled-moments): sem of x1, x2, 3 free parameters, over all rows
)"));
  EXPECT_THAT(text, HasSubstr(R"(
What the released numbers give away
  moments, to north: at most 6 numbers, where 6 determine every analysis of these rows (level
    sufficient-statistics). It gives away n and the exact means of x1, x2; all 3 of their
    covariances. B = 84 bits open, on a grid of 2^-6 standard errors, of a table of H = 190 bits
    (156 rows of others, 1024 patterns): at most half.

How much about one person
  north, the receiver: no bound: the releases are exact
  south (replace): eps <= 1 at delta = 1e-06

Expected cost of the noise (power 0.8 at 0.05; planning values)
  analysis  parameter   SE  inflation  smallest effect  with noise
  main      x1~x2      0.1        1.5             0.28        0.42

Checked on shares, before what a check is about opens
  rows: at least min_rows = 20 rows
  rows: at least five rows for each of the 3 parameters; otherwise a warning is printed
)"));
  EXPECT_THAT(text, HasSubstr(R"(
Predicted, to be compared with the run (not part of what is approved)
  network       whole study  bytes on the wire
  this machine     250.0 ms          1,300,000
)"));
}

TEST(PlanTest, ManyLinksBecomeOneLine) {
  Plan plan = SamplePlan();
  plan.phases.resize(1);
  plan.phases[0].links.assign(31, {"a", "b", 1, 10});
  const std::string text = RenderPlanText(plan, {});
  EXPECT_THAT(text, HasSubstr("set-up       1  31 links            31    310\n"));
  EXPECT_THAT(text, Not(HasSubstr("Estimated")));
}

TEST(PlanTest, KeepsToTheWidthOfATerminal) {
  Plan plan = SamplePlan();
  plan.parties[0].contributes.clear();
  for (int i = 0; i < 60; ++i) plan.parties[0].contributes += "x" + std::to_string(i) + ", ";
  plan.parties[0].learns.assign(9, "something long that is said often");
  plan.releases[0].what = plan.parties[0].contributes;
  std::istringstream stream(RenderPlanText(plan, DefaultNetworks()));
  for (std::string line; std::getline(stream, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(PlanTest, JsonGoesThereAndBack) {
  const std::string text = RenderPlanJson(report::FullPlan(), kNetworks);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["schema_version"], kPlanSchemaVersion);
  EXPECT_EQ(json["phases"][1]["links"][1]["bytes"], 1234567);
  EXPECT_EQ(json["totals"]["rounds"], 3);
  EXPECT_EQ(json["estimates"][0]["network"], "slow");
  const Plan plan = ParsePlanJson(text);
  EXPECT_EQ(NormativeBytes(plan), NormativeBytes(report::FullPlan()));
  EXPECT_EQ(RenderPlanJson(plan, kNetworks), text);
}

// The proposer's words, where there are any: at the head of the text, and in JSON. The hash of the file covers them.
TEST(PlanTest, SaysWhatTheStudyDeclares) {
  Plan plan = SamplePlan();
  EXPECT_THAT(RenderPlanText(plan, {}), Not(HasSubstr("Purpose")));
  EXPECT_FALSE(nlohmann::json::parse(RenderPlanJson(plan, {})).contains("declared"));
  const Bytes before = NormativeBytes(plan);
  plan.declared = {"Whether x helps", "EK 2026/117", "", ""};
  const std::string text = RenderPlanText(plan, {});
  EXPECT_THAT(text, HasSubstr("\nPurpose: Whether x helps\nEthics reference: EK 2026/117\n"));
  EXPECT_THAT(text, Not(HasSubstr("Legal basis")));
  const std::string rendered = RenderPlanJson(plan, {});
  EXPECT_EQ(nlohmann::json::parse(rendered)["declared"]["legal_basis"], "");
  EXPECT_EQ(ParsePlanJson(rendered).declared, plan.declared);
  EXPECT_EQ(NormativeBytes(plan), before);
}

// Two tables: what is prepared, and what the run costs.
TEST(PlanTest, TellsThePreparationFromTheRun) {
  Plan plan = SamplePlan();
  EXPECT_THAT(RenderPlanText(plan, {}), Not(HasSubstr("before the run")));
  plan.preparation = {{"make", 3, {{"dealer", "south", 2, 4096}}}};
  const std::string text = RenderPlanText(plan, {});
  EXPECT_THAT(text, HasSubstr(R"(
Messages before the run, for each run prepared (payload bytes)
  phase  rounds  from    to     messages  bytes
  make        3  dealer  south         2  4,096
  total       3                        2  4,096
)"));
  EXPECT_THAT(text, HasSubstr("\nMessages of the run (payload bytes)\n"));
  EXPECT_EQ(Totals(plan).bytes, Totals(SamplePlan()).bytes) << "of the run alone";
  const std::string rendered = RenderPlanJson(plan, {});
  const auto json = nlohmann::json::parse(rendered);
  EXPECT_EQ(json["preparation_totals"]["bytes"], 4096);
  EXPECT_EQ(json["preparation"][0]["links"][0]["to"], "south");
  EXPECT_EQ(NormativeBytes(ParsePlanJson(rendered)), NormativeBytes(plan));
}

TEST(PlanTest, RefusesOtherJson) {
  EXPECT_THROW(ParsePlanJson(""), Error);
  EXPECT_THROW(ParsePlanJson("{}"), Error);
  EXPECT_THROW(ParsePlanJson("[1]"), Error);
  auto json = nlohmann::json::parse(RenderPlanJson(SamplePlan(), {}));
  json["schema_version"] = kPlanSchemaVersion + 1;
  EXPECT_THROW(ParsePlanJson(json.dump()), Error);
  json["schema_version"] = kPlanSchemaVersion;
  json["phases"][0]["links"][0].erase("bytes");
  EXPECT_THROW(ParsePlanJson(json.dump()), Error);
}

}  // namespace
}  // namespace partita::study::plan_test
