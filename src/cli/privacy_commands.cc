// partita privacy eps | sigma | steps | curve | compose | compare
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text_table.h"
#include "cli/commands.h"
#include "privacy/accounting/accountant.h"
#include "privacy/accounting/trade_off.h"

namespace partita::cli {
namespace {

using Json = nlohmann::ordered_json;
using privacy::Adjacency;
using privacy::Interval;
using privacy::Mechanism;

// What a mechanism is made of, as it is written on the command line.
struct MechanismText {
  std::string kind = "gaussian";
  double noise = 0;
  std::string rate = "1";
  uint64_t sensitivity = 1;
  uint64_t steps = 1;
};

struct PrivacyOptions {
  MechanismText mechanism;
  std::string adjacency;
  double delta = 0;
  double epsilon = 0;
  double width = 1e-3;
  uint64_t points = 40;
  std::vector<std::string> uses;

  privacy::PldOptions Pld() const {
    privacy::PldOptions options;
    options.relative_width = width;
    return options;
  }
};

double ParseNumber(const std::string& text, const std::string& what) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0')
    throw Error(ErrorCode::kUsage, fmt::format("{} is not a number: '{}'", what, text), "write it as 0.01 or 1e-2");
  return value;
}

uint64_t ParseCount(const std::string& text, const std::string& what) {
  const double value = ParseNumber(text, what);
  if (!(value >= 1 && value <= 1e15 && value == std::floor(value)))
    throw Error(ErrorCode::kUsage, fmt::format("{} is not a positive whole number: '{}'", what, text));
  return static_cast<uint64_t>(value);
}

// "0.01" or "100/30162".
double ParseRate(const std::string& text) {
  const size_t slash = text.find('/');
  if (slash == std::string::npos) return ParseNumber(text, "the sampling rate");
  return ParseNumber(text.substr(0, slash), "the batch size") /
         ParseNumber(text.substr(slash + 1), "the number of rows");
}

Adjacency ParseAdjacency(const std::string& text) {
  return text == "replace" ? Adjacency::kReplace : Adjacency::kAddRemove;
}

std::vector<Adjacency> Adjacencies(const std::string& text) {
  if (text.empty()) return {Adjacency::kAddRemove, Adjacency::kReplace};
  return {ParseAdjacency(text)};
}

Mechanism Make(const MechanismText& text, Adjacency adjacency) {
  const privacy::SamplingSpec spec{adjacency, ParseRate(text.rate)};
  if (text.kind == "gaussian") return privacy::GaussianMechanism(text.noise, spec);
  if (text.kind == "laplace") return privacy::LaplaceMechanism(text.noise, spec);
  if (text.kind == "discrete-gaussian") return privacy::DiscreteGaussianMechanism(text.noise, text.sensitivity, spec);
  if (text.kind == "discrete-laplace") return privacy::DiscreteLaplaceMechanism(text.noise, text.sensitivity, spec);
  if (text.kind == "randomised-response") return privacy::RandomisedResponse(text.noise, spec);
  throw Error(ErrorCode::kUsage, fmt::format("unknown mechanism '{}'", text.kind),
              "known: gaussian, laplace, discrete-gaussian, discrete-laplace, randomised-response");
}

// "gaussian noise=2 rate=100/30162 steps=1000".
MechanismText ParseUse(const std::string& use) {
  std::istringstream words(use);
  MechanismText text;
  words >> text.kind;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals), value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "noise") {
      text.noise = ParseNumber(value, "noise");
    } else if (key == "rate") {
      text.rate = value;
    } else if (key == "sensitivity") {
      text.sensitivity = ParseCount(value, "sensitivity");
    } else if (key == "steps") {
      text.steps = ParseCount(value, "steps");
    } else {
      throw Error(ErrorCode::kUsage, fmt::format("unknown word '{}' in --use '{}'", word, use),
                  "write for example: --use 'gaussian noise=2 rate=0.01 steps=1000'");
    }
  }
  return text;
}

std::string Show(double value) { return std::isinf(value) ? "infinite" : fmt::format("{:.6g}", value); }

Json JsonNumber(double value) { return std::isinf(value) ? Json("infinite") : Json(value); }
Json JsonInterval(const Interval& interval) {
  return {{"lower", JsonNumber(interval.lower)}, {"upper", JsonNumber(interval.upper)}};
}

// --- Options -------------------------------------------------------------------------------------

void AddMechanism(CLI::App& command, PrivacyOptions& options, bool noise, bool steps) {
  MechanismText& text = options.mechanism;
  command.add_option("--mechanism", text.kind, "gaussian, laplace, discrete-gaussian, discrete-laplace, randomised-response")
      ->check(CLI::IsMember({"gaussian", "laplace", "discrete-gaussian", "discrete-laplace", "randomised-response"}))
      ->capture_default_str();
  if (noise) {
    command.add_option("--noise", text.noise,
                       "Gaussian: standard deviation / add-remove sensitivity; Laplace: scale / sensitivity; discrete "
                       "laws: their parameter in grid units; randomised response: its epsilon")
        ->required();
  }
  command.add_option("--sensitivity", text.sensitivity, "Of discrete mechanisms, in grid units")->capture_default_str();
  command.add_option("--rate", text.rate, "Poisson sampling rate, as 0.01 or 100/30162; 1 if the batch is known")
      ->capture_default_str();
  if (steps) command.add_option("--steps", text.steps, "How often the mechanism is used")->capture_default_str();
}

void AddAdjacency(CLI::App& command, PrivacyOptions& options, bool required) {
  CLI::Option* option = command.add_option("--adjacency", options.adjacency,
                                           required ? "add-remove or replace: when two tables are neighbours"
                                                    : "add-remove or replace; both if left out");
  option->check(CLI::IsMember({"add-remove", "replace"}));
  if (required) option->required();
}

void AddDelta(CLI::App& command, PrivacyOptions& options) {
  command.add_option("--delta", options.delta, "The delta of the guarantee, such as 1e-6")->required();
}

void AddWidth(CLI::App& command, PrivacyOptions& options) {
  command.add_option("--width", options.width, "Relative width of the interval to reach, 1e-7 to 0.5")
      ->capture_default_str();
}

// --- eps and compose -----------------------------------------------------------------------------

struct EpsilonRow {
  Adjacency adjacency;
  privacy::PldResult result;
};

std::string EpsilonText(const std::vector<std::string>& mechanisms, double delta, const std::vector<EpsilonRow>& rows) {
  std::string text;
  for (const std::string& mechanism : mechanisms) text += mechanism + "\n";
  TextTable table{{"adjacency", "epsilon at most", "and at least", "interval"}, {1, 2}, {}};
  for (const EpsilonRow& row : rows) {
    table.rows.push_back({std::string(AdjacencyName(row.adjacency)), Show(row.result.value.upper),
                          Show(row.result.value.lower), row.result.reached ? "as narrow as asked" : "wider than asked"});
  }
  text += fmt::format("at delta = {:g}\n\n", delta) + RenderTable(table, 0);
  text += "\n" + WrapText("Charge the upper number. It holds against somebody who sees every output, and who does not "
                          "know the batches where a sampling rate below 1 is given.", 0);
  return text;
}

std::string EpsilonJson(const std::vector<std::string>& mechanisms, double delta, const std::vector<EpsilonRow>& rows) {
  Json results = Json::array();
  for (const EpsilonRow& row : rows) {
    results.push_back({{"adjacency", AdjacencyName(row.adjacency)},
                       {"epsilon", JsonInterval(row.result.value)},
                       {"forward", JsonInterval(row.result.forward)},
                       {"backward", JsonInterval(row.result.backward)},
                       {"reached", row.result.reached}});
  }
  return Json{{"mechanisms", mechanisms}, {"delta", delta}, {"results", results}}.dump();
}

int RunEpsilon(const Invocation& invocation, const PrivacyOptions& options, const std::vector<MechanismText>& texts) {
  std::vector<EpsilonRow> rows;
  std::vector<std::string> names;
  for (const Adjacency adjacency : Adjacencies(options.adjacency)) {
    std::vector<privacy::Event> events;
    names.clear();
    for (const MechanismText& text : texts) {
      events.push_back({Make(text, adjacency), text.steps});
      std::string name = events.back().mechanism.name;
      name.resize(name.rfind(", "));  // the adjacency is in the table
      names.push_back(fmt::format("{} x {}", FormatCount(text.steps), name));
    }
    rows.push_back({adjacency, privacy::PldEpsilon(events, options.delta, options.Pld())});
  }
  PrintResult(invocation.output, EpsilonText(names, options.delta, rows), EpsilonJson(names, options.delta, rows));
  return kDone;
}

void AddEps(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  CLI::App* command = parent.add_subcommand("eps", "The epsilon that a mechanism costs");
  AddOutputOptions(*command, invocation, "privacy eps");
  AddMechanism(*command, *options, true, true);
  AddDelta(*command, *options);
  AddAdjacency(*command, *options, false);
  AddWidth(*command, *options);
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] { return RunEpsilon(invocation, *options, {options->mechanism}); };
  });
}

void AddCompose(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  CLI::App* command = parent.add_subcommand("compose", "The epsilon of several mechanisms on the same table");
  AddOutputOptions(*command, invocation, "privacy compose");
  command->add_option("--use", options->uses,
                      "A mechanism and its words, once per mechanism: 'gaussian noise=2 rate=0.01 steps=1000'")
      ->required();
  AddDelta(*command, *options);
  AddAdjacency(*command, *options, false);
  AddWidth(*command, *options);
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] {
      std::vector<MechanismText> texts;
      for (const std::string& use : options->uses) texts.push_back(ParseUse(use));
      return RunEpsilon(invocation, *options, texts);
    };
  });
}

// --- sigma and steps -----------------------------------------------------------------------------

void AddSigma(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  CLI::App* command = parent.add_subcommand("sigma", "The smallest noise that keeps within a budget");
  AddOutputOptions(*command, invocation, "privacy sigma");
  AddMechanism(*command, *options, false, true);
  command->add_option("--epsilon", options->epsilon, "The budget")->required();
  AddDelta(*command, *options);
  AddAdjacency(*command, *options, true);
  AddWidth(*command, *options);
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] {
      const MechanismText& given = options->mechanism;
      if (given.kind == "randomised-response") {
        throw Error(ErrorCode::kUsage, "randomised response has no noise to calibrate",
                    "try epsilons with partita privacy eps --mechanism randomised-response");
      }
      const bool discrete = given.kind.starts_with("discrete");
      const double unit = discrete ? static_cast<double>(given.sensitivity) : 1;
      const privacy::NoiseCalibration found = privacy::NoiseForBudget(
          [&](double noise) {
            MechanismText text = given;
            text.noise = noise * unit;
            return std::vector<privacy::Event>{{Make(text, ParseAdjacency(options->adjacency)), text.steps}};
          },
          {options->epsilon, options->delta}, 1e-4, options->Pld());
      const double noise = found.noise_multiplier * unit;
      PrintResult(invocation.output,
                  fmt::format("noise    {:.6g}{}\nepsilon  {} to {} at delta = {:g}, {}\n", noise,
                              discrete ? " grid units" : " x sensitivity", Show(found.epsilon.lower),
                              Show(found.epsilon.upper), options->delta, options->adjacency),
                  Json{{"noise", noise}, {"epsilon", JsonInterval(found.epsilon)}, {"delta", options->delta},
                       {"adjacency", options->adjacency}}.dump());
      return kDone;
    };
  });
}

void AddSteps(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  CLI::App* command = parent.add_subcommand("steps", "How often a mechanism can be used within a budget");
  AddOutputOptions(*command, invocation, "privacy steps");
  AddMechanism(*command, *options, true, false);
  command->add_option("--epsilon", options->epsilon, "The budget")->required();
  AddDelta(*command, *options);
  AddAdjacency(*command, *options, true);
  AddWidth(*command, *options);
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] {
      const Mechanism mechanism = Make(options->mechanism, ParseAdjacency(options->adjacency));
      const privacy::StepsCalibration found = privacy::StepsForBudget(
          [&](uint64_t steps) { return std::vector<privacy::Event>{{mechanism, steps}}; },
          {options->epsilon, options->delta}, uint64_t{1} << 30, options->Pld());
      PrintResult(invocation.output,
                  fmt::format("steps    {}\nepsilon  {} to {} at delta = {:g}, {}\n", FormatCount(found.steps),
                              Show(found.epsilon.lower), Show(found.epsilon.upper), options->delta, options->adjacency),
                  Json{{"steps", found.steps}, {"epsilon", JsonInterval(found.epsilon)}, {"delta", options->delta},
                       {"adjacency", options->adjacency}}.dump());
      return kDone;
    };
  });
}

// --- curve ---------------------------------------------------------------------------------------

// Type II error over type I error: '#' what is guaranteed, '.' what nobody can reach.
std::string Plot(const privacy::TradeOff& lower) {
  constexpr int kRows = 16, kColumns = 60;
  std::string text = "missed (type II error) over false alarms (type I error); below # no attack gets, on . it guesses\n";
  for (int row = 0; row <= kRows; ++row) {
    const double top = 1 - static_cast<double>(row) / kRows;
    std::string line = row % 4 == 0 ? fmt::format("{:4.2f} |", top) : "     |";
    for (int column = 0; column <= kColumns; ++column) {
      const double alpha = static_cast<double>(column) / kColumns;
      const auto near = [&](double beta) { return std::lround(beta * kRows) == kRows - row; };
      line += near(lower.beta(alpha)) ? '#' : near(1 - alpha) ? '.' : ' ';
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  text += "     +" + std::string(kColumns + 1, '-') + "\n      0" + std::string(kColumns / 2 - 3, ' ') + "0.5" +
          std::string(kColumns / 2 - 2, ' ') + "1\n";
  return text;
}

void AddCurve(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  CLI::App* command = parent.add_subcommand("curve", "The whole guarantee: delta over epsilon, and what an attacker can do");
  AddOutputOptions(*command, invocation, "privacy curve");
  AddMechanism(*command, *options, true, true);
  AddAdjacency(*command, *options, true);
  command->add_option("--points", options->points, "How many epsilons")->check(CLI::Range(2, 1000))->capture_default_str();
  AddWidth(*command, *options);
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] {
      const std::vector<privacy::Event> events = {
          {Make(options->mechanism, ParseAdjacency(options->adjacency)), options->mechanism.steps}};
      const privacy::PldOptions pld = options->Pld();
      const auto profile = privacy::Profile(events, privacy::ShowingEpsilons(events, options->points, pld), pld);
      const privacy::TradeOff lower = privacy::LowerTradeOff(profile), upper = privacy::UpperTradeOff(profile);
      Json deltas = Json::array(), attacks = Json::array();
      TextTable table{{"epsilon", "delta at most", "and at least"}, {0, 1, 2}, {}};
      for (const auto& point : profile) {
        deltas.push_back({{"epsilon", point.epsilon}, {"delta", JsonInterval(point.delta)}});
        table.rows.push_back({Show(point.epsilon), Show(point.delta.upper), Show(point.delta.lower)});
      }
      TextTable power{{"false alarms", "caught at most", "and at least"}, {0, 1, 2}, {}};
      for (double rate : {0.001, 0.01, 0.05, 0.1, 0.5}) {
        const Interval caught{upper.power(rate), lower.power(rate)};
        attacks.push_back({{"false_positive_rate", rate}, {"power", JsonInterval(caught)}});
        power.rows.push_back({Show(rate), Show(caught.upper), Show(caught.lower)});
      }
      PrintResult(invocation.output,
                  fmt::format("{} x {}\n\n{}\n{}\n{}", FormatCount(options->mechanism.steps), events[0].mechanism.name,
                              RenderTable(table, 0), RenderTable(power, 0), Plot(lower)),
                  Json{{"mechanism", events[0].mechanism.name}, {"steps", options->mechanism.steps},
                       {"profile", deltas}, {"attacks", attacks}}.dump());
      return kDone;
    };
  });
}

// --- compare -------------------------------------------------------------------------------------

void AddCompare(CLI::App& parent, Invocation& invocation) {
  auto options = std::make_shared<PrivacyOptions>();
  CLI::App* command = parent.add_subcommand("compare", "One mechanism by all accountants");
  AddOutputOptions(*command, invocation, "privacy compare");
  AddMechanism(*command, *options, true, true);
  AddDelta(*command, *options);
  AddAdjacency(*command, *options, false);
  AddWidth(*command, *options);
  command->callback([&invocation, options] {
    invocation.run = [&invocation, options] {
      TextTable table{{"adjacency", "accountant", "epsilon", "at least", "remark"}, {2, 3}, {}};
      Json rows = Json::array();
      for (const Adjacency adjacency : Adjacencies(options->adjacency)) {
        const std::vector<privacy::Event> events = {{Make(options->mechanism, adjacency), options->mechanism.steps}};
        for (const auto kind : {privacy::AccountantKind::kPld, privacy::AccountantKind::kRdp,
                                privacy::AccountantKind::kAdvancedComposition, privacy::AccountantKind::kGaussianClt}) {
          const privacy::Guarantee found = privacy::Account(kind, events, options->delta, options->Pld());
          if (!found.applicable) continue;
          const bool pld = kind == privacy::AccountantKind::kPld;
          table.rows.push_back({std::string(AdjacencyName(adjacency)), std::string(AccountantName(kind)),
                                Show(found.epsilon.upper), pld ? Show(found.epsilon.lower) : "",
                                found.is_bound ? (pld ? "proved from both sides" : "upper bound") : "NOT a bound"});
          rows.push_back({{"adjacency", AdjacencyName(adjacency)}, {"accountant", AccountantName(kind)},
                          {"epsilon", JsonInterval(found.epsilon)}, {"is_bound", found.is_bound}});
        }
      }
      PrintResult(invocation.output, fmt::format("at delta = {:g}\n\n", options->delta) + RenderTable(table, 0),
                  Json{{"delta", options->delta}, {"results", rows}}.dump());
      return kDone;
    };
  });
}

}  // namespace

void AddPrivacyCommands(CLI::App& app, Invocation& invocation) {
  CLI::App* root = app.add_subcommand("privacy", "What noise protects: epsilon, noise, steps and trade-off curves");
  root->require_subcommand(1);
  root->footer("Worked examples: docs/privacy-cli.md");
  AddEps(*root, invocation);
  AddSigma(*root, invocation);
  AddSteps(*root, invocation);
  AddCurve(*root, invocation);
  AddCompose(*root, invocation);
  AddCompare(*root, invocation);
}

}  // namespace partita::cli
