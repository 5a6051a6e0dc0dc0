// partita reproduce dpvi-* and partita synthetic: from public tables to a model, synthetic tables,
// a report and plots, and bad input. The experiments themselves are tested in tests/methods/mixture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::synthetic_test {
namespace {

using ::testing::HasSubstr;

// Two columns, one factor and one integer, at one party; the second component likes "v" and 1.
constexpr const char* kModel =
    R"({"format":"partita mixture 1","parties":["north"],"steps":9,"columns":[)"
    R"({"name":"f","type":"factor","encoding":"levels","party":0,"levels":["u","v,w"],"pooled":[]},)"
    R"({"name":"n","type":"integer","encoding":"whole","party":0,"lower":0,"upper":1,"bins":0}],)"
    R"("mean":[[0,3,-3,3,-3],[0,-3,3,-3,3]],)"
    R"("log_scale":[[-9,-9,-9,-9,-9],[-9,-9,-9,-9,-9]],"privacy":null})";

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

class SyntheticTest : public ::testing::Test {
 protected:
  SyntheticTest() { StudyFolder::Write(model_, kModel); }
  StudyFolder folder_;
  std::string model_ = folder_.path() + "/model.json";
};

TEST_F(SyntheticTest, DrawnTablesAreOfTheModel) {
  const ProcessResult run = Partita({"synthetic", "draw", model_, "--folder", folder_.path(),
                                     "--rows", "400", "--sets", "2", "--format", "jsonl"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto data = nlohmann::json::parse(run.out)["data"];
  ASSERT_EQ(data["files"].size(), 2);
  EXPECT_TRUE(data["privacy"].is_null());
  EXPECT_THAT(data["purpose"].get<std::string>(), HasSubstr("not confidence intervals"));
  const std::vector<std::string> first = Lines(StudyFolder::Read(data["files"][0]));
  EXPECT_NE(first, Lines(StudyFolder::Read(data["files"][1])));
  ASSERT_EQ(first.size(), 401);
  EXPECT_EQ(first[0], "f,n");
  // Each component gives "u" with 0 or "v,w" with 1, other pairs with probability 0.005.
  const auto u = std::count(first.begin(), first.end(), "u,0");
  const auto v = std::count(first.begin(), first.end(), "\"v,w\",1");
  EXPECT_GT(u, 140);  // six standard errors below 199
  EXPECT_GT(v, 140);
  EXPECT_GT(u + v, 380);
}

TEST_F(SyntheticTest, ReportComparesWithRealRows) {
  const std::string real = folder_.path() + "/real.csv", html = folder_.path() + "/report.html";
  std::string rows = "n,f\n";
  for (int i = 0; i < 200; ++i) rows += i % 2 == 0 ? "0,u\n" : "1,\"v,w\"\n";
  StudyFolder::Write(real, rows);
  const ProcessResult run =
      Partita({"synthetic", "report", model_, "--real", real, "--train", real, "--target", "f",
               "--level", "v,w", "--rows", "2000", "--html", html, "--format", "jsonl"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto data = nlohmann::json::parse(run.out)["data"];
  EXPECT_LT(data["marginals"][0]["total_variation"], 0.08);
  EXPECT_GT(data["associations"][0]["real"], 0.98);
  EXPECT_GT(data["associations"][0]["synthetic"], 0.9);
  EXPECT_EQ(data["active_components"], 2);
  EXPECT_GT(data["prediction"]["from_synthetic"]["accuracy"], 0.99);
  EXPECT_GT(data["prediction"]["from_real"]["auc"], 0.99);
  // Half of the rows each: log(1/2), and two columns that a component gives with 0.9975 each.
  EXPECT_NEAR(data["log_density"], -0.698, 0.01);
  EXPECT_THAT(StudyFolder::Read(html), HasSubstr("<svg"));
  EXPECT_THAT(StudyFolder::Read(html), HasSubstr("Shares of "));
  EXPECT_THAT(StudyFolder::Read(html), HasSubstr("for their holder"));
}

// A holder compares its own columns with a table that has no others.
TEST_F(SyntheticTest, ReportOfOnePartysColumns) {
  std::string model = kModel;
  const std::string second = "\"encoding\":\"whole\",\"party\":0";
  model.replace(model.find(second), second.size(), "\"encoding\":\"whole\",\"party\":1");
  model.replace(model.find("[\"north\"]"), 9, "[\"north\",\"south\"]");
  StudyFolder::Write(model_, model);
  const std::string real = folder_.path() + "/own.csv";
  std::string rows = "id,n\n";
  for (int i = 0; i < 200; ++i) rows += i % 4 == 0 ? "a,0\n" : "a,1\n";
  StudyFolder::Write(real, rows);
  const ProcessResult run = Partita({"synthetic", "report", model_, "--party", "south", "--real",
                                     real, "--rows", "4000", "--format", "jsonl"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto data = nlohmann::json::parse(run.out)["data"];
  ASSERT_EQ(data["marginals"].size(), 1);
  EXPECT_EQ(data["marginals"][0]["column"], "n");
  EXPECT_EQ(data["marginals"][0]["cells"], (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(data["marginals"][0]["real"], (std::vector<double>{0.25, 0.75}));
  // A quarter against a half, which 4000 draws have within six standard errors.
  EXPECT_NEAR(data["marginals"][0]["total_variation"], 0.25, 0.05);
  EXPECT_EQ(data["associations"].size(), 0);
  EXPECT_NEAR(data["log_density"], std::log(0.5), 0.001);
  const ProcessResult stranger =
      Partita({"synthetic", "report", model_, "--party", "west", "--real", real});
  EXPECT_EQ(stranger.exit_code, 2);
  EXPECT_THAT(stranger.err, HasSubstr("no party 'west'"));
  EXPECT_THAT(stranger.err, HasSubstr("north, south"));
}

TEST_F(SyntheticTest, CoverageIsSimulated) {
  const ProcessResult run =
      Partita({"synthetic", "coverage", "--replicates", "3", "--rows", "100", "--steps", "50",
               "--sets", "3", "--components", "2", "--noise", "1"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("all synthetic data sets, combined"));
}

TEST_F(SyntheticTest, BadInputIsNamed) {
  const auto report = [&](const std::string& rows, std::vector<std::string> more = {}) {
    const std::string real = folder_.path() + "/real.csv";
    StudyFolder::Write(real, rows);
    std::vector<std::string> arguments = {"synthetic", "report", model_, "--real", real};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult run = Partita(arguments);
    EXPECT_NE(run.exit_code, 0);
    return run.err;
  };
  EXPECT_THAT(report("f,n\nu,7\n"), HasSubstr("column 'n' has 1 cell outside its bounds"));
  EXPECT_THAT(report("f,n\nz,0\n"), HasSubstr("'z'"));
  EXPECT_THAT(report("f;n\nz;0\n"), HasSubstr("'z'")) << "with the separator of the table";
  EXPECT_THAT(report("f,n\nu,\n"), HasSubstr("without a value"));
  EXPECT_THAT(report("f\nu\n"), HasSubstr("'n'"));
  EXPECT_THAT(report("f,n\nu,0\n", {"--target", "f", "--level", "q"}),
              HasSubstr("no column 'f' with a level 'q'"));
  EXPECT_THAT(report("f,n\nu,0\n", {"--target", "f"}), HasSubstr("belong together"));
  StudyFolder::Write(model_, "{}");
  EXPECT_THAT(report("f,n\nu,0\n"), HasSubstr("the model file is not one"));
  EXPECT_THAT(Partita({"synthetic", "draw", "/nowhere.json", "--folder", folder_.path()}).err,
              HasSubstr("/nowhere.json"));
  EXPECT_THAT(Partita({"reproduce", "dpvi-figure3", "--data", "/nowhere"}).err,
              HasSubstr("/nowhere/adult_train.csv"));
}

TEST_F(SyntheticTest, FiguresWriteNumbersPlotsAndAModel) {
  const std::string csv = folder_.path() + "/f.csv", html = folder_.path() + "/f.html";
  const ProcessResult run =
      Partita({"reproduce", "dpvi-figure2", "--data", FixturePath("tables"), "--steps", "60",
               "--components", "4", "--output", csv, "--html", html, "--model", model_, "--force",
               "--format", "jsonl"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto data = nlohmann::json::parse(run.out)["data"];
  ASSERT_EQ(data["runs"].size(), 3);
  const auto end = [&](int i) {
    return data["runs"][i]["trace"].back()["test_negative_log_likelihood"].get<double>();
  };
  EXPECT_EQ(data["runs"][0]["line"], "not partitioned, schedule paper");
  EXPECT_NEAR(end(0), end(1), 1e-3);  // the same batches and noise, in fixed point
  EXPECT_GT(end(2), end(0) + 1);      // nothing is learned without renormalisation
  EXPECT_EQ(data["privacy"]["rows"][0]["adjacency"], "replace");
  EXPECT_EQ(data["privacy"]["rows"][1]["adjacency"], "add-remove");
  EXPECT_THAT(StudyFolder::Read(csv), HasSubstr("line,schedule,repeat,step"));
  EXPECT_THAT(StudyFolder::Read(html), HasSubstr("<polyline"));
  // The trade-off has the numbers to be drawn from.
  EXPECT_THAT(StudyFolder::Read(html), HasSubstr("data-plot=\"trade-off\""));
  EXPECT_THAT(StudyFolder::Read(html), HasSubstr("id=\"report-data\">{\"privacy\":"));
  EXPECT_EQ(nlohmann::json::parse(StudyFolder::Read(model_))["columns"].size(), 14);
}

// The protocol with the same start, batches, eta and noise ends where the run in the clear does.
// Sums differ by less than 2^-13 of the clipping norm per row (step.h: rows are shortened by up to
// 2^-17, and weights rounded), beside noise of twice the norm.
TEST_F(SyntheticTest, TheProtocolIsOneMoreLine) {
  for (const std::string engine : {"dealer", "replicated"}) {
    const ProcessResult run = Partita({"reproduce",    "dpvi-figure3",
                                       "--data",       FixturePath("tables"),
                                       "--steps",      "12",
                                       "--runs",       "1",
                                       "--components", "3",
                                       "--batch",      "40",
                                       "--column",     "age",
                                       "--column",     "sex",
                                       "--column",     "capital_gain",
                                       "--schedule",   "paper",
                                       "--secure",     engine,
                                       "--format",     "jsonl"});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const auto runs = nlohmann::json::parse(run.out)["data"]["runs"];
    ASSERT_EQ(runs.size(), 3);
    EXPECT_EQ(runs[2]["line"], "protocol, engine " + engine + ", schedule paper");
    EXPECT_EQ(runs[0]["largest_difference"], 0);
    EXPECT_GT(runs[2]["largest_difference"], 0);
    EXPECT_LT(runs[2]["largest_difference"], 1e-3);
    EXPECT_EQ(runs[2]["max_uses"], runs[0]["max_uses"]);
    EXPECT_EQ(runs[2]["trace"].back()["step"], 12);
  }
  EXPECT_EQ(Partita({"reproduce", "dpvi-figure3", "--data", ".", "--secure", "shamir"}).exit_code,
            2);
}

}  // namespace
}  // namespace partita::testing::synthetic_test
