// bindings/recorded: outputs of the program that the tests of the R and the Python package read. Each is
// what its command's schema says today and, where nothing is random, what the command prints today:
// the same texts, and estimates of maximum likelihood to 1e-6 (other methods' numbers are held by
// golden_test). Every method has one.
//
// Where a change is meant to change them: PARTITA_RECORD=1 build/release/bin/recorded_results_test
// writes them anew.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/cli/json_schema.h"
#include "tests/cli/process.h"
#include "tests/cli/study_folder.h"
#include "tests/paths.h"

namespace partita::testing::recorded_results_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Edits = std::vector<std::pair<std::string, std::string>>;

// A study below examples/, changed by replacing texts of its file.
struct RecordedStudy {
  std::string name;  // of bindings/recorded/NAME.json
  std::string file;  // below examples/
  Edits edits = {};
  bool random = false;  // its numbers are noisy, or drawn
};

// Four models of one table: the factor model, with equal loadings, robust, and a regression.
const char kModels[] = R"(name = "free"
method = "mle"
protocol = "pooled-moments"
release = ["moments"]
function = "cfa")";
const char kMoreModels[] = R"(  speed   =~ x7 + x8 + x9
"""

[[analysis]]
name = "equal"
method = "mle"
protocol = "pooled-moments"
release = ["moments"]
function = "cfa"
model = """
  visual  =~ x1 + a*x2 + a*x3
  textual =~ x4 + x5 + x6
  speed   =~ x7 + x8 + x9
"""

[[analysis]]
name = "robust"
method = "mle"
protocol = "pooled-moments"
release = ["moments", "robust", {what = "estimates", to = "all"}]
function = "cfa"
robust = true
model = """
  visual  =~ x1 + x2 + x3
  textual =~ x4 + x5 + x6
  speed   =~ x7 + x8 + x9
"""

[[analysis]]
name = "regression"
method = "mle"
protocol = "pooled-moments"
release = ["moments"]
function = "regression"
model = "x9 ~ x1 + x4 + x7")";

const std::vector<RecordedStudy>& RecordedStudies() {
  static const std::vector<RecordedStudy> studies = {
      {"mle",
       "three_factor/horizontal/study.toml",
       {{"method = \"mle\"\nprotocol = \"pooled-moments\"\nrelease = [\"moments\"]\nfunction = "
         "\"cfa\"",
         kModels},
        {"  speed   =~ x7 + x8 + x9\n\"\"\"", kMoreModels}}},
      {"glm", "readmission/study.toml"},
      {"glm-aggregates",
       "readmission/study.toml",
       {{"method = \"glm\"\n", "method = \"glm\"\nprotocol = \"aggregates\"\n"},
        {"[engine]", "[release]\naccept = \"table of covariates\"\n\n[engine]"}}},
      {"glm-covariance",
       "readmission/study.toml",
       {{"method = \"glm\"\n", "method = \"glm\"\ncovariance = true\n"}}},
      {"survival", "trial_survival/study.toml"},
      {"cox", "trial_survival/hazards.toml"},
      {"cox-covariance",
       "trial_survival/hazards.toml",
       {{"model = \"cox\"\n", "model = \"cox\"\ncovariance = true\n"}}},
      {"mixed", "ward_recovery/study.toml"},
      {"mixed-covariance",
       "ward_recovery/study.toml",
       // One severe patient is the only one of a ward.
       {{"method = \"mixed\"\n", "method = \"mixed\"\ncovariance = true\n"},
        {"min_cell = 5\n", "min_cell = 1\n"}}},
      {"meta", "pooled_registries/study.toml"},
      {"describe", "baseline_table/study.toml"},
      {"mcmc",
       "registry_survival/study.toml",
       {{"chains = 160\nsuperchains = 8", "chains = 16\nsuperchains = 4"},
        {"warmup = 150", "warmup = 50"},
        {"draws = 125", "draws = 25"}},
       true},
      {"classify", "private_classifier/study.toml", {}, true},
      {"mixture", "synthetic_registry/study.toml", {}, true},
      {"marginals", "synthetic_registry/tables.toml", {}, true}};
  return studies;
}

std::string RecordedFile(const std::string& name) {
  return SourcePath("bindings/recorded/" + name + ".json");
}

bool Recording() { return std::getenv("PARTITA_RECORD") != nullptr; }

// Where a study is simulated: the example's folder, in which its tables lie, under another name.
class Example {
 public:
  explicit Example(const RecordedStudy& study)
      : folder_(fs::path(SourcePath("examples")) / fs::path(study.file).parent_path()) {
    std::string text = StudyFolder::Read(SourcePath("examples/" + study.file));
    for (const auto& [from, to] : study.edits) {
      const size_t at = text.find(from);
      if (at == std::string::npos) throw std::runtime_error(study.name + " has no " + from);
      text.replace(at, from.size(), to);
    }
    file_ = ::testing::TempDir() + "recorded-" + study.name + ".toml";
    StudyFolder::Write(file_, text);
  }
  ~Example() { fs::remove(file_); }
  Example(const Example&) = delete;
  Example& operator=(const Example&) = delete;

  std::vector<std::string> SimulateArguments() const {
    std::vector<std::string> arguments = {"study",    "simulate", file_,    "--in-process",
                                          "--format", "json",     "--quiet"};
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (!fs::exists(entry.path() / "data.csv")) continue;
      arguments.insert(arguments.end(), {"--data", entry.path().filename().string() + "=" +
                                                       (entry.path() / "data.csv").string()});
    }
    return arguments;
  }
  std::vector<std::string> PlanArguments() const {
    return {"study", "plan", file_, "--format", "json"};
  }

 private:
  fs::path folder_;
  std::string file_;
};

// The same objects, lists and texts; numbers within `tolerance` of each other, relative above 1.
// Infinite: any number, or none, for another.
void ExpectSame(const Json& was, const Json& is, double tolerance, const std::string& at) {
  const auto number = [](const Json& value) { return value.is_number() || value.is_null(); };
  if (number(was) && number(is)) {
    if (std::isinf(tolerance)) return;
    ASSERT_EQ(was.is_null(), is.is_null()) << at;
    if (was.is_null()) return;
    const double a = was, b = is;
    EXPECT_NEAR(a, b, tolerance * std::max(1.0, std::abs(a))) << at;
    return;
  }
  ASSERT_EQ(was.type(), is.type()) << at;
  if (!was.is_structured()) {
    EXPECT_EQ(was, is) << at;
    return;
  }
  ASSERT_EQ(was.size(), is.size()) << at;
  if (was.is_array()) {
    for (size_t i = 0; i < was.size(); ++i)
      ExpectSame(was[i], is[i], tolerance, at + "/" + std::to_string(i));
    return;
  }
  for (const auto& [key, value] : was.items()) {
    ASSERT_TRUE(is.contains(key)) << at << "/" << key;
    ExpectSame(value, is[key], tolerance, at + "/" + key);
  }
}

Json Printed(const std::vector<std::string>& arguments) {
  const ProcessResult run = Partita(arguments);
  EXPECT_TRUE(run.exit_code == 0 || run.exit_code == 8) << run.out << run.err;
  return Json::parse(run.out);
}

// What was recorded, or in recording `now`, which is written.
Json Recorded(const std::string& name, const std::function<Json()>& now) {
  if (Recording()) StudyFolder::Write(RecordedFile(name), now().dump(1) + "\n");
  return Json::parse(StudyFolder::Read(RecordedFile(name)));
}

void ExpectSchema(std::vector<std::string> command, const Json& output) {
  command.emplace_back("--schema");
  const ProcessResult schema = Partita(std::move(command));
  ASSERT_EQ(schema.exit_code, 0) << schema.err;
  EXPECT_EQ(JsonSchema(nlohmann::json::parse(schema.out)).Errors(output), "");
}

TEST(RecordedResultsTest, OfStudiesAreWhatTheyPrint) {
  std::set<std::string> methods;
  for (const RecordedStudy& study : RecordedStudies()) {
    SCOPED_TRACE(study.name);
    const Example example(study);
    const auto now = [&] { return Printed(example.SimulateArguments()); };
    const Json recorded = Recorded(study.name, now);
    ExpectSchema({"study", "simulate"}, recorded);
    methods.insert(recorded["data"]["plan"]["method"].get<std::string>());
    if (study.random || Recording()) continue;
    const Json fresh = now();
    EXPECT_EQ(fresh["status"], recorded["status"]);
    if (recorded["data"].contains("analyses")) {
      // Without what optimisers do on their way there.
      Json was = recorded["data"]["analyses"], is = fresh["data"]["analyses"];
      for (Json* analyses : {&was, &is})
        for (Json& analysis : *analyses) analysis["convergence"].erase("max_scaled_gradient");
      ExpectSame(was, is, 1e-6, "analyses");
    } else {
      ExpectSame(recorded["data"]["result"], fresh["data"]["result"],
                 std::numeric_limits<double>::infinity(), "result");
    }
  }
  const Json schema = Json::parse(StudyFolder::Read(SourcePath("docs/schemas/plan.json")));
  for (const std::string method : schema["properties"]["method"]["enum"])
    EXPECT_TRUE(methods.count(method)) << method << " has no recorded result";
}

TEST(RecordedResultsTest, OfAPlanIsWhatItPrints) {
  const Example example({"plan", "readmission/study.toml"});
  const auto now = [&] { return Printed(example.PlanArguments()); };
  const Json recorded = Recorded("plan", now);
  ExpectSchema({"study", "plan"}, recorded);
  ExpectSame(recorded["data"]["parties"], now()["data"]["parties"], 0, "parties");
}

// Which regression_test writes.
TEST(RecordedResultsTest, OfARegressionOnPrivateSums) {
  ExpectSchema({"regression", "fit"}, Json::parse(StudyFolder::Read(RecordedFile("sums"))));
}

TEST(RecordedResultsTest, OfAnErrorIsWhatItPrints) {
  const auto now = [] {
    const ProcessResult run = Partita({"study", "validate", "nowhere.toml", "--format", "json"});
    EXPECT_EQ(run.exit_code, 2);
    return Json::parse(run.out);
  };
  EXPECT_EQ(Recorded("error", now), now());
}

// What a package shows while a study runs.
TEST(RecordedResultsTest, ProgressIsObjectsWhereverItComesFrom) {
  for (const char* how : {"--in-process", "--force"}) {  // threads, processes
    const ProcessResult run =
        Partita({"study", "simulate", SourcePath("examples/three_factor/horizontal/study.toml"),
                 "--format", "json", "--progress", "jsonl", how});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    std::istringstream lines(run.err);
    std::set<std::string> phases;
    for (std::string line; std::getline(lines, line);) {
      const Json object = Json::parse(line);
      phases.insert(object.at("phase").get<std::string>());
      EXPECT_LE(object.at("done").get<uint64_t>(), object.at("total").get<uint64_t>());
      EXPECT_GE(object.at("seconds").get<double>(), 0);
    }
    EXPECT_THAT(phases, ::testing::IsSupersetOf({"moments", "fit"})) << run.err;
  }
}

}  // namespace
}  // namespace partita::testing::recorded_results_test
