// Whole studies with [engine] stripes: the same numbers to the bit as without, at the messages that the
// plan says; and what has no stripes refuses them by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "run/method/stripes.h"
#include "run/party/build_plan.h"
#include "tests/methods/mle/design_study.h"
#include "tests/study/edited.h"

namespace partita::methods::mle::stripes_study_test {
namespace {

using testing::Design;
using ::testing::HasSubstr;
using testing::MakeRows;
using testing::Row;
using testing::Split;
using testing::Splits;

constexpr size_t kStripes = 3;
constexpr size_t kRows =
    2 * kStripes * run::kMinRowsOfStripe + 3;  // in two blocks, not of one length

std::string Striped(const std::string& text, size_t stripes) {
  return stripes == 1 ? text
                      : study::Edited(text, "[engine]\n",
                                      "[engine]\nstripes = " + std::to_string(stripes) + "\n");
}

// Rows in groups, a condition, a factor: cells with no, one and several selecting holders.
Design GroupsAndConditions() {
  Design design;
  design.design = "site = \"ignore\"\nmissing = \"complete\"\n";
  design.analyses = {"name = \"all\"\nmodel = \"y ~ x1 + x2\"\n",
                     "name = \"part\"\nmodel = \"y ~ x1 + age\"\ngroup = \"sex\"\n"
                     "subset = [{variable = \"age\", at_least = 30}]\n"};
  return design;
}

Split TwoHolders() {
  return {"vertical of two",
          {{"p", {"y", "age", "x1"}}, {"q", {"x2", "sex", "w", "region"}}},
          {{"p", {0, 1}}, {"q", {0, 1}}}};
}

std::vector<run::PartyEnd> RunText(const std::string& text, const Split& split,
                                   const std::vector<Row>& rows) {
  const std::string folder = partita::testing::MakeTemporaryFolder("stripes");
  std::ofstream(folder + "/study.toml") << text;
  testing::WriteTables(split, rows, folder);
  std::vector<run::PartyEnd> ends = testing::RunStudyFile(folder + "/study.toml");
  std::filesystem::remove_all(folder);
  return ends;
}

// Every message and byte of every link in every phase, and the rounds.
void ExpectExactlyPlanned(const std::vector<run::PartyEnd>& ends) {
  const study::Plan& plan = ends[0].outcome->plan;
  std::map<std::string, size_t> number;
  for (size_t i = 0; i < ends.size(); ++i) number[ends[i].party] = i;
  std::vector<uint64_t> depth(ends.size());  // of the longest chain so far
  uint64_t closed = 0;                       // of all phases before
  for (size_t at = 0; at < plan.phases.size(); ++at) {
    const study::PlanPhase& phase = plan.phases[at];
    uint64_t deepest = 0;
    std::map<std::pair<size_t, size_t>, std::pair<uint64_t, uint64_t>> planned, counted;
    for (const study::PlanLink& link : phase.links)
      planned[{number.at(link.from), number.at(link.to)}] = {link.messages, link.bytes};
    for (size_t i = 0; i < ends.size(); ++i) {
      const net::PhaseTraffic& traffic = ends[i].outcome->traffic.at(at);
      ASSERT_EQ(traffic.phase, phase.name);
      depth[i] += traffic.rounds;
      deepest = std::max(deepest, depth[i]);
      for (size_t to = 0; to < traffic.links.size(); ++to) {
        const net::LinkTraffic& link = traffic.links[to];
        if (link.messages_sent > 0) counted[{i, to}] = {link.messages_sent, link.bytes_sent};
      }
    }
    EXPECT_EQ(counted, planned) << phase.name;
    EXPECT_EQ(deepest - closed, phase.rounds) << phase.name;
    closed = deepest;
  }
}

void ExpectSameBits(const std::vector<run::PartyEnd>& striped,
                    const std::vector<run::PartyEnd>& whole) {
  const auto& a = partita::testing::MleResultsOf(*striped[0].outcome);
  const auto& b = partita::testing::MleResultsOf(*whole[0].outcome);
  ASSERT_EQ(a.size(), 2u);
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].group_n, b[i].group_n);
    ASSERT_TRUE(a[i].moments && b[i].moments);
    ASSERT_EQ(a[i].moments->groups.size(), b[i].moments->groups.size());
    for (size_t g = 0; g < a[i].moments->groups.size(); ++g) {
      const stats::GroupMoments &striped_group = a[i].moments->groups[g],
                                &whole_group = b[i].moments->groups[g];
      EXPECT_EQ(striped_group.n, whole_group.n);
      EXPECT_TRUE(striped_group.mean == whole_group.mean);
      EXPECT_TRUE(striped_group.covariance == whole_group.covariance);
    }
    EXPECT_TRUE(a[i].fit.vcov == b[i].fit.vcov);
    ASSERT_EQ(a[i].fit.fit_measures.size(), b[i].fit.fit_measures.size());
    for (const auto& [name, value] : a[i].fit.fit_measures) {
      const double other = b[i].fit.fit_measures.at(name);
      EXPECT_TRUE(value == other || (std::isnan(value) && std::isnan(other))) << name;
    }
  }
}

void Compare(const Split& split, const std::string& engine) {
  SCOPED_TRACE(split.name + " " + engine);
  const std::vector<Row> rows = MakeRows(kRows, 5, true);
  const std::string text = testing::StudyText(split, GroupsAndConditions(), engine, rows);
  const auto whole = RunText(text, split, rows);
  const auto striped = RunText(Striped(text, kStripes), split, rows);
  for (const auto* ends : {&whole, &striped}) {
    for (const run::PartyEnd& end : *ends)
      ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
    ExpectExactlyPlanned(*ends);
  }
  ExpectSameBits(striped, whole);
}

TEST(StripesStudyTest, DealerGivesTheSameBits) {
  Compare(Splits()[1], "dealer");
  Compare(Splits()[2], "dealer");
}
TEST(StripesStudyTest, ReplicatedGivesTheSameBits) {
  Compare(Splits()[1], "replicated");
  Compare(Splits()[2], "replicated");
}
TEST(StripesStudyTest, ShamirGivesTheSameBits) { Compare(Splits()[1], "shamir"); }
TEST(StripesStudyTest, TransfersGiveTheSameBits) { Compare(TwoHolders(), "ot"); }

study::Plan PlanOf(const std::string& text) {
  return run::BuildPlan(*methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml")));
}

const study::PlanPhase& Moments(const study::Plan& plan) {
  const auto found =
      std::find_if(plan.phases.begin(), plan.phases.end(),
                   [](const study::PlanPhase& phase) { return phase.name == "moments"; });
  return *found;
}

TEST(StripesStudyTest, APlanHasSoManyTimesTheMessagesAndTheSameRounds) {
  const std::vector<Row> rows = MakeRows(kRows, 5, false);
  // Engine `ot` makes correlations in batches, of which fewer rows need fewer.
  for (const std::string engine : {"dealer", "replicated", "shamir"}) {
    const Split split = Splits()[1];
    const std::string text = testing::StudyText(split, GroupsAndConditions(), engine, rows);
    const study::Plan whole = PlanOf(text), striped = PlanOf(Striped(text, kStripes));
    EXPECT_EQ(Moments(striped).rounds, Moments(whole).rounds) << engine;
    ASSERT_EQ(Moments(striped).links.size(), Moments(whole).links.size()) << engine;
    for (size_t i = 0; i < Moments(whole).links.size(); ++i) {
      // What holders add up alone is shared once, where that is a message of its own.
      const uint64_t most = kStripes * Moments(whole).links[i].messages;
      EXPECT_TRUE(Moments(striped).links[i].messages == most ||
                  Moments(striped).links[i].messages == most - (kStripes - 1))
          << engine << " " << Moments(striped).links[i].messages << " of " << most;
    }
    EXPECT_THAT(striped.assumptions, ::testing::Contains(HasSubstr("in 3 stripes")));
    EXPECT_EQ(whole.releases.size(), striped.releases.size());
  }
}

std::string RefusalOf(const std::string& text) {
  try {
    methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml"));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_FALSE(error.hint().empty());
    return error.message();
  }
  return "accepted";
}

TEST(StripesStudyTest, WhatHasNoStripesRefusesThemByName) {
  const std::vector<Row> rows = MakeRows(kRows, 5, false);
  const auto refusal = [&](const Design& design, size_t split, size_t stripes = 2) {
    return RefusalOf(Striped(testing::StudyText(Splits()[split], design, "dealer", rows), stripes));
  };
  const Design design = GroupsAndConditions();
  EXPECT_EQ(refusal(design, 1, kStripes), "accepted");
  EXPECT_EQ(refusal(design, 2, kStripes), "accepted");
  EXPECT_THAT(refusal(design, 0), HasSubstr("this study has none"));
  EXPECT_THAT(refusal(design, 1, kStripes + 1), HasSubstr("shorter than 1024 rows"));
  EXPECT_THAT(refusal(design, 1, 4097), HasSubstr("between 1 and 4096"));
  EXPECT_THAT(refusal(design, 1, 0), HasSubstr("between 1 and 4096"));
  Design robust = design;
  for (std::string& analysis : robust.analyses) analysis += "robust = true\n";
  robust.release = "[\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}]";
  EXPECT_THAT(refusal(robust, 1), HasSubstr("not for robust standard errors"));
  for (const std::string protocol : {"sealed", "likelihood"}) {
    Design other = design;
    other.protocol = protocol;
    other.release =
        protocol == "sealed" ? "[{what = \"estimates\", to = \"all\"}]" : "[\"likelihood\"]";
    other.design = "site = \"ignore\"\nmissing = \"refuse\"\n";
    EXPECT_THAT(refusal(other, 1), HasSubstr("protocol = \"" + protocol + "\"")) << protocol;
  }
}

TEST(StripesStudyTest, StoredCorrelationsAreOfNoStripe) {
  const std::string text = study::Edited(
      testing::StudyText(Splits()[1], GroupsAndConditions(), "dealer", MakeRows(kRows, 5, false)),
      "[engine]\n", "[engine]\ncorrelations = \"stored\"\n");
  EXPECT_EQ(RefusalOf(text), "accepted");
  EXPECT_THAT(RefusalOf(Striped(text, 2)), HasSubstr("every stripe has its own"));
}

TEST(StripesStudyTest, RangesCoverTheRowsInOrder) {
  for (size_t rows = 0; rows < 200; ++rows) {
    for (size_t stripes = 1; stripes < 40; ++stripes) {
      size_t next = 0;
      for (size_t s = 0; s < stripes; ++s) {
        const run::RowRange range = run::StripeOf(rows, s, stripes);
        ASSERT_EQ(range.first, next);
        ASSERT_EQ(range.first, rows * s / stripes);
        ASSERT_LE(range.count, rows / stripes + 1);
        ASSERT_GE(range.count, rows / stripes);
        next += range.count;
      }
      ASSERT_EQ(next, rows);
    }
  }
  const size_t many = size_t{1} << 60;
  EXPECT_EQ(run::StripeOf(many, 4095, 4096), (run::RowRange{many - many / 4096, many / 4096}));
}

}  // namespace
}  // namespace partita::methods::mle::stripes_study_test
