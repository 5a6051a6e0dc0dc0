// [[analysis]] with method = "survival": its keys.
//
// With model = "cox" those of cox/section.h; else curves:
//
//   formula      Surv(time, event) ~ group, or ~ 1: columns of a survival variable, a factor; a + b: a
//                curve for each combination
//   report       times at which the curves open
//   cell         width of the cells of time, in the unit of the variable; default 1
//   confidence   of the intervals; default 0.95
//   subset, release
#pragma once

#include <optional>

#include "data/formula.h"
#include "methods/survival/cox/spec.h"
#include "methods/survival/spec.h"
#include "study/file/section_reader.h"
#include "study/file/study_file.h"
#include "study/file/toml_reader.h"

namespace partita::methods::survival {

inline constexpr size_t kMostEntries = size_t{1} << 16;

struct SurvivalSection : study::Section {
  study::SectionUses Uses() const override;
  Spec spec;                   // of curves
  std::optional<CoxSpec> cox;  // else the model
};

// Of an analysis of this method: curves, or a model.
bool IsCox(const study::AnalysisSpec& analysis);
const Spec& SpecOf(const study::AnalysisSpec& analysis);
const CoxSpec& CoxSpecOf(const study::AnalysisSpec& analysis);

// Throws kBadInput with place and hint: formulas that are not understood, or with interactions; strata of
// curves; columns that are no survival variable; too many groups or cells of time; report times that
// are not ends of cells within the bounds; [analysis.privacy].
study::SectionReader SurvivalReader();

// Of strata(..) in a model's formula: at most one factor, and strata(site), every holder a stratum.
struct FormulaStrata {
  std::optional<GroupFactor> factor;
  bool by_site = false;
};
FormulaStrata ReadStrata(const study::TableReader& reader, const study::LocatedText& text,
                         const data::Formula& formula, const study::StudyFile& study);

}  // namespace partita::methods::survival
