// bench_rows NUMBERS.json: the Markdown tables of docs/benchmarks.md from what
// `partita bench mpc --output NUMBERS.json` wrote, with the peers' numbers beside ours.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using Json = nlohmann::json;

// MP-SPDZ at commit 3a0a7b1d on this kind of machine, loopback, milliseconds, preprocessing
// included: three parties replicated with 40 fraction bits, two and a dealer with 32.
struct Peer {
  double replicated = 0, dealer = 0;
};
const std::map<std::pair<std::string, std::string>, Peer> kPeers = {
    {{"multiply", "1000000"}, {271, 727}},      {{"matrix product", "100 x 100"}, {14.7, 11.2}},
    {{"compare", "100000"}, {143, 135}},        {{"reciprocal", "1000"}, {17.3, 22.8}},
    {{"reciprocal", "100000"}, {1625, 2180}},   {{"inverse square root", "1000"}, {18.7, 22.6}},
    {{"square root", "1000"}, {88, 90}},        {{"exponential", "100000"}, {2587, 3108}},
    {{"row softmax", "1000 x 20"}, {576, 603}},
};

const std::vector<std::string> kEngines = {"replicated", "dealer", "ot", "shamir"};

struct Line {
  std::string operation, size;
  std::map<std::string, const Json*> of_engine;
};

std::string Milliseconds(double seconds) {
  const double ms = 1e3 * seconds;
  return fmt::format("{:.{}f}", ms, ms < 10 ? 2 : ms < 100 ? 1 : 0);
}

// In the order of the file.
std::vector<Line> LinesOf(const Json& rows, double latency) {
  std::vector<Line> lines;
  for (const Json& row : rows) {
    if (row.at("latency_ms").get<double>() != latency) continue;
    const std::string operation = row.at("operation"), size = row.at("size");
    auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& known) {
      return known.operation == operation && known.size == size;
    });
    if (line == lines.end()) line = lines.insert(lines.end(), {operation, size, {}});
    line->of_engine[row.at("engine")] = &row;
  }
  return lines;
}

// Median milliseconds, together and apart, rounds, and megabytes of both kinds.
std::string CellOf(const Line& line, const std::string& engine) {
  const auto found = line.of_engine.find(engine);
  if (found == line.of_engine.end()) return "-";
  const Json& row = *found->second;
  const double offline = row.at("offline_seconds");
  const std::string apart = offline > 0 ? fmt::format(" ({} + {})", Milliseconds(offline),
                                                      Milliseconds(row.at("online_seconds")))
                                        : "";
  return fmt::format("{}{} ms; {}; {:.3g} + {:.3g} MB", Milliseconds(row.at("median_seconds")),
                     apart, row.at("rounds").get<uint64_t>(),
                     row.at("offline_bytes").get<double>() / 1e6,
                     row.at("online_bytes").get<double>() / 1e6);
}

void Print(const Json& rows, double latency) {
  const bool loopback = latency == 0;
  std::cout << fmt::format(
                   "\n{}: median together (offline + online apart); rounds; offline + online "
                   "payload over "
                   "all links.\n\n",
                   loopback ? "Loopback" : fmt::format("{:g} ms one way", latency))
            << "| operation | size |";
  for (const std::string& engine : kEngines) std::cout << " " << engine << " |";
  if (loopback) std::cout << " peer, replicated / dealer |";
  std::cout << "\n|---|---|--:|--:|--:|--:|" << (loopback ? "--:|" : "") << "\n";
  for (const Line& line : LinesOf(rows, latency)) {
    std::cout << fmt::format("| {} | {} |", line.operation, line.size);
    for (const std::string& engine : kEngines) std::cout << " " << CellOf(line, engine) << " |";
    if (loopback) {
      const auto peer = kPeers.find({line.operation, line.size});
      std::cout << (peer == kPeers.end() ? " - |"
                                         : fmt::format(" {:g} / {:g} ms |", peer->second.replicated,
                                                       peer->second.dealer));
    }
    std::cout << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: bench_rows NUMBERS.json\n";
    return 2;
  }
  try {
    std::ifstream file(argv[1]);
    const Json numbers = Json::parse(file);
    std::vector<double> latencies;
    for (const Json& row : numbers.at("rows")) {
      const double latency = row.at("latency_ms");
      if (std::find(latencies.begin(), latencies.end(), latency) == latencies.end()) {
        latencies.push_back(latency);
      }
    }
    std::cout << fmt::format("Load average at the start {:.2f}, {} executions each.\n",
                             numbers.at("load_average").get<double>(),
                             numbers.at("repetitions").get<int>());
    for (double latency : latencies) Print(numbers.at("rows"), latency);
  } catch (const std::exception& error) {
    std::cerr << "bench_rows: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
