// A regression on a private sum as its users run it: clients submit rows to three compute nodes on
// the loopback interface, a reader collects the sum and fits.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "stats/blr/statistics.h"
#include "sums/regression/rows.h"
#include "tests/cli/process.h"
#include "tests/cli/sum_folder.h"

namespace partita::testing::regression_network_test {
namespace {

using Json = nlohmann::json;

constexpr uint32_t kClients = 60, kMissing = 3;
constexpr uint32_t kBeyond = 1;  // its x lies beyond the bounds
constexpr const char* kRegression = R"([regression]
outcome = "y"
predictors = ["x", "g"]
[[variable]]
name = "x"
type = "numeric"
lower = -1
upper = 1
[[variable]]
name = "g"
type = "factor"
levels = ["a", "b"]
[[variable]]
name = "y"
type = "numeric"
lower = -10
upper = 10
)";

// x, [b], y = 1 + 4 x + 2 [b] + N(0, 1), within the bounds.
std::vector<double> Values(uint32_t client) {
  std::mt19937 random(client);
  std::normal_distribution<double> normal;
  const double x = std::clamp(normal(random) / 2, -1.0, 1.0);
  const double b = client % 2;
  if (client == kBeyond) return {5, b, 8};
  return {x, b, std::clamp(1 + 4 * x + 2 * b + normal(random), -10.0, 10.0)};
}

TEST(RegressionNetworkTest, ClientsSubmitNodesSumAReaderFits) {
  SumFolder folder({.clients = kClients,
                    .max_drop = 5,
                    .max_collude = 2,
                    .noise = "epsilon = 20\ndelta = 1e-6\nnoise_from = \"clients\"",
                    .regression = kRegression});
  const std::string file = folder.collection_file();
  std::vector<std::unique_ptr<Process>> nodes;
  for (uint16_t k = 0; k < 3; ++k) {
    std::vector<std::string> arguments = folder.ComputeArguments(k);
    arguments.insert(arguments.begin(), PartitaProgram());
    nodes.push_back(std::make_unique<Process>(arguments));
  }
  for (auto& node : nodes) ASSERT_TRUE(node->WaitForStandardError("takes uploads"));

  // The first client uses the program in two steps, the second in one: both rows are in one table.
  const std::vector<double> first = Values(0), second = Values(kBeyond);
  std::ofstream(folder / "rows.csv")
      << fmt::format("x,g,y\n{},a,{}\n{},b,{}\n", first[0], first[2], second[0], second[2]);
  ProcessResult run = Partita({"regression", "encode", folder / "rows.csv", "--collection", file,
                               "--output", folder / "vector.txt"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, ::testing::Not(::testing::HasSubstr("beyond the bounds")));
  run = Partita({"client", "submit", file, "--row", folder / "vector.txt", "--key",
                 folder / "client0/client.key"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  run = Partita({"client", "submit", file, "--table", folder / "rows.csv", "--table-row", "2",
                 "--key", folder / "client1/client.key", "--format", "jsonl"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  EXPECT_THAT(run.err, ::testing::HasSubstr("x: 1 of 1 rows lie beyond the bounds"));
  EXPECT_EQ(Json::parse(run.out)["data"]["clipped"], Json({"x"}));

  const sums::regression::Spec spec = *folder.collection().regression;
  const stats::blr::Design design = DesignOf(spec);
  crypto::SystemRandom random;
  SilentProgress progress;
  for (uint32_t client = 2; client < kClients - kMissing; ++client) {
    const sums::KeptUpload upload =
        sums::KeepUpload(folder.collection(), folder.credential(client),
                         sums::regression::EncodeRow(spec, design, Values(client)),
                         folder.upload_file(client), random);
    for (const sums::NodeReceipt& receipt :
         sums::SendUpload(folder.collection(), folder.credential(client), upload,
                          std::chrono::minutes(10), progress))
      ASSERT_TRUE(receipt.acknowledged) << receipt.problem;
  }
  for (uint16_t k = 0; k < 3; ++k) {
    run = Partita(
        {"compute", file, "--as", folder.node(k), "--folder", folder / folder.node(k), "--freeze"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
  }
  const std::string sum_file = folder / "sum.json";
  run = Partita(
      {"aggregate", file, "--folder", folder / "analyst", "--wait", "10m", "--output", sum_file});
  ASSERT_EQ(run.exit_code, 0) << run.err;

  // The sum of the rows, but for noise of the declared size (12 standard deviations: below 1e-30).
  const Json sum = Json::parse(std::ifstream(sum_file));
  EXPECT_EQ(sum["clients"], kClients - kMissing);
  std::vector<double> exact(folder.collection().contract.dimension);
  for (uint32_t client = 0; client < kClients - kMissing; ++client) {
    const auto vector = sums::regression::EncodeRow(spec, design, Values(client));
    for (size_t i = 0; i < exact.size(); ++i) exact[i] += vector[i];
  }
  for (size_t i = 0; i < exact.size(); ++i) {
    const double away = std::abs(sum["values"][i].get<double>() - exact[i]);
    EXPECT_LT(away, 12 * sum["noise_stddev"].get<double>());
    EXPECT_GT(away, 0);
  }

  run = Partita({"regression", "fit", sum_file, "--collection", file, "--format", "jsonl"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const Json fit = Json::parse(run.out)["data"];
  EXPECT_EQ(fit["rows"], kClients - kMissing);
  ASSERT_EQ(fit["coefficients"].size(), 3U);
  EXPECT_EQ(fit["coefficients"][2]["name"], "g.b");
  // Six posterior standard deviations.
  const double truth[] = {1, 4, 2};
  for (size_t k = 0; k < 3; ++k) {
    const Json& row = fit["coefficients"][k];
    EXPECT_LT(std::abs(row["mean"].get<double>() - truth[k]), 6 * row["stddev"].get<double>());
  }
  // Of what arrived: less than what was promised for the fewest.
  EXPECT_LT(fit["statements"][0]["rows"][0]["epsilon"]["upper"], 20);
}

// Before anything is drawn or sent.
TEST(RegressionNetworkTest, TablesThatCannotBeSubmittedAreExplained) {
  const SumFolder folder({.clients = 8, .max_drop = 1, .regression = kRegression});
  const auto submit = [&](const std::string& table, const std::string& row, int code,
                          const std::string& what) {
    std::ofstream(folder / "row.csv") << table;
    const ProcessResult run =
        Partita({"client", "submit", folder.collection_file(), "--table", folder / "row.csv",
                 "--table-row", row, "--key", folder / "client0/client.key"});
    EXPECT_EQ(run.exit_code, code) << table << run.err;
    EXPECT_THAT(run.err, ::testing::HasSubstr(what)) << table;
    EXPECT_THAT(run.err, ::testing::HasSubstr("hint")) << table;
    EXPECT_FALSE(std::filesystem::exists(folder.upload_file(0)));
  };
  submit("x,g,y\nnan,a,1\n", "1", 7, "nan");
  submit("x,g,y\n1e400,a,1\n", "1", 7, "row.csv:2:");
  submit("x,g,y\n,a,1\n", "1", 7, "'x' is missing");
  submit("x,g,y\n0.5,c,1\n", "1", 7, "'c'");
  submit("x,g,y\n0.5,a\n", "1", 7, "row.csv:2:");
  submit("x,g\n0.5,a\n", "1", 7, "'y'");
  submit("x,g,y\n0.5,a,1\n", "2", 2, "has 1 rows, and no row 2");
  submit("x,g,y\n", "1", 2, "has 0 rows");
  submit("", "1", 7, "row.csv");
}

}  // namespace
}  // namespace partita::testing::regression_network_test
