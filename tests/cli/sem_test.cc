// partita sem: models on moments in a file against what lavaan's tutorial prints (Holzinger and
// Swineford, lavaan.ugent.be/tutorial), results of a study, and bad input.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::sem_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kThreeFactors =
    "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9\n";

Json DataOf(const std::vector<std::string>& arguments, int exit_code = 0) {
  std::vector<std::string> all = arguments;
  all.insert(all.end(), {"--format", "jsonl"});
  const ProcessResult run = Partita(all);
  EXPECT_EQ(run.exit_code, exit_code) << run.out << run.err;
  return Json::parse(run.out);
}

class SemTest : public ::testing::Test {
 protected:
  // The sample moments of a reference fit as a moments file.
  std::string Moments(const std::string& id) {
    const std::string path = folder_.path() + "/" + id + ".json";
    const Json reference =
        Json::parse(StudyFolder::Read(FixturePath("references/sem/" + id + ".json")));
    Json groups = Json::array();
    for (const Json& group : reference["moments"]) {
      Json mean = group["sample_mean"];
      if (mean.empty()) mean = std::vector<double>(group["names"].size(), 0.0);
      groups.push_back({{"label", group["group"].is_string() ? group["group"] : Json("")},
                        {"n", group["n"]},
                        {"mean", mean},
                        {"covariance", group["sample_cov"]}});
    }
    StudyFolder::Write(
        path, Json{{"variables", reference["moments"][0]["names"]}, {"groups", groups}}.dump());
    return path;
  }
  std::string Model(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name + ".lav";
    StudyFolder::Write(path, text);
    return path;
  }
  StudyFolder folder_;
};

TEST_F(SemTest, InvarianceIsTestedStepByStep) {
  const Json data = DataOf({"sem", "anova", "--moments", Moments("hs_cfa3_group"), "--model",
                            Model("hs", kThreeFactors), "--function", "cfa", "--invariance"});
  const Json& rows = data["data"]["comparison"]["rows"];
  ASSERT_EQ(rows.size(), 4u);
  const char* names[] = {"configural", "metric", "scalar", "strict"};
  const double chisq[] = {115.851, 124.044, 164.103}, difference[] = {0, 8.192, 40.059};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rows[i][0], names[i]);
    EXPECT_NEAR(rows[i][4].get<double>(), chisq[i], 6e-4);
    if (i == 0) {
      EXPECT_TRUE(rows[i][5].is_null());
    } else {
      EXPECT_NEAR(rows[i][5].get<double>(), difference[i], 6e-4);
      EXPECT_EQ(rows[i][6], 6);
    }
  }
  EXPECT_EQ(rows[3][0], names[3]);
  EXPECT_EQ(rows[3][6], 9);
}

TEST_F(SemTest, ModificationIndicesAndMeasures) {
  const std::string moments = Moments("hs_cfa3"), model = Model("hs", kThreeFactors);
  const Json data =
      DataOf({"sem", "modindices", "--moments", moments, "--model", model, "--function", "cfa"});
  const Json& rows = data["data"]["tables"][0]["rows"];
  EXPECT_EQ(rows.size(), 54u);
  EXPECT_EQ(rows[0][0], "visual =~ x9");
  EXPECT_NEAR(rows[0][1].get<double>(), 36.411, 6e-4);
  const Json measures =
      DataOf({"sem", "measures", "--moments", moments, "--model", model, "--function", "cfa"});
  bool found = false;
  for (const Json& row : measures["data"]["measures"]["rows"]) {
    if (row[0] != "chisq") continue;
    found = true;
    EXPECT_NEAR(row[1].get<double>(), 85.306, 6e-4);
  }
  EXPECT_TRUE(found);
  const ProcessResult text = Partita({"sem", "modindices", "--moments", moments, "--model", model,
                                      "--function", "cfa", "--top", "1"});
  EXPECT_THAT(text.out, HasSubstr("visual =~ x9"));
  EXPECT_THAT(text.out, ::testing::Not(HasSubstr("x7 ~~ x8")));
}

TEST_F(SemTest, FitOfAMediationHasItsTables) {
  const std::string model =
      Model("med", "x4 ~ a*x1 + x2\nx7 ~ b*x4 + c*x1\nx9 ~ d*x7 + f*x4\nab := a*b\n");
  const Json data = DataOf({"sem", "fit", "--moments", Moments("path_indirect"), "--model", model,
                            "--function", "mediation", "--bootstrap", "200"});
  const Json& fit = data["data"]["models"][0];
  EXPECT_EQ(fit["family"], "mediation analysis");
  const Json& table = fit["tables"].back();
  EXPECT_THAT(table["title"].get<std::string>(), HasSubstr("Parametric bootstrap, 200 samples"));
  ASSERT_EQ(table["rows"].size(), 1u);
  EXPECT_EQ(table["rows"][0][0], "ab := a*b");
  const auto at = [&](size_t column) { return table["rows"][0][column].get<double>(); };
  EXPECT_NEAR(at(1), 0.057934832, 1e-6);
  EXPECT_LT(at(3), at(1));
  EXPECT_GT(at(4), at(1));
  // The delta method's is 0.0224; 200 draws tell a standard deviation to 5 %.
  EXPECT_NEAR(at(2), 0.0224, 0.3 * 0.0224);
}

TEST_F(SemTest, ResultsOfAStudyAreCompared) {
  folder_.MakeHorizontal();
  const std::string study = StudyFolder::Read(folder_.study_file());
  const std::string common =
      "[[analysis]]\nmethod = \"mle\"\nprotocol = \"pooled-moments\"\nrelease = [\"moments\"]\n"
      "function = \"regression\"\n";
  StudyFolder::Write(folder_.study_file(),
                     study.substr(0, study.find("[[analysis]]")) + common +
                         "name = \"wide\"\nmodel = \"x1 ~ x2 + x3\"\n" + common +
                         "name = \"narrow\"\nnested_in = \"wide\"\nmodification_indices = true\n"
                         "model = \"x1 ~ x2 + 0*x3\"\n");
  const std::string result = folder_.path() + "/result.json";
  const ProcessResult run =
      Partita({"study", "simulate", folder_.study_file(), "--output", result, "--quiet"});
  ASSERT_EQ(run.exit_code, 0) << run.out << run.err;
  const Json stored = Json::parse(StudyFolder::Read(result));
  EXPECT_EQ(stored["analyses"][1]["family"], "linear regression");
  const Json compared = DataOf({"sem", "anova", result});
  const Json& rows = compared["data"]["comparison"]["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][0], "wide");
  EXPECT_EQ(rows[1][6], 1);
  bool tested = false;
  for (const Json& table : stored["analyses"][1]["tables"]) {
    if (table["title"] != "Nested models, differences of chi-square") continue;
    tested = true;
    EXPECT_EQ(table["rows"], rows);
  }
  EXPECT_TRUE(tested);
  EXPECT_EQ(DataOf({"sem", "modindices", result, "--analysis", "narrow"})["status"], "done");
  EXPECT_THAT(DataOf({"sem", "modindices", result, "--analysis", "wide"}, 2)["hint"],
              HasSubstr("modification_indices = true"));
  EXPECT_THAT(DataOf({"sem", "anova", result, "--analysis", "wide"}, 2)["message"],
              HasSubstr("two models at least"));
  EXPECT_EQ(DataOf({"sem", "anova", result, "--analysis", "absent"}, 2)["status"], "error");
}

// Numbers of the free parameters, to what arithmetic in another order may change.
void ExpectSameEstimates(const Json& got, const Json& expected) {
  ASSERT_EQ(got["parameters"].size(), expected["parameters"].size());
  for (size_t r = 0; r < got["parameters"].size(); ++r) {
    const Json &a = got["parameters"][r], &b = expected["parameters"][r];
    if (b["free"] == 0) continue;
    for (const char* key : {"est", "se"})
      EXPECT_NEAR(a[key].get<double>(), b[key].get<double>(),
                  1e-9 * (1 + std::abs(b[key].get<double>())))
          << a["lhs"] << a["op"] << a["rhs"] << " " << key;
  }
}

constexpr const char* kPooled =
    "[[analysis]]\nmethod = \"mle\"\nprotocol = \"pooled-moments\"\nrelease = [\"moments\"]\n"
    "function = \"sem\"\n";

// A fit that failed is repeated with another model, from what its receiver has.
TEST_F(SemTest, AFitThatFailedIsRepeatedFromReleasedMoments) {
  folder_.MakeHorizontal();
  const std::string study = StudyFolder::Read(folder_.study_file());
  const std::string head = study.substr(0, study.find("[[analysis]]"));
  const std::string result = folder_.path() + "/result.json";
  const auto run = [&](const std::string& analyses, int exit_code) {
    StudyFolder::Write(folder_.study_file(), head + analyses);
    return DataOf(
        {"study", "simulate", folder_.study_file(), "--in-process", "--output", result, "--force"},
        exit_code)["data"];
  };
  const Json good = run(std::string(kPooled) + "model = \"x1 ~ x2 + x3\"\n", 0);
  // Who keeps the file is told what is in it, and only where it is.
  const std::vector<std::string> once = {"study", "simulate", folder_.study_file(), "--in-process"};
  std::vector<std::string> kept = once;
  kept.insert(kept.end(), {"--output", result, "--force"});
  EXPECT_THAT(Partita(kept).err, HasSubstr("holds the released moments"));
  EXPECT_THAT(Partita(once).err, Not(HasSubstr("released moments")));
  run(std::string(kPooled) + "model = \"x1 ~ a*x2 + x3; a == 0.5; a == 0.7\"\n", 8);
  const std::string model = Model("again", "x1 ~ x2 + x3\n");
  const std::string page = folder_.path() + "/again.html", again = folder_.path() + "/again.json";
  const Json refit = DataOf(
      {"study", "refit", result, "--model", model, "--html", page, "--output", again})["data"];
  ExpectSameEstimates(refit["analyses"][0], good["analyses"][0]);
  EXPECT_EQ(refit["analyses"][0]["moments"], good["analyses"][0]["moments"]);
  EXPECT_THAT(refit["analyses"][0]["notes"][0].get<std::string>(),
              HasSubstr("nothing more was released"));
  EXPECT_THAT(StudyFolder::Read(page), HasSubstr("nothing more was released"));
  EXPECT_THAT(Partita({"study", "refit", result, "--model", model}).out,
              HasSubstr("nothing more was released"));
  EXPECT_EQ(Json::parse(StudyFolder::Read(again)), refit);
  // Nothing is overwritten.
  DataOf({"study", "refit", result, "--model", model, "--output", again}, 2);

  // The same by sem fit, from the result and from the file of its moments.
  const std::string moments = folder_.path() + "/moments.json";
  Partita({"study", "report", result, "--moments-out", moments});
  for (const std::string& file : {result, again, moments}) {
    ExpectSameEstimates(
        DataOf({"sem", "fit", "--moments", file, "--model", model})["data"]["models"][0],
        good["analyses"][0]);
  }
  const Json other = DataOf({"study", "refit", result, "--model", Model("none", "x1 ~ x9\n")}, 2);
  EXPECT_THAT(other["message"].get<std::string>(), HasSubstr("'x9'"));
}

TEST_F(SemTest, MomentsOfSeveralAnalysesAreChosenByName) {
  folder_.MakeHorizontal();
  const std::string study = StudyFolder::Read(folder_.study_file());
  StudyFolder::Write(folder_.study_file(), study.substr(0, study.find("[[analysis]]")) + kPooled +
                                               "name = \"a\"\nmodel = \"x1 ~ x2\"\n" + kPooled +
                                               "name = \"b\"\nmodel = \"x1 ~ x3\"\n");
  const std::string result = folder_.path() + "/result.json";
  const Json stored = DataOf(
      {"study", "simulate", folder_.study_file(), "--in-process", "--output", result})["data"];
  const std::string moments = folder_.path() + "/moments.json", model = Model("m", "x1 ~ x3\n");
  Partita({"study", "report", result, "--moments-out", moments});
  for (const std::string& file : {result, moments}) {
    EXPECT_THAT(DataOf({"sem", "fit", "--moments", file, "--model", model}, 2)["message"]
                    .get<std::string>(),
                HasSubstr("several analyses"));
    const Json fit = DataOf({"sem", "fit", "--moments", file, "--model", model, "--analysis", "b"});
    ExpectSameEstimates(fit["data"]["models"][0], stored["analyses"][1]);
  }
  EXPECT_THAT(DataOf({"study", "refit", result, "--model", model}, 2)["hint"].get<std::string>(),
              HasSubstr("a, b"));
  ExpectSameEstimates(DataOf({"study", "refit", result, "--model", model, "--analysis",
                              "b"})["data"]["analyses"][0],
                      stored["analyses"][1]);
}

// Standard errors go on containing the noise; what cannot contain it is refused.
TEST_F(SemTest, NoisyMomentsKeepTheirNoise) {
  const std::string result = folder_.path() + "/result.json";
  const Json stored =
      DataOf({"study", "simulate", SourcePath("examples/private_regression/study.toml"),
              "--in-process", "--output", result})["data"];
  const Json& analysis = stored["analyses"][0];
  EXPECT_GT(analysis["moments"]["noise"]["variance"].get<double>(), 0);
  const std::string same = Model("same", "sbp ~ age + bmi + smoker\n");
  const std::string fewer = Model("fewer", "sbp ~ age\n");
  const Json refit = DataOf({"study", "refit", result, "--model", same})["data"]["analyses"][0];
  ExpectSameEstimates(refit, analysis);
  EXPECT_THAT(refit["notes"].dump(), HasSubstr("contain the variance of the privacy noise"));
  // Without the noise they are smaller.
  Json exact = {{"variables", analysis["moments"]["variables"]},
                {"groups", analysis["moments"]["groups"]}};
  StudyFolder::Write(folder_.path() + "/exact.json", exact.dump());
  const auto error_of_age = [&](const std::string& moments) {
    return DataOf({"sem", "fit", "--moments", moments, "--model",
                   fewer})["data"]["models"][0]["parameters"][0]["se"]
        .get<double>();
  };
  EXPECT_GT(error_of_age(result), error_of_age(folder_.path() + "/exact.json"));
  EXPECT_THAT(
      DataOf({"sem", "anova", "--moments", result, "--model", same, "--model", same}, 2)["message"]
          .get<std::string>(),
      HasSubstr("released with noise"));
}

TEST_F(SemTest, BadInputIsExplained) {
  const std::string model = Model("m", "x ~ y\n");
  const auto message = [&](const std::string& moments) {
    const std::string path = folder_.path() + "/moments.json";
    StudyFolder::Write(path, moments);
    return DataOf({"sem", "fit", "--moments", path, "--model", model}, 2)["message"]
        .get<std::string>();
  };
  EXPECT_THAT(message("{"), HasSubstr("these are no moments"));
  EXPECT_THAT(message(R"({"variables": ["x", "y"], "groups": []})"), HasSubstr("no group"));
  EXPECT_THAT(message(R"({"variables": ["x", "x"], "groups": [{"n": 9, "mean": [0, 0],)"
                      R"("covariance": [[1, 0], [0, 1]]}]})"),
              HasSubstr("twice"));
  EXPECT_THAT(message(R"({"variables": ["x", "y"], "groups": [{"n": 9, "mean": [0],)"
                      R"("covariance": [[1, 0], [0, 1]]}]})"),
              HasSubstr("for each variable"));
  EXPECT_THAT(message(R"({"variables": ["x", "y"], "groups": [{"n": 9, "mean": [0, 0],)"
                      R"("covariance": [[1, 0], [0]]}]})"),
              HasSubstr("not a square"));
  EXPECT_THAT(message(R"({"variables": ["x", "z"], "groups": [{"n": 9, "mean": [0, 0],)"
                      R"("covariance": [[1, 0], [0, 1]]}]})"),
              HasSubstr("'y'"));
  EXPECT_THAT(message(R"({"variables": ["x", "y"], "groups": [{"n": 9, "mean": [0, 0],)"
                      R"("covariance": [[1, 1], [1, 1]]}]})"),
              ::testing::Not(::testing::IsEmpty()));
  EXPECT_EQ(DataOf({"sem", "anova"}, 2)["status"], "error");
}

}  // namespace
}  // namespace partita::testing::sem_test
