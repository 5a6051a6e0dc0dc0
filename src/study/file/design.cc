// [population], [design], [disclosure].
#include <algorithm>
#include <array>

#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::study {
namespace {

// Of [release], from 2^-kCoarsestGrid on.
const std::vector<std::string> kGrids = {"2^-4", "2^-5", "2^-6",  "2^-7",
                                         "2^-8", "2^-9", "2^-10", "full"};
constexpr int kCoarsestGrid = 4;

constexpr size_t kMaxUnitBytes = 64;
constexpr int64_t kMaxMinimum = 1'000'000;

constexpr std::string_view kSiteChoices =
    "say how the institutions enter the analysis:\n"
    "  site = \"ignore\"    all rows are one sample\n"
    "  site = \"fixed\"     every institution has its own intercept\n"
    "  site = \"strata\"    rows are compared within institutions only\n"
    "  site = \"random\"    institutions are a sample of institutions";
constexpr std::string_view kMissingChoices =
    "say what happens to missing cells:\n"
    "  missing = \"refuse\"    a missing cell stops the study at its owner; where privacy is "
    "promised,\n"
    "                         its row contributes nothing\n"
    "  missing = \"complete\"  rows that miss a variable of any analysis are left out\n"
    "  missing = \"fiml\"      full-information maximum likelihood uses what is there\n"
    "  missing = \"mi\"        multiple imputation";
constexpr std::string_view kFaultyChoices =
    "say what a row contributes that lacks a usable value, in a study that promises privacy:\n"
    "  faulty_rows = \"neutral\"  nothing; what is meant if the key is left out\n"
    "  faulty_rows = \"fill\"     its other values, and the middle of the bounds or the reference";
constexpr std::string_view kWeightsChoices =
    "say what the weights are:\n"
    "  weights_type = \"frequency\"  a row stands for so many equal rows\n"
    "  weights_type = \"sampling\"   a row stands for so many members of the population\n"
    "  weights_type = \"precision\"  inverse variance of a row's measurement error";
constexpr std::string_view kBothChoices =
    "add [design] with two lines, neither of which has a default:\n"
    "  site = \"ignore\", \"fixed\", \"strata\" or \"random\": how the institutions enter\n"
    "  missing = \"refuse\", \"complete\", \"fiml\" or \"mi\": what happens to missing cells";

constexpr std::string_view kPatternsExample = "[[], [\"x4\"], [\"x7\", \"x8\"]]";

template <typename T>
struct Named {
  const char* name;
  T value;
};

constexpr std::array<Named<SiteEffect>, 4> kSites = {{{"ignore", SiteEffect::kIgnore},
                                                      {"fixed", SiteEffect::kFixed},
                                                      {"strata", SiteEffect::kStrata},
                                                      {"random", SiteEffect::kRandom}}};
constexpr std::array<Named<MissingPolicy>, 4> kPolicies = {
    {{"refuse", MissingPolicy::kRefuse},
     {"complete", MissingPolicy::kComplete},
     {"fiml", MissingPolicy::kFiml},
     {"mi", MissingPolicy::kMultipleImputation}}};
constexpr std::array<Named<FaultyRowsRule>, 2> kFaulty = {
    {{"neutral", FaultyRowsRule::kNeutral}, {"fill", FaultyRowsRule::kFill}}};
constexpr std::array<Named<WeightsKind>, 3> kWeights = {{{"frequency", WeightsKind::kFrequency},
                                                         {"sampling", WeightsKind::kSampling},
                                                         {"precision", WeightsKind::kPrecision}}};

template <typename T, size_t N>
T ChooseNamed(const TableReader& reader, const LocatedText& text, std::string_view key,
              const std::array<Named<T>, N>& choices, std::string_view explanation) {
  for (const auto& choice : choices) {
    if (text.value == choice.name) return choice.value;
  }
  reader.Fail(text.position,
              "'" + std::string(key) + "' in [design] cannot be " + Quote(text.value),
              std::string(explanation));
}

LocatedText RequireChoice(const TableReader& reader, std::string_view key,
                          std::string_view choices) {
  if (const auto text = reader.OptionalText(key)) return *text;
  reader.Fail(reader.position(),
              reader.where() + " needs the key '" + std::string(key) + "', which has no default",
              std::string(choices));
}

void ReadFaultyRows(const TableReader& reader, DesignSpec& design) {
  const auto rule = reader.OptionalText("faulty_rows");
  if (!rule) return;
  if (design.missing != MissingPolicy::kRefuse) {
    reader.Fail(rule->position, "'faulty_rows' is for missing = \"refuse\"",
                "remove it: rows without a usable value are incomplete, and 'missing' says what "
                "becomes of them");
  }
  design.faulty_rows = ChooseNamed(reader, *rule, "faulty_rows", kFaulty, kFaultyChoices);
}

void ReadWeights(const TableReader& reader, const data::Schema& dictionary, DesignSpec& design) {
  const auto weights = reader.OptionalText("weights");
  const auto kind = reader.OptionalText("weights_type");
  if (!weights && !kind) return;
  if (!weights || !kind) {
    reader.Fail(reader.PositionOf(weights ? "weights" : "weights_type"),
                weights ? "'weights' without 'weights_type'" : "'weights_type' without 'weights'",
                weights ? std::string(kWeightsChoices)
                        : "name the variable that holds the weights: weights = \"w\"");
  }
  design.weights_kind = ChooseNamed(reader, *kind, "weights_type", kWeights, kWeightsChoices);
  const data::ColumnSchema& variable = FindVariable(reader, *weights, "weights", dictionary);
  design.weights = variable.name;
  const bool integer = variable.type == data::ColumnType::kInteger;
  const bool frequency = design.weights_kind == WeightsKind::kFrequency;
  if (frequency ? !integer : !integer && variable.type != data::ColumnType::kNumeric) {
    reader.Fail(weights->position,
                "the weights " + Quote(variable.name) + " are of type " +
                    std::string(data::ColumnTypeName(variable.type)),
                frequency ? "frequencies are counts: give the variable type = \"integer\""
                          : "weights are a numeric or integer variable");
  }
  const bool precision = design.weights_kind == WeightsKind::kPrecision;
  if (precision ? variable.lower <= 0 : variable.lower < 0) {
    reader.Fail(weights->position,
                "the weights " + Quote(variable.name) + " can be " +
                    (variable.lower < 0 ? "negative" : "0, and a precision cannot"),
                std::string("raise 'lower' of this [[variable]] ") +
                    (precision ? "above 0" : "to 0 or more"));
  }
}

void ReadCluster(const TableReader& reader, const data::Schema& dictionary, DesignSpec& design) {
  const auto cluster = reader.OptionalText("cluster");
  if (!cluster) return;
  const data::ColumnSchema& variable = FindVariable(reader, *cluster, "cluster", dictionary);
  design.cluster = variable.name;
  if (variable.type != data::ColumnType::kFactor && variable.type != data::ColumnType::kInteger) {
    reader.Fail(cluster->position,
                "the cluster " + Quote(variable.name) + " is of type " +
                    std::string(data::ColumnTypeName(variable.type)),
                "a cluster is a factor or an integer that says which family, school, ... a row "
                "belongs to");
  }
  if (design.cluster == design.weights) {
    reader.Fail(cluster->position, "'cluster' and 'weights' are the same variable",
                "the cluster says which rows belong together, the weights how much they count");
  }
}

MissingPattern ReadPattern(const TableReader& reader, const std::vector<LocatedText>& names,
                           const data::Schema& dictionary) {
  MissingPattern pattern;
  CheckDistinct(reader, names, "variable");
  for (const LocatedText& name : names) FindVariable(reader, name, "patterns", dictionary);
  for (const data::ColumnSchema& column : dictionary.columns) {
    const bool named = std::any_of(names.begin(), names.end(), [&](const LocatedText& name) {
      return name.value == column.name;
    });
    if (named) pattern.push_back(column.name);
  }
  return pattern;
}

// The patterns of missing = "fiml" and "mi".
void ReadPatterns(const TableReader& reader, const data::Schema& dictionary, DesignSpec& design) {
  const auto lists = reader.OptionalTextLists("patterns", kPatternsExample);
  const auto others = reader.OptionalText("other_patterns");
  if (design.missing != MissingPolicy::kFiml &&
      design.missing != MissingPolicy::kMultipleImputation) {
    const char* key = lists ? "patterns" : "other_patterns";
    if (!lists && !others) return;
    reader.Fail(reader.PositionOf(key),
                "'" + std::string(key) + "' is for missing = \"fiml\" and \"mi\"",
                "remove it, or write missing = \"fiml\" or \"mi\"");
  }
  if (others) {
    design.leave_out_other_patterns =
        reader.Choice(*others, "other_patterns", {"refuse", "leave-out"}) == "leave-out";
  }
  if (!lists) return;
  if (lists->size() > kMaxPatterns) {
    reader.Fail((*lists)[kMaxPatterns].position, "there are too many patterns",
                "a study has at most " + std::to_string(kMaxPatterns) +
                    "; other_patterns = \"leave-out\" leaves rare ones out");
  }
  for (const auto& list : *lists) {
    design.patterns.push_back(ReadPattern(reader, list.value, dictionary));
    if (std::count(design.patterns.begin(), design.patterns.end(), design.patterns.back()) > 1)
      reader.Fail(list.position, "this pattern is there twice", "remove one of them");
  }
}

// A number of missing = "mi".
void ReadImputationNumber(const TableReader& reader, MissingPolicy missing, std::string_view key,
                          size_t least, size_t most, const std::string& what, size_t& number) {
  const auto value = reader.OptionalInteger(key);
  if (!value) return;
  if (missing != MissingPolicy::kMultipleImputation) {
    reader.Fail(value->position, "'" + std::string(key) + "' is for missing = \"mi\"",
                "remove it, or write missing = \"mi\"");
  }
  if (value->value < static_cast<int64_t>(least) || value->value > static_cast<int64_t>(most)) {
    reader.Fail(value->position,
                "'" + std::string(key) + "' must be between " + std::to_string(least) + " and " +
                    std::to_string(most),
                "write " + what + "; " + std::to_string(number) + " if left out");
  }
  number = static_cast<size_t>(value->value);
}

uint64_t ReadMinimum(const TableReader& reader, std::string_view key, uint64_t otherwise,
                     const std::string& what) {
  const auto value = reader.OptionalInteger(key);
  if (!value) return otherwise;
  if (value->value < 1 || value->value > kMaxMinimum) {
    reader.Fail(value->position,
                "'" + std::string(key) + "' must be between 1 and " + std::to_string(kMaxMinimum),
                "write " + what + "; " + std::to_string(otherwise) + " if left out");
  }
  return static_cast<uint64_t>(value->value);
}

}  // namespace

PopulationSpec ReadPopulation(const TableReader& root, const data::Schema& dictionary,
                              const std::vector<data::DerivedVariable>& derived) {
  PopulationSpec population;
  const auto reader = root.OptionalTable("population", {"unit", "max_rows_per_person", "subset"});
  if (!reader) return population;
  if (const auto unit = reader->OptionalText("unit")) {
    CheckPlainText(*reader, *unit, "unit", kMaxUnitBytes);
    population.unit = unit->value;
  }
  if (const auto rows = reader->OptionalInteger("max_rows_per_person")) {
    if (rows->value < 1 || rows->value > kMaxRowsPerPerson) {
      reader->Fail(
          rows->position,
          "'max_rows_per_person' must be between 1 and " + std::to_string(kMaxRowsPerPerson),
          "write how many rows of the table one person can have; 1 if left out");
    }
    population.max_rows_per_person = static_cast<int>(rows->value);
  }
  population.subset = ReadSubset(*reader, dictionary, derived);
  return population;
}

DesignSpec ReadDesign(const TableReader& root, const data::Schema& dictionary) {
  const auto reader = root.OptionalTable(
      "design", {"site", "missing", "faulty_rows", "patterns", "other_patterns", "imputations",
                 "imputation_iterations", "weights", "weights_type", "cluster"});
  if (!reader) {
    root.Fail(root.position(), "the study file needs the table [design]",
              std::string(kBothChoices));
  }
  DesignSpec design;
  design.position = reader->position();
  design.site = ChooseNamed(*reader, RequireChoice(*reader, "site", kSiteChoices), "site", kSites,
                            kSiteChoices);
  design.missing = ChooseNamed(*reader, RequireChoice(*reader, "missing", kMissingChoices),
                               "missing", kPolicies, kMissingChoices);
  ReadFaultyRows(*reader, design);
  ReadPatterns(*reader, dictionary, design);
  ReadImputationNumber(*reader, design.missing, "imputations", 20, 200,
                       "how many tables are imputed, more where much is missing",
                       design.imputations);
  ReadImputationNumber(*reader, design.missing, "imputation_iterations", 5, 1000,
                       "the length of the chain behind each table, more where much is missing",
                       design.imputation_iterations);
  ReadWeights(*reader, dictionary, design);
  ReadCluster(*reader, dictionary, design);
  return design;
}

DisclosureSpec ReadDisclosure(const TableReader& root) {
  DisclosureSpec disclosure;
  const auto reader = root.OptionalTable("disclosure", {"min_cell", "min_rows", "small_samples"});
  if (!reader) return disclosure;
  disclosure.min_cell = ReadMinimum(*reader, "min_cell", disclosure.min_cell,
                                    "the smallest number of rows that a level or a cell may have");
  disclosure.min_rows = ReadMinimum(*reader, "min_rows", disclosure.min_rows,
                                    "the smallest number of rows that an analysis may have");
  if (const auto samples = reader->OptionalText("small_samples")) {
    disclosure.refuse_small_samples =
        reader->Choice(*samples, "small_samples", {"warn", "refuse"}) == "refuse";
  }
  return disclosure;
}

ReleaseRuleSpec ReadReleaseRule(const TableReader& root) {
  ReleaseRuleSpec rule;
  const auto reader = root.OptionalTable("release", {"grid", "accept"});
  if (!reader) return rule;
  if (const auto grid = reader->OptionalText("grid")) {
    const std::string name = reader->Choice(*grid, "grid", kGrids);
    const auto place = std::find(kGrids.begin(), kGrids.end(), name) - kGrids.begin();
    rule.grid_bits = name == kGrids.back() ? 0 : kCoarsestGrid + static_cast<int>(place);
  }
  if (const auto accept = reader->OptionalText("accept")) {
    const std::string choice =
        reader->Choice(*accept, "accept", {"table of covariates", "checked cells"});
    rule.accept = choice == "checked cells" ? AcceptedRelease::kCheckedCells
                                            : AcceptedRelease::kTableOfCovariates;
    rule.accept_position = accept->position;
  }
  return rule;
}

}  // namespace partita::study
