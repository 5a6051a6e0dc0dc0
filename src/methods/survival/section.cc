#include "methods/survival/section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/design.h"
#include "data/formula.h"
#include "methods/survival/cox/section.h"
#include "study/file/sections.h"
#include "study/file/text.h"

namespace partita::methods::survival {
namespace {

using study::LocatedText;
using study::Quote;
using study::StudyFile;
using study::TableReader;

constexpr double kLeastConfidence = 0.5, kMostConfidence = 0.9999;
constexpr study::OneRelease kRelease{
    kCurves, "method 'survival' releases its curves",
    "the curves open to the receiver: release = [\"curves\"], or to everybody: release = [{what = "
    "\"curves\", to = \"all\"}]"};

GroupFactor FactorNamed(const TableReader& reader, const LocatedText& text, const std::string& name,
                        const StudyFile& study) {
  const data::Schema factors = data::WithDerivedFactors(study.dictionary, study.derived);
  const data::ColumnSchema& schema =
      study::FindVariable(reader, {name, text.position}, "formula", factors);
  GroupFactor factor{schema, schema.name};
  for (const data::DerivedVariable& derived : study.derived) {
    if (derived.name == schema.name) factor.source = derived.from;
  }
  return factor;
}

void ReadGroups(const TableReader& reader, const LocatedText& text, const data::Formula& formula,
                const StudyFile& study, Spec& spec) {
  size_t groups = 1;
  std::vector<GroupFactor> factors;
  for (const data::FormulaTerm& term : formula.terms) {
    const data::FormulaAtom& atom = term.front();
    if (term.size() > 1 || atom.function != data::FormulaAtom::Function::kNone) {
      reader.Fail(text.position, "curves are of the levels of factors, not of an expression",
                  "name factors: a + b has a curve for each combination; others are made by "
                  "[[derived]] with transform = \"cut\"");
    }
    GroupFactor factor = FactorNamed(reader, text, atom.name, study);
    study::RequireLevels(reader, text.position, "group", factor.schema);
    for (const GroupFactor& other : factors) {
      if (other.source != factor.source) continue;
      reader.Fail(text.position,
                  fmt::format("{} and {} are of one variable", other.schema.name, atom.name),
                  "name one of the two");
    }
    groups *= factor.schema.levels.size();
    if (groups > kMostGroups) {
      reader.Fail(text.position, fmt::format("there are {} groups", groups),
                  fmt::format("join levels; {} are the most", kMostGroups));
    }
    factors.push_back(std::move(factor));
  }
  if (!factors.empty()) spec.group = GroupOfFactors(std::move(factors));
}

// Of a stratum of two rows the sums over strata, less what is known of the others, say who left first.
void RefuseStrata(const TableReader& reader, const LocatedText& text,
                  const data::Formula& formula) {
  if (formula.strata.empty()) return;
  reader.Fail(text.position, "curves and their log-rank test have no strata",
              "name factors as groups: ~ arm + sex has a curve for each combination; a Cox model "
              "(model = \"cox\") takes strata(..)");
}

void ReadFormula(const TableReader& reader, const StudyFile& study, Spec& spec) {
  const LocatedText text = reader.Text("formula", "formula = \"Surv(days, died) ~ arm\"");
  data::Formula formula;
  try {
    formula = data::ParseSurvivalFormula(text.value);
  } catch (const Error& error) {
    study::FailWith(reader, text.position, error);
  }
  spec.formula = text.value;
  spec.outcome = SurvivalOutcome(reader, text.position, formula.outcome, study);
  if (!formula.offsets.empty() || !formula.intercept) {
    reader.Fail(text.position, "curves have no offsets and no intercept",
                "write Surv(time, event) ~ group, or ~ 1 for one curve");
  }
  if (!formula.outcome.entry.empty()) {
    reader.Fail(
        text.position, "curves have no times of entry here",
        "write Surv(time, event); a Cox model (model = \"cox\") takes Surv(entry, time, event)");
  }
  ReadGroups(reader, text, formula, study, spec);
  RefuseStrata(reader, text, formula);
}

void RequireGroups(const TableReader& reader, const Spec& spec) {
  if (spec.grid.cells * spec.num_groups() <= kMostEntries) return;
  reader.Fail(reader.position(),
              fmt::format("{} cells of time for each of {} groups are too many", spec.grid.cells,
                          spec.num_groups()),
              "take wider cells (cell = ...) or fewer groups");
}

void ReadReport(const TableReader& reader, Spec& spec) {
  constexpr char kExample[] = "the curves open at these times: report = [365, 730]";
  spec.report = ReadReportTimes(reader, spec.outcome, spec.grid);
  if (!spec.report.empty()) return;
  reader.Fail(reader.Has("report") ? reader.PositionOf("report") : reader.position(),
              "[[analysis]] needs the key 'report', which has no default", kExample);
}

std::shared_ptr<const study::Section> ReadSurvival(const TableReader& reader,
                                                   const StudyFile& study,
                                                   study::AnalysisSpec& analysis) {
  if (reader.Has("privacy")) {
    reader.Fail(reader.PositionOf("privacy"),
                "method 'survival' opens exact counts and draws no noise, so that it keeps no "
                "promise of differential privacy",
                "remove [analysis.privacy]; what opens is checked for small cells instead");
  }
  auto section = std::make_shared<SurvivalSection>();
  if (const auto model = reader.OptionalText("model")) {
    reader.Choice(*model, "model", {kCoxModel});
    section->cox = ReadCox(reader, study, analysis);
    return section;
  }
  for (const char* key : {"ties", "most_ties", "steps", "ph_test", "concordance", "errors"}) {
    if (!reader.Has(key)) continue;
    reader.Fail(reader.PositionOf(key), fmt::format("curves have no {}", key),
                "leave it out, or write model = \"cox\"");
  }
  ReadFormula(reader, study, section->spec);
  section->spec.grid = ReadGrid(reader, section->spec.outcome);
  RequireGroups(reader, section->spec);
  ReadReport(reader, section->spec);
  section->spec.confidence = ReadConfidence(reader);
  analysis.protocol = kProtocol;
  analysis.subset = study::ReadSubset(reader, study.dictionary, study.derived);
  section->spec.told_to_all = study::ReadOneRelease(reader, study, kRelease, analysis);
  return section;
}

}  // namespace

const data::ColumnSchema& SurvivalOutcome(const TableReader& reader, study::Position position,
                                          const data::FormulaAtom& atom, const StudyFile& study) {
  std::string known;
  for (const data::ColumnSchema& column : study.dictionary.columns) {
    if (column.type != data::ColumnType::kSurvival) continue;
    if (column.time_column == atom.name && column.event_column == atom.with) return column;
    known += fmt::format("{}Surv({}, {})", known.empty() ? "" : " or ", column.time_column,
                         column.event_column);
  }
  reader.Fail(position, fmt::format("{} is no survival variable of the dictionary", atom.text),
              known.empty()
                  ? fmt::format("declare it in the dictionary, in the place of the variables '{}' "
                                "and '{}': a [[variable]] with name, type = \"survival\", time = "
                                "\"{}\", event = \"{}\", lower and upper",
                                atom.name, atom.with, atom.name, atom.with)
                  : "write " + known);
}

FormulaStrata ReadStrata(const TableReader& reader, const LocatedText& text,
                         const data::Formula& formula, const StudyFile& study) {
  FormulaStrata strata;
  for (const data::FormulaAtom& atom : formula.strata) {
    if (atom.name == kSite && study.dictionary.Find(kSite) == nullptr && !strata.by_site) {
      strata.by_site = true;
      continue;
    }
    if (atom.function != data::FormulaAtom::Function::kNone || strata.factor) {
      reader.Fail(text.position, fmt::format("strata({}) is not understood", atom.text),
                  "name one factor, and site where every holder is a stratum: strata(arm) + "
                  "strata(site); others are made by [[derived]] with transform = \"cut\"");
    }
    GroupFactor factor = FactorNamed(reader, text, atom.name, study);
    if (!data::HasLevels(factor.schema.type)) {
      reader.Fail(
          text.position, fmt::format("the stratum {} has no levels", atom.name),
          "a stratum is a factor: make one of this variable by [[derived]] with transform = "
          "\"cut\"");
    }
    strata.factor = std::move(factor);
  }
  return strata;
}

TimeGrid ReadGrid(const TableReader& reader, const data::ColumnSchema& outcome) {
  const auto width = reader.OptionalNumber("cell");
  const study::Position position = width ? width->position : reader.position();
  if (width && !(width->value > 0)) {
    reader.Fail(position, fmt::format("cells of time are {:g} wide", width->value),
                "write, for example: cell = 7");
  }
  try {
    return GridOf(outcome, width ? width->value : 1);
  } catch (const Error& error) {
    study::FailWith(reader, position, error);
  }
}

std::vector<size_t> ReadReportTimes(const TableReader& reader, const data::ColumnSchema& outcome,
                                    const TimeGrid& grid) {
  std::vector<size_t> report;
  const auto times = reader.OptionalValues("report", false);
  if (!times) return report;
  for (const study::Located<double>& time : *times) {
    const auto cell = grid.EndingAt(time.value);
    if (!cell || time.value > outcome.upper) {
      reader.Fail(time.position,
                  fmt::format("{:g} is not the end of a cell of time within the bounds of {}",
                              time.value, Quote(outcome.name)),
                  fmt::format("cells end at {:g}, {:g}, ..; the last one within the bounds at {:g}",
                              grid.End(0), grid.End(1), grid.End(grid.Of(outcome.upper))));
    }
    if (!report.empty() && *cell <= report.back())
      reader.Fail(time.position, "report times increase", "sort them, and name each once");
    report.push_back(*cell);
  }
  if (report.size() > kMostReports) {
    reader.Fail(reader.PositionOf("report"),
                fmt::format("there are {} report times", report.size()),
                fmt::format("ask for at most {}", kMostReports));
  }
  return report;
}

double ReadConfidence(const TableReader& reader) {
  const auto confidence = reader.OptionalNumber("confidence");
  if (!confidence) return 0.95;
  if (!(confidence->value >= kLeastConfidence && confidence->value <= kMostConfidence)) {
    reader.Fail(confidence->position, fmt::format("the confidence is {}", confidence->value),
                "write, for example: confidence = 0.95");
  }
  return confidence->value;
}

study::SectionUses SurvivalSection::Uses() const {
  study::SectionUses uses;
  if (cox) {
    uses.variables.push_back({"the outcome", cox->outcome.name});
    // The points on the way open to all, whoever is told the rest.
    uses.releases.push_back({"iterates", "all", {}});
    return uses;
  }
  uses.variables.push_back({"the outcome", spec.outcome.name});
  if (spec.group) {
    for (const GroupFactor& factor : spec.group->factors)
      uses.variables.push_back({"the group", factor.source});
  }
  return uses;
}

const Spec& SpecOf(const study::AnalysisSpec& analysis) {
  return dynamic_cast<const SurvivalSection&>(*analysis.section).spec;
}

const CoxSpec& CoxSpecOf(const study::AnalysisSpec& analysis) {
  return *dynamic_cast<const SurvivalSection&>(*analysis.section).cox;
}

bool IsCox(const study::AnalysisSpec& analysis) {
  return dynamic_cast<const SurvivalSection&>(*analysis.section).cox.has_value();
}

study::SectionReader SurvivalReader() {
  return {kMethodName,
          {"formula", "model", "report", "cell", "ties", "most_ties", "steps", "ph_test",
           "concordance", "errors", "confidence", "subset", "release", "privacy"},
          ReadSurvival};
}

}  // namespace partita::methods::survival
