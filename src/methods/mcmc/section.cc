#include "methods/mcmc/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/design.h"
#include "methods/mcmc/spec.h"
#include "study/file/limits.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::methods::mcmc {
namespace {

using stats::mcmc::Acceptance;
using study::AnalysisSpec;
using study::LocatedText;
using study::Quote;
using study::TableReader;

constexpr double kMostDecisions = 1e9;
// Of a chain whose study says neither how many draws nor how many decisions: six stages.
constexpr uint64_t kDefaultMostDecisions = 70000;
// Fewer points would hardly show that chains remember where they began.
constexpr size_t kLeastSuperchains = 4;

// What each protocol opens: the entry that its release list must have.
struct ChainProtocol {
  const char* name;
  Rule rule;
  const char* release;
};
constexpr ChainProtocol kChainProtocols[] = {{"decisions", Rule::kBit, "decisions"},
                                             {"noisy-sums", Rule::kSum, "noisy-sums"},
                                             {"noisy-products", Rule::kProduct, "noisy-sums"},
                                             {"penalty", Rule::kPenalty, "noisy-log-ratios"}};

template <typename List, typename NameOf>
std::vector<std::string> NamesOf(const List& list, NameOf name_of) {
  std::vector<std::string> names;
  for (const auto& item : list) names.emplace_back(name_of(item));
  return names;
}

const ChainProtocol& ReadProtocol(const TableReader& reader, AnalysisSpec& analysis) {
  analysis.protocol =
      reader.Choice(reader.Text("protocol", "protocol = \"decisions\""), "protocol",
                    NamesOf(kChainProtocols, [](const ChainProtocol& p) { return p.name; }));
  return *std::find_if(std::begin(kChainProtocols), std::end(kChainProtocols),
                       [&](const ChainProtocol& p) { return analysis.protocol == p.name; });
}

void ReadRule(const TableReader& reader, const ChainProtocol& protocol, ChainSpec& spec) {
  spec.rule = protocol.rule;
  const bool bits = protocol.rule == Rule::kBit;
  spec.options.acceptance = bits ? Acceptance::kBarker : Acceptance::kMetropolis;
  const auto rule = reader.OptionalText("rule");
  if (!rule) return;
  const bool barker = reader.Choice(*rule, "rule", {"barker", "metropolis"}) == "barker";
  if (barker && !bits) {
    reader.Fail(rule->position,
                "protocol " + Quote(protocol.name) + " decides by Metropolis's rule only",
                "remove 'rule', or write protocol = \"decisions\"");
  }
  spec.options.acceptance = barker ? Acceptance::kBarker : Acceptance::kMetropolis;
}

// The columns and survival variables that a model can name.
const data::DesignColumn& FindColumn(const TableReader& reader, const LocatedText& name,
                                     std::string_view key,
                                     const std::vector<data::DesignColumn>& columns) {
  reader.Choice(name, key, NamesOf(columns, [](const data::DesignColumn& column) {
                  return column.schema.name;
                }));
  return *std::find_if(columns.begin(), columns.end(), [&](const data::DesignColumn& column) {
    return column.schema.name == name.value;
  });
}

void ReadChainOutcome(const TableReader& reader, const study::StudyFile& study,
                      const std::vector<data::DesignColumn>& columns, ChainSpec& spec) {
  const LocatedText outcome = reader.Text("outcome", "outcome = \"blood_pressure\"");
  spec.outcome = outcome.value;
  if (IsSurvival(spec.model)) {
    const data::ColumnSchema& variable =
        study::FindVariable(reader, outcome, "outcome", study.dictionary);
    if (variable.type != data::ColumnType::kSurvival) {
      reader.Fail(outcome.position, Quote(outcome.value) + " is not a survival variable",
                  "give the dictionary a variable of type \"survival\", with its columns of time "
                  "and event");
    }
    if (spec.model == ChainModel::kWeibull && variable.lower <= 0) {
      reader.Fail(outcome.position, Quote(outcome.value) + " may be 0, which has no logarithm",
                  "give it a lower bound above 0");
    }
    return;
  }
  const data::ColumnSchema& column = FindColumn(reader, outcome, "outcome", columns).schema;
  const bool whole = column.type == data::ColumnType::kInteger;
  if (spec.model == ChainModel::kLogistic && !(whole && column.lower == 0 && column.upper == 1)) {
    reader.Fail(outcome.position, Quote(outcome.value) + " is not 0 or 1",
                "use an integer with bounds 0 and 1, or the column of a factor's level");
  }
  const bool counts =
      spec.model == ChainModel::kPoisson || spec.model == ChainModel::kNegativeBinomial;
  if (counts && !(whole && column.lower >= 0)) {
    reader.Fail(outcome.position, Quote(outcome.value) + " is not a count",
                "use an integer with a lower bound of 0 or more");
  }
}

void ReadChainPredictors(const TableReader& reader, const std::vector<data::DesignColumn>& columns,
                         ChainSpec& spec) {
  const auto predictors = reader.Texts("predictors", "predictors = [\"age\", \"sex.male\"]");
  study::CheckDistinct(reader, predictors, "predictor");
  if (predictors.size() > study::kMaxPredictors) {
    reader.Fail(reader.PositionOf("predictors"), "there are too many predictors",
                "give at most " + std::to_string(study::kMaxPredictors));
  }
  for (const LocatedText& name : predictors) {
    if (name.value == spec.outcome) {
      reader.Fail(name.position, Quote(name.value) + " is the outcome and a predictor",
                  "remove it from one of them");
    }
    spec.predictors.push_back(FindColumn(reader, name, "predictors", columns).schema.name);
  }
  const bool cox = spec.model == ChainModel::kCox;
  const auto intercept = reader.OptionalBool("intercept");
  if (cox && intercept.value_or(false)) {
    reader.Fail(reader.PositionOf("intercept"), "Cox's model has no intercept",
                "remove 'intercept'");
  }
  spec.intercept = intercept.value_or(!cox);
  if (ParameterNames(spec).empty() || (predictors.empty() && !spec.intercept)) {
    reader.Fail(reader.PositionOf("predictors"), "a regression without predictors or intercept",
                "name a predictor");
  }
}

size_t ReadChainCount(const TableReader& reader, std::string_view key, int64_t least, int64_t most,
                      size_t otherwise) {
  const auto count = reader.OptionalInteger(key);
  if (!count) return otherwise;
  if (count->value < least || count->value > most) {
    reader.Fail(count->position, fmt::format("'{}' must be from {} to {}", key, least, most),
                fmt::format("write, for example: {} = {}", key, otherwise));
  }
  return static_cast<size_t>(count->value);
}

void ReadSuperchains(const TableReader& reader, ChainSpec& spec) {
  stats::mcmc::ChainOptions& options = spec.options;
  const auto least = static_cast<int64_t>(kLeastSuperchains);
  options.superchains = ReadChainCount(reader, "superchains", least, 1000, 8);
  if (options.chains % options.superchains != 0) {
    reader.Fail(reader.PositionOf("superchains"),
                fmt::format("'superchains' must divide the {} chains, as all have equally many",
                            options.chains),
                fmt::format("write, for example: chains = {}",
                            (options.chains / options.superchains + 1) * options.superchains));
  }
}

void ReadChains(const TableReader& reader, ChainSpec& spec) {
  stats::mcmc::ChainOptions& options = spec.options;
  options.chains = ReadChainCount(reader, "chains", 1, 1000, 4);
  if (reader.Has("superchains")) ReadSuperchains(reader, spec);
  options.warmup = ReadChainCount(reader, "warmup", 0, 1000000, 1000);
  options.draws = ReadChainCount(reader, "draws", 4, 1000000, 1000);
  options.thin = ReadChainCount(reader, "thin", 1, 10000, 1);
  options.speculation = ReadChainCount(reader, "speculation", 1, 8, 1);
  if (const auto most = reader.OptionalInteger("most_decisions")) {
    const auto one_stage = static_cast<int64_t>(stats::mcmc::DecisionsOfStage(options, 0));
    if (most->value < one_stage || static_cast<double>(most->value) > kMostDecisions) {
      reader.Fail(most->position,
                  fmt::format("'most_decisions' must be at least {}, warmup + draws x thin of a "
                              "chain, and at most 1e9",
                              one_stage),
                  fmt::format("write, for example: most_decisions = {}", kDefaultMostDecisions));
    }
    options.most_decisions = static_cast<uint64_t>(most->value);
  } else if (!reader.Has("draws") && !reader.Has("privacy")) {
    // Where there is a promise every decision is charged: how many is said, or they are few.
    options.most_decisions = kDefaultMostDecisions;
  }
  const auto decisions = static_cast<double>(stats::mcmc::DecisionsOf(options));
  if (decisions * static_cast<double>(options.chains) > kMostDecisions) {
    reader.Fail(reader.PositionOf("draws"), "there are more than 1e9 decisions",
                "use fewer draws, chains or a smaller 'thin'");
  }
  if (options.speculation > 1 && spec.rule != Rule::kBit) {
    reader.Fail(reader.PositionOf("speculation"),
                "only protocol 'decisions' takes several decisions at a time",
                "remove 'speculation'");
  }
  if (!stats::mcmc::HasWholeBlocks(options)) {
    reader.Fail(
        reader.PositionOf("speculation"),
        fmt::format("'speculation' must divide the {} decisions of a chain{}",
                    stats::mcmc::DecisionsOfStage(options, 0),
                    stats::mcmc::StagesOf(options) > 1 ? ", and those of every further stage" : ""),
        "decisions of a chain are warmup + draws x thin, of further stages warmup + twice "
        "as many, and so on: change one of them");
  }
  if (const auto first = reader.OptionalNumber("first_stage")) {
    if (!(first->value >= 0.01) || !(first->value <= 0.99)) {
      reader.Fail(first->position, "'first_stage' must be from 0.01 to 0.99",
                  "write the share of the rows that decides first, for example: first_stage = 0.1");
    }
    if (spec.rule != Rule::kBit || options.speculation > 1) {
      reader.Fail(first->position,
                  "only protocol 'decisions' without speculation decides in two stages",
                  "remove 'first_stage', or 'speculation'");
    }
    if (spec.model == ChainModel::kCox) {
      reader.Fail(first->position, "Cox's likelihood is no sum over rows, which stages divide",
                  "remove 'first_stage', or use model = \"weibull\"");
    }
    spec.first_stage = first->value;
  }
  if (const auto step = reader.OptionalNumber("step")) {
    if (!(step->value > 0) || !(step->value <= 1e6)) {
      reader.Fail(step->position, "'step' must be positive",
                  "write the standard deviation of the first proposals, for example: step = 0.1");
    }
    options.initial_scale = step->value;
  }
  if (const auto spread = reader.OptionalNumber("spread")) {
    if (options.superchains == 0) {
      reader.Fail(spread->position, "'spread' says where superchains begin, and there are none",
                  "remove it, or write superchains = 8");
    }
    if (!(spread->value > 0) || !(spread->value <= 1e6)) {
      reader.Fail(spread->position, "'spread' must be positive",
                  "write the standard deviation of the points where superchains begin, for "
                  "example: spread = 1");
    }
    spec.spread = spread->value;
  }
}

stats::mcmc::Prior PriorOf(const TableReader& reader, const LocatedText& text) {
  try {
    return stats::mcmc::ParsePrior(text.value);
  } catch (const Error& error) {
    study::FailWith(reader, text.position, error);
  }
}

void ReadPriors(const TableReader& analysis, ChainSpec& spec) {
  spec.coefficients = stats::mcmc::ParsePrior("normal(0, 2.5)");
  const std::vector<std::string> parameters = ParameterNames(spec);
  std::vector<std::string> keys = parameters;
  keys.emplace_back("coefficients");
  if (const auto reader = analysis.OptionalTable("priors", keys, "[analysis.priors]")) {
    if (const auto rest = reader->OptionalText("coefficients")) {
      spec.coefficients = PriorOf(*reader, *rest);
    }
    for (const std::string& name : parameters) {
      const auto text = reader->OptionalText(name);
      if (text) spec.priors[name] = PriorOf(*reader, *text);
    }
  }
  const auto reader = analysis.OptionalTable("start", parameters, "[analysis.start]");
  if (!reader) return;
  for (const std::string& name : parameters) {
    const auto value = reader->OptionalNumber(name);
    if (!value) continue;
    if (!std::isfinite(value->value)) {
      reader->Fail(value->position, "a chain cannot begin there", "write a finite number");
    }
    spec.start[name] = value->value;
  }
}

double ReadPositive(const TableReader& reader, std::string_view key, double most,
                    std::string_view example) {
  const study::Located<double> value = reader.Number(key, example);
  if (!(value.value > 0) || !(value.value <= most)) {
    reader.Fail(value.position, fmt::format("'{}' must be above 0 and at most {}", key, most),
                fmt::format("write, for example: {}", example));
  }
  return value.value;
}

// Largest magnitude of every parameter's column by the dictionary; 1 of the intercept.
Eigen::VectorXd ReachOf(const ChainSpec& spec, const std::vector<data::DesignColumn>& columns) {
  std::vector<double> reach;
  if (spec.intercept) reach.push_back(1);
  for (const std::string& name : spec.predictors) {
    for (const data::DesignColumn& column : columns) {
      if (column.schema.name != name) continue;
      // A transformed value may miss its transformed bound by its rounding.
      reach.push_back(std::max(std::abs(column.schema.lower), std::abs(column.schema.upper)) *
                      (1 + 0x1p-40));
    }
  }
  return Eigen::Map<const Eigen::VectorXd>(reach.data(), static_cast<Eigen::Index>(reach.size()));
}

// Steps are bounded instead of rows.
void ReadLipschitz(const TableReader& reader, const std::vector<data::DesignColumn>& columns,
                   ChainSpec& spec, ChainPrivacy& privacy) {
  const study::Position position = reader.PositionOf("lipschitz");
  if (reader.Has("clip")) {
    reader.Fail(position, "'clip' bounds rows and 'lipschitz' steps: one of them is enough",
                "keep 'lipschitz' for the posterior itself, 'clip' for longer steps");
  }
  if (spec.rule != Rule::kBit) {
    reader.Fail(position, "protocol 'penalty' makes noise for rows that are cut",
                "write clip = ... instead, or protocol = \"decisions\"");
  }
  if (spec.model != ChainModel::kLogistic) {
    reader.Fail(position,
                "a row of model " + Quote(ChainModelNames()[static_cast<size_t>(spec.model)]) +
                    " can move its likelihood by any amount over a short step",
                "write clip = ... instead; 'lipschitz' is for model = \"logistic\"");
  }
  privacy.lipschitz = ReadPositive(reader, "lipschitz", 1000, "lipschitz = 0.05");
  spec.options.longest = privacy.lipschitz;
  spec.options.reach = ReachOf(spec, columns);
  if (BeginsTooFar(spec)) {
    reader.Fail(position, "chains begin too far from 0 for a bound of their steps",
                "begin nearer to 0 (of superchains: take a smaller 'spread'), or scale the "
                "predictors");
  }
}

void ReadChainPrivacy(const TableReader& analysis, const std::vector<data::DesignColumn>& columns,
                      ChainSpec& spec) {
  const auto reader = analysis.OptionalTable(
      "privacy", {"epsilon", "delta", "adjacency", "clip", "lipschitz", "noise"},
      "[analysis.privacy]");
  if (!reader) {
    if (spec.rule == Rule::kPenalty) {
      analysis.Fail(
          analysis.PositionOf("protocol"),
          "protocol 'penalty' needs [analysis.privacy], which says how much noise there is",
          "add it with epsilon, delta, adjacency, clip and noise");
    }
    return;
  }
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    reader->Fail(reader->position(), what, hint);
  };
  if (spec.rule == Rule::kSum || spec.rule == Rule::kProduct) {
    refuse("this protocol opens a noisy log ratio at every step and promises no privacy",
           "write protocol = \"decisions\" or \"penalty\"");
  }
  if (spec.rule == Rule::kBit && spec.options.acceptance == Acceptance::kMetropolis) {
    refuse(
        "chains of Metropolis's rule promise no privacy: one rejection can tell two data sets "
        "apart",
        "write rule = \"barker\"");
  }
  if (spec.model == ChainModel::kCox) {
    refuse("Cox's likelihood is no sum over rows, so nothing bounds what one person contributes",
           "use model = \"weibull\", or no [analysis.privacy]");
  }
  ChainPrivacy privacy;
  privacy.epsilon = ReadPositive(*reader, "epsilon", 100, "epsilon = 1.0");
  privacy.delta = ReadPositive(*reader, "delta", 0.01, "delta = 1e-6");
  const std::string adjacency = reader->Choice(reader->Text("adjacency", "adjacency = \"replace\""),
                                               "adjacency", {"replace", "add-remove"});
  privacy.adjacency =
      adjacency == "replace" ? privacy::Adjacency::kReplace : privacy::Adjacency::kAddRemove;
  if (reader->Has("lipschitz")) {
    ReadLipschitz(*reader, columns, spec, privacy);
  } else {
    privacy.clip = ReadPositive(*reader, "clip", 1000, "clip = 0.01");
  }
  if (spec.rule == Rule::kPenalty) {
    privacy.noise = ReadPositive(*reader, "noise", 1e6, "noise = 20");
  } else if (reader->Has("noise")) {
    reader->Fail(reader->PositionOf("noise"), "'noise' belongs to protocol 'penalty'", "remove it");
  }
  spec.privacy = privacy;
}

// Everybody sees what opens, so an entry has no addressee.
void ReadMcmcReleases(const TableReader& reader, const ChainProtocol& protocol,
                      AnalysisSpec& analysis) {
  const auto releases =
      reader.Texts("release", fmt::format("release = [\"{}\"]", protocol.release));
  study::CheckDistinct(reader, releases, "release");
  for (const LocatedText& release : releases) {
    if (release.value != protocol.release) {
      reader.Fail(
          release.position,
          fmt::format("protocol '{}' does not open {}", protocol.name, Quote(release.value)),
          fmt::format("write release = [\"{}\"]", protocol.release));
    }
    analysis.releases.push_back({release.value, "all", release.position});
  }
  if (analysis.releases.empty()) {
    reader.Fail(
        reader.PositionOf("release"),
        fmt::format("protocol '{}' opens the {} to all parties, which 'release' does not list",
                    protocol.name, protocol.release),
        fmt::format("write release = [\"{}\"]", protocol.release));
  }
}

}  // namespace

study::SectionUses McmcSection::Uses() const {
  study::SectionUses uses{{ChainModelNames()[static_cast<size_t>(spec.model)]}, {}, {}};
  if (!spec.privacy) uses.releases.push_back({"without-privacy", "", {}});
  return uses;
}

const ChainSpec& ChainOf(const AnalysisSpec& analysis) {
  return dynamic_cast<const McmcSection&>(*analysis.section).spec;
}

namespace {

std::shared_ptr<const study::Section> ReadMcmc(const TableReader& reader,
                                               const study::StudyFile& study,
                                               AnalysisSpec& analysis) {
  ChainSpec spec;
  const ChainProtocol& protocol = ReadProtocol(reader, analysis);
  ReadRule(reader, protocol, spec);
  const std::vector<std::string>& models = ChainModelNames();
  const std::string model =
      reader.Choice(reader.Text("model", "model = \"logistic\""), "model", models);
  spec.model =
      static_cast<ChainModel>(std::find(models.begin(), models.end(), model) - models.begin());
  std::vector<data::DesignColumn> columns;
  try {
    columns = data::DesignColumns(study.dictionary, study.derived);
  } catch (const Error& error) {
    study::FailWith(reader, reader.position(), error);
  }
  ReadChainOutcome(reader, study, columns, spec);
  ReadChainPredictors(reader, columns, spec);
  ReadChains(reader, spec);
  ReadPriors(reader, spec);
  ReadChainPrivacy(reader, columns, spec);
  ReadMcmcReleases(reader, protocol, analysis);
  analysis.subset = study::ReadSubset(reader, study.dictionary, study.derived);
  return std::make_shared<const McmcSection>(std::move(spec));
}

}  // namespace

study::SectionReader McmcReader() {
  const std::vector<std::string> keys = {
      "protocol", "rule",   "model",   "outcome",     "predictors",     "intercept",   "subset",
      "release",  "chains", "warmup",  "draws",       "thin",           "speculation", "step",
      "priors",   "start",  "privacy", "first_stage", "most_decisions", "superchains", "spread"};
  study::SectionReader reader{"mcmc", keys, ReadMcmc};
  for (const std::string& model : ChainModelNames()) {
    if (model != "linear")
      reader.mistaken_for.emplace_back(model, "method = \"mcmc\" with model = \"" + model + "\"");
  }
  return reader;
}

}  // namespace partita::methods::mcmc
