// Faults in studies of a registry of patients: describe, glm, survival, mixed, meta, marginals, and
// maximum likelihood beyond moments.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>

#include "tests/run/fault_scenarios.h"
#include "tests/run/reference_study.h"

namespace partita::testing {
namespace {

constexpr char kVariables[] = R"toml([[variable]]
name = "age"
type = "numeric"
lower = 20
upper = 90
[[variable]]
name = "arm"
type = "factor"
levels = ["old", "new"]
[[variable]]
name = "relapse"
type = "integer"
lower = 0
upper = 1
[[variable]]
name = "score"
type = "numeric"
lower = 0
upper = 100
[[variable]]
name = "ward"
type = "integer"
lower = 1
upper = 12
[[variable]]
name = "death"
type = "survival"
time = "days"
event = "died"
lower = 0
upper = 100
[design]
site = "ignore"
missing = "complete"
[disclosure]
min_rows = 100
[release]
accept = "table of covariates"
)toml";

constexpr char kHeader[] = "age,arm,relapse,score,ward,days,died";
constexpr int kPatients = 120;  // of each holder, or of all where columns are split

constexpr char kPrivacy[] =
    "[analysis.privacy]\nepsilon = 8\ndelta = 1e-5\nadjacency = \"replace\"\n";

struct Patient {
  std::string age, arm, relapse, score, ward, days, died;
};

std::vector<Patient> Patients(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<Patient> patients;
  for (int i = 0; i < kPatients; ++i) {
    const double age = 20 + 70 * uniform(random), effect = (i / 2) % 2 == 0 ? 0 : 1;
    const int ward = 1 + i % 12;
    const double score =
        std::clamp(40 + age / 5 + 8 * effect + 2 * (ward % 5) + 9 * normal(random), 0.0, 100.0);
    const double days = std::clamp(-40 * std::log(uniform(random)) * (1 + effect), 1.0, 99.0);
    patients.push_back({fmt::format("{:.2f}", age), effect > 0 ? "new" : "old",
                        uniform(random) < 0.3 + 0.3 * effect ? "1" : "0",
                        fmt::format("{:.2f}", score), std::to_string(ward),
                        fmt::format("{:.0f}", days), uniform(random) < 0.7 ? "1" : "0"});
  }
  return patients;
}

// Whole rows at each holder, of which the first is the receiver.
FaultScenario Pooled(const std::string& method, const FaultEngine& engine,
                     const std::string& analysis) {
  return {method, engine.label, [=] {
            const std::filesystem::path folder = MakeTemporaryFolder("faults");
            std::string parties, blocks;
            for (size_t h = 0; h < engine.holders; ++h) {
              parties += fmt::format(
                  "[[party]]\nname = \"{0}\"\nroles = [\"holder\"{1}]\nrows = [\"{0}\"]\n",
                  kHolderNames[h], h == 0 ? ", \"receiver\"" : "");
              blocks +=
                  fmt::format("[[rows]]\nname = \"{}\"\ncount = {}\n", kHolderNames[h], kPatients);
              std::ofstream csv(folder / fmt::format("{}.csv", kHolderNames[h]));
              csv << kHeader << "\n";
              for (const Patient& p : Patients(h)) {
                csv << fmt::format("{},{},{},{},{},{},{}\n", p.age, p.arm, p.relapse, p.score,
                                   p.ward, p.days, p.died);
              }
            }
            return MakeFaultStudy(method + ", " + engine.label,
                                  "partita = 1\nname = \"faults\"\n" + parties + DealerOf(engine) +
                                      blocks + kVariables + EngineOf(engine) + "[[analysis]]\n" +
                                      analysis,
                                  folder);
          }};
}

// Age and arm at one holder, relapse and score at another, nothing of the analysis at others.
FaultScenario Linked(const std::string& method, const FaultEngine& engine,
                     const std::string& analysis) {
  return {method, engine.label, [=] {
            const std::filesystem::path folder = MakeTemporaryFolder("faults");
            const std::vector<Patient> patients = Patients(1);
            const size_t holders = engine.name == "dealer" ? 2 : engine.holders;
            std::string parties;
            for (size_t h = 0; h < holders; ++h) {
              const char* columns[] = {"\"age\", \"arm\"", "\"relapse\", \"score\"", "\"ward\""};
              parties +=
                  fmt::format("[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = [{}]\n",
                              kHolderNames[h], h == 0 ? ", \"receiver\"" : "", columns[h]);
              std::ofstream csv(folder / fmt::format("{}.csv", kHolderNames[h]));
              csv << (h == 0 ? "id,age,arm\n" : h == 1 ? "id,relapse,score\n" : "id,ward\n");
              for (size_t i = 0; i < patients.size(); ++i) {
                const Patient& p = patients[i];
                csv << fmt::format("k{},{}\n", i,
                                   h == 0   ? p.age + "," + p.arm
                                   : h == 1 ? p.relapse + "," + p.score
                                            : p.ward);
              }
            }
            std::string variables = kVariables;
            const auto leave_out = [&](const std::string& from, const std::string& to) {
              const size_t begin = variables.find(from);
              variables.erase(begin, variables.find(to) - begin);
            };
            leave_out("[[variable]]\nname = \"death\"", "[design]");
            if (holders == 2) leave_out("[[variable]]\nname = \"ward\"", "[design]");
            return MakeFaultStudy(
                method + ", " + engine.label,
                "partita = 1\nname = \"faults\"\n" + parties + DealerOf(engine) +
                    fmt::format("[[rows]]\nname = \"all\"\ncount = {}\n[table]\nkey = \"id\"\n",
                                kPatients) +
                    variables + EngineOf(engine) + "[[analysis]]\n" + analysis,
                folder);
          }};
}

}  // namespace

std::vector<FaultScenario> RegistryFaults() {
  const std::string glm = "method = \"glm\"\nrelease = [\"estimates\"]\n";
  const std::string survival = "method = \"survival\"\n";
  const std::string mle =
      "method = \"mle\"\nfunction = \"sem\"\nmodel = \"score ~ age\"\nprotocol = ";
  std::vector<FaultScenario> all;
  for (const FaultEngine& engine : kFaultEngines) {
    if (engine.stored || engine.holders > 3) continue;
    all.push_back(Pooled("describe", engine,
                         "method = \"describe\"\nvariables = [\"age\", \"relapse\"]\ngroup = "
                         "\"arm\"\nquantiles = [0.5]\ncompare = [\"welch\", \"ratios\"]\n"
                         "release = [\"table\"]\n"));
    all.push_back(Pooled("describe private", engine,
                         std::string("method = \"describe\"\nvariables = [\"age\", \"relapse\"]\n"
                                     "group = \"arm\"\n") +
                             kPrivacy));
    all.push_back(Pooled("glm aggregates", engine,
                         glm + "family = \"gaussian\"\nprotocol = \"aggregates\"\n"
                               "formula = \"score ~ age + arm\"\n"));
    all.push_back(Pooled("glm iterates", engine,
                         glm + "family = \"binomial\"\nformula = \"relapse ~ age + arm\"\n"
                               "errors = \"robust\"\n"));
    all.push_back(Pooled("glm rows sealed", engine,
                         glm + "family = \"binomial\"\nprotocol = \"sealed\"\n"
                               "formula = \"relapse ~ age + arm\"\n"
                               "[analysis.risk_groups]\ncuts = [0.5]\n"));
    all.push_back(Pooled("survival curves", engine,
                         survival + "formula = \"Surv(days, died) ~ arm\"\nreport = [20, 60]\n"
                                    "release = [\"curves\"]\n"));
    all.push_back(
        Pooled("survival private", engine,
               survival + "formula = \"Surv(days, died) ~ arm\"\nreport = [20, 60]\n" + kPrivacy));
    all.push_back(Pooled("survival cox", engine,
                         survival + "model = \"cox\"\nformula = \"Surv(days, died) ~ age + arm\"\n"
                                    "release = [\"estimates\"]\n"));
    all.push_back(Pooled("mixed", engine,
                         "method = \"mixed\"\nformula = \"score ~ age + arm + (1 | ward)\"\n"
                         "release = [\"estimates\"]\n"));
    if (engine.holders >= 3)
      all.push_back(Pooled("meta", engine,
                           "method = \"meta\"\nformula = \"relapse ~ arm + age\"\nfamily = "
                           "\"binomial\"\nterm = \"arm.new\"\nrelease = [\"pooled\"]\n"));
    all.push_back(Pooled(
        "mle robust", engine,
        mle + "\"pooled-moments\"\nrobust = true\n"
              "release = [\"moments\", \"robust\", {what = \"estimates\", to = \"all\"}]\n"));
    all.push_back(Pooled("mle sealed", engine,
                         mle + "\"sealed\"\nrelease = [\"estimates\", \"standard-errors\"]\n"));
    all.push_back(Pooled("marginals", engine,
                         std::string("method = \"marginals\"\ncolumns = [{variable = \"age\", bins "
                                     "= 3}, \"arm\", \"relapse\"]\nsynthetic_rows = 10\n") +
                             kPrivacy));
    all.push_back(Linked("marginals of columns", engine,
                         std::string("method = \"marginals\"\ncolumns = [{variable = \"age\", bins "
                                     "= 3}, \"arm\", \"relapse\"]\nsynthetic_rows = 10\n") +
                             kPrivacy));
  }
  return all;
}

}  // namespace partita::testing
