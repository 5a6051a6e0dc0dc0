// Whole studies, from the command to the report: `partita study simulate`, one process per party,
// TLS on loopback. The numbers of docs/benchmarks.md; `lavaan_growth.R` fits the same pooled table
// in the same run where R with lavaan is installed.
//
//   study_bench [--benchmark_filter=growth|million]
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numbers>
#include <random>

namespace {

namespace fs = std::filesystem;

// Mock data only: a plain generator and a Box-Muller transform, the same numbers everywhere.
class Normal {
 public:
  explicit Normal(uint64_t seed) : bits_(seed) {}
  double operator()() {
    const double u = (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53;
    const double v = (static_cast<double>(bits_() >> 11) + 0.5) * 0x1p-53;
    return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  }

 private:
  std::mt19937_64 bits_;
};

// A folder with study.toml, one table per party and the pooled table.
struct StudyFolder {
  fs::path path;
  explicit StudyFolder(const std::string& name) {
    std::string pattern =
        (fs::temp_directory_path() / ("partita-bench-" + name + "-XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path = pattern;
  }
  ~StudyFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  StudyFolder(const StudyFolder&) = delete;
};

// K vertical blocks of equal width over the same n rows; the first holder receives. `row` fills one
// row of p values.
template <typename F>
void WriteVertical(const StudyFolder& folder, size_t n, size_t p, size_t num_parties, double bound,
                   const std::vector<std::string>& models, const std::string& function, bool pooled,
                   F row) {
  std::string toml = "partita = 1\nname = \"bench\"\ntitle = \"bench\"\n";
  std::vector<std::ofstream> tables;
  const size_t width = p / num_parties;
  for (size_t k = 0; k < num_parties; ++k) {
    const std::string party = fmt::format("party{}", k);
    fs::create_directories(folder.path / party);
    tables.emplace_back(folder.path / party / "data.csv");
    std::string columns;
    tables[k] << "id";
    for (size_t j = k * width; j < (k + 1) * width; ++j) {
      columns += fmt::format("{}\"t{}\"", columns.empty() ? "" : ", ", j + 1);
      tables[k] << ",t" << j + 1;
    }
    tables[k] << "\n";
    toml += fmt::format("\n[[party]]\nname = \"{}\"\nroles = [\"holder\"{}]\ncolumns = [{}]\n",
                        party, k == 0 ? ", \"receiver\"" : "", columns);
  }
  toml += "\n[[party]]\nname = \"dealer\"\nroles = [\"dealer\"]\n";
  toml += fmt::format(
      "\n[[rows]]\nname = \"all\"\ncount = {}\n\n[table]\nkey = \"id\"\n"
      "\n[design]\nsite = \"ignore\"\nmissing = \"refuse\"\n",
      n);
  for (size_t j = 0; j < p; ++j) {
    toml +=
        fmt::format("\n[[variable]]\nname = \"t{}\"\ntype = \"numeric\"\nlower = {}\nupper = {}\n",
                    j + 1, -bound, bound);
  }
  toml += "\n[engine]\nname = \"dealer\"\n";
  for (size_t a = 0; a < models.size(); ++a) {
    toml += fmt::format(
        "\n[[analysis]]\nname = \"a{}\"\nrelease = [\"moments\"]\nmethod = \"mle\"\n"
        "protocol = \"pooled-moments\"\nfunction = \"{}\"\nmodel = \"\"\"\n{}\n\"\"\"\n",
        a, function, models[a]);
  }
  std::ofstream(folder.path / "study.toml") << toml;

  std::ofstream pool;
  if (pooled) {
    pool.open(folder.path / "pooled.csv");
    for (size_t j = 0; j < p; ++j) pool << (j == 0 ? "" : ",") << "t" << j + 1;
    pool << "\n";
  }
  std::vector<double> values(p);
  std::string line;
  for (size_t i = 0; i < n; ++i) {
    row(values);
    for (size_t k = 0; k < num_parties; ++k) {
      line = fmt::format("p{:07}", (i * 7919) % n);
      for (size_t j = k * width; j < (k + 1) * width; ++j)
        line += fmt::format(",{:.8g}", values[j]);
      tables[k] << line << "\n";
    }
    if (pooled) {
      for (size_t j = 0; j < p; ++j)
        pool << (j == 0 ? "" : ",") << fmt::format("{:.8g}", values[j]);
      pool << "\n";
    }
  }
}

// Runs the command, returns its standard output. Wall-clock seconds and the largest process's
// memory come back too.
std::string RunCommand(const std::string& command, double& seconds) {
  const auto start = std::chrono::steady_clock::now();
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string out;
  char buffer[65536];
  size_t got;
  while ((got = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0) out.append(buffer, got);
  const int status = ::pclose(pipe);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (status != 0) throw std::runtime_error("failed: " + command + "\n" + out);
  return out;
}

// One study per iteration; seconds per phase at the receiver as counters.
void RunStudy(benchmark::State& state, const StudyFolder& folder) {
  const std::string command = fmt::format("{} study simulate {} --format json --quiet",
                                          PARTITA_PROGRAM, (folder.path / "study.toml").string());
  std::map<std::string, double> phases;
  double own = 0;
  for (auto _ : state) {
    double seconds = 0;
    const nlohmann::json result = nlohmann::json::parse(RunCommand(command, seconds))["data"];
    state.SetIterationTime(seconds);
    for (const auto& phase : result["traffic"])
      phases[phase["phase"]] += phase["seconds"].get<double>();
    own += result["seconds_total"].get<double>();
  }
  const auto average = benchmark::Counter::kAvgIterations;
  for (const auto& [phase, seconds] : phases) state.counters[phase + " s"] = {seconds, average};
  state.counters["receiver s"] = {own, average};
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  state.counters["largest process MB"] = static_cast<double>(usage.ru_maxrss) / 1024;
}

std::string GrowthModel(size_t waves) {
  std::string intercept = "i =~ ", slope = "s =~ ", residuals;
  for (size_t j = 0; j < waves; ++j) {
    intercept += fmt::format("{}1*t{}", j == 0 ? "" : " + ", j + 1);
    slope += fmt::format("{}{}*t{}", j == 0 ? "" : " + ", j, j + 1);
    residuals += fmt::format("t{} ~~ e*t{}\n", j + 1, j + 1);
  }
  return intercept + "\n" + slope + "\n" + residuals;
}

// The linear growth model of the secure-MLE authors' timing: eta = (N, N) L^T + (5, .7), L = [1.5
// 0; .3 .6], e ~ N(0, 1.3^2).
void WriteGrowth(const StudyFolder& folder, size_t n, size_t waves, size_t num_parties) {
  Normal normal(100 + waves);
  WriteVertical(folder, n, waves, num_parties, 100, {GrowthModel(waves)}, "growth", true,
                [&](std::vector<double>& values) {
                  const double a = normal(), b = normal();
                  const double intercept = 5 + 1.5 * a, slope = 0.7 + 0.3 * a + 0.6 * b;
                  for (size_t j = 0; j < waves; ++j)
                    values[j] = intercept + slope * static_cast<double>(j) + 1.3 * normal();
                });
}

void BM_growth(benchmark::State& state) {
  const auto waves = static_cast<size_t>(state.range(0)),
             parties = static_cast<size_t>(state.range(1));
  const StudyFolder folder("growth");
  WriteGrowth(folder, 1000, waves, parties);
  RunStudy(state, folder);
}
BENCHMARK(BM_growth)
    ->ArgNames({"waves", "parties"})
    ->Args({12, 3})
    ->Args({25, 5})
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(10);

// The peer on the pooled table, fit only, as its own clock says.
void BM_lavaan_growth(benchmark::State& state) {
  const auto waves = static_cast<size_t>(state.range(0));
  const StudyFolder folder("lavaan");
  WriteGrowth(folder, 1000, waves, 1);
  std::ofstream(folder.path / "model.txt") << GrowthModel(waves);
  const std::string command =
      fmt::format("Rscript --vanilla {}/bench/lavaan_growth.R {} 2>/dev/null", PARTITA_SOURCE_DIR,
                  folder.path.string());
  for (auto _ : state) {
    double ignored = 0;
    try {
      state.SetIterationTime(std::stod(RunCommand(command, ignored)));
    } catch (const std::exception&) {
      state.SkipWithError("R with lavaan is not installed");
      return;
    }
  }
}
BENCHMARK(BM_lavaan_growth)
    ->ArgNames({"waves"})
    ->Arg(12)
    ->Arg(25)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

// Many analyses over one row set: regressions of the first variable on growing sets of the others,
// again and again. One computation serves them all.
void BM_analyses(benchmark::State& state) {
  const auto count = static_cast<size_t>(state.range(0));
  const StudyFolder folder("analyses");
  std::vector<std::string> models;
  for (size_t a = 0; a < count; ++a) {
    // The last one uses everything, so that one analysis alone needs the same moments.
    const size_t regressors = a + 1 == count ? 11 : 1 + a % 11;
    std::string model = "t1 ~ ";
    for (size_t j = 0; j < regressors; ++j)
      model += fmt::format("{}t{}", j == 0 ? "" : " + ", j + 2);
    models.push_back(model);
  }
  Normal normal(11);
  WriteVertical(folder, 1000, 12, 3, 10, models, "sem", false, [&](std::vector<double>& values) {
    const double factor = normal();
    for (double& value : values) value = 0.5 * factor + normal();
  });
  RunStudy(state, folder);
}
BENCHMARK(BM_analyses)
    ->ArgNames({"analyses"})
    ->Arg(1)
    ->Arg(20)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(10);

// A million rows, ten columns at each of two holders.
void BM_million(benchmark::State& state) {
  const StudyFolder folder("million");
  Normal normal(7);
  std::string model = "f =~ ";
  for (size_t j = 0; j < 20; ++j) model += fmt::format("{}t{}", j == 0 ? "" : " + ", j + 1);
  WriteVertical(folder, 1'000'000, 20, 2, 10, {model}, "cfa", false,
                [&](std::vector<double>& values) {
                  const double factor = normal();
                  for (double& value : values) value = 0.7 * factor + 0.7 * normal();
                });
  RunStudy(state, folder);
}
BENCHMARK(BM_million)->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace

BENCHMARK_MAIN();
