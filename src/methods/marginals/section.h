// [[analysis]] with method = "marginals": its keys.
//
// [design] has missing = "complete", or "refuse" with faulty_rows = "fill": every row is in one cell of
// every table.
//
//   columns         variables, or {variable = "age", bins = 12}, {variable = "cost", edges = [0, 1,
//   100]},
//                   {variable = "job", rare = ["a", "b"]}; without it all of the dictionary. Bins
//                   are of
//                   equal width; the default is ten, and a level for each value of factors and of
//                   integers with few values.
//   impossible      [{sex = "male", pregnant = "yes"}]: levels of two columns, by their names in
//   the plan
//   triples         [{columns = ["age", "sex", "smoking"]}]: their three-way tables, too
//   select          "all" (default): all pairs; "scores": the `pairs` (default: twice as many as
//                   columns) with the largest noisy scores; "group": those with the column `group`
//   targets         columns whose tables are measured more precisely, the others less
//   expected_rows   with "add-remove": for how many rows the noise is forecast
//   synthetic_rows, synthetic_sets   tables that the receiver draws
//   [analysis.privacy]
//   epsilon, delta  of one row
//   adjacency       "replace": the number of rows is public, every block has a count; "add-remove":
//   it is not, no block
//                   has one, each is whole at one holder
//   against         "parties" (default) or "outside"
//   [analysis.utility]
//   test_rows, seed, targets   rows of each block that are not counted; {variable, level} to
//   predict
#pragma once

#include <memory>

#include "methods/marginals/spec.h"
#include "study/file/section_reader.h"
#include "study/file/study_file.h"

namespace partita::methods::marginals {

struct MarginalsSection : study::Section {
  study::SectionUses Uses() const override;
  Spec spec;
};

// [[analysis]] of method `describe` with [analysis.privacy]: `variables` as `columns` above, `group`, any
// variable, `compare` = ["differences"], `expected_rows`, and the promise. Throws kBadInput, by name, for
// what exact tables alone have: tests, subset, quantiles other than quartiles, sites as groups, `release`.
std::shared_ptr<const study::Section> ReadTableOne(const study::TableReader& reader,
                                                   const study::StudyFile& study,
                                                   study::AnalysisSpec& analysis);
// Whether an analysis of method `describe` is such a one.
bool HasNoise(const study::AnalysisSpec& analysis);

// Of an analysis of this method, or of such a one.
const Spec& SpecOf(const study::AnalysisSpec& analysis);

// Throws kBadInput with place and hint: variables without levels or bounds; blocks of rows without
// a count, a population that is a subset, weights, site effects, imputation, rows that are left out for a cell; stored correlations; too
// many columns, levels or synthetic cells.
study::SectionReader MarginalsReader();

}  // namespace partita::methods::marginals
