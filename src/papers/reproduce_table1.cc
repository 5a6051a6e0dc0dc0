// partita reproduce dca-table1
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/new_file.h"
#include "papers/reproduce.h"
#include "report/html_page.h"
#include "report/html_text.h"
#include "report/progress.h"
#include "sums/protocol/simulate.h"

namespace partita::papers {
namespace {

constexpr std::array<uint32_t, 4> kClients = {100, 1000, 10000, 100000};
constexpr std::array<uint32_t, 4> kLengths = {10, 100, 1000, 10000};
// Heikkila et al. (2017), Table 1: seconds of their implementation on a cluster, without
// encryption; by length, then by clients.
constexpr std::array<std::array<double, 4>, 4> kPaperSeconds = {{{1.72, 1.89, 2.99, 8.58},
                                                                 {2.03, 2.86, 12.36, 65.64},
                                                                 {3.43, 10.56, 101.2, 610.55},
                                                                 {15.30, 84.95, 994.96, 1592.29}}};

struct DcaCommand {
  std::string output, html, transport = "none";
  std::vector<uint32_t> clients, lengths;
  uint32_t nodes = 10;
  unsigned threads = 2;
};

struct DcaCell {
  uint32_t clients = 0, length = 0;
  double wall_seconds = 0, cpu_seconds = 0;
  uint64_t upload_bytes = 0;
  bool exact = false;  // the sum is that of the rows and of noise of the declared size
  std::optional<double> paper_seconds;
};

sums::Contract ContractOf(const DcaCommand& command, uint32_t clients, uint32_t length) {
  sums::Contract contract;
  contract.dimension = length;
  contract.nodes = static_cast<uint16_t>(command.nodes);
  contract.clients = clients;
  contract.max_drop = clients / 10;
  contract.max_collude = clients / 10;
  contract.clip = {privacy::Norm::kL2, 1.0, 32};
  contract.variance = privacy::VarianceOfStddev(0x1.8p35);
  return contract;
}

// Row i of the experiment: the same multiple of (1, -1, 1, ..), within the norm.
double ValueOf(uint32_t client, uint32_t length) {
  return 1.0 / ((4.0 + client % 1024) * std::sqrt(length));
}

// Whether every entry of the sum lies within 12 standard deviations (2^-100) of the rows' sum.
bool IsSumOfRows(const sums::Contract& contract, const std::vector<Int128>& sum) {
  double expected = 0;
  for (uint32_t client = 0; client < contract.clients; ++client)
    expected += ValueOf(client, static_cast<uint32_t>(contract.dimension));
  expected = std::ldexp(expected, contract.clip.fraction_bits);
  const double reach = 12 * sums::TotalNoiseStddev(contract, contract.clients) + contract.clients;
  for (size_t i = 0; i < sum.size(); ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    if (std::abs(static_cast<double>(sum[i]) - sign * expected) > reach) return false;
  }
  return sum.size() == contract.dimension;
}

std::optional<double> PaperSeconds(const DcaCommand& command, uint32_t clients, uint32_t length) {
  for (size_t d = 0; d < kLengths.size(); ++d) {
    for (size_t n = 0; n < kClients.size(); ++n) {
      if (command.nodes == 10 && kLengths[d] == length && kClients[n] == clients)
        return kPaperSeconds[d][n];
    }
  }
  return std::nullopt;
}

DcaCell MeasureDca(const DcaCommand& command, uint32_t clients, uint32_t length) {
  sums::Simulation simulation;
  simulation.contract = ContractOf(command, clients, length);
  simulation.transport = command.transport == "none"         ? sums::SimulatedTransport::kNone
                         : command.transport == "registered" ? sums::SimulatedTransport::kRegistered
                                                             : sums::SimulatedTransport::kSealed;
  simulation.threads = command.threads;
  simulation.row = [length](uint32_t client, std::span<double> row) {
    const double value = ValueOf(client, length);
    for (size_t i = 0; i < row.size(); ++i) row[i] = i % 2 == 0 ? value : -value;
  };
  crypto::SystemRandom random;
  const sums::SimulationResult result = sums::Simulate(simulation, random);
  return {clients,
          length,
          result.wall_seconds,
          result.client_seconds + result.node_seconds,
          result.upload_bytes,
          IsSumOfRows(simulation.contract, result.sum),
          PaperSeconds(command, clients, length)};
}

std::string TimesFaster(const DcaCell& cell) {
  if (!cell.paper_seconds) return "";
  return fmt::format("{:.0f}", *cell.paper_seconds / cell.wall_seconds);
}

std::string DcaText(const DcaCommand& command, const std::vector<DcaCell>& cells) {
  TextTable table;
  table.header = {"N", "d", "wall s", "CPU s", "paper s", "times faster", "uploaded"};
  table.right = {0, 1, 2, 3, 4, 5, 6};
  for (const DcaCell& cell : cells) {
    table.rows.push_back(
        {FormatCount(cell.clients), FormatCount(cell.length),
         fmt::format("{:.4g}", cell.wall_seconds), fmt::format("{:.4g}", cell.cpu_seconds),
         cell.paper_seconds ? fmt::format("{}", *cell.paper_seconds) : "", TimesFaster(cell),
         cell.upload_bytes > 0 ? FormatBytes(cell.upload_bytes) : ""});
  }
  return RenderTable(table, 0) +
         WrapText(fmt::format(
                      "{} compute nodes, {} thread{}, one process, no network and no store; {}. "
                      "CPU: all "
                      "clients and nodes together. The paper's numbers are of a cluster, without "
                      "encryption. Every sum was compared with that of the rows.",
                      command.nodes, command.threads, command.threads == 1 ? "" : "s",
                      command.transport == "none"
                          ? "clip, exact noise, masks and sums, without encryption"
                          : fmt::format("encrypted ({}), keys of the participants drawn before the "
                                        "clock starts",
                                        command.transport)),
                  0);
}

std::string DcaCsv(const DcaCommand& command, const std::vector<DcaCell>& cells) {
  std::string csv =
      "clients,length,nodes,transport,wall_seconds,cpu_seconds,upload_bytes,"
      "paper_seconds\n";
  for (const DcaCell& cell : cells) {
    csv += fmt::format("{},{},{},{},{},{},{},{}\n", cell.clients, cell.length, command.nodes,
                       command.transport, cell.wall_seconds, cell.cpu_seconds, cell.upload_bytes,
                       cell.paper_seconds ? fmt::format("{}", *cell.paper_seconds) : "");
  }
  return csv;
}

nlohmann::ordered_json DcaJson(const std::vector<DcaCell>& cells) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const DcaCell& cell : cells) {
    nlohmann::ordered_json row = {
        {"clients", cell.clients},           {"length", cell.length},
        {"wall_seconds", cell.wall_seconds}, {"cpu_seconds", cell.cpu_seconds},
        {"upload_bytes", cell.upload_bytes}, {"paper_seconds", nullptr}};
    if (cell.paper_seconds) row["paper_seconds"] = *cell.paper_seconds;
    rows.push_back(std::move(row));
  }
  return {{"rows", rows}};
}

// Seconds against clients on logarithmic axes; a pair of lines per length, the paper's dashed.
std::string DcaPlotSvg(const std::vector<DcaCell>& cells) {
  constexpr double kWidth = 640, kHeight = 400, kLeft = 60, kRight = 150, kTop = 15, kBottom = 40;
  constexpr double kLowX = 2, kHighX = 5, kLowY = -4, kHighY = 3.5;
  static constexpr std::array<const char*, 4> kColours = {"#1f77b4", "#2ca02c", "#ff7f0e",
                                                          "#d62728"};
  const auto x = [&](double clients) {
    return kLeft + (kWidth - kLeft - kRight) * (std::log10(clients) - kLowX) / (kHighX - kLowX);
  };
  const auto y = [&](double seconds) {
    return kHeight - kBottom -
           (kHeight - kTop - kBottom) * (std::log10(seconds) - kLowY) / (kHighY - kLowY);
  };
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"seconds against clients\" "
      "font-size=\"11\">",
      kWidth, kHeight);
  for (int power = -4; power <= 3; ++power) {
    svg += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"#ddd\"/>"
        "<text x=\"{3}\" y=\"{2:.1f}\" text-anchor=\"end\">{4:g} s</text>",
        kLeft, kWidth - kRight, y(std::pow(10, power)), kLeft - 5, std::pow(10, power));
  }
  for (const uint32_t clients : kClients) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>", x(clients),
                       kHeight - 22, FormatCount(clients));
  }
  double key = kTop + 10;
  for (size_t d = 0; d < kLengths.size(); ++d) {
    std::string ours, paper;
    for (const DcaCell& cell : cells) {
      if (cell.length != kLengths[d] || !cell.paper_seconds) continue;
      ours += fmt::format("{:.1f},{:.1f} ", x(cell.clients), y(cell.wall_seconds));
      paper += fmt::format("{:.1f},{:.1f} ", x(cell.clients), y(*cell.paper_seconds));
    }
    if (ours.empty()) continue;
    svg += fmt::format(
        "<polyline points=\"{0}\" fill=\"none\" stroke=\"{2}\" stroke-width=\"1.8\"/>"
        "<polyline points=\"{1}\" fill=\"none\" stroke=\"{2}\" stroke-dasharray=\"5 4\"/>"
        "<line x1=\"{3}\" x2=\"{4}\" y1=\"{5:.1f}\" y2=\"{5:.1f}\" stroke=\"{2}\" "
        "stroke-width=\"2\"/><text x=\"{6}\" y=\"{7:.1f}\">d = {8}</text>",
        ours, paper, kColours[d], kWidth - kRight + 15, kWidth - kRight + 35, key - 4,
        kWidth - kRight + 40, key, FormatCount(kLengths[d]));
    key += 18;
  }
  return svg + fmt::format("<text x=\"{}\" y=\"{}\">clients</text></svg>",
                           (kWidth - kRight + kLeft) / 2, kHeight - 5);
}

std::string DcaHtml(const DcaCommand& command, const std::vector<DcaCell>& cells) {
  report::HtmlTable table;
  table.header = {"N", "d", "wall s", "paper s", "times faster"};
  table.numbers = {0, 1, 2, 3, 4};
  for (const DcaCell& cell : cells) {
    table.Add({FormatCount(cell.clients), FormatCount(cell.length),
               fmt::format("{:.4g}", cell.wall_seconds),
               cell.paper_seconds ? fmt::format("{}", *cell.paper_seconds) : "",
               TimesFaster(cell)});
  }
  report::HtmlPage page;
  page.title = "Private sums: seconds";
  page.header = "<h1>Private sums: seconds</h1>";
  page.main = report::Section(
      "seconds", fmt::format("{} compute nodes, transport: {}", command.nodes, command.transport),
      DcaPlotSvg(cells) + report::Paragraph("Dashed: the paper's cluster, without encryption.") +
          report::RenderHtmlTable(table));
  page.footer = "<p>Protocol: Heikkil&auml; et al., NIPS 2017, Table 1.</p>";
  return report::RenderHtmlPage(page);
}

int RunDcaTable1(const cli::OutputOptions& output, const DcaCommand& command) {
  const std::vector<uint32_t> all_clients(kClients.begin(), kClients.end());
  const std::vector<uint32_t> all_lengths(kLengths.begin(), kLengths.end());
  const auto& clients = command.clients.empty() ? all_clients : command.clients;
  const auto& lengths = command.lengths.empty() ? all_lengths : command.lengths;
  report::TerminalProgress terminal(std::cerr, report::DetectProgressStyle(STDERR_FILENO), "",
                                    &cli::Interrupted());
  cli::CancellableProgress quiet;
  Progress& progress = output.quiet ? static_cast<Progress&>(quiet) : terminal;
  progress.Phase("private sums");
  std::vector<DcaCell> cells;
  for (const uint32_t length : lengths) {
    for (const uint32_t n : clients) {
      progress.CheckCancelled();
      cells.push_back(MeasureDca(command, n, length));
      if (!cells.back().exact) {
        throw Error(ErrorCode::kInternal,
                    fmt::format("the sum of {} rows of length {} came out wrong", n, length));
      }
      progress.Step(cells.size(), clients.size() * lengths.size());
    }
  }
  terminal.Finish();
  if (!command.output.empty()) WriteFileAtomically(command.output, DcaCsv(command, cells));
  if (!command.html.empty()) WriteFileAtomically(command.html, DcaHtml(command, cells));
  cli::PrintResult(output, DcaText(command, cells), DcaJson(cells).dump());
  return cli::kDone;
}

}  // namespace

void AddTable1(CLI::App& reproduce, cli::Invocation& invocation) {
  auto options = std::make_shared<DcaCommand>();
  CLI::App* command = reproduce.add_subcommand(
      "dca-table1", "Seconds of private sums of N clients and length d, beside the paper's");
  cli::AddOutputOptions(*command, invocation, "reproduce dca-table1");
  command
      ->add_option("--clients", options->clients,
                   "Only this number of clients (may be repeated; default: 100 to 100000)")
      ->check(CLI::Range(10, 10'000'000));
  command
      ->add_option("--length", options->lengths,
                   "Only this length (may be repeated; default: 10 to 10000)")
      ->check(CLI::Range(1, 1'000'000));
  command->add_option("--transport", options->transport, "Encryption of the shares")
      ->check(CLI::IsMember({"none", "registered", "sealed"}))
      ->capture_default_str();
  command->add_option("--nodes", options->nodes, "Compute nodes")
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  cli::AddNewFile(*command, invocation, "--output", options->output,
                  "Also write the numbers as CSV to this file");
  cli::AddNewFile(*command, invocation, "--html", options->html,
                  "Also write the plot to this HTML file");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunDcaTable1(invocation.output, *options); };
  });
}

}  // namespace partita::papers
