#include "methods/mixture/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::methods::mixture {

using data::ColumnEncoding;
using data::ColumnSchema;
using data::ColumnType;
using data::EncodingKind;
using study::LocatedText;
using study::Party;
using study::Quote;
using study::StudyFile;
using study::TableReader;

namespace {

const std::vector<std::string> kMixtureKeys = {
    "columns",        "components",     "iterations",       "epochs", "schedule",
    "formulation",    "learning_rate",  "checkpoint_every", "batch",  "privacy",
    "synthetic_rows", "synthetic_sets", "utility",          "reserve"};

constexpr int64_t kMaxComponents = 1000, kMaxMixtureIterations = 10'000'000, kMaxBins = 1000,
                  kMaxSyntheticRows = 10'000'000, kMaxSyntheticSets = 100,
                  kIterationsPerReserved = 1000;
constexpr std::string_view kColumnExample =
    "\"age\", {variable = \"income\", family = \"categorical\", bins = 12}";

std::optional<int64_t> OptionalWhole(const TableReader& reader, std::string_view key, int64_t low,
                                     int64_t high, const std::string& hint) {
  const auto whole = reader.OptionalInteger(key);
  if (!whole) return std::nullopt;
  if (whole->value >= low && whole->value <= high) return whole->value;
  reader.Fail(whole->position, fmt::format("'{}' must be from {} to {}", key, low, high), hint);
}

std::optional<double> OptionalWithin(const TableReader& reader, std::string_view key, double low,
                                     double high, const std::string& hint) {
  const auto number = reader.OptionalNumber(key);
  if (!number) return std::nullopt;
  if (number->value >= low && number->value <= high) return number->value;
  reader.Fail(number->position, fmt::format("'{}' must be from {:g} to {:g}", key, low, high),
              hint);
}

std::optional<std::string> OptionalChoice(const TableReader& reader, std::string_view key,
                                          const std::vector<std::string>& choices) {
  const auto text = reader.OptionalText(key);
  if (!text) return std::nullopt;
  return reader.Choice(*text, key, choices);
}

// The families that a variable of a type can have.
std::vector<std::string> FamiliesOf(ColumnType type) {
  if (data::HasLevels(type)) return {"categorical", "bernoulli"};
  if (type == ColumnType::kInteger) return {"categorical", "beta", "gaussian", "poisson"};
  return {"categorical", "beta", "gaussian"};
}

EncodingKind EncodingKindOf(const TableReader& entry, const ColumnSchema& variable,
                            const std::string& family) {
  if (family == "bernoulli") return EncodingKind::kIndicator;
  if (family == "beta") return EncodingKind::kUnit;
  if (family == "gaussian") return EncodingKind::kStandard;
  if (family == "poisson") return EncodingKind::kCount;
  if (data::HasLevels(variable.type)) return EncodingKind::kLevels;
  if (entry.Has("bins")) return EncodingKind::kBins;
  if (variable.type == ColumnType::kInteger) return EncodingKind::kWhole;
  entry.Fail(entry.PositionOf("family"),
             fmt::format("{} is not whole, so a categorical column of it needs bins",
                         Quote(variable.name)),
             "add, for example: bins = 10");
}

void ReadFamily(const TableReader& entry, ColumnEncoding& encoding) {
  const ColumnSchema& variable = encoding.column;
  const auto family = entry.OptionalText("family");
  if (!family) {
    if (entry.Has("bins")) encoding.kind = EncodingKind::kBins;
    return;
  }
  const std::vector<std::string> families = FamiliesOf(variable.type);
  if (std::find(families.begin(), families.end(), family->value) == families.end()) {
    entry.Fail(family->position,
               fmt::format("{} is of type {}, which has no family {}", Quote(variable.name),
                           data::ColumnTypeName(variable.type), Quote(family->value)),
               "choose one of: " + study::Join(families));
  }
  encoding.kind = EncodingKindOf(entry, variable, family->value);
}

void ReadBins(const TableReader& entry, ColumnEncoding& encoding) {
  const auto bins =
      OptionalWhole(entry, "bins", 2, kMaxBins,
                    "a column has as many levels as bins, each as wide as the others");
  if (!bins) return;
  if (encoding.kind != EncodingKind::kBins || data::HasLevels(encoding.column.type)) {
    entry.Fail(entry.PositionOf("bins"),
               fmt::format("'bins' is for categorical columns of numbers or dates, not for {}",
                           Quote(encoding.column.name)),
               "remove it");
  }
  encoding.bins = static_cast<uint32_t>(*bins);
}

void ReadRare(const TableReader& entry, ColumnEncoding& encoding) {
  const auto rare = entry.OptionalTexts("rare");
  if (!rare) return;
  if (encoding.kind != EncodingKind::kLevels) {
    entry.Fail(entry.PositionOf("rare"),
               fmt::format("'rare' is for levels of categorical columns, not for {}",
                           Quote(encoding.column.name)),
               "remove it");
  }
  study::CheckDistinct(entry, *rare, "level");
  for (const LocatedText& level : *rare)
    encoding.pooled.push_back(entry.Choice(level, "rare", encoding.column.levels));
}

// A factor or a number of the dictionary; nothing else has a family.
ColumnEncoding DefaultOf(const TableReader& reader, study::Position position,
                         const ColumnSchema& variable) {
  try {
    return data::DefaultEncoding(variable);
  } catch (const Error& error) {
    study::FailWith(reader, position, error);
  }
}

ColumnEncoding ReadColumn(const TableReader& analysis, const study::TextOrTable& item,
                          const StudyFile& study, LocatedText& name) {
  if (item.text) {
    name = *item.text;
    return DefaultOf(analysis, name.position,
                     study::FindVariable(analysis, name, "columns", study.dictionary));
  }
  const TableReader& entry = *item.table;
  name = entry.Text("variable", "{variable = \"income\", family = \"categorical\", bins = 12}");
  ColumnEncoding encoding = DefaultOf(
      entry, name.position, study::FindVariable(entry, name, "variable", study.dictionary));
  ReadFamily(entry, encoding);
  ReadBins(entry, encoding);
  ReadRare(entry, encoding);
  try {
    data::CheckEncoding(encoding);
  } catch (const Error& error) {
    study::FailWith(entry, entry.position(), error);
  }
  return encoding;
}

void ReadColumns(const TableReader& analysis, const StudyFile& study, MixtureSpec& spec) {
  if (!analysis.Has("columns")) {
    for (const ColumnSchema& variable : study.dictionary.columns)
      spec.columns.push_back(DefaultOf(analysis, analysis.position(), variable));
    return;
  }
  std::vector<LocatedText> names;
  for (const study::TextOrTable& item :
       analysis.TextsOrEntries("columns", {"variable", "family", "bins", "rare"}, kColumnExample)) {
    names.emplace_back();
    spec.columns.push_back(ReadColumn(analysis, item, study, names.back()));
  }
  if (names.empty()) {
    analysis.Fail(analysis.PositionOf("columns"), "'columns' is empty",
                  "name the variables of the model, or leave the key out to take all");
  }
  study::CheckDistinct(analysis, names, "column");
}

bool HoldsAny(const Party& party, const std::vector<ColumnEncoding>& columns) {
  return std::any_of(columns.begin(), columns.end(), [&](const ColumnEncoding& encoding) {
    return std::find(party.columns.begin(), party.columns.end(), encoding.column.name) !=
           party.columns.end();
  });
}

// All rows of one block, vertically split. Returns how many.
uint32_t RequireRows(const TableReader& analysis, const StudyFile& study, const MixtureSpec& spec) {
  const study::Position position = analysis.position();
  const auto refuse = [&](const std::string& what, const std::string& hint) {
    analysis.Fail(position, "method \"mixture\" " + what, hint);
  };
  size_t holders = 0;
  for (const Party& party : study.parties) holders += HoldsAny(party, spec.columns) ? 1 : 0;
  if (holders < 2) {
    refuse("is for columns of two parties or more, and one party holds all of these",
           "add columns of another party; whoever holds all can fit the model alone");
  }
  if (spec.paper_formulation && holders != 2) {
    refuse(fmt::format("has the formulation \"paper\" for two holders of columns, here are {}",
                       holders),
           "leave out formulation = \"paper\"");
  }
  if (study.blocks.size() != 1 || !study.blocks.front().count) {
    refuse("needs one block of rows with its count", "declare one [[rows]] with count = ...");
  }
  if (!study.population.subset.empty()) {
    refuse("takes all rows, and [population] has a subset",
           "leave out the subset, and agree on tables of those rows");
  }
  if (study.population.max_rows_per_person != 1) {
    refuse("protects single rows, and a person may have several here",
           "use tables with one row for each person");
  }
  if (study.design.missing != study::MissingPolicy::kRefuse ||
      study.design.site != study::SiteEffect::kIgnore ||
      study.design.weights_kind != study::WeightsKind::kNone || !study.design.cluster.empty()) {
    refuse("knows no missing cells, sites, weights or clusters",
           "write site = \"ignore\" and missing = \"refuse\" in [design], and nothing else");
  }
  if (study.engine.name == "shamir" || study.engine.stored_correlations) {
    refuse("runs on the engines dealer, replicated and ot, without stored correlations",
           "choose one of them in [engine]");
  }
  const uint64_t rows = *study.blocks.front().count;
  if (rows > std::numeric_limits<uint32_t>::max()) {
    refuse("takes fewer than 2^32 rows", "use a sample of the rows");
  }
  return static_cast<uint32_t>(rows);
}

MixtureTarget ReadTarget(const TableReader& entry, const StudyFile& study, const MixtureSpec& spec,
                         std::set<std::string>& testing) {
  const LocatedText name = entry.Text("variable", "variable = \"income\"");
  std::vector<std::string> names;
  for (const ColumnEncoding& encoding : spec.columns) names.push_back(encoding.column.name);
  MixtureTarget target{entry.Choice(name, "variable", names), {}};
  const auto encoding = std::find_if(
      spec.columns.begin(), spec.columns.end(),
      [&](const ColumnEncoding& column) { return column.column.name == target.variable; });
  if (!data::HasLevels(encoding->column.type)) {
    entry.Fail(name.position, fmt::format("{} has no levels to predict", Quote(target.variable)),
               "name a factor of the model");
  }
  target.level =
      entry.Choice(entry.Text("level", "level = \"high\""), "level", encoding->column.levels);
  for (const Party& party : study.parties) {
    const auto holds = [&](const ColumnEncoding& column) {
      return std::find(party.columns.begin(), party.columns.end(), column.column.name) !=
             party.columns.end();
    };
    if (!holds(*encoding)) continue;
    if (std::count_if(spec.columns.begin(), spec.columns.end(), holds) == 1) {
      entry.Fail(name.position,
                 fmt::format("{} holds no other column of the model to predict {} from",
                             Quote(party.name), Quote(target.variable)),
                 "name a factor of a holder with two columns or more: rows never leave it");
    }
    if (!testing.insert(party.name).second) {
      entry.Fail(name.position, fmt::format("{} has two targets", Quote(party.name)),
                 "name one target of each holder");
    }
  }
  return target;
}

void ReadUtility(const TableReader& analysis, const StudyFile& study, uint32_t rows,
                 MixtureSpec& spec) {
  const auto reader =
      analysis.OptionalTable("utility", {"test_rows", "seed", "targets"}, "[analysis.utility]");
  if (!reader) return;
  const auto test_rows =
      OptionalWhole(*reader, "test_rows", 1, int64_t{rows} - 1,
                    "rows set aside are not trained on; a fifth of the rows is usual");
  if (!test_rows) reader->FailMissing("test_rows", "test_rows = 100");
  spec.utility.test_rows = static_cast<uint32_t>(*test_rows);
  const auto seed = OptionalWhole(*reader, "seed", 0, std::numeric_limits<int64_t>::max(),
                                  "any whole number will do; it is public");
  if (!seed) reader->FailMissing("seed", "seed = 1");
  spec.utility.seed = static_cast<uint64_t>(*seed);
  std::set<std::string> testing;
  const std::vector<TableReader> targets = reader->Entries(
      "targets", {"variable", "level"}, "{variable = \"income\", level = \"high\"}");
  for (const TableReader& entry : targets)
    spec.utility.targets.push_back(ReadTarget(entry, study, spec, testing));
}

// Of the rows that are trained on.
void CheckComponents(const TableReader& analysis, uint32_t rows, const MixtureSpec& spec) {
  if (spec.components <= rows) return;
  analysis.Fail(analysis.PositionOf("components"),
                fmt::format("{} components for {} rows", spec.components, rows),
                "use at most as many components as rows; 20 is usual");
}

void ReadBatch(const TableReader& analysis, uint32_t rows, MixtureSpec& spec) {
  constexpr const char* kExample = "[analysis.batch] with mode = \"poisson\" and size = 100";
  const auto reader = analysis.OptionalTable("batch", {"mode", "size"}, "[analysis.batch]");
  if (!reader) analysis.FailMissing("batch", kExample);
  const std::string mode = reader->Choice(reader->Text("mode", "mode = \"poisson\""), "mode",
                                          {"poisson", "disjoint", "full"});
  spec.batch = mode == "poisson"    ? MixtureBatch::kPoisson
               : mode == "disjoint" ? MixtureBatch::kDisjoint
                                    : MixtureBatch::kFull;
  if (spec.batch == MixtureBatch::kFull) {
    if (reader->Has("size")) {
      reader->Fail(reader->PositionOf("size"), "a full batch has no size", "remove 'size'");
    }
    spec.batch_size = rows;
    return;
  }
  const auto size = OptionalWhole(*reader, "size", 1, rows,
                                  "a batch has about so many of the table's rows, for example 100");
  if (!size) reader->FailMissing("size", "size = 100");
  spec.batch_size = static_cast<uint32_t>(*size);
}

void ReadLength(const TableReader& analysis, uint32_t rows, MixtureSpec& spec) {
  const auto iterations = OptionalWhole(analysis, "iterations", 1, kMaxMixtureIterations,
                                        "for example: iterations = 20000");
  const auto epochs = OptionalWithin(analysis, "epochs", 1e-3, 1e6, "for example: epochs = 20");
  if (iterations.has_value() == epochs.has_value()) {
    analysis.Fail(analysis.PositionOf(epochs ? "epochs" : "iterations"),
                  epochs ? "'iterations' and 'epochs' say the same twice"
                         : "[[analysis]] needs the key 'iterations' or 'epochs'",
                  "write one of them: iterations = 20000, or epochs = 20 for passes through all "
                  "rows");
  }
  if (iterations) {
    spec.iterations = static_cast<uint64_t>(*iterations);
    return;
  }
  const double batches = std::ceil(static_cast<double>(rows) / spec.batch_size);
  const double steps = std::ceil(*epochs * batches - 1e-9);
  if (steps > static_cast<double>(kMaxMixtureIterations)) {
    analysis.Fail(analysis.PositionOf("epochs"),
                  fmt::format("so many epochs are {:.0f} iterations", steps),
                  fmt::format("use at most {} iterations", kMaxMixtureIterations));
  }
  spec.iterations = static_cast<uint64_t>(steps);
}

void ReadNoiseParty(const TableReader& reader, const StudyFile& study, MixtureSpec& spec) {
  const auto from = reader.OptionalText("noise_from");
  if (!from || from->value == "parties") return;
  std::vector<std::string> names = {"parties"};
  for (const Party& party : study.parties) {
    if (party.dealer && party.name == from->value) {
      reader.Fail(from->position,
                  fmt::format("the dealer {} cannot add the noise", Quote(party.name)),
                  "it could subtract it again with any party; name a party that computes");
    }
    if (!party.dealer) names.push_back(party.name);
  }
  spec.privacy.noise_from = reader.Choice(*from, "noise_from", names);
  const auto& party = study.parties[study::PartyIndexByName(study, from->value)];
  if (HoldsAny(party, spec.columns)) {
    reader.Fail(from->position,
                fmt::format("{} holds columns of the model and would know all of the noise",
                            Quote(party.name)),
                "name a party without columns, or leave it out: then all parties add shares");
  }
}

void ReadMixtureNoise(const TableReader& analysis, const StudyFile& study, MixtureSpec& spec) {
  const auto reader = analysis.OptionalTable(
      "privacy",
      {"clip", "noise_multiplier", "epsilon", "against", "delta", "adjacency", "noise_from"},
      "[analysis.privacy]");
  if (!reader) {
    analysis.FailMissing("privacy",
                         "[analysis.privacy] with noise_multiplier, delta and adjacency");
  }
  MixturePrivacy& privacy = spec.privacy;
  privacy.clip = OptionalWithin(*reader, "clip", 0x1p-6, 0x1p6,
                                "gradients of mixtures have norms near 1: clip = 1 is usual")
                     .value_or(1);
  privacy.noise_multiplier =
      OptionalWithin(*reader, "noise_multiplier", 0.1, 1e4,
                     "write the standard deviation of the noise in units of 'clip', for example 2");
  privacy.epsilon =
      OptionalWithin(*reader, "epsilon", 0.01, 100, "around 1 is usual, above 10 protects little");
  if (privacy.noise_multiplier.has_value() == privacy.epsilon.has_value()) {
    reader->Fail(reader->PositionOf("epsilon"),
                 privacy.epsilon ? "'noise_multiplier' and 'epsilon' say the same twice"
                                 : "[analysis.privacy] needs 'noise_multiplier' or 'epsilon'",
                 "write one of them: the noise, or the epsilon that it is chosen for");
  }
  if (const auto against = OptionalChoice(*reader, "against", {"outside", "parties"})) {
    if (!privacy.epsilon) {
      reader->Fail(reader->PositionOf("against"), "'against' without 'epsilon'",
                   "it says whom epsilon protects from; the plan states what the noise is worth "
                   "against everybody");
    }
    privacy.against = *against == "parties" ? MixtureAgainst::kParties : MixtureAgainst::kOutside;
  }
  const auto delta = OptionalWithin(*reader, "delta", 1e-8, 0.01,
                                    "use a number well below one over the number of rows");
  if (!delta) reader->FailMissing("delta", "delta = 1e-5");
  privacy.delta = *delta;
  const LocatedText adjacency = reader->Text("adjacency", "adjacency = \"replace\"");
  if (reader->Choice(adjacency, "adjacency", {"replace", "add-remove"}) == "add-remove") {
    reader->Fail(adjacency.position,
                 "adjacency = \"add-remove\" protects the number of rows, which the study declares",
                 "write adjacency = \"replace\"");
  }
  ReadNoiseParty(*reader, study, spec);
}

void ReadSynthetic(const TableReader& analysis, MixtureSpec& spec) {
  const auto rows = OptionalWhole(analysis, "synthetic_rows", 1, kMaxSyntheticRows,
                                  "write how many rows to draw, for example as many as there are");
  const auto sets = OptionalWhole(analysis, "synthetic_sets", 1, kMaxSyntheticSets,
                                  "each set is drawn from the model anew; 1 is usual");
  if (sets && !rows) {
    analysis.Fail(analysis.PositionOf("synthetic_sets"),
                  "'synthetic_sets' without 'synthetic_rows'",
                  "add, for example: synthetic_rows = 10000");
  }
  spec.synthetic_rows = static_cast<uint64_t>(rows.value_or(0));
  spec.synthetic_sets = static_cast<uint32_t>(sets.value_or(1));
}

}  // namespace

MixtureSpec ReadMixture(const TableReader& analysis, const StudyFile& study) {
  MixtureSpec spec;
  ReadColumns(analysis, study, spec);
  const auto components =
      OptionalWhole(analysis, "components", 1, kMaxComponents, "20 is usual: components = 20");
  if (!components) analysis.FailMissing("components", "components = 20");
  spec.components = static_cast<size_t>(*components);
  spec.paper_schedule = OptionalChoice(analysis, "schedule", {"default", "paper"}) == "paper";
  spec.paper_formulation = OptionalChoice(analysis, "formulation", {"default", "paper"}) == "paper";
  spec.learning_rate =
      OptionalWithin(analysis, "learning_rate", 1e-5, 1, "0.01 is usual: learning_rate = 0.01")
          .value_or(spec.learning_rate);
  spec.checkpoint_every = static_cast<uint64_t>(
      OptionalWhole(analysis, "checkpoint_every", 1, kMaxMixtureIterations,
                    "so many iterations are lost at most when all parties stop; 100 is usual")
          .value_or(static_cast<int64_t>(spec.checkpoint_every)));
  const uint32_t all = RequireRows(analysis, study, spec);
  ReadUtility(analysis, study, all, spec);
  const uint32_t rows = all - spec.utility.test_rows;
  CheckComponents(analysis, rows, spec);
  ReadBatch(analysis, rows, spec);
  ReadLength(analysis, rows, spec);
  spec.reserve = static_cast<uint64_t>(
      OptionalWhole(analysis, "reserve", 0, static_cast<int64_t>(spec.iterations),
                    "openings in the place of those that a stopped run loses: one for each time "
                    "that it may stop")
          .value_or(static_cast<int64_t>(spec.iterations) / kIterationsPerReserved));
  ReadMixtureNoise(analysis, study, spec);
  ReadSynthetic(analysis, spec);
  return spec;
}

// All parties get the model and what is drawn from it.
study::SectionUses MixtureSection::Uses() const { return {{}, {{"model", "all", {}}}, {}}; }

const MixtureSpec& MixtureOf(const study::AnalysisSpec& analysis) {
  return dynamic_cast<const MixtureSection&>(*analysis.section).spec;
}

namespace {

std::shared_ptr<const study::Section> ReadMixtureAnalysis(const TableReader& reader,
                                                          const StudyFile& study,
                                                          study::AnalysisSpec& analysis) {
  analysis.protocol = "dpvi";
  return std::make_shared<const MixtureSection>(ReadMixture(reader, study));
}

}  // namespace

study::SectionReader MixtureReader() { return {"mixture", kMixtureKeys, ReadMixtureAnalysis}; }

}  // namespace partita::methods::mixture
