// What methods share whose sums a database may form (Study::SumsOf): the columns that are asked for, conditions on
// them, and the sentence with which rows are asked for instead.
#pragma once

#include <string>
#include <vector>

#include "data/source/sum_query.h"
#include "run/method/study.h"

namespace partita::run {

inline constexpr char kFreezeRows[] =
    "freeze the rows instead: leave out 'mode' in the source file";

// Of a plan: what the commitment of a holder is to whose database adds up.
inline constexpr char kPushedSumsText[] =
    "A holder of whole rows may have its database add them up, so that nothing but sums leave "
    "it: its commitment is to these sums then, not to the rows, and which rows were in earlier "
    "exact results it compares by having the database count and add up again.";

// Throws kRefused: `what`, and only sums come from the database.
[[noreturn]] void NeedsRows(const std::string& what, const std::string& hint);

// Throws as NeedsRows where the party's rows are not one block that nobody shares.
void RequireOneBlockAlone(const Study& study, size_t party);
// Throws as NeedsRows unless the study's grid is one on which databases add up exactly.
void RequireSumBits(const Study& study);

class SumColumns {
 public:
  // All that the study asks of the party but its key.
  SumColumns(const Study& study, size_t party);

  const std::vector<data::ColumnSchema>& all() const { return columns_; }
  // Throws as NeedsRows for what is no variable of the dictionary.
  size_t Of(const std::string& name) const;

  // Whoever holds rows alone decides by all that it has; of the rest nothing is asked.
  data::SumRows Rows(const std::vector<data::Condition>& conditions) const;
  // The same of the rows in which none of these cells is missing.
  data::SumRows Complete(const std::vector<std::string>& names, data::SumRows rows) const;
  // The same of the rows of one level.
  data::SumRows OfLevel(const std::string& name, size_t level, data::SumRows rows) const;

 private:
  const std::vector<std::string>& held_;
  std::vector<data::ColumnSchema> columns_;
};

// A table that has each level of the column once, from which values by level are made.
data::Table TableOfLevels(const data::ColumnSchema& column);

}  // namespace partita::run
