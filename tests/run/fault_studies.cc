#include "tests/run/fault_studies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <thread>
#include <utility>

#include "methods/prepare_study.h"
#include "net/memory_transport.h"
#include "run/ahead/correlations.h"
#include "tests/run/fault_scenarios.h"
#include "tests/run/reference_study.h"

namespace partita::testing {
namespace {

constexpr int kRows = 30;  // of each holder

// Whole rows at each holder, of which the first is the receiver.
std::string WholeRows(const FaultEngine& engine, const std::string& variables,
                      const std::string& analysis) {
  std::string toml = "partita = 1\nname = \"faults\"\n";
  for (size_t h = 0; h < engine.holders; ++h) {
    toml += fmt::format("[[party]]\nname = \"{0}\"\nroles = [\"holder\"{1}]\nrows = [\"{0}\"]\n",
                        kHolderNames[h], h == 0 ? ", \"receiver\"" : "");
  }
  toml += DealerOf(engine);
  for (size_t h = 0; h < engine.holders; ++h)
    toml += fmt::format("[[rows]]\nname = \"{}\"\ncount = {}\n", kHolderNames[h], kRows);
  return toml + variables + "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n" +
         EngineOf(engine) + "[[analysis]]\n" + analysis;
}

constexpr char kNumeric[] =
    "[[variable]]\nname = \"y\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n"
    "[[variable]]\nname = \"x\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n";
constexpr char kOutcome[] =
    "[[variable]]\nname = \"x\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n"
    "[[variable]]\nname = \"out\"\ntype = \"factor\"\nlevels = [\"no\", \"yes\"]\n";
constexpr char kZeroOne[] =
    "[[variable]]\nname = \"x\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n"
    "[[variable]]\nname = \"one\"\ntype = \"integer\"\nlower = 0\nupper = 1\n";

// y, x, out and one, by holder.
void WriteWholeRows(const std::filesystem::path& folder, const FaultEngine& engine,
                    const std::vector<std::string>& columns) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  for (size_t h = 0; h < engine.holders; ++h) {
    std::ofstream csv(folder / fmt::format("{}.csv", kHolderNames[h]));
    for (size_t c = 0; c < columns.size(); ++c) csv << (c > 0 ? "," : "") << columns[c];
    csv << "\n";
    for (int i = 0; i < kRows; ++i) {
      const double x = std::clamp(normal(random), -4.5, 4.5);
      const double y = std::clamp(0.5 * x + normal(random), -4.5, 4.5);
      for (size_t c = 0; c < columns.size(); ++c) {
        const std::string& column = columns[c];
        csv << (c > 0 ? "," : "")
            << (column == "x"     ? fmt::format("{:.4f}", x)
                : column == "y"   ? fmt::format("{:.4f}", y)
                : column == "out" ? (y > 0 ? "yes" : "no")
                                  : (y > 0 ? "1" : "0"));
      }
      csv << "\n";
    }
  }
}

// What the run uses up, of one run; copied for every run.
void PrepareStores(const run::Study& study, const std::filesystem::path& folder) {
  crypto::SystemRandom random;
  const std::vector<std::string> names = run::PartyNames(study);
  std::vector<std::unique_ptr<net::Transport>> transports =
      net::MakeMemoryTransports(names, random);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < names.size(); ++i) {
    threads.emplace_back([&, i] {
      crypto::SystemRandom own;
      SilentProgress progress;
      run::PrepareInput input;
      input.party = i;
      input.store = folder / (names[i] + ".store");
      run::PrepareCorrelations(
          study, input, [&] { return std::move(transports[i]); }, own, progress);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

FaultScenario OfWholeRows(const std::string& method, const FaultEngine& engine,
                          const std::string& variables, const std::vector<std::string>& columns,
                          const std::string& analysis) {
  return {method, engine.label, [=] {
            const std::filesystem::path folder = MakeTemporaryFolder("faults");
            WriteWholeRows(folder, engine, columns);
            return MakeFaultStudy(method + ", " + engine.label,
                                  WholeRows(engine, variables, analysis), folder);
          }};
}

// A column at each holder: of two beside a dealer, else of all computing parties.
FaultScenario Mixture(const FaultEngine& engine) {
  return {
      "mixture", engine.label, [=] {
        const std::filesystem::path folder = MakeTemporaryFolder("faults");
        const size_t holders = engine.name == "dealer" ? 2 : engine.holders;
        std::string parties, variables, columns;
        std::mt19937_64 random(7);
        std::normal_distribution<double> normal;
        for (size_t h = 0; h < holders; ++h) {
          parties +=
              fmt::format("[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = [\"c{}\"]\n",
                          kHolderNames[h], h == 0 ? ", \"receiver\"" : "", h);
          variables += fmt::format(
              "[[variable]]\nname = \"c{}\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n", h);
          columns += fmt::format("{}\"c{}\"", h > 0 ? ", " : "", h);
          std::ofstream csv(folder / fmt::format("{}.csv", kHolderNames[h]));
          csv << "id,c" << h << "\n";
          for (int i = 0; i < kRows; ++i)
            csv << fmt::format("k{},{:.4f}\n", i, std::clamp(normal(random), -4.5, 4.5));
        }
        const std::string toml =
            "partita = 1\nname = \"faults\"\n" + parties + DealerOf(engine) +
            fmt::format("[[rows]]\nname = \"all\"\ncount = {}\n[table]\nkey = \"id\"\n", kRows) +
            variables + "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n" + EngineOf(engine) +
            fmt::format("[[analysis]]\nmethod = \"mixture\"\ncolumns = [{}]\n", columns) +
            "components = 2\niterations = 3\ncheckpoint_every = 2\nlearning_rate = 0.05\n"
            "[analysis.batch]\nmode = \"poisson\"\nsize = 8\n"
            "[analysis.privacy]\nnoise_multiplier = 1.5\ndelta = 1e-5\nadjacency = "
            "\"replace\"\n";
        return MakeFaultStudy("mixture, " + engine.label, toml, folder);
      }};
}

// A sealed regression of what has messages of its own: covariates and a factor at other holders than the
// outcome, tests of terms; linear with a ridge and clusters at another holder, logistic with weights there.
FaultScenario SealedGlm(const std::string& method, const std::string& family,
                        const FaultEngine& engine) {
  return {
      method, engine.label, [=] {
        const std::filesystem::path folder = MakeTemporaryFolder("faults");
        const size_t holders = engine.name == "dealer" ? 2 : engine.holders;
        constexpr int kSealedRows = 60;
        const bool binomial = family == "binomial";
        std::string parties, variables, formula;
        std::mt19937_64 random(9);
        std::normal_distribution<double> normal;
        std::vector<double> effect(kSealedRows, 0);
        for (size_t h = holders; h-- > 0;) {
          const std::string own = h == 0   ? "\"c0\", \"y\""
                                  : h == 1 ? "\"c1\", \"stage\", \"w\", \"ward\""
                                           : fmt::format("\"c{}\"", h);
          parties =
              fmt::format("[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = [{}]\n",
                          kHolderNames[h], h == 0 ? ", \"receiver\"" : "", own) +
              parties;
          variables += fmt::format(
              "[[variable]]\nname = \"c{}\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n", h);
          formula = fmt::format(" + c{}", h) + formula;
          std::ofstream csv(folder / fmt::format("{}.csv", kHolderNames[h]));
          csv << "id,c" << h << (h == 0 ? ",y" : h == 1 ? ",stage,w,ward" : "") << "\n";
          for (int i = 0; i < kSealedRows; ++i) {
            const double x = std::clamp(normal(random), -4.5, 4.5);
            double& mean = effect[static_cast<size_t>(i)];
            mean += 0.3 * x;
            csv << fmt::format("k{:02},{:.4f}", i, x);
            const double y = std::clamp(mean + normal(random), -4.5, 4.5);
            if (h == 0) csv << (binomial ? (y > 0 ? ",1" : ",0") : fmt::format(",{:.4f}", y));
            if (h == 1) csv << fmt::format(",{},{:.2f},{}", "abc"[i % 3], 0.5 + i % 4, i % 13);
            csv << "\n";
          }
        }
        variables +=
            binomial ? "[[variable]]\nname = \"y\"\ntype = \"integer\"\nlower = 0\nupper = 1\n"
                     : "[[variable]]\nname = \"y\"\ntype = \"numeric\"\nlower = -5\nupper = 5\n";
        variables +=
            "[[variable]]\nname = \"stage\"\ntype = \"factor\"\nlevels = [\"a\", \"b\", \"c\"]\n"
            "[[variable]]\nname = \"w\"\ntype = \"numeric\"\nlower = 0.1\nupper = 4\n"
            "[[variable]]\nname = \"ward\"\ntype = \"integer\"\nlower = 0\nupper = 13\n";
        const std::string toml =
            "partita = 1\nname = \"faults\"\n" + parties + DealerOf(engine) +
            fmt::format("[[rows]]\nname = \"all\"\ncount = {}\n[table]\nkey = \"id\"\n",
                        kSealedRows) +
            variables + "[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n" +
            (binomial ? "weights = \"w\"\nweights_type = \"sampling\"\n" : "cluster = \"ward\"\n") +
            "[disclosure]\nmin_cell = 1\nmin_rows = 30\n[release]\n"
            "accept = \"table of covariates\"\n" +
            EngineOf(engine) +
            fmt::format(
                "[[analysis]]\nmethod = \"glm\"\nprotocol = \"sealed\"\nfamily = \"{}\"\n"
                "formula = \"y ~ stage{}\"\n{}\nrelease = [\"estimates\"]\n",
                family, formula,
                binomial ? "steps = 4" : "errors = \"cluster\"\npenalty = {ridge = 0.05}");
        return MakeFaultStudy(method + ", " + engine.label, toml, folder);
      }};
}

std::string Classify(const std::string& protocol) {
  std::string text = fmt::format(
      "method = \"classify\"\nprotocol = \"{}\"\noutcome = \"out\"\npositive = \"yes\"\n"
      "predictors = [\"x\"]\nintercept = true\nlambda = 0.5\n",
      protocol);
  if (protocol == "dp-sgd") {
    text += "iterations = 3\nstep = 1\nsampling_rate = 0.5\nclip_norm = 0.8\noptimiser = \"sgd\"\n";
  }
  return text +
         "evaluation = \"private\"\ntest_share = 0.3\nscore_bins = 4\n"
         "[analysis.privacy]\nepsilon = 4\ndelta = 1e-4\nadjacency = \"replace\"\n";
}

std::string Mcmc(const std::string& protocol, const std::string& release, const std::string& more) {
  return fmt::format(
      "method = \"mcmc\"\nprotocol = \"{}\"\nmodel = \"logistic\"\noutcome = \"one\"\npredictors = "
      "[\"x\"]\nrelease = [\"{}\"]\nchains = 2\nwarmup = 4\ndraws = 4\n[analysis.privacy]\nepsilon "
      "= 50\ndelta = 1e-5\nadjacency = \"replace\"\nclip = 0.05\n{}",
      protocol, release, more);
}

}  // namespace

std::string DealerOf(const FaultEngine& engine) {
  return engine.name == "dealer" ? "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n" : "";
}

std::string EngineOf(const FaultEngine& engine) {
  return fmt::format("[engine]\nname = \"{}\"\n{}", engine.name,
                     engine.stored ? "correlations = \"stored\"\n" : "");
}

FaultStudy MakeFaultStudy(const std::string& name, const std::string& text,
                          const std::filesystem::path& folder) {
  FaultStudy made{name, nullptr, folder};
  made.study = methods::PrepareStudy(methods::ParseStudyFile(text, "study.toml"));
  const std::string method = made.study->Method().name;
  made.goes_on = method == "mixture" || method == "mcmc";
  if (made.study->file.engine.stored_correlations) PrepareStores(*made.study, folder);
  return made;
}

std::vector<FaultScenario> FaultScenarios() {
  std::vector<FaultScenario> scenarios;
  const std::string mle = "method = \"mle\"\nfunction = \"sem\"\nmodel = \"y ~ x\"\n";
  const std::string moments = "protocol = \"pooled-moments\"\nrelease = [\"moments\"]\n";
  const std::string privacy =
      "[analysis.privacy]\nepsilon = 100\ndelta = 1e-6\nadjacency = \"replace\"\n";
  for (const FaultEngine& engine : kFaultEngines) {
    scenarios.push_back(
        OfWholeRows("mle private moments", engine, kNumeric, {"y", "x"}, mle + moments + privacy));
  }
  for (const FaultEngine& engine : kFaultEngines) {
    scenarios.push_back(
        OfWholeRows("mle exact moments", engine, kNumeric, {"y", "x"}, mle + moments));
  }
  for (const FaultEngine& engine : kFaultEngines) {
    if (engine.stored) continue;
    scenarios.push_back(
        OfWholeRows("mle exact likelihood", engine, kNumeric, {"y", "x"},
                    mle + "protocol = \"likelihood\"\nrelease = [\"likelihood\"]\n"));
  }
  for (const auto& [method, family] :
       {std::pair{"glm sealed linear", "gaussian"}, std::pair{"glm sealed logistic", "binomial"}}) {
    for (const FaultEngine& engine : kFaultEngines) {
      if (!engine.stored && engine.label != "shamir 5")
        scenarios.push_back(SealedGlm(method, family, engine));
    }
  }
  for (const std::string protocol : {"dp-sgd", "local-aggregation", "psgd", "approximate-minima"}) {
    for (const FaultEngine& engine : kFaultEngines) {
      if (engine.stored) continue;
      scenarios.push_back(
          OfWholeRows("classify " + protocol, engine, kOutcome, {"x", "out"}, Classify(protocol)));
    }
  }
  for (const FaultEngine& engine : kFaultEngines) {
    if (!engine.stored && engine.name != "shamir") scenarios.push_back(Mixture(engine));
  }
  for (const FaultEngine& engine : kFaultEngines) {
    if (engine.stored) continue;
    scenarios.push_back(OfWholeRows("mcmc decisions", engine, kZeroOne, {"x", "one"},
                                    Mcmc("decisions", "decisions", "")));
    scenarios.push_back(OfWholeRows("mcmc penalty", engine, kZeroOne, {"x", "one"},
                                    Mcmc("penalty", "noisy-log-ratios", "noise = 15\n")));
  }
  for (FaultScenario& scenario : RegistryFaults()) scenarios.push_back(std::move(scenario));
  for (FaultScenario& scenario : HiddenFaults()) scenarios.push_back(std::move(scenario));
  return scenarios;
}

}  // namespace partita::testing
