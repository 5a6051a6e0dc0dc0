// partita privacy eps | sigma | steps | curve | compose | compare
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/privacy/privacy_words.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/json.h"
#include "cli/terminal/new_file.h"
#include "privacy/accounting/accountant.h"
#include "privacy/accounting/guarantee.h"
#include "privacy/rounded_text.h"
#include "report/privacy_html.h"
#include "report/progress.h"

namespace partita::cli {
namespace {

using privacy::Interval;
using privacy::PldOptions;
using privacy::PldResult;

constexpr int kNoiseDigits = 6;
constexpr double kPartWidth = 1e-2;  // of the parts' own epsilons, which are shown to two digits
constexpr mode_t kFileMode = 0644;

// Long work: on a terminal a line that says how long it has taken; everywhere it stops on Control-C
// and at the time limit.
class Work {
 public:
  explicit Work(const OutputOptions& output) {
    const report::ProgressStyle style = report::DetectProgressStyle(STDERR_FILENO);
    if (output.quiet || !style.refresh) return;
    progress_.emplace(std::cerr, style, "", nullptr);
    progress_->Phase("composing privacy losses");
  }

  void Tick() {
    if (Interrupted()) {
      throw Error(ErrorCode::kCancelled, "stopped by the user",
                  "a wider interval is quicker: --width 1e-2");
    }
    if (progress_) progress_->CheckCancelled();
  }

  void Finish() {
    if (progress_) progress_->Finish();
  }

 private:
  std::optional<report::TerminalProgress> progress_;
};

Json MechanismsJson(const Composition& composition) {
  Json list = Json::array();
  for (const MechanismSpec& part : composition.parts) {
    list.push_back(
        {{"text", DescribeMechanism(part, composition.adjacency)}, {"steps", part.steps}});
  }
  return list;
}

Json CommonJson(const Composition& composition, double delta) {
  return {{"adjacency", AdjacencyName(composition.adjacency)},
          {"delta", delta},
          {"mechanisms", MechanismsJson(composition)}};
}

Json AnswerJson(const Composition& composition, double delta, const Interval& epsilon, bool reached,
                const privacy::Statement& statement) {
  Json json = CommonJson(composition, delta);
  json["epsilon"] = IntervalJson(epsilon);
  json["reached"] = reached;
  json["statement"] = Json::parse(privacy::StatementJson(statement));
  return json;
}

std::string BudgetText(const privacy::EpsilonDelta& budget, privacy::Adjacency adjacency) {
  return fmt::format("epsilon = {} at delta = {} ({})", privacy::GivenText(budget.epsilon, 6, true),
                     privacy::DeltaText(budget.delta), AdjacencyName(adjacency));
}

std::string EpsilonLine(const Interval& epsilon, double delta, privacy::Adjacency adjacency) {
  if (std::isinf(epsilon.lower)) {
    return fmt::format("epsilon      infinite at delta = {} ({}): no finite epsilon holds\n",
                       privacy::DeltaText(delta), AdjacencyName(adjacency));
  }
  std::string line = fmt::format("epsilon      {} at delta = {} ({})\n", IntervalText(epsilon),
                                 privacy::DeltaText(delta), AdjacencyName(adjacency));
  if (epsilon.upper == 0) {
    line += fmt::format(
        "             0 is exact: the two laws differ by less than {} in total variation\n",
        privacy::DeltaText(delta));
  }
  return line;
}

void NoteWidth(const OutputOptions& output, const PldResult& result) {
  if (result.reached) return;
  const Interval& value = result.value;
  const std::string reason =
      "the interval is wider than asked for, because a narrower one needs more work than is done "
      "for one answer; both ends hold all the same";
  const double width = (value.upper - value.lower) / value.upper;
  PrintNote(output, std::isfinite(width) ? fmt::format("note: {}; reached is --width {}", reason,
                                                       privacy::RoundedText(width, 2, true))
                                         : fmt::format("note: {}; no --width is reached", reason));
}

// ------------------------------------------------------------------------------------------- eps

int RunEps(const OutputOptions& output, const PrivacyOptions& options) {
  Work work(output);
  const PldOptions accuracy = ReadAccuracy(options, [&work] { work.Tick(); });
  const double delta = ReadDelta(options);
  const Composition composition = ReadComposition(options);
  const PldResult result = privacy::PldEpsilon(composition.events, delta, accuracy);
  const privacy::Statement statement = StateComposition(composition, result.value, delta, accuracy);
  work.Finish();
  PrintResult(output,
              EpsilonLine(result.value, delta, composition.adjacency) + "\n" +
                  privacy::StatementText(statement),
              AnswerJson(composition, delta, result.value, result.reached, statement).dump());
  NoteWidth(output, result);
  return kDone;
}

// ----------------------------------------------------------------------------------------- sigma

// As many digits as are printed, rounded up: what is printed meets the budget.
double PrintedNoise(double noise) {
  return std::strtod(privacy::RoundedText(noise, kNoiseDigits, true).c_str(), nullptr);
}

int RunSigma(const OutputOptions& output, const PrivacyOptions& options) {
  Work work(output);
  const PldOptions accuracy = ReadAccuracy(options, [&work] { work.Tick(); });
  const privacy::EpsilonDelta budget = ReadBudget(options);
  Composition composition = ReadOneMechanism(options, /*noise_wanted=*/true);
  MechanismSpec& part = composition.parts[0];
  const std::string_view key = NoiseKey(part.kind);
  const auto events = [&](double multiplier) {
    work.Tick();
    part.noise = multiplier * part.sensitivity;
    return std::vector<privacy::Event>{MakeEvent(part, composition.adjacency)};
  };
  const double tolerance = std::min(1e-4, accuracy.relative_width);
  const privacy::NoiseCalibration found =
      privacy::NoiseForBudget(events, budget, tolerance, accuracy);
  part.noise = PrintedNoise(found.noise_multiplier * part.sensitivity);
  composition.events = {MakeEvent(part, composition.adjacency)};
  PldResult result = privacy::PldEpsilon(composition.events, budget.delta, accuracy);
  // With no less noise than was found to meet the budget.
  result.value.upper = std::min(result.value.upper, budget.epsilon);
  const privacy::Statement statement =
      StateComposition(composition, result.value, budget.delta, accuracy);
  Json json = AnswerJson(composition, budget.delta, result.value, result.reached, statement);
  json["parameter"] = key;
  json["value"] = part.noise;
  json["budget_epsilon"] = budget.epsilon;
  work.Finish();
  PrintResult(output,
              fmt::format("{:<12} {}, the smallest for {}\n{}\n{}", key,
                          privacy::GivenText(part.noise, kNoiseDigits, false),
                          BudgetText(budget, composition.adjacency),
                          EpsilonLine(result.value, budget.delta, composition.adjacency),
                          privacy::StatementText(statement)),
              json.dump());
  NoteWidth(output, result);
  return kDone;
}

// ----------------------------------------------------------------------------------------- steps

int RunSteps(const OutputOptions& output, const PrivacyOptions& options,
             const std::string& max_steps) {
  Work work(output);
  const PldOptions accuracy = ReadAccuracy(options, [&work] { work.Tick(); });
  const privacy::EpsilonDelta budget = ReadBudget(options);
  const uint64_t most = ParseCount("max-steps", max_steps);
  Composition composition = ReadOneMechanism(options, /*noise_wanted=*/false);
  MechanismSpec& part = composition.parts[0];
  if (part.steps != 1) {
    throw Error(ErrorCode::kUsage, "steps are what is looked for",
                "leave --steps out, or ask `partita privacy eps` what they cost");
  }
  const auto events = [&](uint64_t steps) {
    work.Tick();
    part.steps = steps;
    return std::vector<privacy::Event>{MakeEvent(part, composition.adjacency)};
  };
  const privacy::StepsCalibration found = privacy::StepsForBudget(events, budget, most, accuracy);
  part.steps = std::max<uint64_t>(1, found.steps);
  composition.events = {MakeEvent(part, composition.adjacency)};
  Json json = CommonJson(composition, budget.delta);
  json["steps"] = found.steps;
  json["largest"] = found.largest;
  json["budget_epsilon"] = budget.epsilon;
  json["epsilon"] = IntervalJson(found.epsilon);
  json["statement"] = Json();
  const std::string budget_text = BudgetText(budget, composition.adjacency);
  if (found.steps == 0) {
    work.Finish();
    PrintResult(output, fmt::format("steps        0: not even one is within {}\n", budget_text),
                json.dump());
    return kDone;
  }
  const privacy::Statement statement =
      StateComposition(composition, found.epsilon, budget.delta, accuracy);
  json["statement"] = Json::parse(privacy::StatementJson(statement));
  const std::string limit = found.steps == most ? "the most that were tried; more may be"
                            : found.largest     ? "the most"
                                                : "about the most (a wider --width searches on)";
  work.Finish();
  PrintResult(
      output,
      fmt::format("steps        {}, {} within {}\n{}\n{}", FormatCount(found.steps), limit,
                  budget_text, EpsilonLine(found.epsilon, budget.delta, composition.adjacency),
                  privacy::StatementText(statement)),
      json.dump());
  return kDone;
}

// ----------------------------------------------------------------------------------------- curve

struct CurveOptions {
  std::string plot, csv;
  std::string points = "33";
};

size_t ReadPoints(const std::string& text) {
  const uint64_t points = ParseCount("points", text);
  if (points < 2 || points > 1000) {
    throw Error(ErrorCode::kUsage, fmt::format("points must be from 2 to 1000, not {}", text),
                "33 show a curve well");
  }
  return points;
}

std::string ProfileText(const std::vector<privacy::ProfilePoint>& profile) {
  TextTable table{{"epsilon", "delta, at least", "at most"}, {0, 1, 2}, {}};
  for (const privacy::ProfilePoint& point : profile) {
    table.rows.push_back({privacy::RoundedText(point.epsilon, 5, true),
                          privacy::RoundedText(point.delta.lower, 5, false),
                          privacy::RoundedText(point.delta.upper, 5, true)});
  }
  return RenderTable(table, 2);
}

std::string TradeOffText(const std::vector<privacy::TradeOffPoint>& points) {
  TextTable table{{"false alarms", "misses, at least", "at most"}, {0, 1, 2}, {}};
  for (const privacy::TradeOffPoint& point : points) {
    for (double shown : {0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75}) {
      if (point.alpha != shown) continue;
      table.rows.push_back({fmt::format("{:g}", point.alpha),
                            privacy::RoundedText(point.beta_lower, 4, false),
                            privacy::RoundedText(point.beta_upper, 4, true)});
    }
  }
  return RenderTable(table, 2);
}

// One table for both curves: x is epsilon or the type I error, y delta or the type II error.
std::string CurveCsv(const std::vector<privacy::ProfilePoint>& profile,
                     const std::vector<privacy::TradeOffPoint>& points) {
  std::string csv = "curve,x,y_lower,y_upper\n";
  for (const privacy::ProfilePoint& point : profile) {
    csv += fmt::format("profile,{},{},{}\n", point.epsilon, point.delta.lower, point.delta.upper);
  }
  for (const privacy::TradeOffPoint& point : points)
    csv += fmt::format("trade-off,{},{},{}\n", point.alpha, point.beta_lower, point.beta_upper);
  return csv;
}

Json ProfileJson(const std::vector<privacy::ProfilePoint>& profile) {
  Json list = Json::array();
  for (const privacy::ProfilePoint& point : profile)
    list.push_back({{"epsilon", point.epsilon}, {"delta", IntervalJson(point.delta)}});
  return list;
}

Json TradeOffJson(const std::vector<privacy::TradeOffPoint>& points) {
  Json list = Json::array();
  for (const privacy::TradeOffPoint& point : points) {
    list.push_back({{"alpha", point.alpha},
                    {"beta_lower", point.beta_lower},
                    {"beta_upper", point.beta_upper}});
  }
  return list;
}

std::string PlotPage(const Composition& composition, const privacy::Statement& statement,
                     const std::vector<privacy::ProfilePoint>& profile) {
  report::PrivacyPage page;
  page.title = "What one person risks";
  page.adjacency = AdjacencyName(composition.adjacency);
  page.statement = statement;
  for (const privacy::ProfilePoint& point : profile)
    page.profile.push_back({point.epsilon, point.delta.lower, point.delta.upper});
  return report::RenderPrivacyHtml(page);
}

int RunCurve(const OutputOptions& output, const PrivacyOptions& options,
             const CurveOptions& curve) {
  Work work(output);
  const PldOptions accuracy = ReadAccuracy(options, [&work] { work.Tick(); });
  const double delta = ReadDelta(options);
  const size_t points = ReadPoints(curve.points);
  const Composition composition = ReadComposition(options);
  const PldResult result = privacy::PldEpsilon(composition.events, delta, accuracy);
  const auto profile = ShowingProfile(composition.events, points, accuracy);
  const privacy::Statement statement =
      StateComposition(composition, result.value, delta, accuracy, points);
  std::vector<privacy::TradeOffPoint> trade_off = statement.rows[0].loss.trade_off;
  if (trade_off.empty()) {  // no finite epsilon at this delta
    for (const privacy::CertifiedPoint& point :
         privacy::CertifiedTradeOff(profile, privacy::ShowingAlphas()))
      trade_off.push_back({point.alpha, point.beta.lower, point.beta.upper});
  }
  if (!curve.csv.empty())
    WriteOutput(output, curve.csv, CurveCsv(profile, trade_off), kFileMode, "the curve");
  if (!curve.plot.empty())
    WriteOutput(output, curve.plot, PlotPage(composition, statement, profile), kFileMode,
                "the plot");
  Json json = AnswerJson(composition, delta, result.value, result.reached, statement);
  json["profile"] = ProfileJson(profile);
  json["trade_off"] = TradeOffJson(trade_off);
  json["advantage"] = IntervalJson(profile[0].delta);
  json["plot"] = curve.plot.empty() ? Json() : Json(curve.plot);
  json["csv"] = curve.csv.empty() ? Json() : Json(curve.csv);
  work.Finish();
  PrintResult(
      output,
      fmt::format("{}advantage    {} (right guesses less false alarms, at best)\n\n{}\n{}\n{}",
                  EpsilonLine(result.value, delta, composition.adjacency),
                  IntervalText(profile[0].delta), ProfileText(profile), TradeOffText(trade_off),
                  privacy::StatementText(statement)),
      json.dump());
  NoteWidth(output, result);
  for (const std::string& file : {curve.csv, curve.plot}) {
    if (!file.empty()) PrintNote(output, "wrote " + file);
  }
  return kDone;
}

// --------------------------------------------------------------------------------------- compose

std::string PartsText(const Composition& composition, const std::vector<Interval>& alone) {
  TextTable table{{"mechanism", "uses", "epsilon alone"}, {1, 2}, {}};
  for (size_t i = 0; i < composition.parts.size(); ++i) {
    table.rows.push_back({composition.events[i].mechanism.name,
                          FormatCount(composition.parts[i].steps),
                          privacy::RoundedText(alone[i].upper, 3, true)});
  }
  return RenderTable(table, 2);
}

int RunCompose(const OutputOptions& output, const PrivacyOptions& options) {
  Work work(output);
  const PldOptions accuracy = ReadAccuracy(options, [&work] { work.Tick(); });
  const double delta = ReadDelta(options);
  const Composition composition = ReadComposition(options);
  const PldResult result = privacy::PldEpsilon(composition.events, delta, accuracy);
  PldOptions rough = accuracy;
  rough.relative_width = std::max(kPartWidth, accuracy.relative_width);
  std::vector<Interval> alone;
  for (const privacy::Event& event : composition.events)
    alone.push_back(privacy::PldEpsilon({event}, delta, rough).value);
  const privacy::Statement statement = StateComposition(composition, result.value, delta, accuracy);
  Json json = AnswerJson(composition, delta, result.value, result.reached, statement);
  json["parts"] = Json::array();
  for (size_t i = 0; i < alone.size(); ++i) {
    json["parts"].push_back(
        {{"text", DescribeMechanism(composition.parts[i], composition.adjacency)},
         {"steps", composition.parts[i].steps},
         {"epsilon", IntervalJson(alone[i])}});
  }
  work.Finish();
  PrintResult(output,
              fmt::format("{}\n{}\n{}", EpsilonLine(result.value, delta, composition.adjacency),
                          PartsText(composition, alone), privacy::StatementText(statement)),
              json.dump());
  NoteWidth(output, result);
  return kDone;
}

// --------------------------------------------------------------------------------------- compare

struct Rung {
  privacy::AccountantKind kind;
  const char* what;
};
constexpr Rung kRungs[] = {
    {privacy::AccountantKind::kPld,
     "privacy-loss distribution: both ends are proved; the one to charge"},
    {privacy::AccountantKind::kRdp, "Renyi moments at the best order: holds, and is never tight"},
    {privacy::AccountantKind::kAdvancedComposition,
     "advanced composition: holds, for mechanisms of pure epsilon"},
    {privacy::AccountantKind::kGaussianClt,
     "central limit: an approximation, NOT a bound; the truth may be larger"}};

std::string GuaranteeText(const privacy::Guarantee& guarantee) {
  if (!guarantee.applicable) return "not applicable";
  if (guarantee.kind == privacy::AccountantKind::kPld) return IntervalText(guarantee.epsilon);
  if (!guarantee.is_bound) return fmt::format("about {:.4g}", guarantee.epsilon.upper);
  return "at most " + privacy::RoundedText(guarantee.epsilon.upper, 5, true);
}

int RunCompare(const OutputOptions& output, const PrivacyOptions& options) {
  Work work(output);
  const PldOptions accuracy = ReadAccuracy(options, [&work] { work.Tick(); });
  const double delta = ReadDelta(options);
  const Composition composition = ReadComposition(options);
  TextTable table{{"accountant", "epsilon", "what it is"}, {}, {}};
  Json json = CommonJson(composition, delta);
  json["accountants"] = Json::array();
  for (const Rung& rung : kRungs) {
    work.Tick();
    const privacy::Guarantee guarantee =
        privacy::Account(rung.kind, composition.events, delta, accuracy);
    const std::string name(privacy::AccountantName(rung.kind));
    table.rows.push_back({name, GuaranteeText(guarantee), rung.what});
    json["accountants"].push_back({{"name", name},
                                   {"applicable", guarantee.applicable},
                                   {"is_bound", guarantee.is_bound},
                                   {"epsilon", IntervalJson(guarantee.epsilon)},
                                   {"what", rung.what}});
  }
  work.Finish();
  PrintResult(output,
              fmt::format("epsilon at delta = {} ({})\n\n{}", privacy::DeltaText(delta),
                          AdjacencyName(composition.adjacency), RenderTable(table, 2)),
              json.dump());
  return kDone;
}

// -------------------------------------------------------------------------------------- commands

CLI::App* AddPrivacyCommand(CLI::App* parent, const std::string& name, const std::string& help,
                            Invocation& invocation, PrivacyOptions& options) {
  CLI::App* command = parent->add_subcommand(name, help);
  AddOutputOptions(*command, invocation, "privacy " + name);
  AddCommonOptions(*command, options);
  return command;
}

void AddEps(CLI::App* privacy, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  CLI::App* command = AddPrivacyCommand(
      privacy, "eps", "What a mechanism costs: epsilon at a delta", invocation, *options);
  AddMechanismOptions(*command, *options);
  AddUsesOption(*command, *options);
  AddDeltaOption(*command, *options, true);
  command->footer(
      "Example: partita privacy eps gaussian --sigma 2.042 --rate 100/30162 --steps 20000 --delta "
      "1e-5");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunEps(invocation.output, *options); };
  });
}

void AddSigma(CLI::App* privacy, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  CLI::App* command =
      AddPrivacyCommand(privacy, "sigma", "How much noise a budget needs", invocation, *options);
  AddMechanismOptions(*command, *options);
  AddBudgetOptions(*command, *options);
  command->footer("Example: partita privacy sigma gaussian --epsilon 1 --delta 1e-6");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunSigma(invocation.output, *options); };
  });
}

void AddSteps(CLI::App* privacy, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  auto max_steps = std::make_shared<std::string>("1e9");
  CLI::App* command = AddPrivacyCommand(
      privacy, "steps", "How often a mechanism may be used within a budget", invocation, *options);
  AddMechanismOptions(*command, *options);
  AddBudgetOptions(*command, *options);
  command->add_option("--max-steps", *max_steps, "Try no more than this")->capture_default_str();
  command->footer(
      "Example: partita privacy steps gaussian --sigma 2 --rate 0.01 --epsilon 1 --delta 1e-6");
  command->callback([&invocation, options, max_steps] {
    invocation.run = [&invocation, options, max_steps] {
      return RunSteps(invocation.output, *options, *max_steps);
    };
  });
}

void AddCurve(CLI::App* privacy, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  auto curve = std::make_shared<CurveOptions>();
  CLI::App* command = AddPrivacyCommand(
      privacy, "curve", "All pairs of epsilon and delta, and the trade-off function", invocation,
      *options);
  AddMechanismOptions(*command, *options);
  AddCompositionOptions(*command, *options, "--composition");
  AddUsesOption(*command, *options);
  AddDeltaOption(*command, *options, false);
  command->add_option("--points", curve->points, "Points of the profile, from 2 to 1000")
      ->capture_default_str();
  AddNewFile(*command, invocation, "--plot", curve->plot,
             "Write a page with the plots to this file (HTML)");
  AddNewFile(*command, invocation, "--csv", curve->csv, "Write both curves to this file (CSV)");
  command->footer(
      "Example: partita privacy curve laplace --scale 2 --delta 1e-6 --plot curve.html");
  command->callback([&invocation, options, curve] {
    invocation.run = [&invocation, options, curve] {
      return RunCurve(invocation.output, *options, *curve);
    };
  });
}

void AddCompose(CLI::App* privacy, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  CLI::App* command = AddPrivacyCommand(privacy, "compose", "What several mechanisms cost together",
                                        invocation, *options);
  AddCompositionOptions(*command, *options, "FILE");
  AddDeltaOption(*command, *options, false);
  command->footer(
      "Example: partita privacy compose --mechanism \"gaussian sigma=2\" --mechanism \"laplace "
      "scale=5 steps=3\" --delta 1e-6");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunCompose(invocation.output, *options); };
  });
}

void AddCompare(CLI::App* privacy, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  CLI::App* command = AddPrivacyCommand(
      privacy, "compare", "The same composition by all accountants", invocation, *options);
  AddMechanismOptions(*command, *options);
  AddCompositionOptions(*command, *options, "--composition");
  AddDeltaOption(*command, *options, false);
  command->footer(
      "Example: partita privacy compare gaussian --sigma 2 --rate 0.01 --steps 500 --delta 1e-6");
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunCompare(invocation.output, *options); };
  });
}

}  // namespace

void AddPrivacyCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* privacy = app.add_subcommand(
      "privacy",
      "Differential privacy of mechanisms and their compositions: epsilon, noise, steps");
  privacy->require_subcommand(1);
  privacy->footer("Worked examples: docs/privacy-cli.md");
  AddEps(privacy, invocation);
  AddSigma(privacy, invocation);
  AddSteps(privacy, invocation);
  AddCurve(privacy, invocation);
  AddCompose(privacy, invocation);
  AddCompare(privacy, invocation);
}

}  // namespace partita::cli
