#include "papers/reproduce_registries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/terminal/command_progress.h"
#include "cli/terminal/new_file.h"
#include "crypto/prg.h"
#include "methods/mcmc/registries.h"
#include "report/html_page.h"
#include "report/html_text.h"
#include "report/line_plot.h"

namespace partita::papers {
namespace {

using methods::mcmc::RegistryRow;

constexpr const char* kRegistriesTitle =
    "Seven registries of a rare disease: one stage against two";
constexpr const char* kRegistriesIs =
    "Log hazard ratio of treatment, of Cox's model stratified by registry. One stage: posterior "
    "mean "
    "and quantiles of chains by Barker's rule, prior normal(0, 2.5), computed in the clear; under "
    "a "
    "study of method mcmc only the decisions open. Pooled: maximum likelihood with all rows in one "
    "place. Two stages: the registries' own maxima, combined; a registry whose likelihood has no "
    "maximum within 6 of 0 is left out. Averages are over data sets that gave an estimate; "
    "intervals are 95 % ones.";

struct RegistriesCommand {
  methods::mcmc::RegistrySettings settings;
  uint64_t seed = 1;
  std::string output, html;
};

std::string RegistriesCsv(const std::vector<RegistryRow>& rows) {
  std::string csv =
      "events_per_registry,analysis,data_sets,estimates,bias,bias_error,rmse,coverage,"
      "coverage_error,mean_width,registries_used\n";
  for (const RegistryRow& row : rows) {
    csv += fmt::format("{},\"{}\",{},{},{},{},{},{},{},{},{}\n", row.events, row.analysis,
                       row.data_sets, row.estimates, row.bias, row.bias_error, row.rmse,
                       row.coverage, row.coverage_error, row.mean_width, row.registries_used);
  }
  return csv;
}

std::string RegistriesText(const methods::mcmc::RegistryResults& results) {
  TextTable table;
  table.header = {"events", "analysis", "estimates", "bias", "RMSE", "coverage", "width", "used"};
  table.right = {0, 2, 3, 4, 5, 6, 7};
  for (const RegistryRow& row : results.rows) {
    table.rows.push_back(
        {fmt::format("{}", row.events), row.analysis,
         fmt::format("{} of {}", row.estimates, row.data_sets),
         fmt::format("{:.3f} ({:.3f})", row.bias, row.bias_error), fmt::format("{:.3f}", row.rmse),
         fmt::format("{:.3f} ({:.3f})", row.coverage, row.coverage_error),
         fmt::format("{:.3f}", row.mean_width), fmt::format("{:.1f}", row.registries_used)});
  }
  return RenderTable(table, 0) + WrapText(kRegistriesIs, 0) +
         WrapText(fmt::format("In brackets standard errors. Used: registries. Largest R-hat of all "
                              "chains: {:.3f}.",
                              results.largest_rhat),
                  0);
}

nlohmann::ordered_json RegistriesData(const methods::mcmc::RegistryResults& results) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const RegistryRow& row : results.rows) {
    rows.push_back({{"events_per_registry", row.events},
                    {"analysis", row.analysis},
                    {"data_sets", row.data_sets},
                    {"estimates", row.estimates},
                    {"bias", row.bias},
                    {"bias_error", row.bias_error},
                    {"rmse", row.rmse},
                    {"coverage", row.coverage},
                    {"coverage_error", row.coverage_error},
                    {"mean_width", row.mean_width},
                    {"registries_used", row.registries_used}});
  }
  return {{"rows", rows}, {"largest_rhat", results.largest_rhat}};
}

std::string PlotRegistries(const std::vector<RegistryRow>& rows, const char* name,
                           double RegistryRow::*value) {
  report::LinePlot plot{name, "events per registry", name, {}};
  for (const RegistryRow& row : rows) {
    auto line = std::find_if(plot.lines.begin(), plot.lines.end(),
                             [&](const report::PlotLine& one) { return one.name == row.analysis; });
    if (line == plot.lines.end()) line = plot.lines.insert(line, {row.analysis, {}});
    line->points.emplace_back(static_cast<double>(row.events), row.*value);
  }
  return report::Section(name, name, report::LinePlotHtml(plot));
}

std::string RegistriesHtml(const std::vector<RegistryRow>& rows) {
  report::HtmlPage page;
  page.title = kRegistriesTitle;
  page.header = report::Element("h1", report::Escape(kRegistriesTitle));
  page.main = PlotRegistries(rows, "bias", &RegistryRow::bias) +
              PlotRegistries(rows, "coverage", &RegistryRow::coverage) +
              PlotRegistries(rows, "RMSE", &RegistryRow::rmse);
  page.footer = report::Paragraph(kRegistriesIs);
  return report::RenderHtmlPage(page);
}

int RunRegistries(const cli::OutputOptions& output, const RegistriesCommand& command) {
  // Reproducible: a simulation protects nobody.
  std::array<uint8_t, 32> key{};
  for (size_t k = 0; k < 8; ++k) key[k] = static_cast<uint8_t>(command.seed >> (8 * k));
  crypto::Prg random((crypto::Key(key)));
  cli::CommandProgress progress(output);
  progress.progress().Phase("data sets");
  const methods::mcmc::RegistryResults results =
      methods::mcmc::SimulateRegistries(command.settings, random, progress.progress());
  progress.Finish();
  if (!command.output.empty()) WriteFileAtomically(command.output, RegistriesCsv(results.rows));
  if (!command.html.empty()) WriteFileAtomically(command.html, RegistriesHtml(results.rows));
  cli::PrintResult(output, std::string(kRegistriesTitle) + "\n\n" + RegistriesText(results),
                   RegistriesData(results).dump());
  return cli::kDone;
}

}  // namespace

void AddReproduceRegistries(CLI::App& reproduce, cli::Invocation& invocation) {
  auto command = std::make_shared<RegistriesCommand>();
  CLI::App* app = reproduce.add_subcommand(
      "registries", "A simulated survival study of seven registries: one stage against two");
  cli::AddOutputOptions(*app, invocation, "reproduce registries");
  app->add_option("--events", command->settings.events,
                  "Events per registry, on average (may be repeated)")
      ->check(CLI::Range(2, 100000))
      ->capture_default_str();
  app->add_option("--sets", command->settings.data_sets, "Data sets")
      ->check(CLI::Range(2, 1000000))
      ->capture_default_str();
  app->add_option("--seed", command->seed, "Of all random numbers")->capture_default_str();
  cli::AddNewFile(*app, invocation, "--output", command->output,
                  "Also write the numbers as CSV to this file");
  cli::AddNewFile(*app, invocation, "--html", command->html,
                  "Also write the plots to this HTML file");
  app->callback([&invocation, command] {
    invocation.run = [&invocation, command] { return RunRegistries(invocation.output, *command); };
  });
}

}  // namespace partita::papers
