// partita regression, on the example collection: simulate, fit, predict, bounds, encode, and what
// they say to bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::regression_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

const std::filesystem::path kExample =
    std::filesystem::path(SourcePath()) / "examples" / "regression_of_many_clients";
const std::string kTable = (kExample / "clients.csv").string();

// X25519 public keys of RFC 7748, sections 6.1 and 5.2.
constexpr const char* kBoxKeys[] = {
    "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
    "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
    "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c"};

class RegressionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const StudyFolder folder;
    for (const char* name : {"north", "south", "west"}) {
      const std::string out = folder.path() + "/" + name + "-keys";
      const ProcessResult run = Partita({"cert", "new", name, "--folder", out});
      ASSERT_EQ(run.exit_code, 0) << run.err;
      nodes_ += std::string("\n[[node]]\nname = \"") + name + "\"\naddress = \"" + name +
                ".example.org:7500\"\ncertificate = \"\"\"\n" +
                StudyFolder::Read(out + "/cert.pem") + "\"\"\"\nbox_key = \"" +
                kBoxKeys[name[0] == 'n'   ? 0
                         : name[0] == 's' ? 1
                                          : 2] +
                "\"\n";
    }
  }

  RegressionTest() : collection_(folder_.path() + "/collection.toml") {
    StudyFolder::Write(collection_,
                       StudyFolder::Read((kExample / "collection.toml").string()) + nodes_);
  }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  Json Data(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--collection", collection_, "--format", "jsonl"});
    const ProcessResult run = Partita(all);
    EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
    return Json::parse(run.out)["data"];
  }

  ProcessResult Text(const std::vector<std::string>& arguments) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--collection", collection_});
    return Partita(all);
  }

  static std::string nodes_;
  StudyFolder folder_;
  std::string collection_;
};
std::string RegressionTest::nodes_;

TEST_F(RegressionTest, SimulatesFitsAndPredicts) {
  const std::string sum = Path("sum.json"), html = Path("report.html");
  const Json simulated =
      Data({"regression", "simulate", kTable, "--sum", sum, "--html", html})["fit"];
  ASSERT_EQ(simulated["coefficients"].size(), 5u);
  EXPECT_EQ(simulated["coefficients"][1]["name"], "age");
  EXPECT_EQ(simulated["coefficients"][4]["name"], "smoker.current");
  EXPECT_EQ(simulated["rows"], 600);
  for (const Json& row : simulated["coefficients"]) {
    EXPECT_LT(row["lower"], row["mean"]);
    EXPECT_GT(row["upper"], row["mean"]);
    EXPECT_GE(row["noise_factor"], 1);
  }
  // The statement charges what was asked for, against the fewest that protect.
  const Json& rows = simulated["statements"][0]["rows"];
  EXPECT_LE(rows[0]["epsilon"]["upper"], 2.0);
  EXPECT_EQ(rows[0]["adjacency"], "replace");
  EXPECT_THAT(StudyFolder::Read(html), HasSubstr("<svg"));
  EXPECT_THAT(StudyFolder::Read(html), HasSubstr("do not repair what clipping"));

  // Post-processing: the same sum, the same answer.
  EXPECT_EQ(Data({"regression", "fit", sum}), simulated);
  // What the packages for R and Python read, and recorded_results_test holds.
  if (std::getenv("PARTITA_RECORD") != nullptr) {
    StudyFolder::Write(SourcePath("bindings/recorded/sums.json"),
                       Text({"regression", "fit", sum, "--format", "json"}).out);
  }
  const ProcessResult text = Text({"regression", "fit", sum});
  EXPECT_THAT(text.out, HasSubstr("Linear regression of pressure on a private sum"));
  EXPECT_THAT(text.out, HasSubstr("smoker.current"));
  EXPECT_THAT(text.out, HasSubstr("outside analyst"));

  const Json predicted =
      Data({"regression", "predict", (kExample / "new.csv").string(), "--sum", sum})["predictions"];
  ASSERT_EQ(predicted.size(), 2u);
  for (const Json& p : predicted) {
    EXPECT_LT(p["lower"], p["mean"]);
    EXPECT_GT(p["upper"], p["mean"]);
    EXPECT_GT(p["mean"], 60);
    EXPECT_LT(p["mean"], 260);
  }
}

TEST_F(RegressionTest, LaplaceNoiseHasAPureEpsilon) {
  folder_.Edit(collection_, "outcome =", "noise = \"laplace\"\noutcome =");
  folder_.Edit(collection_, "delta = 1e-6\n", "");
  const Json fit = Data({"regression", "simulate", kTable})["fit"];
  for (const Json& row : fit["statements"][0]["rows"]) {
    if (row.contains("epsilon") && row["epsilon"].is_object()) {
      EXPECT_EQ(row["delta"], 0);
      EXPECT_LE(row["epsilon"]["upper"], 2.0 + 1e-9);
    }
  }
}

const std::string kLogistic = R"(collection = 1
name = "illness"
deadline = "2030-01-01T00:00:00Z"
[clients]
planned = 2000
max_drop = 10
max_collude = 5
admission = "registered"
[privacy]
epsilon = 20
delta = 1e-6
noise_from = "clients"
[regression]
outcome = "ill"
predictors = ["age", "dose"]
[[variable]]
name = "age"
type = "numeric"
lower = 20
upper = 80
[[variable]]
name = "dose"
type = "numeric"
lower = 0
upper = 4
[[variable]]
name = "ill"
type = "integer"
lower = 0
upper = 1
)";

// Log odds -1.5 + 0.05 (age - 50) + 0.8 dose, of 2000 clients.
std::string IllnessTable() {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> unit;
  std::string csv = "age,dose,ill\n";
  for (int row = 0; row < 2000; ++row) {
    const double age = 20 + 60 * unit(random), dose = 4 * unit(random);
    const double logit = -1.5 + 0.05 * (age - 50) + 0.8 * dose;
    const int ill = unit(random) < 1 / (1 + std::exp(-logit)) ? 1 : 0;
    csv += std::to_string(age) + "," + std::to_string(dose) + "," + std::to_string(ill) + "\n";
  }
  return csv;
}

TEST_F(RegressionTest, LogisticRegressionByPrivateSums) {
  StudyFolder::Write(collection_, kLogistic + nodes_);
  const std::string table = Path("clients.csv");
  StudyFolder::Write(table, IllnessTable());
  const std::vector<std::string> command = {"regression", "logistic",    table, "--batch",
                                            "250",        "--epochs",    "12",  "--step",
                                            "0.08",       "--clip-norm", "1.5"};
  const Json fit = Data(command);
  EXPECT_EQ(fit["sums"], 96);
  ASSERT_EQ(fit["coefficients"].size(), 3U);
  EXPECT_EQ(fit["coefficients"][0]["name"], "(Intercept)");
  EXPECT_EQ(fit["coefficients"][2]["name"], "dose");
  // For predictors in [-1, 1] the slopes are 1.5 and 1.6; rows, noise and optimiser together move
  // them by about 0.1, so these bars are six times that.
  EXPECT_NEAR(fit["coefficients"][1]["mean"], 0.05, 0.6 / 30);
  EXPECT_NEAR(fit["coefficients"][2]["mean"], 0.8, 0.6 / 2);
  for (const Json& row : fit["coefficients"]) {
    EXPECT_LT(row["lower"], row["mean"]);
    EXPECT_GT(row["upper"], row["mean"]);
  }
  // The whole training costs the collection's epsilon, against whom the noise is sized for.
  const Json& rows = fit["statement"]["rows"];
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_LT(rows[0]["epsilon"]["upper"], 20);
  EXPECT_NEAR(rows[2]["epsilon"]["upper"], 20, 1e-3);

  std::vector<std::string> cheaper = command;
  cheaper.insert(cheaper.end(), {"--epsilon", "2", "--max-drop", "0"});
  const ProcessResult text = Text(cheaper);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("leave the privacy noise out"));
  EXPECT_THAT(text.out, HasSubstr("sampling them adds no privacy"));
}

TEST_F(RegressionTest, AClassifierByPrivateSums) {
  StudyFolder::Write(collection_, kLogistic + nodes_);
  const std::string table = Path("clients.csv");
  StudyFolder::Write(table, IllnessTable());
  for (const std::string trainer : {"dp-sgd", "dp-adam"}) {
    const Json fit = Data({"regression", "logistic", table, "--batch", "250", "--epochs", "12",
                           "--clip-norm", "1.5", "--step", trainer == "dp-sgd" ? "4" : "0.1",
                           "--lambda", "0", "--trainer", trainer});
    EXPECT_EQ(fit["sums"], 96);
    EXPECT_EQ(fit["trainer"], trainer);
    ASSERT_EQ(fit["coefficients"].size(), 3U);
    EXPECT_TRUE(fit["coefficients"][1]["lower"].is_null());
    // As above.
    EXPECT_NEAR(fit["coefficients"][1]["mean"], 0.05, 0.6 / 30) << trainer;
    EXPECT_NEAR(fit["coefficients"][2]["mean"], 0.8, 0.6 / 2) << trainer;
    EXPECT_NEAR(fit["statement"]["rows"][2]["epsilon"]["upper"], 20, 1e-3);
  }
  EXPECT_THAT(Text({"regression", "logistic", table, "--batch", "250", "--trainer", "dp-sgd"}).out,
              HasSubstr("Without intervals"));
}

TEST_F(RegressionTest, LogisticMistakesAreExplained) {
  const auto refused = [&](std::vector<std::string> arguments, const std::string& what) {
    const ProcessResult run = Text(std::move(arguments));
    EXPECT_NE(run.exit_code, 0) << what;
    EXPECT_THAT(run.err, HasSubstr(what));
    EXPECT_THAT(run.err, HasSubstr("hint"));
  };
  refused({"regression", "logistic", kTable}, "'pressure' is no outcome of a logistic regression");
  StudyFolder::Write(collection_, kLogistic + nodes_);
  const std::string table = Path("clients.csv");
  StudyFolder::Write(table, IllnessTable());
  refused({"regression", "logistic", table, "--batch", "300"}, "batches");
  // Nobody's noise would remain in a batch of 16.
  refused({"regression", "logistic", table, "--batch", "16"}, "16 clients cannot protect");
  StudyFolder::Write(table, "age,dose,ill\n30,1,2\n");
  refused({"regression", "logistic", table}, "'ill' of row 1 is neither 0 nor 1");
  folder_.Edit(collection_, "delta = 1e-6\n", "");
  folder_.Edit(collection_, "outcome =", "noise = \"laplace\"\noutcome =");
  StudyFolder::Write(table, "age,dose,ill\n30,1,1\n");
  refused({"regression", "logistic", table}, "has no delta");
}

TEST_F(RegressionTest, TheSpreadGivesTighterBounds) {
  folder_.Edit(collection_, "outcome =", "collects = \"spread\"\noutcome =");
  const std::string sum = Path("spread.json");
  EXPECT_TRUE(Data({"regression", "simulate", kTable, "--sum", sum})["fit"].is_null());
  const Json bounds = Data({"regression", "bounds", sum, "--epsilon", "1.4"});
  ASSERT_TRUE(bounds["clip"].contains("pressure"));
  EXPECT_GE(bounds["clip"]["pressure"][0], 60);
  EXPECT_LE(bounds["clip"]["pressure"][1], 260);
  EXPECT_FALSE(bounds["clip"].contains("smoker"));
  const ProcessResult text = Text({"regression", "bounds", sum, "--epsilon", "1.4"});
  EXPECT_THAT(text.out, HasSubstr("[regression.clip]\n"));
  EXPECT_THAT(text.err, HasSubstr("add up"));
  // No regression can be fitted to it.
  const ProcessResult fit = Text({"regression", "fit", sum});
  EXPECT_NE(fit.exit_code, 0);
  EXPECT_THAT(fit.err, HasSubstr("collects the spread"));
}

TEST_F(RegressionTest, EncodesARowAndTellsItsOwnerOfClipping) {
  StudyFolder::Write(Path("row.csv"), "age,bmi,smoker,pressure\n40,55,never,120\n");
  const std::string vector = Path("row.txt");
  EXPECT_EQ(Data({"regression", "encode", Path("row.csv"), "--output", vector + "2"})["length"],
            20);
  const ProcessResult run = Text({"regression", "encode", Path("row.csv"), "--output", vector});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("bmi: 1 of 1 rows"));
  const std::string text = StudyFolder::Read(vector);
  // 1, age, bmi, two contrasts and the outcome: 21 products less that of the ones.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 20);
  EXPECT_NE(Text({"regression", "encode", Path("row.csv"), "--output", vector}).exit_code, 0);
  EXPECT_NE(
      Text({"regression", "encode", Path("row.csv"), "--row", "2", "--output", Path("other.txt")})
          .exit_code,
      0);
}

TEST_F(RegressionTest, BadInputIsNamed) {
  const std::string sum = Path("sum.json");
  ASSERT_EQ(Text({"regression", "simulate", kTable, "--sum", sum}).exit_code, 0);
  const std::string good = StudyFolder::Read(sum);
  const auto refused = [&](const std::string& text, const std::string& what) {
    StudyFolder::Write(sum, text);
    const ProcessResult run = Text({"regression", "fit", sum});
    EXPECT_NE(run.exit_code, 0) << what;
    EXPECT_THAT(run.err, HasSubstr(what));
    EXPECT_THAT(run.err, HasSubstr("hint"));
  };
  refused("", "is no private sum");
  refused("[]", "is no private sum");
  refused("{\"grid\": 3", "is no private sum");
  Json json = Json::parse(good);
  json["grid"][0] = "1e5";
  refused(json.dump(), "no integer");
  json["grid"][0] = std::string(60, '9');
  refused(json.dump(), "no integer");
  json["grid"][0] = 5;
  refused(json.dump(), "no text");
  json = Json::parse(good);
  json["grid"].erase(0);
  refused(json.dump(), "19 entries");
  json = Json::parse(good);
  json["clients"] = 601;
  refused(json.dump(), "601 clients");
  json["clients"] = -1;
  refused(json.dump(), "is no private sum");
  StudyFolder::Write(sum, good);
  // Another model: another sum.
  folder_.Edit(collection_, "bmi = [16, 38]", "bmi = [16, 39]");
  EXPECT_THAT(Text({"regression", "fit", sum}).err, HasSubstr("another collection"));
  // A table that is too short, one that lacks a column, a collection that is none of a regression.
  StudyFolder::Write(Path("short.csv"), "age,bmi,smoker,pressure\n40,25,never,120\n");
  EXPECT_THAT(Text({"regression", "simulate", Path("short.csv")}).err, HasSubstr("1 rows"));
  StudyFolder::Write(Path("lacks.csv"), "age,bmi,pressure\n40,25,120\n");
  EXPECT_THAT(Text({"regression", "simulate", Path("lacks.csv")}).err, HasSubstr("smoker"));
  folder_.Edit(collection_, "outcome = \"pressure\"", "outcome = \"presure\"");
  EXPECT_THAT(Text({"regression", "simulate", kTable}).err, HasSubstr("did you mean 'pressure'"));
}

}  // namespace
}  // namespace partita::testing::regression_test
