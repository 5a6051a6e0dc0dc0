// Keys of analyses of times until an event: a formula with Surv(..), the cells of time, report times.
// Every function throws kBadInput with place and hint.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/formula.h"
#include "data/row_groups.h"
#include "data/time_grid.h"
#include "study/file/study_file.h"
#include "study/file/toml_reader.h"

namespace partita::study {

inline constexpr size_t kMostGroups = 16, kMostReports = 24;

// The survival variable of the dictionary with these two columns.
const data::ColumnSchema& SurvivalOutcome(const TableReader& reader, Position position,
                                          const data::FormulaAtom& atom, const StudyFile& study);

// A variable of the dictionary, or a cut of [[derived]].
data::GroupFactor FactorOfFormula(const TableReader& reader, const LocatedText& text,
                                  const std::string& name, const StudyFile& study);

// The key `formula` of curves: Surv(time, event) ~ group, or ~ 1; a + b: each combination.
struct CurveFormula {
  std::string text;
  data::ColumnSchema outcome;  // a survival variable
  std::optional<data::RowGroups> groups;
};
CurveFormula ReadCurveFormula(const TableReader& reader, const StudyFile& study);

// The key `cell`, the width of the cells of time; 1 without it.
data::TimeGrid ReadTimeGrid(const TableReader& reader, const data::ColumnSchema& outcome);

// Cells that end at the times of `report`, increasing; none without the key.
std::vector<size_t> ReadReportTimes(const TableReader& reader, const data::ColumnSchema& outcome,
                                    const data::TimeGrid& grid);

// The key `confidence`, of intervals; 0.95 without it.
double ReadConfidence(const TableReader& reader);

// Keys of a model of hazards, which curves do not have.
void RefuseModelKeys(const TableReader& reader);

}  // namespace partita::study
