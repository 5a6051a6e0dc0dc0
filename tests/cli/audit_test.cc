// partita audit: claims that hold end with 0, refuted ones with 1, nonsense with 2. Every audit has
// a false-alarm probability of 1e-6; there are about ten here, with fresh randomness in every run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/process.h"
#include "tests/paths.h"

namespace partita::testing::audit_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using Json = nlohmann::json;

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {
    std::string name = (std::filesystem::temp_directory_path() / "partita-audit-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~AuditTest() override { std::filesystem::remove_all(folder_); }

  // A table of one column from a formula of the run's number.
  template <typename Formula>
  std::string Table(const std::string& name, int runs, const Formula& formula) const {
    const std::string path = (folder_ / name).string();
    std::ofstream file(path);
    file << "x\n";
    for (int i = 0; i < runs; ++i) file << formula(i) << "\n";
    return path;
  }

  std::filesystem::path folder_;
};

Json Data(const ProcessResult& run) { return Json::parse(run.out)["data"]; }

// The event is chosen by a tenth of the runs, and one audit in 45 chooses a rare one whose bound is
// poor (2 of 90 were below 0.85): four in a row do so with probability 3e-7.
TEST_F(AuditTest, AMechanismThatKeepsItsClaim) {
  double most = 0;
  for (int audit = 0; audit < 4 && most < 0.85; ++audit) {
    const ProcessResult run =
        Partita({"audit", "mechanism", "--mechanism", "discrete-laplace", "--scale", "20",
                 "--sensitivity", "20", "--epsilon", "1", "--runs", "50000", "--format", "json"});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const Json data = Data(run);
    EXPECT_FALSE(data["violated"]);
    ASSERT_EQ(data["findings"].size(), 2u);
    EXPECT_EQ(data["findings"][0]["measure"], "epsilon");
    EXPECT_EQ(data["findings"][0]["first"]["runs"], 45000);
    most = std::max(most, data["findings"][0]["at_least"].get<double>());
  }
  EXPECT_LE(most, 1);
  EXPECT_GE(most, 0.85);
}

TEST_F(AuditTest, ACoalitionSeesWhatAnOutsiderDoesNot) {
  // Shares for three parties of which none is known: 64 / sqrt(3) each.
  const ProcessResult run = Partita({"audit", "mechanism", "--mechanism", "sum-of-gaussians",
                                     "--scale", "36.95", "--sensitivity", "64", "--parties", "3",
                                     "--coalition", "1", "--mu", "1", "--format", "json"});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_EQ(Json::parse(run.out)["status"], "problems");
  const Json data = Data(run);
  EXPECT_TRUE(data["violated"]);
  for (const Json& finding : data["findings"]) {
    EXPECT_EQ(finding["violated"].get<bool>(), finding["adversary"] != "outside analyst")
        << finding;
  }
}

TEST_F(AuditTest, PolyaSharesAddUpToWhatIsClaimed) {
  const ProcessResult run =
      Partita({"audit", "mechanism", "--mechanism", "sum-of-polya", "--scale", "10",
               "--sensitivity", "10", "--parties", "4", "--epsilon", "1", "--runs", "20000"});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("Nothing contradicts the claim"));
}

TEST_F(AuditTest, OutputsOfAnybodysMechanism) {
  // Two uniform laws on 0..9, one of them shifted by 1: a tenth of the runs gives it away.
  const std::string with =
      Table("p.csv", 5000, [](int i) { return std::to_string(i * 7 % 10 + 1); });
  const std::string without =
      Table("q.csv", 5000, [](int i) { return std::to_string(i * 7 % 10); });
  const ProcessResult refuted = Partita({"audit", "outputs", with, without, "--epsilon", "1"});
  EXPECT_EQ(refuted.exit_code, 1);
  EXPECT_THAT(refuted.out, HasSubstr("REFUTED"));
  EXPECT_THAT(refuted.out, AnyOf(HasSubstr("x >= 10"), HasSubstr("x <= 0")));
  const ProcessResult covered =
      Partita({"audit", "outputs", with, without, "--epsilon", "1", "--delta", "0.12"});
  EXPECT_EQ(covered.exit_code, 0) << covered.out;
}

TEST_F(AuditTest, ARunWithoutOutputIsAnEvent) {
  const std::string with =
      Table("p.csv", 5000, [](int i) { return i % 5 == 0 ? std::string("NA") : std::string("1"); });
  const std::string without = Table("q.csv", 5000, [](int) { return std::string("1"); });
  const ProcessResult run = Partita({"audit", "outputs", with, without, "--epsilon", "1"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.out, HasSubstr("no output"));
}

TEST_F(AuditTest, AStudysOwnRelease) {
  const std::string study = SourcePath("examples/private_regression/study.toml");
  const ProcessResult run =
      Partita({"audit", "study", study, "--runs", "20000", "--quiet", "--format", "json"});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  const Json data = Data(run);
  EXPECT_TRUE(data["replay"].empty());
  EXPECT_FALSE(data["violated"]);
  // From outside, and as each of the parties that add noise.
  std::set<std::string> sides;
  for (const Json& finding : data["findings"]) sides.insert(finding["adversary"]);
  EXPECT_TRUE(sides.count("outside analyst"));
  EXPECT_TRUE(sides.count("party north"));
}

TEST_F(AuditTest, AStudyWithoutNoiseIsRefused) {
  const std::string study = SourcePath("examples/three_factor/horizontal/study.toml");
  const ProcessResult run = Partita({"audit", "study", study});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("no noise to audit"));
}

TEST_F(AuditTest, TheNumberOfRuns) {
  const ProcessResult run = Partita({"audit", "runs", "--mu", "1", "--factor", "1.118"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("37281 runs"));
  EXPECT_EQ(Partita({"audit", "runs", "--factor", "2"}).exit_code, 2);
  EXPECT_EQ(Partita({"audit", "runs", "--mu", "1", "--epsilon", "1", "--factor", "2"}).exit_code,
            2);
}

TEST_F(AuditTest, NonsenseIsRefused) {
  const std::vector<std::string> laplace = {
      "audit", "mechanism", "--mechanism", "discrete-laplace", "--scale", "1"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = laplace;
    all.insert(all.end(), more.begin(), more.end());
    return Partita(all).exit_code;
  };
  EXPECT_EQ(with({}), 2);
  EXPECT_EQ(with({"--epsilon", "-1"}), 2);
  EXPECT_EQ(with({"--epsilon", "nan"}), 2);
  EXPECT_EQ(with({"--epsilon", "1", "--delta", "1"}), 2);
  EXPECT_EQ(with({"--epsilon", "1", "--runs", "10"}), 2);
  EXPECT_EQ(with({"--epsilon", "1", "--coalition", "1"}), 2);
  EXPECT_EQ(with({"--epsilon", "1", "--parties", "3"}), 2);
  EXPECT_EQ(with({"--epsilon", "1", "--scale", "0"}), 2);
  EXPECT_EQ(Partita({"audit"}).exit_code, 2);
  const std::string few = Table("few.csv", 20, [](int i) { return std::to_string(i); });
  EXPECT_EQ(Partita({"audit", "outputs", few, few, "--epsilon", "1"}).exit_code, 2);
  const std::string text = Table("text.csv", 200, [](int) { return std::string("abc"); });
  EXPECT_EQ(Partita({"audit", "outputs", text, text, "--epsilon", "1"}).exit_code, 7);
  EXPECT_EQ(Partita({"audit", "outputs", "/nowhere.csv", text, "--epsilon", "1"}).exit_code, 2);
}

}  // namespace
}  // namespace partita::testing::audit_test
