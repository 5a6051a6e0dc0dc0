// partita bench mpc, small: that every operation runs on every engine between processes, and what
// its table says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"

namespace partita::testing::bench_command_test {
namespace {

using ::testing::HasSubstr;

nlohmann::json Rows(std::vector<std::string> options, const char* repetitions = "2") {
  std::vector<std::string> arguments = {"bench",         "mpc",       "--format", "jsonl",
                                        "--repetitions", repetitions, "--scale",  "0.001"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const ProcessResult run = Partita(arguments);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  return nlohmann::json::parse(run.out)["data"]["rows"];
}

TEST(BenchCommandTest, RunsEveryOperationOnEveryEngine) {
  const nlohmann::json rows = Rows({"--latency", "0ms"}, "1");
  const auto count = [&](const char* engine) {
    return std::count_if(rows.begin(), rows.end(),
                         [&](const auto& row) { return row["engine"] == engine; });
  };
  EXPECT_GE(count("dealer"), 30);
  EXPECT_EQ(count("dealer"), count("replicated"));
  // Without the large matrix product.
  EXPECT_EQ(count("dealer"), count("ot") + 1);
  EXPECT_EQ(count("dealer"), count("shamir") + 1);
  for (const nlohmann::json& row : rows) {
    EXPECT_GT(row["median_seconds"], 0) << row;
    EXPECT_EQ(row["best_seconds"], row["median_seconds"]) << row;
    // Sums along an order, and random bits with a dealer, are every party's own business.
    const bool local = row["rounds"] == 0;
    EXPECT_TRUE(!local || row["operation"] == "cumulative sums" ||
                row["operation"] == "random bits")
        << row;
    EXPECT_EQ(row["online_bytes"] > 0, !local) << row;
    // What a dealer sends, or two parties instead of it; an opening needs nothing of it.
    const bool ahead = row["engine"] == "dealer" || row["engine"] == "ot";
    EXPECT_EQ(row["offline_bytes"] > 0, ahead && !local && row["operation"] != "open") << row;
    // In two parts where correlations can be made ahead, else all of it is online.
    EXPECT_EQ(row["offline_seconds"] > 0, ahead) << row;
    EXPECT_GT(row["online_seconds"], 0) << row;
    if (!ahead) {
      EXPECT_EQ(row["online_seconds"], row["median_seconds"]) << row;
    }
  }
}

// One round to open 100 elements of 16 bytes: both parties send theirs.
TEST(BenchCommandTest, CountsWhatAnOpeningSends) {
  const nlohmann::json rows =
      Rows({"--latency", "0ms", "--engine", "dealer", "--operation", "open"});
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0]["rounds"], 1);
  EXPECT_EQ(rows[0]["online_bytes"], 2 * 100 * 16);
  EXPECT_LE(rows[0]["best_seconds"], rows[0]["median_seconds"]);
}

// Made ahead, correlations cost no round of the execution: with latency the transfers of `ot` are
// most of it, and online one product and one truncation are left.
TEST(BenchCommandTest, TimesTheExecutionWithoutItsPreparation) {
  const nlohmann::json rows =
      Rows({"--latency", "20ms", "--engine", "ot", "--operation", "multiply"});
  ASSERT_EQ(rows.size(), 1);
  EXPECT_GE(rows[0]["online_seconds"], 0.02 * 2);
  EXPECT_GE(rows[0]["offline_seconds"], 0.02 * 3);
  EXPECT_GE(rows[0]["rounds"], 4);
  EXPECT_GE(rows[0]["median_seconds"], 0.02 * (rows[0]["rounds"].get<double>() - 1));
}

// Every round waits for its latency.
TEST(BenchCommandTest, AddsLatencyToEveryRound) {
  const nlohmann::json rows =
      Rows({"--latency", "5ms", "--engine", "replicated", "--operation", "compare"});
  ASSERT_EQ(rows.size(), 1);
  // The rounds are those of the slowest party; this one may wait for one less.
  EXPECT_GE(rows[0]["median_seconds"], 0.005 * (rows[0]["rounds"].get<double>() - 1));
}

TEST(BenchCommandTest, RefusesWhatItCannotMeasure) {
  EXPECT_THAT(Partita({"bench", "mpc", "--operation", "divination"}).err, HasSubstr("divination"));
  EXPECT_EQ(Partita({"bench", "mpc", "--engine", "quantum"}).exit_code, 2);
  EXPECT_THAT(Partita({"bench", "mpc", "--scale", "0"}).err, HasSubstr("scale"));
  EXPECT_THAT(Partita({"bench", "mpc", "--scale", "nan"}).err, HasSubstr("scale"));
  EXPECT_THAT(Partita({"bench", "mpc", "--repetitions", "0"}).err, HasSubstr("repetitions"));
  EXPECT_THAT(Partita({"bench", "mpc", "--latency", "soon"}).err, HasSubstr("20ms"));
}

}  // namespace
}  // namespace partita::testing::bench_command_test
