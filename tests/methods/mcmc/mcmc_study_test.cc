// Studies of method `mcmc` through the whole path: posteriors as the references', traffic as
// planned, promises kept or refused, and what everybody is told.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "methods/all.h"
#include "methods/mcmc/study.h"
#include "methods/prepare_study.h"
#include "run/party/build_plan.h"
#include "run/simulate/simulate.h"
#include "study/plan/hashes.h"
#include "tests/paths.h"
#include "tests/run/interrupted_runs.h"
#include "tests/run/reference_study.h"
#include "tests/run/results.h"
#include "tests/stats/mcmc/registries.h"
#include "tests/thorough.h"

namespace partita::methods::mcmc::mcmc_study_test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

struct Options {
  std::string engine = "dealer";
  std::vector<std::string> holders = {"north", "south", "west"};
  std::string threshold;  // a line of [engine]
  std::string analysis;   // after `method`
  std::string design = "site = \"ignore\"\nmissing = \"refuse\"\n";
  std::string disclosure;
};

const std::vector<std::string> kPredictors = {"age", "lwt", "smoke", "ht", "ui"};

std::string Logistic(const std::string& more) {
  return "protocol = \"decisions\"\nmodel = \"logistic\"\noutcome = \"low\"\nrelease = "
         "[\"decisions\"]\npredictors = [\"z_age\", \"z_lwt\", \"z_smoke\", \"z_ht\", \"z_ui\"]\n" +
         more;
}

// birthwt in three parts, its predictors standardised by literal constants.
std::string StudyText(const Options& options, stats::mcmc::testing::Columns& columns) {
  std::string toml = "partita = 1\nname = \"births\"\n";
  for (const std::string& party : options.holders) {
    toml += fmt::format("[[party]]\nname = \"{0}\"\nroles = [\"holder\"{1}]\nrows = [\"{0}\"]\n",
                        party, party == "north" ? ", \"receiver\"" : "");
  }
  if (options.engine == "dealer") toml += "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n";
  for (const std::string& party : options.holders) {
    toml += fmt::format("[[rows]]\nname = \"{}\"\n", party);
  }
  for (const char* name : {"low", "smoke", "ht", "ui"}) {
    toml += fmt::format("[[variable]]\nname = \"{}\"\ntype = \"integer\"\nlower = 0\nupper = 1\n",
                        name);
  }
  toml += "[[variable]]\nname = \"age\"\ntype = \"numeric\"\nlower = 10\nupper = 60\n";
  toml += "[[variable]]\nname = \"lwt\"\ntype = \"numeric\"\nlower = 50\nupper = 400\n";
  for (const std::string& name : kPredictors) {
    const Eigen::VectorXd values = stats::mcmc::testing::Numbers(columns[name]);
    const double mean = values.mean();
    const double sd =
        std::sqrt((values.array() - mean).square().sum() / static_cast<double>(values.size()));
    toml += fmt::format(
        "[[derived]]\nname = \"z_{0}\"\nfrom = \"{0}\"\ntransform = \"scale\"\ncentre = {1}\n"
        "scale = {2}\n",
        name, mean, sd);
  }
  toml += "[design]\n" + options.design;
  if (!options.disclosure.empty()) toml += "[disclosure]\n" + options.disclosure;
  toml += fmt::format("[engine]\nname = \"{}\"\n{}", options.engine, options.threshold);
  return toml + "[[analysis]]\nmethod = \"mcmc\"\n" + options.analysis;
}

const std::vector<std::string> kHolders = {"north", "south", "west"};

// Every third row, or as many as there are holders.
void WriteTable(const std::filesystem::path& file, size_t holder,
                stats::mcmc::testing::Columns& columns, size_t holders = 3) {
  std::ofstream table(file);
  table << "low,age,lwt,smoke,ht,ui\n";
  for (size_t i = holder; i < columns["low"].size(); i += holders) {
    table << columns["low"][i];
    for (const std::string& predictor : kPredictors) table << "," << columns[predictor][i];
    table << "\n";
  }
}

std::string WriteStudy(const Options& options) {
  auto columns = stats::mcmc::testing::ReadColumns("gpl/birthwt.csv");
  const std::string folder = testing::MakeTemporaryFolder("mcmc");
  std::ofstream(folder + "/study.toml") << StudyText(options, columns);
  for (size_t holder = 0; holder < options.holders.size(); ++holder) {
    std::filesystem::create_directories(folder + "/" + options.holders[holder]);
    WriteTable(folder + "/" + options.holders[holder] + "/data.csv", holder, columns,
               options.holders.size());
  }
  return folder + "/study.toml";
}

std::unique_ptr<const run::Study> Prepare(const Options& options) {
  auto columns = stats::mcmc::testing::ReadColumns("gpl/birthwt.csv");
  return PrepareStudy(ParseStudyFile(StudyText(options, columns), "study.toml"));
}

std::vector<run::PartyEnd> RunStudy(const Options& options) {
  const std::string file = WriteStudy(options);
  const auto study = PrepareStudy(LoadStudyFile(file));
  std::vector<std::filesystem::path> data;
  for (const study::Party& party : study->parties) {
    data.push_back(run::DefaultDataPath(file, party.name));
  }
  SilentProgress progress;
  auto ends = run::SimulateInProcess(*study, data, {}, progress);
  std::filesystem::remove_all(std::filesystem::path(file).parent_path());
  return ends;
}

void ExpectPlannedTraffic(const std::vector<run::PartyEnd>& ends) {
  std::map<std::string, uint64_t> planned, counted;
  for (const study::PlanPhase& phase : ends[0].outcome->plan.phases) {
    for (const study::PlanLink& link : phase.links) planned[phase.name] += link.bytes;
  }
  for (const run::PartyEnd& end : ends) {
    for (const net::PhaseTraffic& phase : end.outcome->traffic) {
      for (const net::LinkTraffic& link : phase.links) counted[phase.phase] += link.bytes_sent;
    }
  }
  EXPECT_GT(planned["chain"], 0u);
  EXPECT_GT(planned["record"], 0u);
  for (const auto& [phase, bytes] : planned) EXPECT_EQ(counted[phase], bytes) << phase;
}

const study::DocumentFile& FileOf(const run::PartyEnd& end, const std::string& name) {
  for (const study::DocumentFile& file : testing::DocumentOf(*end.outcome).files) {
    if (file.name == name) return file;
  }
  throw Error(ErrorCode::kUsage, "no file " + name);
}

// Means within 5.5 combined Monte Carlo standard errors for 12 comparisons: a false alarm below
// 1e-6. For `./test` on one engine: chains of others are below.
TEST(McmcStudyTest, PosteriorIsTheReference) {
  std::ifstream file(FixturePath("references/glm/posteriors.json"));
  const auto reference = nlohmann::json::parse(file)["birthwt_logit"];
  for (const std::string& engine : Cases<std::string>({"replicated"}, {"dealer"})) {
    Options options;
    options.engine = engine;
    options.analysis = Logistic(
        "chains = 40\nwarmup = 300\ndraws = 400\nthin = 4\n[analysis.priors]\nintercept = "
        "\"normal(0, 5)\"\n");
    const auto ends = RunStudy(options);
    for (const auto& end : ends)
      ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
    ExpectPlannedTraffic(ends);
    const auto& document = testing::DocumentOf(*ends[0].outcome);
    const auto json = nlohmann::json::parse(document.json);
    ASSERT_EQ(json["parameters"].size(), 6u);
    for (size_t j = 0; j < 6; ++j) {
      const auto& parameter = json["parameters"][j];
      EXPECT_EQ(parameter["name"], j == 0 ? "intercept" : "z_" + kPredictors[j - 1]);
      const double error = parameter["mcse_mean"];
      EXPECT_NEAR(parameter["mean"], reference["mean"][j], 5.5 * error);
      EXPECT_LT(error, 0.1 * reference["sd"][j].get<double>());
    }
    // Odds ratios are exp of the quantiles, of the predictors only.
    const study::DocumentTable& odds = document.sections.at(0).tables.at(1);
    EXPECT_EQ(odds.title, "Odds ratios");
    ASSERT_EQ(odds.rows.size(), 5u);
    for (size_t j = 1; j < 6; ++j) {
      const auto& parameter = json["parameters"][j];
      const std::vector<study::DocumentCell>& row = odds.rows[j - 1];
      EXPECT_EQ(std::get<std::string>(row[0]), parameter["name"]);
      EXPECT_DOUBLE_EQ(std::get<double>(row[1]), std::exp(parameter["median"].get<double>()));
      EXPECT_DOUBLE_EQ(std::get<double>(row[2]), std::exp(parameter["q2_5"].get<double>()));
      EXPECT_DOUBLE_EQ(std::get<double>(row[3]), std::exp(parameter["q97_5"].get<double>()));
    }
    EXPECT_EQ(json["decisions"], 40 * 1900);
    ASSERT_EQ(json["prior_sensitivity"]["parameters"].size(), 6u);
    EXPECT_GT(json["prior_sensitivity"]["effective_draws"], 8000);
    // Every holder sees its own rows against the model, and no file has that.
    std::set<double> observed;
    for (size_t party = 0; party < 3; ++party) {
      const study::Document& own = testing::DocumentOf(*ends[party].outcome);
      const study::DocumentSection& section = own.sections.back();
      EXPECT_EQ(section.heading, "Own rows against the model");
      EXPECT_TRUE(section.own_rows);
      ASSERT_EQ(section.tables.at(0).rows.size(), 2u);
      observed.insert(std::get<double>(section.tables[0].rows[0].at(1)));
      EXPECT_EQ(own.json.find("share of ones"), std::string::npos);
      EXPECT_EQ(std::count_if(own.sections.begin(), own.sections.end(),
                              [](const auto& s) { return s.own_rows; }),
                1);
    }
    EXPECT_GT(observed.size(), 1u);
    // Everybody who computes has the same draws; 40 x 400 lines and a header.
    const std::string& draws = FileOf(ends[0], "draws.csv").contents;
    EXPECT_EQ(std::count(draws.begin(), draws.end(), '\n'), 16001);
    EXPECT_EQ(draws.rfind("chain,iteration,draw,intercept,z_age", 0), 0u);
    for (size_t party = 1; party < 3; ++party) {
      EXPECT_EQ(FileOf(ends[party], "draws.csv").contents, draws);
    }
    EXPECT_THAT(FileOf(ends[0], "stan-40.csv").contents, HasSubstr("lp__,intercept,z_age"));
    for (const auto& check : ends[0].outcome->checks) EXPECT_TRUE(check.passed) << check.rule;
    // Rows twice; low, smoke, ht and ui at both values.
    EXPECT_EQ(ends[0].outcome->checks.size(), 10u);
    if (engine == "dealer") {
      EXPECT_EQ(ends[3].outcome->result, nullptr);
    }
  }
}

// Chains that may go on: 40 chains whose first stage is that of the test above converge long before
// the budget is used up (R-hat and effective draws of 16000 states; the seed of a study is drawn,
// and a stage that fails by chance is followed by one that is twice as long); of 10 draws of each of
// 2 chains nobody can say that they have, so that all decisions are made. The dealer ends with the
// others, and all have the same draws.
TEST(McmcStudyTest, ChainsGoOnUntilTheyHaveConverged) {
  for (const bool enough : {true, false}) {
    Options options;
    options.analysis = Logistic(enough ? "chains = 40\nwarmup = 300\ndraws = 400\nthin = 4\n"
                                         "most_decisions = 100000\n"
                                       : "chains = 2\nwarmup = 10\ndraws = 10\n"
                                         "most_decisions = 101\n");
    const uint64_t chains = enough ? 40 : 2, first = enough ? 1900 : 20;
    const auto ends = RunStudy(options);
    for (const auto& end : ends)
      ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
    const study::Document& document = testing::DocumentOf(*ends[0].outcome);
    const auto json = nlohmann::json::parse(document.json);
    const uint64_t made = json["decisions"].get<uint64_t>() / chains;
    const study::Plan& plan = ends[0].outcome->plan;
    EXPECT_EQ(json["converged"], enough);
    EXPECT_EQ(ends[0].outcome->releases.back().opened, made);
    EXPECT_THAT(document.sections[0].paragraphs,
                Contains(HasSubstr("decisions were made in each chain")));
    EXPECT_THAT(plan.notes, Contains(HasSubstr("Chains stop when they have converged")));
    if (enough) {
      EXPECT_GE(made, first);
      EXPECT_LT(made, 50000u);
      EXPECT_LE(made, plan.releases.back().max_count);
    } else {
      EXPECT_EQ(made, 20u + 30u + 50u);
      EXPECT_EQ(plan.releases.back().max_count, made);
      EXPECT_THAT(plan.notes, Contains(HasSubstr("after 20, 50 or 100 decisions each")));
    }
    for (size_t party = 1; party < 3; ++party)
      EXPECT_EQ(FileOf(ends[party], "draws.csv").contents, FileOf(ends[0], "draws.csv").contents);
    EXPECT_EQ(ends[3].outcome->result, nullptr);
  }
}

// Superchains: the plan says where they begin, the result that R-hat is nested. What a promise costs
// are the decisions, not how they are spread over chains.
TEST(McmcStudyTest, SuperchainsAreJudgedTogether) {
  Options options;
  options.analysis = Logistic("chains = 16\nsuperchains = 4\nwarmup = 40\ndraws = 10\nthin = 2\n");
  const auto ends = RunStudy(options);
  for (const auto& end : ends) ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
  ExpectPlannedTraffic(ends);
  const study::Plan& plan = ends[0].outcome->plan;
  EXPECT_THAT(plan.analyses[0].model, HasSubstr("16 chains in 4 superchains, 60 decisions each"));
  EXPECT_THAT(plan.notes, Contains(HasSubstr("superchains begin from -")));
  const study::Document& document = testing::DocumentOf(*ends[0].outcome);
  const auto json = nlohmann::json::parse(document.json);
  EXPECT_EQ(json["superchains"], 4);
  EXPECT_EQ(json["decisions"], 16 * 60);
  EXPECT_THAT(document.sections[0].paragraphs,
              Contains(HasSubstr("16 chains of 10 draws, 4 in each of 4 superchains")));
  EXPECT_THAT(document.sections[0].paragraphs, Contains(HasSubstr("R-hat is nested")));
  ASSERT_EQ(document.files.size(), 1u);
  EXPECT_EQ(document.files[0].name, "draws.csv");
  const auto epsilon_of = [](const std::string& chains) {
    Options private_options;
    private_options.analysis = Logistic(chains +
                                        "[analysis.privacy]\nepsilon = 50\ndelta = 1e-5\n"
                                        "adjacency = \"replace\"\nclip = 0.003\n");
    const auto study = Prepare(private_options);
    return dynamic_cast<const McmcStudy&>(*study).statement.rows.front().loss.epsilon_upper;
  };
  EXPECT_EQ(epsilon_of("chains = 16\nsuperchains = 4\nwarmup = 10\ndraws = 20\n"),
            epsilon_of("chains = 4\nwarmup = 10\ndraws = 110\n"));
}

// Where there is a promise the budget is charged, whether or not it is used up.
TEST(McmcStudyTest, TheBudgetIsCharged) {
  const auto epsilon_of = [](const std::string& chains) {
    Options options;
    options.analysis = Logistic(chains +
                                "[analysis.privacy]\nepsilon = 50\ndelta = 1e-5\n"
                                "adjacency = \"replace\"\nclip = 0.003\n");
    const auto study = Prepare(options);
    return dynamic_cast<const McmcStudy&>(*study).statement.rows.front().loss.epsilon_upper;
  };
  const double once = epsilon_of("chains = 2\nwarmup = 10\ndraws = 10\n");
  const double budget = epsilon_of("chains = 2\nwarmup = 10\ndraws = 10\nmost_decisions = 100\n");
  EXPECT_GT(budget, once);
  EXPECT_EQ(budget, epsilon_of("chains = 2\nwarmup = 10\ndraws = 90\n"));
  // Without a budget a promise buys one stage.
  EXPECT_EQ(epsilon_of(""), epsilon_of("chains = 4\nwarmup = 1000\ndraws = 1000\n"));
}

TEST(McmcStudyTest, EveryProtocolRunsAsPlanned) {
  const std::string model =
      "model = \"logistic\"\noutcome = \"low\"\npredictors = [\"z_lwt\"]\nchains = 2\nwarmup = "
      "20\ndraws = 20\n";
  const std::string privacy =
      "[analysis.privacy]\nepsilon = 50\ndelta = 1e-5\nadjacency = \"replace\"\nclip = 0.05\n";
  const std::map<std::string, std::string> analyses = {
      {"shamir", "protocol = \"noisy-sums\"\nrelease = [\"noisy-sums\"]\n" + model},
      {"replicated", "protocol = \"noisy-products\"\nrelease = [\"noisy-sums\"]\n" + model},
      {"dealer", "protocol = \"penalty\"\nrelease = [\"noisy-log-ratios\"]\n" + model + privacy +
                     "noise = 15\n"}};
  for (const auto& [engine, analysis] : analyses) {
    SCOPED_TRACE(engine);
    Options options;
    options.engine = engine;
    options.analysis = analysis;
    const auto ends = RunStudy(options);
    for (const auto& end : ends)
      ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
    ExpectPlannedTraffic(ends);
    // 20 draws are too few, and the result says so.
    EXPECT_EQ(testing::DocumentOf(*ends[0].outcome).ending, study::Ending::kNotConverged);
    EXPECT_THAT(testing::DocumentOf(*ends[0].outcome).sections[0].paragraphs,
                Contains(HasSubstr("have not converged")));
    // What is claimed travels with the numbers, and where nothing is, that does.
    const auto json = nlohmann::json::parse(testing::DocumentOf(*ends[0].outcome).json);
    const auto& outside = json["privacy"]["rows"][0];
    EXPECT_EQ(outside["adversary"]["text"], "outside analyst");
    EXPECT_EQ(outside["epsilon"] == "infinite", engine != "dealer");
    if (engine == "dealer") {
      EXPECT_TRUE(ends[0].outcome->checks.empty());
      EXPECT_TRUE(ends[0].outcome->plan.privacy_statement.has_value());
    }
  }
}

// Seven registries of whom two, not three, may pool what they have: messages are the plan's, and
// plan and result say who sees everything. Another threshold is another study and another plan.
TEST(McmcStudyTest, AChainBelowTheLargestThreshold) {
  Options options;
  options.engine = "shamir";
  options.holders = {"north", "b", "c", "d", "e", "f", "g"};
  options.threshold = "threshold = 2\n";
  options.analysis =
      "protocol = \"decisions\"\nmodel = \"logistic\"\noutcome = \"low\"\npredictors = "
      "[\"z_lwt\"]\nrelease = [\"decisions\"]\nchains = 2\nwarmup = 10\ndraws = 10\n"
      "[analysis.privacy]\nepsilon = 50\ndelta = 1e-5\nadjacency = \"replace\"\nclip = 0.05\n";
  const auto ends = RunStudy(options);
  for (const auto& end : ends) ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
  ExpectPlannedTraffic(ends);
  const study::Plan& plan = ends[0].outcome->plan;
  EXPECT_EQ(plan.threshold, 2u);
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("Here 2 of 7 parties may collude")));
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("3 together see everything. Up to 2 wrong")));
  EXPECT_THAT(plan.assumptions, Not(Contains(HasSubstr("fewer than half"))));
  size_t coalitions = 0;
  for (const auto& row : plan.privacy_statement->rows) {
    if (row.adversary.kind != privacy::AdversaryKind::kCoalition) continue;
    ++coalitions;
    EXPECT_EQ(row.loss.infinite, row.adversary.size > 2) << row.adversary.size;
  }
  EXPECT_EQ(coalitions, 5u);  // of two to six

  options.threshold = "";
  const study::Plan largest = run::BuildPlan(*Prepare(options));
  EXPECT_EQ(largest.threshold, 3u);
  EXPECT_NE(plan.study_file_hash, largest.study_file_hash);
  EXPECT_NE(study::PlanHash(plan), study::PlanHash(largest));
}

TEST(McmcStudyTest, TooFewRowsOpenNothing) {
  Options options;
  options.analysis = Logistic("chains = 2\nwarmup = 4\ndraws = 4\nspeculation = 2\n");
  options.disclosure = "min_rows = 190\n";  // there are 189
  const auto refused = RunStudy(options);
  for (const auto& end : refused) EXPECT_TRUE(end.error.has_value()) << end.party;
  ASSERT_NE(run::RootCause(refused), nullptr);
  EXPECT_EQ(run::RootCause(refused)->error->code(), ErrorCode::kRefused);
  EXPECT_THAT(run::RootCause(refused)->error->message(), HasSubstr("min_rows = 190"));
  options.disclosure = "min_rows = 189\n";
  for (const auto& end : RunStudy(options)) EXPECT_FALSE(end.error) << end.party;
  // 12 births with hypertension.
  options.disclosure = "min_cell = 13\n";
  const auto ends = RunStudy(options);
  ASSERT_NE(run::RootCause(ends), nullptr);
  EXPECT_THAT(run::RootCause(ends)->error->message(), HasSubstr("where ht is 1"));
}

std::string Private(double epsilon, const std::string& adjacency) {
  return fmt::format(
      "[analysis.privacy]\nepsilon = {}\ndelta = 1e-5\nadjacency = \"{}\"\nclip = 0.005\n", epsilon,
      adjacency);
}

TEST(McmcStudyTest, PromisesAreKeptOrRefused) {
  Options options;
  const std::string chains = "chains = 4\nwarmup = 500\ndraws = 1000\n";
  options.analysis = Logistic(chains + Private(6, "replace"));
  const auto study = Prepare(options);
  EXPECT_TRUE(study->IsPrivate());
  const study::Plan plan = run::BuildPlan(*study);
  EXPECT_TRUE(plan.checks.empty());
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("not the posterior")));
  EXPECT_EQ(plan.privacy.front().adversary, "outside analyst");
  EXPECT_THAT(plan.privacy.front().loss, HasSubstr("eps <= "));
  EXPECT_THAT(plan.privacy.front().loss, HasSubstr("follow the protocol"));
  // 6000 decisions at Delta = 0.02: mu = 0.02 sqrt(6000) / 2 = 0.77 at least.
  const double epsilon = plan.privacy_statement->rows.front().loss.epsilon_upper;
  EXPECT_GT(epsilon, 0.77);
  privacy::ledger::Policy policy;
  policy.table = "births";
  policy.outside.adjacency = privacy::Adjacency::kReplace;
  policy.insider = policy.outside;
  policy.coalition = 2;
  const auto charges = study->Charges(policy);
  ASSERT_EQ(charges.size(), 3u);  // outside, the dealer, two parties
  for (const auto& charge : charges) {
    EXPECT_EQ(std::get<privacy::ledger::ApproximateDp>(charge.mechanism).epsilon, epsilon);
  }
  // Twice the chains, or half the promise.
  options.analysis = Logistic(chains + Private(0.5, "replace"));
  try {
    Prepare(options);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kBadInput);
    EXPECT_THAT(error.message(), HasSubstr("the 6000 decisions cost epsilon"));
  }
  // Added or removed rows move half as much.
  options.analysis = Logistic(chains + Private(6, "add-remove"));
  const auto hidden = Prepare(options);
  EXPECT_LT(run::BuildPlan(*hidden).privacy_statement->rows.front().loss.epsilon_upper,
            0.6 * epsilon);
}

// Bounded steps instead of cut rows: the posterior itself, and the promise it is under.
TEST(McmcStudyTest, ShortStepsKeepThePosterior) {
  const auto bounded = [](const std::string& lines) {
    return "[analysis.privacy]\nepsilon = 50\ndelta = 1e-5\nadjacency = \"replace\"\n" + lines;
  };
  Options options;
  options.analysis =
      Logistic("chains = 4\nwarmup = 40\ndraws = 60\n" + bounded("lipschitz = 0.05\n"));
  const auto ends = RunStudy(options);
  for (const auto& end : ends) ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
  ExpectPlannedTraffic(ends);
  const study::Plan& plan = ends[0].outcome->plan;
  EXPECT_THAT(plan.assumptions, Contains(HasSubstr("samples the posterior itself")));
  EXPECT_THAT(plan.assumptions, Not(Contains(HasSubstr("not the posterior"))));
  EXPECT_THAT(plan.privacy_statement->mechanism,
              HasSubstr("within 0.1001 of each other"));  // rounded up
  // 400 decisions at Delta = 0.1: mu = 0.1 sqrt(400) / 2 = 1 at least.
  EXPECT_GT(plan.privacy_statement->rows.front().loss.epsilon_upper, 1);
  // A draw is no further from the one before than a step is long. Columns' bounds: 1 of the
  // intercept, of z_smoke (1 - mean) / sd at most.
  std::stringstream draws(FileOf(ends[0], "draws.csv").contents);
  std::string line, cell;
  std::getline(draws, line);
  std::vector<double> before;
  while (std::getline(draws, line)) {
    std::vector<double> values;
    std::stringstream cells(line);
    while (std::getline(cells, cell, ',')) values.push_back(std::stod(cell));
    if (values[1] > 1) {
      double moved = 0;
      for (size_t j = 3; j < values.size(); ++j) moved += std::abs(values[j] - before[j]);
      EXPECT_LE(moved, 0.05 * (1 + 1e-9));  // every bound is 1 or more
    }
    before = values;
  }
  const auto refusal = [&](const std::string& analysis) {
    options.analysis = analysis;
    try {
      Prepare(options);
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal(Logistic(bounded("lipschitz = 0.05\nclip = 0.05\n"))),
              HasSubstr("one of them is enough"));
  EXPECT_THAT(refusal(Logistic("[analysis.start]\nz_age = 2000\n" + bounded("lipschitz = 0.05\n"))),
              HasSubstr("too far from 0"));
  EXPECT_THAT(
      refusal("protocol = \"decisions\"\nmodel = \"linear\"\noutcome = \"z_lwt\"\nrelease = "
              "[\"decisions\"]\npredictors = [\"z_age\"]\n" +
              bounded("lipschitz = 0.05\n")),
      HasSubstr("by any amount"));
  EXPECT_THAT(refusal("protocol = \"penalty\"\nmodel = \"logistic\"\noutcome = \"low\"\nrelease = "
                      "[\"noisy-log-ratios\"]\npredictors = [\"z_age\"]\n" +
                      bounded("lipschitz = 0.05\nnoise = 10\n")),
              HasSubstr("rows that are cut"));
}

// Delayed acceptance by a line of the study file: messages are the plan's, twice as many bits open,
// and the statement says so.
TEST(McmcStudyTest, TwoStages) {
  Options options;
  options.engine = "replicated";
  options.analysis =
      Logistic("chains = 4\nwarmup = 40\ndraws = 60\nfirst_stage = 0.3\n" + Private(50, "replace"));
  const auto ends = RunStudy(options);
  for (const auto& end : ends) ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
  ExpectPlannedTraffic(ends);
  const study::Plan& plan = ends[0].outcome->plan;
  EXPECT_THAT(plan.analyses.at(0).model, HasSubstr("in two stages, about 30 % of the rows"));
  EXPECT_EQ(plan.exposures.at(0).opened, 2u * 4 * 100);
  EXPECT_THAT(plan.privacy_statement->mechanism, HasSubstr("in two stages"));
  const auto refusal = [&](const std::string& analysis) {
    options.analysis = analysis;
    try {
      Prepare(options);
    } catch (const Error& error) {
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refusal(Logistic("first_stage = 0\n")), HasSubstr("from 0.01 to 0.99"));
  EXPECT_THAT(refusal(Logistic("first_stage = 0.2\nspeculation = 2\n")),
              HasSubstr("without speculation"));
  EXPECT_THAT(
      refusal("protocol = \"noisy-sums\"\nrelease = [\"noisy-sums\"]\nmodel = \"logistic\"\n"
              "outcome = \"low\"\npredictors = [\"z_lwt\"]\nfirst_stage = 0.2\n"),
      HasSubstr("decides in two stages"));
}

TEST(McmcStudyTest, WhatChainsDoNotKnowIsRefused) {
  const auto message = [](const Options& options) {
    try {
      Prepare(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_FALSE(error.hint().empty());
      return error.message();
    }
    return std::string("accepted");
  };
  Options options;
  options.analysis = Logistic("");
  EXPECT_EQ(message(options), "accepted");
  options.design = "site = \"fixed\"\nmissing = \"refuse\"\n";
  EXPECT_THAT(message(options), HasSubstr("effects of sites"));
  options.design = "site = \"ignore\"\nmissing = \"fiml\"\n";
  EXPECT_THAT(message(options), HasSubstr("imputes nothing"));
  options.design =
      "site = \"ignore\"\nmissing = \"refuse\"\nweights = \"lwt\"\nweights_type = "
      "\"sampling\"\n";
  EXPECT_THAT(message(options), HasSubstr("weights"));
}

// Steps so long that nothing is accepted, and a prior that is none: the result says both.
TEST(McmcStudyTest, ChainsThatNeverMoveAndFlatPriorsAreWarnedOf) {
  Options options;
  options.analysis = Logistic(
      "chains = 2\nwarmup = 0\ndraws = 8\nstep = 1000\n[analysis.priors]\ncoefficients = "
      "\"flat\"\n");
  EXPECT_THAT(run::BuildPlan(*Prepare(options)).notes,
              Contains(HasSubstr("Prior of z_age: flat, which is no distribution")));
  const auto ends = RunStudy(options);
  for (const auto& end : ends) ASSERT_FALSE(end.error) << end.party << ": " << end.error->message();
  const study::Document& document = testing::DocumentOf(*ends[0].outcome);
  EXPECT_EQ(document.ending, study::Ending::kNotConverged);
  const auto warnings = nlohmann::json::parse(document.json)["warnings"].dump();
  EXPECT_THAT(warnings, HasSubstr("The prior of z_age is flat"));
  EXPECT_THAT(warnings, HasSubstr("Chain 2 accepted no proposal"));
  EXPECT_EQ(nlohmann::json::parse(document.json)["acceptance_rate"], 0);
}

// Runs with a ledger and a folder for the state at every holder.
class McmcRunsTest : public testing::InterruptedRuns {
 protected:
  static constexpr uint64_t kBlocks = 50;  // of two decisions of three chains

  void SetUp() override {
    InterruptedRuns::SetUp();
    auto columns = stats::mcmc::testing::ReadColumns("gpl/birthwt.csv");
    for (size_t holder = 0; holder < kHolders.size(); ++holder) {
      WriteTable(Data(kHolders[holder]), holder, columns);
      OpenLedger(kHolders[holder], "1000");
    }
    study_ = Prepare(ShortChain(Private(6, "replace")));
  }

  static Options ShortChain(const std::string& more) {
    Options options;
    options.analysis = Logistic("chains = 3\nwarmup = 40\ndraws = 60\nspeculation = 2\n" + more);
    return options;
  }
  static uint64_t Opened(const testing::End& end, const std::string& release) {
    for (const mpc::CountingReleaseGate::Count& count : end.outcome->releases) {
      if (count.release.id == release) return count.opened;
    }
    return UINT64_MAX;
  }
  // The seed and all decisions that a holder has on disk.
  std::string Recorded(const std::string& holder) const {
    std::ifstream in(State(holder) / "record", std::ios::binary);
    const std::string file(std::istreambuf_iterator<char>(in), {});
    ByteWriter before;  // magic, what it is bound to, how many may be open
    before.String("partita chain record 2");
    const size_t first = before.bytes().size() + 32 + 8;
    return file.substr(first, file.size() - first - 32);
  }
  void ExpectCharges(uint64_t count) {
    for (const std::string& holder : kHolders) EXPECT_EQ(StudiesSpent(holder), count) << holder;
  }

  std::unique_ptr<const run::Study> study_;
};

// Stages of 20, 30 and 50 decisions, stopped at the end of the second: parties and dealer find their
// way through the stages that were made, and none opens twice.
TEST_F(McmcRunsTest, StopInALaterStageAndGoOn) {
  Options options;
  options.analysis =
      Logistic("chains = 3\nwarmup = 10\ndraws = 10\nspeculation = 2\nmost_decisions = 100\n" +
               Private(6, "replace"));
  const auto study = Prepare(options);
  for (const auto& [party, end] : Run(*study, true, "south", 50)) EXPECT_TRUE(end.error) << party;
  const auto ends = Run(*study, true);
  testing::ExpectAllDone(ends);
  ASSERT_FALSE(HasFailure());
  ExpectCharges(1);
  const uint64_t opened = Opened(ends.at("north"), "decisions");
  EXPECT_GE(opened, kBlocks - 26);
  EXPECT_LE(opened, kBlocks - 25);
  const std::string& draws = testing::DocumentOf(*ends.at("north").outcome).files.at(0).contents;
  for (const std::string& holder : kHolders)
    EXPECT_EQ(testing::DocumentOf(*ends.at(holder).outcome).files.at(0).contents, draws);
  const auto again = Run(*study, true);
  testing::ExpectAllDone(again);
  EXPECT_EQ(Opened(again.at("west"), "decisions"), 0u);
}

TEST_F(McmcRunsTest, StopAndGoOn) {
  const auto stopped = Run(*study_, true, "south", 50);
  for (const auto& [party, end] : stopped) EXPECT_TRUE(end.error) << party;
  for (const std::string& holder : kHolders)
    EXPECT_THAT(stopped.at(holder).error->hint(), HasSubstr("the run goes on where it stopped"));
  // Without a folder for its state a run has nothing to go on from.
  for (const auto& [party, end] : Run(*Prepare(ShortChain("")), false, "south", 20)) {
    ASSERT_TRUE(end.error) << party;
    EXPECT_THAT(end.error->hint(), Not(HasSubstr("goes on"))) << party;
  }
  ExpectCharges(1);
  std::map<std::string, std::string> known;
  for (const std::string& holder : kHolders) known[holder] = Recorded(holder);

  const auto ends = Run(*study_, true);
  testing::ExpectAllDone(ends);
  ASSERT_FALSE(HasFailure());
  ExpectCharges(1);
  // No bit that was known is another one, none of the blocks that may have been open opens again.
  for (const std::string& holder : kHolders) {
    EXPECT_EQ(Recorded(holder).substr(0, known[holder].size()), known[holder]) << holder;
  }
  // South stopped behind 25 blocks, and nobody came further than into the next one.
  const uint64_t opened = Opened(ends.at("north"), "decisions");
  EXPECT_GE(opened, kBlocks - 26);
  EXPECT_LE(opened, kBlocks - 25);
  const std::string& draws = testing::DocumentOf(*ends.at("north").outcome).files.at(0).contents;
  for (const std::string& holder : kHolders) {
    EXPECT_EQ(testing::DocumentOf(*ends.at(holder).outcome).files.at(0).contents, draws);
  }
  EXPECT_TRUE(ends.at("north").outcome->ledger.spent);

  // A run that is over gives its result again.
  const auto again = Run(*study_, true);
  testing::ExpectAllDone(again);
  ASSERT_FALSE(HasFailure());
  EXPECT_EQ(Opened(again.at("west"), "decisions"), 0u);
  EXPECT_EQ(testing::DocumentOf(*again.at("west").outcome).files.at(0).contents, draws);
  ExpectCharges(1);
}

// A holder whose table is another one cannot go on, and nothing opens.
TEST_F(McmcRunsTest, AnotherTableDoesNotGoOn) {
  Run(*study_, true, "south", 50);
  auto columns = stats::mcmc::testing::ReadColumns("gpl/birthwt.csv");
  WriteTable(Data("south"), 0, columns);
  const std::string known = Recorded("north");
  const auto ends = Run(*study_, true);
  ASSERT_TRUE(ends.at("south").error);
  EXPECT_EQ(ends.at("south").error->code(), ErrorCode::kRefused);
  EXPECT_THAT(ends.at("south").error->message(), HasSubstr("another study, plan or table"));
  ASSERT_TRUE(ends.at("north").error);
  EXPECT_EQ(Recorded("north"), known);
  ExpectCharges(1);
}

// What only `mle` has says so.
TEST(McmcStudyTest, IsNoStudyOfMle) {
  Options options;
  options.analysis = Logistic("");
  const auto study = Prepare(options);
  EXPECT_THROW(RequireChecks(*study, "an audit"), Error);
  EXPECT_EQ(study->Method().name, "mcmc");
  EXPECT_EQ(study->Size().free_parameters, 6u);
}

}  // namespace
}  // namespace partita::methods::mcmc::mcmc_study_test
