// What an [[analysis]] with method = "marginals" asks for. All of it is public.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "methods/marginals/columns.h"
#include "methods/marginals/curve_cells.h"
#include "privacy/adjacency.h"
#include "stats/marginals/possible.h"
#include "stats/marginals/tables.h"

namespace partita::methods::marginals {

inline constexpr char kMethodName[] = "marginals", kDescribeName[] = "describe",
                      kSurvivalName[] = "survival";
inline constexpr uint32_t kMethodVersion = 1;
inline constexpr char kProtocol[] = "shared-tables";

// Against whom `epsilon` holds: whoever sees what opens, or every single computing party as well,
// which knows its own share of the noise.
enum class Against { kOutside, kParties };

struct ColumnLevel {
  uint32_t attribute = 0, level = 0;
};

// [analysis.utility]: rows that are never counted, for their holders to judge synthetic rows by.
struct UtilitySpec {
  uint32_t test_rows = 0;  // of each block; 0: none is set aside
  uint64_t seed = 0;       // public
  std::vector<ColumnLevel> targets;
};

struct Spec {
  std::vector<LevelColumn> columns;
  std::vector<stats::marginals::ImpossibleCell> impossible;
  std::vector<stats::marginals::Triple> triples;  // counted as well, with select = "all"
  // select = "scores": so many pairs are measured, chosen by noisy scores; else all.
  std::optional<uint32_t> pairs;
  // select = "group": of pairs those with this attribute alone.
  std::optional<uint32_t> group;
  // Method `describe` with [analysis.privacy]: a Table 1 and no rows; without a group no pairs.
  bool describes = false;
  bool differences = false;  // of two groups
  // Method `survival` with [analysis.privacy]: curves; `columns` is the one column of their cells.
  std::optional<CurveCells> curves;
  std::vector<uint32_t> targets;  // attributes whose tables are measured more precisely
  UtilitySpec utility;
  double epsilon = 0, delta = 0;
  // Of outsiders. kReplace: every block of rows declares its number. kAddRemove: none does, and
  // each is whole
  // at one holder.
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;
  uint64_t expected_rows = 0;  // kAddRemove: a guess that forecasts are made for
  Against against = Against::kParties;
  uint64_t synthetic_rows = 0;  // of each table that the receiver draws; 0: none
  uint32_t synthetic_sets = 1;

  bool draws_rows() const { return !describes && !curves; }
};

// Of an attribute of the study, as LevelsOf (columns.h).
std::vector<uint16_t> LevelsOfAttribute(const Spec& spec, uint32_t attribute,
                                        const data::Table& table, size_t first, size_t count);

}  // namespace partita::methods::marginals
