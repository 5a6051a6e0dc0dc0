// What methods share that open exact results, on a grid of standard errors, about rows of which every
// holder has whole ones; a study has one such analysis.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "run/method/row_holder.h"
#include "run/method/study.h"

namespace partita::run {

// What a method has of a holder: which rows of its ordered table take part.
struct TakenRows : MethodRows {
  std::vector<uint8_t> taken;  // by row: 1 or 0
  bool only_sums = false;      // of rows that stay in a database, which compares its own sets
};

struct WholeRowsStudy : Study {
  const study::AnalysisSpec& Analysis() const { return file.analyses.front(); }

  bool IsPrivate() const override { return false; }
  uint64_t NumbersPerRow() const override { return 0; }
  // Throws kRefused: no budget covers what opens without noise.
  std::vector<privacy::ledger::Charge> Charges(
      const privacy::ledger::Policy& policy) const override;
  // Of rows that are TakenRows.
  std::vector<std::vector<uint8_t>> ExactRowSets(const MethodRows& rows,
                                                 const data::Holding& holding) const override;
};

// Throws kBadInput where columns are split, site effects or imputation are asked for, or a person has
// several rows.
struct WholeRowsTexts {
  const char* split = "";  // what to do where columns are split
  // What becomes of incomplete rows: "rows that lack a variable are left out".
  const char* complete = "";
  bool site_effects = false;   // whether site = "fixed" is there as well
  bool split_columns = false;  // whether columns may be split
  bool several_rows = false;   // whether a person may have several
};
void RequireWholeRows(const WholeRowsStudy& study, const WholeRowsTexts& texts);
// Throws kBadInput where [design] has weights or clusters.
void RequireUnweighted(const WholeRowsStudy& study, const std::string& hint);

// Throws kBadInput where they may have more than most rows together.
std::vector<RowHolder> RowHoldersOf(const WholeRowsStudy& study, uint64_t most);

// The bounds of what is shared are those of the rows that a block may have: throws kBadData where a
// block has more.
void RequireAssumedRows(const Study& study, const data::Holding& holding);
void RequireAssumedRows(const Study& study, size_t block, uint64_t num_rows);

// The rows that are in the population and the analysis's subset and lack none of `needed`; the others
// are counted by their first reason. Fills in rows.taken and returns their indices. split_columns: of
// what the table does not have nothing is asked, as other holders do. Positions without a row of the
// holder (data/holding.h) are no rows.
std::vector<size_t> TakeRows(const WholeRowsStudy& study, const data::Table& table,
                             const std::vector<std::string>& needed, TakenRows& rows,
                             OwnRows& counts, bool split_columns = false);

// The finest grid from the study file's on, but none beyond the coarsest, with which the release rule
// holds; the study file's where all accept the table of covariates. Throws kBadInput: with all digits,
// or where no grid passes.
struct GridTexts {
  const char* opens;  // "means"
  const char* what;   // "the table"
  const char* hint;   // what to ask less of: "take fewer columns"
};
int FinestGrid(const WholeRowsStudy& study, const GridTexts& texts,
               const std::function<study::PlanBits(int grid_bits)>& bits);

// For LeastUnknown: whether rows are left out by conditions, or by missing cells.
bool LeavesRowsOut(const WholeRowsStudy& study, bool incomplete);

// After a check that all came to from the same openings: all refuse, each with the reason.
[[noreturn]] void RefuseTogether(const Study& study, const RunInput& input, const std::string& what,
                                 const std::string& hint);

}  // namespace partita::run
