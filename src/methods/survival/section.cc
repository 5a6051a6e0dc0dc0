#include "methods/survival/section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "data/design.h"
#include "data/formula.h"
#include "methods/survival/cox/section.h"
#include "study/file/sections.h"
#include "study/file/survival_keys.h"
#include "study/file/text.h"

namespace partita::methods::survival {
namespace {

using study::LocatedText;
using study::Quote;
using study::StudyFile;
using study::TableReader;

constexpr study::OneRelease kRelease{
    kCurves, "method 'survival' releases its curves",
    "the curves open to the receiver: release = [\"curves\"], or to everybody: release = [{what = "
    "\"curves\", to = \"all\"}]"};

void RequireGroups(const TableReader& reader, const Spec& spec) {
  if (spec.grid.cells * spec.num_groups() <= kMostEntries) return;
  reader.Fail(reader.position(),
              fmt::format("{} cells of time for each of {} groups are too many", spec.grid.cells,
                          spec.num_groups()),
              "take wider cells (cell = ...) or fewer groups");
}

void ReadReport(const TableReader& reader, Spec& spec) {
  constexpr char kExample[] = "the curves open at these times: report = [365, 730]";
  spec.report = study::ReadReportTimes(reader, spec.outcome, spec.grid);
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
  if (reader.Has("expected_rows")) {
    reader.Fail(reader.PositionOf("expected_rows"),
                "'expected_rows' without [analysis.privacy]: it is what noise is forecast for",
                "remove it");
  }
  auto section = std::make_shared<SurvivalSection>();
  if (const auto model = reader.OptionalText("model")) {
    reader.Choice(*model, "model", {kCoxModel});
    section->cox = ReadCox(reader, study, analysis);
    return section;
  }
  study::RefuseModelKeys(reader);
  study::CurveFormula formula = study::ReadCurveFormula(reader, study);
  section->spec.formula = std::move(formula.text);
  section->spec.outcome = std::move(formula.outcome);
  section->spec.group = std::move(formula.groups);
  section->spec.grid = study::ReadTimeGrid(reader, section->spec.outcome);
  RequireGroups(reader, section->spec);
  ReadReport(reader, section->spec);
  section->spec.confidence = study::ReadConfidence(reader);
  analysis.protocol = kProtocol;
  analysis.subset = study::ReadSubset(reader, study.dictionary, study.derived);
  section->spec.told_to_all = study::ReadOneRelease(reader, study, kRelease, analysis);
  return section;
}

}  // namespace

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
    GroupFactor factor = study::FactorOfFormula(reader, text, atom.name, study);
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

study::SectionUses SurvivalSection::Uses() const {
  study::SectionUses uses;
  if (cox) {
    uses.variables.push_back({"the outcome", cox->outcome.name});
    // The points on the way open to all, whoever is told the rest.
    uses.releases.push_back({"iterates", "all", {}});
    if (cox->covariance)
      uses.releases.push_back({kCoxCovariance, cox->told_to_all ? "all" : "", {}});
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
  return {
      kMethodName,
      {"formula", "model", "report", "cell", "ties", "most_ties", "steps", "ph_test", "concordance",
       "errors", kCoxCovariance, "confidence", "subset", "release", "privacy", "expected_rows"},
      ReadSurvival};
}

}  // namespace partita::methods::survival
