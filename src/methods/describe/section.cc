#include "methods/describe/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/design.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::methods::describe {
namespace {

using study::LocatedText;
using study::Quote;
using study::StudyFile;
using study::TableReader;

constexpr double kPerMille = 1000;
constexpr size_t kMaxQuantiles = 20;
constexpr study::OneRelease kRelease{
    kTable, "method 'describe' releases one table",
    "the table opens to the receiver: release = [\"table\"], or to everybody: release = [{what = "
    "\"table\", to = \"all\"}]"};

bool IsDescribed(const data::ColumnSchema& schema) {
  using data::ColumnType;
  return schema.type == ColumnType::kNumeric || schema.type == ColumnType::kInteger ||
         data::HasLevels(schema.type);
}

Variable VariableOf(const data::ColumnSchema& schema, const StudyFile& study) {
  Variable variable{schema, schema.name};
  for (const data::DerivedVariable& derived : study.derived) {
    if (derived.name == schema.name) variable.source = derived.from;
  }
  return variable;
}

Variable ReadVariable(const TableReader& reader, const LocatedText& name, const std::string& key,
                      const StudyFile& study, const data::Schema& factors) {
  const data::ColumnSchema& schema = study::FindVariable(reader, name, key, factors);
  if (!IsDescribed(schema)) {
    reader.Fail(name.position,
                fmt::format("{} is of type {}, which method 'describe' does not describe",
                            Quote(schema.name), data::ColumnTypeName(schema.type)),
                "name numbers and factors; a date can be cut (transform = \"cut\" in [[derived]])");
  }
  return VariableOf(schema, study);
}

// Where no variable has that name.
bool IsSite(const LocatedText& name, const data::Schema& factors) {
  return name.value == kSite && factors.Find(kSite) == nullptr;
}

Variable Sites(const StudyFile& study) {
  Variable sites;
  sites.schema.name = kSite;
  sites.schema.type = data::ColumnType::kFactor;
  for (const auto& party : study.parties) {
    if (!party.rows.empty()) sites.schema.levels.push_back(party.name);
  }
  return sites;
}

std::optional<Variable> ReadGroup(const TableReader& reader, const StudyFile& study,
                                  const data::Schema& factors) {
  const auto name = reader.OptionalText("group");
  if (!name) return std::nullopt;
  if (IsSite(*name, factors)) return Sites(study);
  Variable group = ReadVariable(reader, *name, "group", study, factors);
  study::RequireLevels(reader, name->position, "group", group.schema);
  return group;
}

// Each count of two views of one variable may be large, and their difference few persons.
void RequireOtherSource(const TableReader& reader, const LocatedText& name,
                        const Variable& variable, const Spec& spec) {
  const auto refuse = [&](const Variable& other) {
    reader.Fail(
        name.position,
        fmt::format("{} and {} are both made of {}: what one counts less what the other "
                    "counts may be few persons",
                    Quote(other.schema.name), Quote(variable.schema.name), Quote(variable.source)),
        "describe one of them, and group by another variable");
  };
  if (spec.group && spec.group->source == variable.source) refuse(*spec.group);
  for (const Variable& other : spec.variables) {
    if (other.source == variable.source) refuse(other);
  }
}

void ReadVariables(const TableReader& reader, const StudyFile& study, const data::Schema& factors,
                   Spec& spec) {
  const std::string group = spec.group ? spec.group->schema.name : "";
  if (const auto names = reader.OptionalTexts("variables")) {
    study::CheckDistinct(reader, *names, "variable");
    for (const LocatedText& name : *names) {
      if (name.value == group) {
        reader.Fail(name.position, Quote(group) + " is the group and a variable",
                    "remove it from one of them");
      }
      Variable variable = ReadVariable(reader, name, "variables", study, factors);
      RequireOtherSource(reader, name, variable, spec);
      spec.variables.push_back(std::move(variable));
    }
  } else {
    for (const data::ColumnSchema& schema : study.dictionary.columns) {
      if (IsDescribed(schema) && !(spec.group && schema.name == spec.group->source))
        spec.variables.push_back(VariableOf(schema, study));
    }
  }
  if (spec.variables.empty()) {
    reader.Fail(reader.PositionOf("variables"), "there is no variable to describe",
                "name one: variables = [\"age\"]");
  }
}

void ReadQuantiles(const TableReader& reader, Spec& spec) {
  spec.quantiles = {250, 500, 750};
  const auto values = reader.OptionalValues("quantiles", false);
  if (!values) return;
  spec.quantiles.clear();
  for (const study::Located<double>& value : *values) {
    const double thousandths = std::round(kPerMille * value.value);
    if (!(value.value > 0 && value.value < 1) ||
        std::abs(kPerMille * value.value - thousandths) > 1e-9) {
      reader.Fail(
          value.position,
          fmt::format("{} is no quantile: they are whole thousandths between 0 and 1", value.value),
          "write, for example: quantiles = [0.25, 0.5, 0.75]");
    }
    const auto quantile = static_cast<uint32_t>(thousandths);
    if (!spec.quantiles.empty() && quantile <= spec.quantiles.back()) {
      reader.Fail(value.position, "quantiles increase", "sort them, and name each once");
    }
    spec.quantiles.push_back(quantile);
  }
  if (spec.quantiles.size() > kMaxQuantiles) {
    reader.Fail(reader.PositionOf("quantiles"),
                fmt::format("there are {} quantiles", spec.quantiles.size()),
                fmt::format("ask for at most {}", kMaxQuantiles));
  }
}

// The names of the key `compare`, each with what it asks for.
struct ComparedName {
  const char* name;
  bool Compared::*asked;
};
constexpr ComparedName kCompared[] = {{"differences", &Compared::differences},
                                      {"welch", &Compared::welch},
                                      {"anova", &Compared::anova},
                                      {"ranks", &Compared::ranks},
                                      {"chi-square", &Compared::chi_square},
                                      {"fisher", &Compared::fisher},
                                      {"ratios", &Compared::ratios},
                                      {"mantel-haenszel", &Compared::mantel_haenszel}};

void ReadCompared(const TableReader& reader, Spec& spec) {
  const auto names = reader.OptionalTexts("compare");
  if (!names) return;
  study::CheckDistinct(reader, *names, "comparison");
  std::vector<std::string> choices;
  for (const ComparedName& compared : kCompared) choices.emplace_back(compared.name);
  for (const LocatedText& name : *names) {
    const std::string choice = reader.Choice(name, "compare", choices);
    for (const ComparedName& compared : kCompared) {
      if (choice == compared.name) spec.compared.*compared.asked = true;
    }
  }
  if (names->empty()) return;
  if (!spec.group) {
    reader.Fail(reader.PositionOf("compare"), "there are no groups to compare",
                "name a factor, for example: group = \"arm\"");
  }
  if (spec.compared.mantel_haenszel && (spec.by_site || spec.group->schema.levels.size() != 2)) {
    reader.Fail(reader.PositionOf("compare"),
                "mantel-haenszel compares two groups within every holder",
                "name a factor with two levels as the group, or remove \"mantel-haenszel\"");
  }
  if (spec.compared.ratios && spec.group->schema.levels.size() != 2) {
    reader.Fail(reader.PositionOf("compare"),
                fmt::format("ratios compare two groups, and {} has {} levels",
                            Quote(spec.group->schema.name), spec.group->schema.levels.size()),
                "remove \"ratios\", or join levels ([[derived]] with transform = \"cut\")");
  }
}

std::shared_ptr<const study::Section> ReadDescribe(const TableReader& reader,
                                                   const StudyFile& study,
                                                   study::AnalysisSpec& analysis) {
  if (reader.Has("privacy")) {  // methods/all.cc reads it as counts with noise; none is lost here
    reader.Fail(reader.PositionOf("privacy"),
                "exact counts draw no noise, so that they keep no promise of differential privacy",
                "remove [analysis.privacy]; what opens is checked for small cells instead");
  }
  if (reader.Has("expected_rows")) {
    reader.Fail(reader.PositionOf("expected_rows"),
                "'expected_rows' without [analysis.privacy]: it is what noise is forecast for",
                "remove it");
  }
  const data::Schema factors = data::WithDerivedFactors(study.dictionary, study.derived);
  auto section = std::make_shared<DescribeSection>();
  Spec& spec = section->spec;
  spec.group = ReadGroup(reader, study, factors);
  spec.by_site = spec.group && spec.group->source.empty();
  ReadVariables(reader, study, factors, spec);
  ReadQuantiles(reader, spec);
  ReadCompared(reader, spec);
  spec.missing = study.design.missing != study::MissingPolicy::kRefuse;
  analysis.protocol = kProtocol;
  analysis.subset = study::ReadSubset(reader, study.dictionary, study.derived);
  spec.told_to_all = study::ReadOneRelease(reader, study, kRelease, analysis);
  return section;
}

}  // namespace

study::SectionUses DescribeSection::Uses() const {
  study::SectionUses uses;
  if (spec.group && !spec.by_site) uses.variables.push_back({"the group", spec.group->source});
  // Numbers of one holder open.
  if (spec.by_site) uses.releases.push_back({kSiteTable, spec.told_to_all ? "all" : "", {}});
  return uses;
}

const Spec& SpecOf(const study::AnalysisSpec& analysis) {
  return dynamic_cast<const DescribeSection&>(*analysis.section).spec;
}

study::SectionReader DescribeReader() {
  return {kMethodName,
          {"variables", "group", "quantiles", "compare", "subset", "release", "privacy",
           "expected_rows"},
          ReadDescribe};
}

}  // namespace partita::methods::describe
