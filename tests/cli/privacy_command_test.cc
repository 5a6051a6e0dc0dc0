// partita privacy: numbers against closed forms and against each other, every kind of bad input,
// and the worked examples of the document.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::privacy_command_test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<std::string> Words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// Without line breaks and columns.
std::string OneLine(const std::string& text) {
  std::string line;
  for (const std::string& word : Words(text)) line += word + " ";
  return line;
}

ProcessResult Privacy(const std::string& arguments, const std::vector<std::string>& more = {}) {
  std::vector<std::string> all = Words("privacy " + arguments);
  all.insert(all.end(), more.begin(), more.end());
  return Partita(all);
}

json DataOf(const std::string& arguments, const std::vector<std::string>& more = {}) {
  const ProcessResult result = Privacy(arguments + " --format json", more);
  EXPECT_EQ(result.exit_code, 0) << arguments << "\n" << result.out << result.err;
  return json::parse(result.out).value("data", json());
}

struct Ends {
  double lower, upper;
};
Ends EndsOf(const json& data) { return {data["epsilon"]["lower"], data["epsilon"]["upper"]}; }
Ends Epsilon(const std::string& arguments) { return EndsOf(DataOf(arguments)); }

void ExpectHolds(const Ends& ends, double truth, double width) {
  EXPECT_LE(ends.lower, truth);
  EXPECT_GE(ends.upper, truth);
  EXPECT_LE(ends.upper - ends.lower, width * ends.upper);
}

double NormalTail(double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); }

// Balle & Wang 2018, Theorem 8.
double GaussianDelta(double mu, double epsilon) {
  return NormalTail(epsilon / mu - mu / 2) - std::exp(epsilon) * NormalTail(epsilon / mu + mu / 2);
}

// The type II error of the best test at the type I error NormalTail(x).
double GaussianBeta(double mu, double x) { return NormalTail(mu - x); }

class PrivacyCommandTest : public ::testing::Test {
 protected:
  std::string InFolder(const std::string& name) { return folder_.path() + "/" + name; }
  std::string Written(const std::string& name, const std::string& text) {
    StudyFolder::Write(InFolder(name), text);
    return InFolder(name);
  }
  StudyFolder folder_;
};

// The setting of DPVI-VPD, whose values 150 digits of another computation gave
// (docs/privacy-claims.md).
constexpr char kDpvi[] = "eps gaussian --sigma 2.042 --rate 100/30162 --steps 20000 --delta 1e-5";

TEST_F(PrivacyCommandTest, EpsilonOfAKnownComposition) {
  ExpectHolds(Epsilon(kDpvi), 0.90898, 1e-3);
  ExpectHolds(Epsilon(std::string(kDpvi) + " --adjacency replace --width 1e-4"), 1.82150, 1e-4);
}

// Sampling does not help against whoever knows the batches: the same as without it.
TEST_F(PrivacyCommandTest, WhoeverKnowsTheBatchesGainsNothingFromSampling) {
  const json data = DataOf(std::string(kDpvi) + " --uses 67");
  const json& rows = data["statement"]["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["adversary"]["kind"], "outside-analyst");
  EXPECT_EQ(rows[1]["adversary"]["kind"], "batch-observer");
  EXPECT_EQ(rows[1]["uses_cap"], 67);
  const Ends alone = Epsilon("eps gaussian --sigma 2.042 --steps 67 --delta 1e-5");
  EXPECT_EQ(EndsOf(rows[1]).lower, alone.lower);
  EXPECT_EQ(EndsOf(rows[1]).upper, alone.upper);
  const json all = DataOf(kDpvi)["statement"]["rows"][1];
  EXPECT_EQ(all["uses_cap"], 20000);
  ExpectHolds(EndsOf(all), 2693, 1e-2);
}

TEST_F(PrivacyCommandTest, SaysWhomTheNumberSpeaksFor) {
  const ProcessResult result = Privacy(kDpvi);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("add-remove"), HasSubstr("outside analyst"),
                    HasSubstr("whoever knows the batches"), HasSubstr("with 5 % false alarms"),
                    HasSubstr("20,000 times"), HasSubstr("Poisson sampling")));
  ProcessResult replace = Privacy("eps laplace --scale 2 --delta 1e-6 --adjacency replace");
  replace.out = OneLine(replace.out);
  EXPECT_THAT(replace.out, AllOf(HasSubstr("number of rows is public"),
                                 HasSubstr("moves by 2 at most when it is exchanged"),
                                 HasSubstr("which of two people"), Not(HasSubstr("batches"))));
}

// The share of right guesses is 1 - beta of a bound, and near the Gaussian's own.
TEST_F(PrivacyCommandTest, RightGuessesAreBoundedFromAbove) {
  const json row = DataOf("eps gaussian --sigma 2 --delta 1e-6")["statement"]["rows"][0];
  const double beta = row["beta_at_5_percent_false_alarms"];
  const double exact = GaussianBeta(0.5, 1.6448536269514722);
  EXPECT_LE(beta, exact);
  EXPECT_GE(beta, exact - 5e-3);
  EXPECT_NEAR(row["mu"].get<double>(), 0.5, 1e-9);
}

TEST_F(PrivacyCommandTest, EveryMechanism) {
  // Pure guarantees: where the loss is the largest with probability m, epsilon(delta) is that loss
  // + log(1 - delta / m); for Laplace, whose largest losses are spread, + 2 log(1 - delta).
  const double r = std::exp(-0.25), at_zero = (1 - r) / (1 + r), truth = 1 / (1 + std::exp(-0.7));
  ExpectHolds(Epsilon("eps laplace --scale 4 --sensitivity 2 --delta 1e-3"),
              0.5 + 2 * std::log1p(-1e-3), 1e-3);
  ExpectHolds(Epsilon("eps discrete-laplace --scale 4 --sensitivity 2 --delta 1e-3"),
              0.5 + std::log1p(-1e-3 * 2 / (1 + at_zero)), 1e-3);
  ExpectHolds(Epsilon("eps randomised-response --each-epsilon 0.7 --delta 1e-3"),
              0.7 + std::log1p(-1e-3 / truth), 1e-3);
  // At large sigma the discrete Gaussians are nearly the continuous one.
  const Ends gaussian = Epsilon("eps gaussian --sigma 200 --sensitivity 100 --delta 1e-6");
  const Ends discrete = Epsilon("eps discrete-gaussian --sigma 200 --sensitivity 100 --delta 1e-6");
  EXPECT_NEAR(discrete.upper, gaussian.upper, 2e-3 * gaussian.upper);
  const Ends sum =
      Epsilon("eps discrete-gaussian-sum --sigma 100 --shares 4 --sensitivity 100 --delta 1e-6");
  EXPECT_NEAR(sum.upper, gaussian.upper, 2e-3 * gaussian.upper);
  // (1, 1e-7) once is (1, 1e-7).
  const Ends once =
      Epsilon("eps approximate --each-epsilon 1 --each-delta 1e-7 --delta 1.0000001e-7");
  EXPECT_NEAR(once.lower, 1, 1e-12);
  EXPECT_NEAR(once.upper, 1, 1e-12);
}

TEST_F(PrivacyCommandTest, LawsGivenByTheirProbabilities) {
  const double truth = 1 / (1 + std::exp(-0.7));
  char text[200];
  std::snprintf(text, sizeof text, "p = [%.17g, %.17g]\nq = [%.17g, %.17g]\n", truth, 1 - truth,
                1 - truth, truth);
  const std::string file = Written("pair.toml", text);
  for (const std::string more : {"", " --rate 0.2"}) {
    const std::string tail = " --steps 30 --delta 1e-6" + more;
    const Ends known = Epsilon("eps randomised-response --each-epsilon 0.7" + tail);
    const Ends given = Epsilon("eps pmf --file " + file + tail);
    EXPECT_LE(std::max(known.lower, given.lower), std::min(known.upper, given.upper));
    EXPECT_NEAR(known.upper, given.upper, 1e-3 * known.upper);
  }
}

TEST_F(PrivacyCommandTest, SigmaMeetsTheBudgetAndNotMuchMore) {
  const json data =
      DataOf("sigma gaussian --rate 100/30162 --steps 20000 --epsilon 1 --delta 1e-5");
  EXPECT_NEAR(data["value"].get<double>(), 1.8926, 3e-3);
  EXPECT_EQ(data["parameter"], "sigma");
  EXPECT_LE(EndsOf(data).upper, 1);
  EXPECT_GE(EndsOf(data).lower, 1 - 3e-3);
  // What is printed is what meets it.
  char again[200];
  std::snprintf(again, sizeof again,
                "eps gaussian --sigma %.17g --rate 100/30162 --steps 20000 --delta 1e-5",
                data["value"].get<double>());
  EXPECT_EQ(Epsilon(again).upper, EndsOf(data).upper);
  for (const std::string kind : {"laplace", "discrete-gaussian", "discrete-laplace"}) {
    const json found =
        DataOf("sigma " + kind + " --sensitivity 3 --steps 2 --epsilon 0.5 --delta 1e-6");
    EXPECT_LE(EndsOf(found).upper, 0.5) << kind;
    EXPECT_GE(EndsOf(found).lower, 0.5 * (1 - 3e-3)) << kind;
  }
}

TEST_F(PrivacyCommandTest, StepsAreTheMost) {
  const json data = DataOf("steps gaussian --sigma 2 --rate 0.01 --epsilon 1 --delta 1e-6");
  const uint64_t steps = data["steps"];
  EXPECT_LE(EndsOf(data).upper, 1);
  EXPECT_GT(Epsilon("eps gaussian --sigma 2 --rate 0.01 --delta 1e-6 --steps " +
                    std::to_string(steps + 1))
                .upper,
            1);
  EXPECT_EQ(
      DataOf(
          "steps gaussian --sigma 2 --rate 0.01 --epsilon 1 --delta 1e-6 --max-steps 10")["steps"],
      10);
  const json none = DataOf("steps gaussian --sigma 0.1 --epsilon 1 --delta 1e-6");
  EXPECT_EQ(none["steps"], 0);
  EXPECT_TRUE(none["statement"].is_null());
}

TEST_F(PrivacyCommandTest, CurvesHoldTheGaussian) {
  const std::string csv = InFolder("curve.csv"), page = InFolder("curve.html");
  const json data =
      DataOf("curve gaussian --sigma 1 --delta 1e-6 --csv " + csv + " --plot " + page);
  ASSERT_EQ(data["profile"].size(), 33U);
  for (const json& point : data["profile"]) {
    const double exact = GaussianDelta(1, point["epsilon"]);
    EXPECT_LE(point["delta"]["lower"].get<double>(), exact * (1 + 1e-12));
    EXPECT_GE(point["delta"]["upper"].get<double>(), exact * (1 - 1e-12));
  }
  EXPECT_LE(data["advantage"]["lower"].get<double>(), std::erf(0.5 / std::sqrt(2.0)));
  EXPECT_GE(data["advantage"]["upper"].get<double>(), std::erf(0.5 / std::sqrt(2.0)));
  for (const auto& [alpha, x] : std::vector<std::pair<double, double>>{{0.001, 3.090232306167813},
                                                                       {0.01, 2.3263478740408408},
                                                                       {0.05, 1.6448536269514722},
                                                                       {0.5, 0}}) {
    for (const json& point : data["trade_off"]) {
      if (point["alpha"] != alpha) continue;
      EXPECT_LE(point["beta_lower"].get<double>(), GaussianBeta(1, x) + 1e-12);
      EXPECT_GE(point["beta_upper"].get<double>(), GaussianBeta(1, x) - 1e-12);
    }
  }
  // The table has the same numbers.
  std::istringstream lines(StudyFolder::Read(csv));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, "curve,x,y_lower,y_upper");
  size_t rows = 0;
  for (; std::getline(lines, line); ++rows) {
    if (rows >= 33) continue;
    double x = 0, lower = 0, upper = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "profile,%lf,%lf,%lf", &x, &lower, &upper), 3) << line;
    EXPECT_EQ(x, data["profile"][rows]["epsilon"].get<double>());
    EXPECT_EQ(lower, data["profile"][rows]["delta"]["lower"].get<double>());
    EXPECT_EQ(upper, data["profile"][rows]["delta"]["upper"].get<double>());
  }
  EXPECT_EQ(rows, 33 + data["trade_off"].size());
  const std::string html = StudyFolder::Read(page);
  EXPECT_THAT(html, AllOf(HasSubstr("data-plot=\"trade-off\""), HasSubstr("data-plot=\"profile\""),
                          HasSubstr("report-data"), Not(HasSubstr("src="))));
  // Files are not overwritten.
  const ProcessResult again = Privacy("curve gaussian --sigma 1 --delta 1e-6 --plot " + page);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("exist"));
  EXPECT_EQ(StudyFolder::Read(page), html);
}

TEST_F(PrivacyCommandTest, CompositionsOfUnlikeMechanisms) {
  // Gaussians add up their squares: 1/3^2 + 4 * 1/6^2 = (sqrt(2)/3)^2.
  const json data = DataOf("compose --delta 1e-6", {"--mechanism", "gaussian sigma=3",
                                                    "--mechanism", "gaussian sigma=6 steps=4"});
  const double mu = std::sqrt(2.0) / 3;
  EXPECT_LE(GaussianDelta(mu, EndsOf(data).upper), 1e-6 * (1 + 1e-9));
  EXPECT_GE(GaussianDelta(mu, EndsOf(data).lower), 1e-6 * (1 - 1e-9));
  ASSERT_EQ(data["parts"].size(), 2U);
  EXPECT_EQ(data["parts"][1]["steps"], 4);
  EXPECT_LT(EndsOf(data["parts"][0]).upper, EndsOf(data).upper);

  const std::string file =
      Written("budget.toml",
              "adjacency = \"add-remove\"\ndelta = 1e-6\n"
              "[[mechanism]]\nkind = \"gaussian\"\nsigma = 3\n"
              "[[mechanism]]\nkind = \"gaussian\"\nsigma = \"12/2\"\nsteps = 4\n");
  EXPECT_EQ(DataOf("compose " + file)["epsilon"], data["epsilon"]);
  EXPECT_EQ(DataOf("curve --composition " + file)["epsilon"], data["epsilon"]);
  EXPECT_EQ(DataOf("compare --composition " + file)["accountants"][0]["epsilon"], data["epsilon"]);
}

TEST_F(PrivacyCommandTest, AccountantsSideBySide) {
  const json data = DataOf("compare laplace --scale 10 --steps 200 --delta 1e-6");
  ASSERT_EQ(data["accountants"].size(), 4U);
  std::map<std::string, json> by_name;
  for (const json& row : data["accountants"]) by_name[row["name"]] = row;
  const double lower = by_name["pld"]["epsilon"]["lower"];
  for (const char* name : {"rdp", "advanced"}) {
    EXPECT_TRUE(by_name[name]["applicable"]);
    EXPECT_TRUE(by_name[name]["is_bound"]);
    EXPECT_GE(by_name[name]["epsilon"]["upper"].get<double>(), lower) << name;
  }
  EXPECT_FALSE(by_name["clt"]["is_bound"]);
  EXPECT_FALSE(by_name["clt"]["applicable"]);
  EXPECT_EQ(by_name["clt"]["epsilon"]["upper"], "infinite");
  const ProcessResult text =
      Privacy("compare gaussian --sigma 2 --rate 0.01 --steps 500 --delta 1e-6");
  EXPECT_THAT(text.out, AllOf(HasSubstr("NOT a bound"), HasSubstr("not applicable"),
                              HasSubstr("both ends are proved")));
}

// Where nothing finite holds it says so, in words.
TEST_F(PrivacyCommandTest, InfiniteLosses) {
  const ProcessResult text =
      Privacy("eps approximate --each-epsilon 1 --each-delta 0.1 --delta 1e-3");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("infinite"), HasSubstr("unlimited"), Not(HasSubstr("inf "))));
  const json data = DataOf("curve approximate --each-epsilon 1 --each-delta 0.1 --delta 1e-3");
  EXPECT_EQ(data["epsilon"]["upper"], "infinite");
  EXPECT_EQ(data["statement"]["rows"][0]["epsilon"], "infinite");
  EXPECT_FALSE(data["trade_off"].empty());
}

// Underflow is never an epsilon of 0; 0 is said where delta is already that large.
TEST_F(PrivacyCommandTest, UnderflowIsNotPrivacy) {
  for (const std::string arguments :
       {"eps gaussian --sigma 1e5 --delta 1e-200", "eps gaussian --sigma 1e7 --delta 1e-280",
        "eps laplace --scale 1e7 --delta 1e-280",
        "eps laplace --scale 1e6 --rate 1e-6 --delta 1e-280",
        "eps gaussian --sigma 30 --rate 1e-6 --delta 1e-250",
        "eps randomised-response --each-epsilon 1e-12 --delta 1e-280"}) {
    const json data = DataOf(arguments);
    EXPECT_GT(EndsOf(data).upper, 0) << arguments;
    EXPECT_THAT(Privacy(arguments).out, Not(HasSubstr("0 to 0 "))) << arguments;
  }
  for (const json& point : DataOf("curve gaussian --sigma 0.05 --delta 1e-6 --points 5")["profile"])
    EXPECT_GT(point["delta"]["upper"].get<double>(), 0);
  const ProcessResult zero = Privacy("eps gaussian --sigma 1e6 --delta 1e-5");
  EXPECT_THAT(zero.out, HasSubstr("0 is exact"));
}

struct Bad {
  std::string arguments;
  std::string what;  // in the message
  std::string hint;  // in the hint
};

TEST_F(PrivacyCommandTest, BadInputIsNamedAndExplained) {
  const std::string half = Written("half.toml", "p = [0.5, 0.4]\nq = [0.5, 0.5]\n");
  const std::string uneven = Written("uneven.toml", "p = [0.5, 0.5]\nq = [1.0]\n");
  const std::string negative = Written("negative.toml", "p = [1.5, -0.5]\nq = [0.5, 0.5]\n");
  const std::string typo = Written("typo.toml", "[[mechanism]]\nkind = \"gaussian\"\nsigmas = 2\n");
  const std::string nan = Written("nan.toml", "[[mechanism]]\nkind = \"gaussian\"\nsigma = nan\n");
  const std::string zero = Written("zero.toml", "[[mechanism]]\nkind = \"laplace\"\nscale = 0\n");
  const std::string none = Written("none.toml", "delta = 1e-6\n");
  const std::string broken = Written("broken.toml", "[[mechanism\n");
  const std::string replace = Written(
      "replace.toml", "adjacency = \"replace\"\n[[mechanism]]\nkind = \"gaussian\"\nsigma = 2\n");
  const std::vector<Bad> all = {
      {"eps gaussian --sigma nan --delta 1e-5", "sigma", "100/30162"},
      {"eps gaussian --sigma inf --delta 1e-5", "sigma", ""},
      {"eps gaussian --sigma -inf --delta 1e-5", "sigma", ""},
      {"eps gaussian --sigma 0 --delta 1e-5", "sigma must be positive", ""},
      {"eps gaussian --sigma -2 --delta 1e-5", "sigma must be positive", ""},
      {"eps gaussian --sigma 2x --delta 1e-5", "'2x'", ""},
      {"eps gaussian --sigma 1e-9 --delta 1e-5", "1e-4", "sensitivity"},
      {"eps gaussian --sigma 1e-400 --delta 1e-5", "sigma", ""},
      {"eps gaussian --sigma 1 --sensitivity 0 --delta 1e-5", "sensitivity", ""},
      {"eps gaussian --delta 1e-5", "needs 'sigma'", "standard deviation"},
      {"eps gaussian --sigma 1 --delta 0", "delta", "rows"},
      {"eps gaussian --sigma 1 --delta 1", "delta", ""},
      {"eps gaussian --sigma 1 --delta -0.1", "delta", ""},
      {"eps gaussian --sigma 1 --delta nan", "delta", ""},
      {"eps gaussian --sigma 1 --rate 1.5 --delta 1e-5", "rate must lie in (0, 1]", "batch size"},
      {"eps gaussian --sigma 1 --rate -0.1 --delta 1e-5", "rate", ""},
      {"eps gaussian --sigma 1 --rate 0 --delta 1e-5", "rate", ""},
      {"eps gaussian --sigma 1 --rate nan --delta 1e-5", "rate", ""},
      {"eps gaussian --sigma 1 --rate 5/0 --delta 1e-5", "rate", ""},
      {"eps gaussian --sigma 1 --steps 0 --delta 1e-5", "steps", ""},
      {"eps gaussian --sigma 1 --steps -5 --delta 1e-5", "steps", ""},
      {"eps gaussian --sigma 1 --steps 1.5 --delta 1e-5", "steps", ""},
      {"eps gaussian --sigma 1 --steps 1e300 --delta 1e-5", "2^32", ""},
      {"eps gaussian --sigma 1 --steps 99999999999999999999 --delta 1e-5", "2^32", ""},
      {"eps gaussian --sigma 1 --width 0 --delta 1e-5", "width", ""},
      {"eps gaussian --sigma 1 --width 1e-9 --delta 1e-5", "width", ""},
      {"eps gaussian --sigma 1 --uses 5 --delta 1e-5", "--uses", ""},
      {"eps gaussian --sigma 1 --rate 0.1 --steps 3 --uses 5 --delta 1e-5", "5 times in 3", ""},
      {"eps gaussian --scale 1 --delta 1e-5", "no 'scale'", "sigma"},
      {"eps gaussien --sigma 1 --delta 1e-5", "'gaussien'", "gaussian"},
      {"eps --sigma 1 --delta 1e-5", "sigma belongs to no mechanism", ""},
      {"eps --delta 1e-5", "no mechanism", ""},
      {"eps gaussian --sigma 1 --adjacency near --delta 1e-5", "adjacency", ""},
      {"eps discrete-gaussian --sigma 3 --sensitivity 1.5 --delta 1e-6", "whole", "grid"},
      {"eps discrete-gaussian-sum --sigma 3 --delta 1e-6", "shares", ""},
      {"eps randomised-response --each-epsilon -1 --delta 1e-6", "epsilon", ""},
      {"eps randomised-response --each-epsilon 1e9 --delta 1e-6", "epsilon", ""},
      {"eps approximate --each-epsilon 1 --each-delta 2 --delta 1e-6", "delta", ""},
      {"eps approximate --each-epsilon 1 --each-delta 1e-9 --rate 0.1 --delta 1e-6", "sampling",
       ""},
      {"eps pmf --file " + half + " --delta 1e-6", "sums to 0.9", ""},
      {"eps pmf --file " + uneven + " --delta 1e-6", "2 and 1 outputs", ""},
      {"eps pmf --file " + negative + " --delta 1e-6", "1.5", ""},
      {"eps pmf --file /nowhere.toml --delta 1e-6", "/nowhere.toml", ""},
      {"sigma gaussian --epsilon 0 --delta 1e-6", "epsilon", ""},
      {"sigma gaussian --epsilon nan --delta 1e-6", "epsilon", ""},
      {"sigma gaussian --sigma 2 --epsilon 1 --delta 1e-6", "looked for", ""},
      {"sigma randomised-response --epsilon 1 --delta 1e-6", "no noise", "steps"},
      {"steps gaussian --sigma 2 --steps 5 --epsilon 1 --delta 1e-6", "looked for", ""},
      {"steps gaussian --sigma 2 --max-steps 0 --epsilon 1 --delta 1e-6", "max-steps", ""},
      {"curve gaussian --sigma 1 --delta 1e-6 --points 1", "points", ""},
      {"curve gaussian --sigma 1 --delta 1e-6 --plot /dev/null/folder/a.html", "/dev/null/folder",
       ""},
      {"compose --delta 1e-5", "no mechanism", ""},
      {"compose " + none, "no mechanism", "[[mechanism]]"},
      {"compose " + typo + " --delta 1e-6", "typo.toml:3", ""},
      {"compose " + nan + " --delta 1e-6", "nan.toml:", ""},
      {"compose " + zero + " --delta 1e-6", "zero.toml:2", ""},
      {"compose " + broken + " --delta 1e-6", "broken.toml:1", ""},
      {"compose " + replace, "delta", ""},
      {"compose " + replace + " --adjacency add-remove --delta 1e-6", "adjacency",
       "sensitivities"}};
  for (const Bad& bad : all) {
    SCOPED_TRACE(bad.arguments);
    const ProcessResult text = Privacy(bad.arguments);
    EXPECT_EQ(text.exit_code, 2);
    EXPECT_EQ(text.out, "");
    EXPECT_THAT(text.err, AllOf(HasSubstr("error: "), HasSubstr("hint: "), HasSubstr(bad.what),
                                HasSubstr(bad.hint)));
    const ProcessResult as_json = Privacy(bad.arguments + " --format json");
    EXPECT_EQ(as_json.exit_code, 2);
    const json error = json::parse(as_json.out);
    EXPECT_EQ(error["status"], "error");
    EXPECT_NE(error["hint"], "");
  }
}

TEST_F(PrivacyCommandTest, BadMechanismTexts) {
  for (const std::string text :
       {"", "gaussian sigma", "gaussian sigma=", "gaussian =2", "gaussian sigma=2 sigma=3",
        "gaussian sigma=2 scale=3", "gaussian sigma=-2", "nonsense sigma=2"}) {
    const ProcessResult result = Privacy("compose --delta 1e-6", {"--mechanism", text});
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_THAT(result.err, HasSubstr("hint: ")) << text;
  }
}

TEST_F(PrivacyCommandTest, BudgetsThatNoNoiseMeets) {
  const ProcessResult result = Privacy("sigma gaussian --epsilon 1e-6 --delta 1e-200");
  EXPECT_EQ(result.exit_code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr("no noise"));
}

TEST_F(PrivacyCommandTest, LongWorkCanBeStopped) {
  const ProcessResult result = Privacy(
      "curve gaussian --sigma 2 --rate 0.01 --steps 1e5 --delta 1e-6 --points 1000 --timeout "
      "200ms");
  EXPECT_EQ(result.exit_code, 4) << result.err;
  EXPECT_THAT(result.err, HasSubstr("time limit"));
}

// ---------------------------------------------------------------------------------- the document

// Numbers to a per mille and a half: intervals may move within their width from processor to
// processor. Words exactly; line breaks do not count.
void ExpectSameWords(const std::string& expected, const std::string& shown) {
  const std::vector<std::string> a = Words(expected), b = Words(shown);
  ASSERT_EQ(a.size(), b.size()) << shown;
  for (size_t i = 0; i < a.size(); ++i) {
    double x = 0, y = 0;
    int x_end = 0, y_end = 0;
    const bool numbers = std::sscanf(a[i].c_str(), "%lf%n", &x, &x_end) == 1 &&
                         std::sscanf(b[i].c_str(), "%lf%n", &y, &y_end) == 1 &&
                         a[i].substr(x_end) == b[i].substr(y_end);
    if (numbers) {
      EXPECT_NEAR(x, y, 1.5e-3 * std::abs(x)) << "word " << i << " of " << shown;
    } else {
      EXPECT_EQ(a[i], b[i]) << "word " << i << " of " << shown;
    }
  }
}

// In ```console blocks "$ partita ..." is a command and what follows its output; a ```toml block
// whose first line is "# NAME" is the file NAME.
TEST_F(PrivacyCommandTest, TheExamplesOfTheDocument) {
  std::ifstream file(SourcePath("docs/privacy-cli.md"));
  ASSERT_TRUE(file.is_open());
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  size_t commands = 0;
  std::string line, fence, block;
  while (std::getline(file, line)) {
    if (line.rfind("```", 0) != 0) {
      if (!fence.empty()) block += line + "\n";
      continue;
    }
    if (fence.empty()) {
      fence = line;
      continue;
    }
    if (fence == "```toml") {
      ASSERT_EQ(block.rfind("# ", 0), 0U) << "a file without a name: " << block;
      StudyFolder::Write(block.substr(2, block.find('\n') - 2), block);
    } else if (fence == "```console") {
      ASSERT_EQ(block.rfind("$ partita ", 0), 0U) << block;
      // Backslashes join lines; words in quotes stay together.
      std::string command = block.substr(10), output;
      size_t end = command.find('\n');
      while (end > 0 && command[end - 1] == '\\') {
        command.replace(end - 1, 2, "");
        end = command.find('\n');
      }
      output = command.substr(end + 1);
      command.resize(end);
      std::vector<std::string> arguments;
      std::string word;
      bool quoted = false;
      for (char c : command + " ") {
        if (c == '"') {
          quoted = !quoted;
        } else if (c == ' ' && !quoted) {
          if (!word.empty()) arguments.push_back(word);
          word.clear();
        } else {
          word += c;
        }
      }
      SCOPED_TRACE(command);
      const ProcessResult result = Partita(arguments);
      EXPECT_EQ(result.exit_code, 0) << result.err;
      ExpectSameWords(output, result.out);
      ++commands;
    }
    fence.clear();
    block.clear();
  }
  std::filesystem::current_path(before);
  EXPECT_GE(commands, 8U);
}

}  // namespace
}  // namespace partita::testing::privacy_command_test
