// A smaller model, without some terms of the study's, fit to the same rows by the same protocol, one after the other:
// tests of nested models, as R's anova.
//
// Revealed  Releases of the same names with "smaller-" before: what the larger model's open, of the smaller one.
// Statistic Twice the difference of log-likelihoods, chi-square with as many degrees of freedom as coefficients
//           dropped; where there is a dispersion F: the difference of deviances over that and the
//           larger model's dispersion.
#pragma once

#include "methods/glm/result.h"
#include "methods/glm/spec.h"
#include "study/file/section_reader.h"
#include "study/file/toml_reader.h"

namespace partita::methods::glm {

// [analysis.nested]: spec.dropped and spec.kept. Last. Throws kBadInput with place and hint: a term that
// the formula has not; what leaves no column, or an interaction without its main effects; errors,
// weights, penalties or a level that there is no such test with.
void ReadNested(const study::TableReader& reader, const study::StudyFile& study, Spec& spec);

// The task of the smaller model, in the units of the larger one. Throws kBadInput where effects of sites leave no
// column.
Task SmallerTask(const Task& task);

// A holder's rows in the columns that are kept.
stats::glm::Rows SmallerRows(const Spec& spec, const stats::glm::Rows& rows);
OwnData SmallerData(const Spec& spec, const OwnData& own);

// The test, where both converged, and the smaller model.
void AddNested(const Spec& spec, const Regression& smaller, Regression& larger);

}  // namespace partita::methods::glm
