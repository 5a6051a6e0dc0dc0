// The table of descriptions in plain code, from the rows of all holders: what the protocol must
// open, and what it must withhold. Rehearsals and tests compare with it; it protects nobody.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "data/table.h"
#include "methods/describe/layout.h"
#include "stats/tables/two_by_two.h"

namespace partita::methods::describe {

struct PlainColumn {
  uint64_t n = 0, missing = 0;
  std::vector<uint64_t> counts;
  double mean = 0, sd = 0;        // where n is 2 at least
  std::vector<double> quantiles;  // of type 1, where n is 1 at least
};

class PlainTable {
 public:
  // tables: of the holders, with the rows that take part. Both must outlive it.
  PlainTable(const Spec& spec, const std::vector<data::Table>& tables, uint64_t min_cell)
      : spec_(spec), layout_(spec), tables_(tables), min_cell_(min_cell) {}

  // Where columns are split: by table, which variables are crossed (task.h), and the rows that do not
  // take part; these must outlive it.
  void HoldToNames(std::vector<std::vector<uint8_t>> crossed,
                   const std::vector<data::Table>& left_out) {
    crossed_ = std::move(crossed);
    left_out_ = &left_out;
  }

  // arm: a group, or all rows together.
  PlainColumn Column(size_t v, size_t arm) const;
  // Whether each count of the variable is 0 or reaches min_cell, by group or over all of them; with
  // names also whether it says nothing of all persons that somebody knows (named_rows.h).
  bool Passes(size_t v, bool by_group) const;
  // Of a number: the root of the rank statistic between the groups, from the cells of its values.
  std::optional<double> RankRoot(size_t v) const;
  // Of a variable of two values, of two groups: Mantel and Haenszel's with the tables as strata.
  stats::tables::MantelHaenszel OverTables(size_t v) const;
  // Whether the cell of this value, with its neighbours, holds min_cell values; with names also
  // whether the values vary.
  bool QuantileOpens(size_t v, size_t arm, double value) const;

 private:
  // A value's place among those that are counted, the value of a number, or not a number.
  std::vector<double> Values(const data::Table& table, size_t holder, size_t v, size_t arm) const;
  std::vector<double> Values(size_t holder, size_t v, size_t arm) const {
    return Values(tables_[holder], holder, v, arm);
  }
  size_t RowOf(size_t v, double value) const;
  // By row of the variable, over all tables.
  std::vector<uint64_t> Counts(size_t v, size_t arm) const;
  std::vector<uint64_t> LeftOut(size_t v, size_t holder) const;
  bool Names(size_t v, bool by_group) const;
  bool OneValue(size_t v, size_t arm) const;
  bool Crossed(size_t v) const;
  bool Enough(const std::vector<uint64_t>& own) const;
  void Moments(std::vector<double> values, PlainColumn& column) const;

  const Spec& spec_;
  const Layout layout_;
  const std::vector<data::Table>& tables_;
  const uint64_t min_cell_;
  std::vector<std::vector<uint8_t>> crossed_;  // empty: without names
  const std::vector<data::Table>* left_out_ = nullptr;
};

}  // namespace partita::methods::describe
