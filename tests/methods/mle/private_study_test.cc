// Private studies through the whole path: noisy results near the exact ones, what is refused, and
// what the plan says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "methods/mle/plan/utility.h"
#include "methods/mle/study/study.h"
#include "methods/prepare_study.h"
#include "run/method/useful.h"
#include "run/party/build_plan.h"
#include "run/simulate/simulate.h"
#include "tests/paths.h"
#include "tests/run/reference_study.h"
#include "tests/run/results.h"

namespace partita::methods::mle::private_study_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

struct Options {
  std::string split = "horizontal";  // or vertical, complex
  std::string engine = "dealer";
  std::string privacy = "epsilon = 100\ndelta = 1e-6\nadjacency = \"replace\"\nnorm = 1.8\n";
  std::string analysis = "model = \"y ~ x1 + x2\"\n";
  std::string more;  // further [[analysis]] tables
  std::string design = "site = \"ignore\"\nmissing = \"refuse\"\n";
  std::string protocol = "pooled-moments";
  std::string release = "[\"moments\"]";
  std::string population;
  bool declare_counts = true;
};

constexpr int kRows = 400;

std::string Analysis(const Options& options) {
  return fmt::format(
      "[[analysis]]\nmethod = \"mle\"\nprotocol = \"{}\"\nrelease = {}\nfunction = \"sem\"\n{}",
      options.protocol, options.release, options.analysis);
}

std::string StudyText(const Options& options) {
  std::string toml = "partita = 1\nname = \"private\"\n";
  if (!options.population.empty()) toml += "[population]\n" + options.population;
  const auto party = [&](const std::string& name, const std::string& columns,
                         const std::string& rows) {
    toml += fmt::format(
        "[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = [{}]\nrows = [{}]\n", name,
        name == "p" ? ", \"receiver\"" : "", columns, rows);
  };
  const std::string all = "\"y\", \"x1\", \"x2\", \"sex\"";
  if (options.split == "horizontal") {
    party("p", all, "\"b0\"");
    party("q", all, "\"b1\"");
    party("r", all, "\"b2\"");
  } else if (options.split == "vertical") {
    party("p", "\"y\"", "\"b0\", \"b1\", \"b2\"");
    party("q", "\"x1\", \"sex\"", "\"b0\", \"b1\", \"b2\"");
    party("r", "\"x2\"", "\"b0\", \"b1\", \"b2\"");
  } else {
    party("p", all, "\"b0\"");
    party("q", "\"y\", \"sex\"", "\"b1\", \"b2\"");
    party("r", "\"x1\", \"x2\"", "\"b1\", \"b2\"");
  }
  if (options.engine == "dealer") toml += "[[party]]\nname = \"dealer\"\nroles = [\"dealer\"]\n";
  for (int b = 0; b < 3; ++b) {
    toml += fmt::format("[[rows]]\nname = \"b{}\"\n", b);
    if (options.declare_counts) toml += fmt::format("count = {}\n", kRows);
  }
  toml += "[table]\n";
  if (options.split != "horizontal") toml += "key = \"id\"\nblock = \"block\"\n";
  for (const std::string name : {"y", "x1", "x2"})
    toml += fmt::format("[[variable]]\nname = \"{}\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n",
                        name);
  toml += "[[variable]]\nname = \"sex\"\ntype = \"factor\"\nlevels = [\"f\", \"m\"]\n";
  toml += fmt::format("[design]\n{}[engine]\nname = \"{}\"\n", options.design, options.engine);
  toml += Analysis(options);
  if (!options.privacy.empty()) toml += "[analysis.privacy]\n" + options.privacy;
  return toml + options.more;
}

std::string WriteStudy(const Options& options) {
  const std::string folder = partita::testing::MakeTemporaryFolder("private");
  std::ofstream(folder + "/study.toml") << StudyText(options);
  std::mt19937_64 random(17);
  std::normal_distribution<double> normal;
  std::map<std::string, std::string> tables;
  const auto put = [&](const std::string& party, int block, int i,
                       const std::vector<std::pair<std::string, std::string>>& cells) {
    std::string& csv = tables[party];
    if (csv.empty()) {
      csv = "id,block";
      for (const auto& [name, value] : cells) csv += "," + name;
      csv += "\n";
    }
    csv += fmt::format("k{},b{}", i, block);
    for (const auto& [name, value] : cells) csv += "," + value;
    csv += "\n";
  };
  for (int i = 0; i < 3 * kRows; ++i) {
    const int block = i / kRows;
    const double x1 = normal(random), x2 = 0.5 * x1 + normal(random);
    const double y = 0.2 + 0.6 * x1 - 0.3 * x2 + 0.7 * normal(random);
    const auto cell = [](double v) { return fmt::format("{:.6f}", std::clamp(v, -5.0, 5.0)); };
    const std::string sex = random() % 2 == 0 ? "f" : "m";
    const std::pair<std::string, std::string> cy{"y", cell(y)}, c1{"x1", cell(x1)},
        c2{"x2", cell(x2)}, cs{"sex", sex};
    if (options.split == "vertical") {
      put("p", block, i, {cy});
      put("q", block, i, {c1, cs});
      put("r", block, i, {c2});
    } else if (options.split == "horizontal" || block == 0) {
      put(std::string(1, "pqr"[block]), block, i, {cy, c1, c2, cs});
    } else {
      put("q", block, i, {cy, cs});
      put("r", block, i, {c1, c2});
    }
  }
  for (const auto& [party, csv] : tables) {
    std::filesystem::create_directories(folder + "/" + party);
    std::ofstream(folder + "/" + party + "/data.csv") << csv;
  }
  return folder + "/study.toml";
}

MleStudy Prepare(const Options& options) {
  return PrepareMleStudy(ParseStudyFile(StudyText(options), "study.toml"));
}

std::vector<run::PartyEnd> RunStudy(const Options& options) {
  const std::string file = WriteStudy(options);
  const MleStudy study = PrepareMleStudy(LoadStudyFile(file));
  std::vector<std::filesystem::path> data;
  for (const study::Party& party : study.parties)
    data.push_back(run::DefaultDataPath(file, party.name));
  SilentProgress progress;
  std::vector<run::PartyEnd> ends = run::SimulateInProcess(study, data, {}, progress);
  std::filesystem::remove_all(std::filesystem::path(file).parent_path());
  for (const run::PartyEnd& end : ends)
    EXPECT_FALSE(end.error) << end.party << ": " << end.error->message();
  return ends;
}

void ExpectPlannedTraffic(const std::vector<run::PartyEnd>& ends) {
  const study::Plan& plan = ends[0].outcome->plan;
  std::map<std::string, uint64_t> planned, counted;
  for (const study::PlanPhase& phase : plan.phases) {
    for (const study::PlanLink& link : phase.links) planned[phase.name] += link.bytes;
  }
  for (const run::PartyEnd& end : ends) {
    for (const net::PhaseTraffic& phase : end.outcome->traffic) {
      for (const net::LinkTraffic& link : phase.links) counted[phase.phase] += link.bytes_sent;
    }
  }
  for (const auto& [phase, bytes] : planned) EXPECT_EQ(counted[phase], bytes) << phase;
  EXPECT_EQ(planned.count("disclosure"), 0u);
}

// At the receiver, who is first.
const MleResult& Result(const std::vector<run::PartyEnd>& ends) {
  return partita::testing::MleResultsOf(*ends[0].outcome).at(0);
}

TEST(PrivateStudyTest, EverySplitAndEngineGivesTheExactFitUpToTheStatedNoise) {
  for (const std::string split : {"horizontal", "vertical", "complex"}) {
    for (const std::string engine : {"dealer", "replicated"}) {
      for (const bool selects : {false, true}) {
        Options options;
        options.split = split;
        options.engine = engine;
        if (selects) options.design = "site = \"ignore\"\nmissing = \"complete\"\n";
        SCOPED_TRACE(split + " " + engine + (selects ? " complete" : ""));
        const double noise_of_count = NoiseStddev(*Prepare(options).privacy);
        const auto noisy = RunStudy(options);
        options.privacy.clear();
        const auto exact = RunStudy(options);
        if (HasFailure()) return;
        ExpectPlannedTraffic(noisy);
        const auto &a = Result(noisy), &b = Result(exact);
        ASSERT_TRUE(a.fit.converged);
        // The count is noised, and rounded, where the data decide it. Seven standard deviations.
        EXPECT_NEAR(a.group_n.at(0), 3 * kRows, selects ? 7 * noise_of_count + 0.5 : 0);
        for (size_t r = 0; r < 2; ++r) {
          const double with = a.fit.estimates[r].standard_error;
          const double without = b.fit.estimates[r].standard_error;
          ASSERT_GT(with, without);
          const double noise = std::sqrt(with * with - without * without);
          // As many; rows beyond the norm are rare.
          EXPECT_NEAR(a.fit.estimates[r].estimate, b.fit.estimates[r].estimate, 7 * noise);
          EXPECT_NE(a.fit.estimates[r].estimate, b.fit.estimates[r].estimate);
        }
        EXPECT_THAT(a.notes, Contains(HasSubstr("Differentially private")));
      }
    }
  }
}

TEST(PrivateStudyTest, TwoRunsDifferByTheirNoise) {
  const auto first = RunStudy({}), second = RunStudy({});
  EXPECT_NE(Result(first).fit.estimates[0].estimate, Result(second).fit.estimates[0].estimate);
}

TEST(PrivateStudyTest, GroupsHaveNoisedCounts) {
  Options options;
  options.analysis = "model = \"y ~ x1\"\ngroup = \"sex\"\n";
  options.split = "complex";
  const auto ends = RunStudy(options);
  ASSERT_FALSE(HasFailure());
  ASSERT_EQ(Result(ends).group_n.size(), 2u);
  EXPECT_NEAR(Result(ends).group_n[0] + Result(ends).group_n[1], 3 * kRows, 10);
  ExpectPlannedTraffic(ends);
  EXPECT_THAT(ends[0].outcome->plan.exposures.at(0).exposes,
              Contains(HasSubstr("number of rows with noise")));
}

// delta(eps) of the Gaussian, in plain doubles.
double Profile(double mu, double epsilon) {
  const auto cdf = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  return cdf(mu / 2 - epsilon / mu) - std::exp(epsilon) * cdf(-mu / 2 - epsilon / mu);
}
double EpsilonOf(double mu, double delta) {
  double low = 0, high = 1000;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (Profile(mu, middle) > delta ? low : high) = middle;
  }
  return high;
}

const study::PlanPrivacy& RowOf(const study::Plan& plan, const std::string& adversary) {
  for (const study::PlanPrivacy& row : plan.privacy) {
    if (row.adversary == adversary) return row;
  }
  throw Error(ErrorCode::kUsage, "no row for " + adversary);
}

double StatedEpsilon(const study::PlanPrivacy& row) {
  EXPECT_THAT(row.loss, HasSubstr("if all computing parties follow the protocol"));
  const std::string start = "eps <= ";
  EXPECT_EQ(row.loss.rfind(start, 0), 0u) << row.loss;
  return std::stod(row.loss.substr(start.size()));
}

TEST(PrivateStudyTest, TheStatedEpsilonsAreThoseOfTheUnknownShares) {
  Options options;
  options.privacy = "epsilon = 0.8\ndelta = 1e-6\nadjacency = \"replace\"\n";
  const study::Plan plan = run::BuildPlan(Prepare(options));
  // One of three shares is known: two carry the promise.
  EXPECT_NEAR(StatedEpsilon(RowOf(plan, "party q")), 0.8, 1e-9);
  const auto delta_at = [](double mu) { return Profile(mu, 0.8); };
  double low = 0, high = 10;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (delta_at(middle) < 1e-6 ? low : high) = middle;
  }
  const double outside = EpsilonOf(low * std::sqrt(2.0 / 3.0), 1e-6);
  EXPECT_NEAR(StatedEpsilon(RowOf(plan, "outside analyst")), outside, 1e-3 * outside);
  EXPECT_THAT(RowOf(plan, "outside analyst").adjacency, "replace");
  const double dealer = StatedEpsilon(RowOf(plan, "the dealer, with the published report"));
  EXPECT_NEAR(dealer, outside, 1e-3 * outside);
  for (const study::PlanRelease& release : plan.releases) EXPECT_NE(release.mechanism, "exact");
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("No disclosure checks")));
  EXPECT_TRUE(plan.checks.empty());
}

TEST(PrivateStudyTest, NothingProtectsFromTwoReplicatedParties) {
  Options options;
  options.engine = "replicated";
  const study::Plan plan = run::BuildPlan(Prepare(options));
  EXPECT_THAT(RowOf(plan, "any 2 parties together").loss, HasSubstr("no bound"));
}

TEST(PrivateStudyTest, MoreRowsPerPersonNeedMoreNoise) {
  Options options;
  const double one = NoiseStddev(*Prepare(options).privacy);
  options.population = "max_rows_per_person = 4\n";
  EXPECT_NEAR(NoiseStddev(*Prepare(options).privacy), 4 * one, 1e-6 * one);
}

void ExpectRefused(const Options& options, const std::string& what) {
  try {
    Prepare(options);
    ADD_FAILURE() << "accepted: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), AllOf(HasSubstr(what), HasSubstr("study.toml:")));
    EXPECT_FALSE(error.hint().empty());
  }
}

std::string Second(const std::string& keys, const std::string& privacy) {
  Options options;
  options.analysis = keys;
  return Analysis(options) + (privacy.empty() ? "" : "[analysis.privacy]\n" + privacy);
}

TEST(PrivateStudyTest, OneReleaseForAllOrNoStudy) {
  Options options;
  options.analysis = "name = \"a\"\nmodel = \"y ~ x1\"\n";
  const std::string other = "name = \"b\"\nmodel = \"y ~ x2\"\n";
  options.more = Second(other, "");
  ExpectRefused(options, "analysis 'b' is exact and analysis 'a' is private");
  options.more = Second(other, "epsilon = 99\ndelta = 1e-6\nadjacency = \"replace\"\nnorm = 1.8\n");
  ExpectRefused(options, "the privacy of analysis 'b' is not that of analysis 'a'");
  options.more = Second(other + "group = \"sex\"\n", options.privacy);
  ExpectRefused(options, "analysis 'b' has other rows or groups");
  options.more = Second(other, options.privacy);
  EXPECT_EQ(Prepare(options).computations.at(0).row_sets.size(), 1u);
  const std::string privacy = options.privacy;
  options.privacy.clear();
  ExpectRefused(options, "analysis 'a' is exact and analysis 'b' is private");
}

TEST(PrivateStudyTest, WhatWouldLeakIsRefused) {
  Options options;
  options.protocol = "likelihood";
  options.release = "[\"likelihood\"]";
  ExpectRefused(options, "not for protocol 'likelihood'");
  options = {};
  options.design = "site = \"fixed\"\nmissing = \"refuse\"\n";
  ExpectRefused(options, "site = \"fixed\"");
  options = {};
  options.analysis += "robust = true\n";
  options.release = "[\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}]";
  ExpectRefused(options, "robust standard errors");
  options = {};
  options.privacy = "epsilon = 1\ndelta = 1e-6\nadjacency = \"add-remove\"\n";
  ExpectRefused(options, "declares its count");
  options = {};
  options.declare_counts = false;
  ExpectRefused(options, "needs planning_rows");
}

TEST(PrivateStudyTest, AUselessStudyIsRefusedUnlessAccepted) {
  Options options;
  options.privacy = "epsilon = 0.01\ndelta = 1e-6\nadjacency = \"replace\"\n";
  const MleStudy study = Prepare(options);
  const study::Plan plan = run::BuildPlan(study);
  ASSERT_FALSE(plan.utility.empty());
  EXPECT_EQ(plan.utility.front().parameter, "y ~ x1");
  double worst = 0;
  for (const study::PlanUtility& row : plan.utility) worst = std::max(worst, row.inflation);
  EXPECT_GT(worst, kRefuseInflation);
  EXPECT_THAT(plan.notes, Contains(HasSubstr("WARNING")));
  try {
    run::RequireUseful(study, false);
    ADD_FAILURE() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kRefused);
    EXPECT_THAT(error.message(), HasSubstr("standard error of"));
    EXPECT_THAT(error.hint(), AllOf(HasSubstr("more rows"), HasSubstr("--accept-useless")));
  }
  EXPECT_NO_THROW(run::RequireUseful(study, true));
  EXPECT_NO_THROW(run::RequireUseful(Prepare({}), false));
}

TEST(PrivateStudyTest, TheForecastOfARegressionIsTheTextbookOne) {
  Options options;
  options.privacy += "planning_rows = 5000\nplanning_sd = {y = 1, x1 = 2, x2 = 1}\n";
  const MleStudy study = Prepare(options);
  const run::Forecast forecast = ForecastUtility(study);
  ASSERT_GE(forecast.rows.size(), 2u);
  const study::PlanUtility& slope = forecast.rows.front();
  ASSERT_EQ(slope.parameter, "y ~ x1");
  // Uncorrelated covariates, no effect: se = sd(y) / (sd(x) sqrt(n)). The noise enters through the
  // one product y x1: in original units its slope is v^(1/2) h^2 / (n sd(x)^2), h the half-width.
  const double se = 1 / (2 * std::sqrt(5000.0));
  EXPECT_NEAR(slope.standard_error, se, 1e-6);
  const double noise = NoiseStddev(*study.privacy) * 25 / (5000.0 * 4);
  EXPECT_NEAR(slope.inflation, std::sqrt(se * se + noise * noise) / se, 1e-5);
  EXPECT_NEAR(slope.smallest_effect, 2.8015852 * se, 1e-6);
  EXPECT_NEAR(slope.smallest_effect_dp, slope.inflation * slope.smallest_effect, 1e-9);
}

TEST(PrivateStudyTest, TheExampleRunsAndIsUseful) {
  const std::string file = SourcePath("examples/private_regression/study.toml");
  const MleStudy study = PrepareMleStudy(LoadStudyFile(file));
  EXPECT_NO_THROW(RequireUseful(study, false));
  std::vector<std::filesystem::path> data;
  for (const study::Party& party : study.parties)
    data.push_back(run::DefaultDataPath(file, party.name));
  SilentProgress progress;
  const auto ends = run::SimulateInProcess(study, data, {}, progress);
  for (const run::PartyEnd& end : ends) ASSERT_FALSE(end.error) << end.error->message();
  ExpectPlannedTraffic(ends);
  // The generator's coefficients, within seven of the standard errors that contain the noise.
  const double truth[] = {0.45, 0.5, 4};
  for (size_t r = 0; r < 3; ++r) {
    const stats::ParameterEstimate& estimate = Result(ends).fit.estimates[r];
    EXPECT_NEAR(estimate.estimate, truth[r], 7 * estimate.standard_error);
  }
  EXPECT_EQ(partita::testing::MleResultsOf(*ends[1].outcome).at(0).fit.estimates[0].estimate,
            Result(ends).fit.estimates[0].estimate);
}

}  // namespace
}  // namespace partita::methods::mle::private_study_test
