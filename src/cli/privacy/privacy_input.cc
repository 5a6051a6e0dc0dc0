#include "cli/privacy/privacy_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace partita::cli {
namespace {

// About a second: who asks for more than that gives is told what was reached.
constexpr double kCommandWork = 1.2e9;
constexpr size_t kMaxCells = size_t{1} << 20;

privacy::Adjacency ReadAdjacency(const std::string& name) {
  return name == "replace" ? privacy::Adjacency::kReplace : privacy::Adjacency::kAddRemove;
}

MechanismText TextOf(const PrivacyOptions& options) {
  MechanismText text{options.kind, {}, {}};
  for (const auto& [key, value] : options.values) {
    if (!value.empty()) text.values.emplace(key, value);
  }
  return text;
}

void RequireNoLooseKeys(const PrivacyOptions& options) {
  for (const auto& [key, value] : options.values) {
    if (value.empty()) continue;
    throw Error(ErrorCode::kUsage, fmt::format("--{} belongs to no mechanism", key),
                "name the mechanism first, or write the value into --mechanism or the file");
  }
}

uint64_t ReadUses(const PrivacyOptions& options, const std::vector<MechanismSpec>& parts) {
  if (options.uses.empty()) return 0;
  if (parts.size() != 1 || parts[0].rate == 1) {
    throw Error(ErrorCode::kUsage, "--uses is for one mechanism on sampled batches",
                "give --rate below 1, or --steps for the uses");
  }
  const uint64_t uses = ParseCount("uses", options.uses);
  if (uses > parts[0].steps) {
    throw Error(ErrorCode::kUsage,
                fmt::format("a record cannot be used {} times in {} steps", uses, parts[0].steps),
                "give at most the number of steps");
  }
  return uses;
}

}  // namespace

void AddMechanismOptions(CLI::App& command, PrivacyOptions& options) {
  command.add_option("KIND", options.kind,
                     fmt::format("The mechanism: {}", fmt::join(MechanismKinds(), ", ")));
  const auto add = [&](const char* key, const char* help) {
    command.add_option(fmt::format("--{}", key), options.values[key], help);
  };
  add("sigma", "Standard deviation of (discrete) Gaussian noise; of one share of a sum");
  add("scale", "Scale of (discrete) Laplace noise");
  add("sensitivity", "How far one row moves the result by being there or not (default 1)");
  add("shares", "discrete-gaussian-sum: how many shares of noise are added up");
  add("each-epsilon", "randomised-response, approximate: the epsilon of one use");
  add("each-delta", "approximate: the delta of one use");
  add("file", "pmf: a TOML file with p = [...] and q = [...]");
  add("rate", "Chance of a row to be in a batch (Poisson sampling), like 0.01 or 100/30162");
  add("steps", "How often the mechanism is used (default 1)");
}

void AddCommonOptions(CLI::App& command, PrivacyOptions& options) {
  command
      .add_option("--adjacency", options.adjacency,
                  "Which tables are neighbours: one row more (add-remove, the default), or one row "
                  "exchanged (replace)")
      ->check(CLI::IsMember({"add-remove", "replace"}));
  command
      .add_option("--width", options.width,
                  "Relative width of the certified interval, from 1e-7 to 0.5")
      ->capture_default_str();
}

void AddCompositionOptions(CLI::App& command, PrivacyOptions& options,
                           const std::string& file_name) {
  command.add_option("--mechanism", options.mechanisms,
                     "A mechanism as one text, for example \"gaussian sigma=2 rate=0.01 "
                     "steps=500\"; may be repeated");
  command.add_option(file_name, options.file, "A TOML file with [[mechanism]] tables");
}

void AddDeltaOption(CLI::App& command, PrivacyOptions& options, bool required) {
  CLI::Option* delta = command.add_option(
      "--delta", options.delta, "The delta of the guarantee, well below one over the rows");
  if (required) delta->required();
}

void AddBudgetOptions(CLI::App& command, PrivacyOptions& options) {
  command.add_option("--epsilon", options.epsilon, "The epsilon that may be spent")->required();
  AddDeltaOption(command, options, true);
}

void AddUsesOption(CLI::App& command, PrivacyOptions& options) {
  command.add_option("--uses", options.uses,
                     "Cap on the batches that hold one row, for whoever knows the batches "
                     "(default: all)");
}

Composition ReadComposition(const PrivacyOptions& options) {
  Composition composition;
  std::string adjacency = options.adjacency;
  std::vector<MechanismText> texts;
  if (options.kind.empty()) {
    RequireNoLooseKeys(options);
  } else {
    texts.push_back(TextOf(options));
  }
  for (const std::string& mechanism : options.mechanisms)
    texts.push_back(SplitMechanism(mechanism));
  if (!options.file.empty()) {
    const CompositionFile file = LoadCompositionFile(options.file);
    texts.insert(texts.end(), file.mechanisms.begin(), file.mechanisms.end());
    if (adjacency.empty()) adjacency = file.adjacency;
    if (!file.adjacency.empty() && adjacency != file.adjacency) {
      throw Error(ErrorCode::kUsage,
                  fmt::format("{} speaks of adjacency {}, the command line of {}", options.file,
                              file.adjacency, adjacency),
                  "sensitivities belong to one adjacency: decide for one");
    }
  }
  if (texts.empty()) {
    throw Error(ErrorCode::kUsage, "there is no mechanism to account",
                "name one, such as gaussian --sigma 2; partita privacy --help has examples");
  }
  composition.adjacency = ReadAdjacency(adjacency);
  for (const MechanismText& text : texts) {
    composition.parts.push_back(ReadMechanism(text));
    composition.events.push_back(MakeEvent(composition.parts.back(), composition.adjacency));
  }
  composition.uses = ReadUses(options, composition.parts);
  return composition;
}

Composition ReadOneMechanism(const PrivacyOptions& options, bool noise_wanted) {
  if (options.kind.empty()) {
    throw Error(ErrorCode::kUsage, "there is no mechanism to account",
                "name one, such as gaussian");
  }
  if (noise_wanted && !HasNoise(options.kind)) {
    throw Error(ErrorCode::kUsage, fmt::format("{} has no noise to choose", options.kind),
                "ask `partita privacy steps` how often it may be used");
  }
  Composition composition;
  composition.adjacency = ReadAdjacency(options.adjacency);
  composition.parts.push_back(ReadMechanism(TextOf(options), noise_wanted));
  return composition;
}

double ReadDelta(const PrivacyOptions& options) {
  std::string text = options.delta;
  if (text.empty() && !options.file.empty()) text = LoadCompositionFile(options.file).delta;
  if (text.empty()) {
    throw Error(ErrorCode::kUsage, "there is no delta",
                "give --delta, well below one over the number of rows, such as 1e-6");
  }
  return privacy::RequireDelta(ParseNumber("delta", text));
}

privacy::EpsilonDelta ReadBudget(const PrivacyOptions& options) {
  const double epsilon = privacy::RequireEpsilon(ParseNumber("epsilon", options.epsilon));
  if (epsilon == 0) {
    throw Error(ErrorCode::kUsage, "the budget's epsilon must be positive, not 0",
                "usual values are between 0.1 and 10");
  }
  return {epsilon, ReadDelta(options)};
}

privacy::PldOptions ReadAccuracy(const PrivacyOptions& options, std::function<void()> tick) {
  privacy::PldOptions accuracy;
  accuracy.relative_width = ParseNumber("width", options.width);
  if (!(accuracy.relative_width >= 1e-7 && accuracy.relative_width <= 0.5)) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the width must lie in [1e-7, 0.5], not {}", options.width),
                "1e-3 is quick, 1e-4 shows four digits");
  }
  accuracy.max_cells = kMaxCells;
  accuracy.work = std::make_shared<double>(kCommandWork);
  accuracy.check_cancelled = std::move(tick);
  return accuracy;
}

}  // namespace partita::cli
