// A table of descriptions ("Table 1") as a study file asks for it. All of it is public.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/schema.h"

namespace partita::methods::describe {

inline constexpr char kMethodName[] = "describe";
inline constexpr uint32_t kMethodVersion = 1;
inline constexpr char kProtocol[] = "shared-counts";
inline constexpr char kTable[] = "table";  // what it releases, as study files name it
// The word in group = "site", and what an envelope admits by it.
inline constexpr char kSite[] = "site", kSiteTable[] = "site-table";

struct Variable {
  data::ColumnSchema schema;  // numeric, integer, factor or ordered
  std::string source;         // the variable of the dictionary that it is made of
};

// Cells that the values of a number are counted in, at most: of whole rows, and where columns are
// split, because then every row has a number for each.
inline constexpr size_t kMaxCells = 4096, kMaxSplitCells = 256;

// What is compared between the groups; the names are those of the key `compare`.
struct Compared {
  bool differences = false;  // standardized differences
  bool welch = false;        // means: Welch's t, with more than two groups his analysis of variance
  bool anova = false;        // means: with one variance for all groups
  bool ranks = false;        // Wilcoxon, with more than two groups Kruskal-Wallis
  bool chi_square = false, fisher = false;  // counts
  bool ratios = false;  // of two groups and two values: odds and risk ratio, risk difference
  bool mantel_haenszel = false;  // the same: the odds ratio within holders, and its test

  bool Any() const {
    return differences || welch || anova || ranks || chi_square || fisher || ratios ||
           mantel_haenszel;
  }
};

struct Spec {
  std::vector<Variable> variables;  // at least one
  std::optional<Variable> group;    // a factor or an ordered variable
  bool by_site =
      false;  // the group is the holder of a row, its levels their names, without a source
  std::vector<uint32_t> quantiles;  // thousandths, increasing; none: no quantiles
  Compared compared;                // nothing without a group
  size_t most_cells = kMaxCells;
  bool missing = false;      // whether cells may be missing; they are counted
  bool told_to_all = false;  // the table opens to all parties, not to the receiver alone
};

// Whether holders count the values of numbers in cells.
bool NeedsHistograms(const Spec& spec);

// The values of a variable that is described by counts: levels, or 0 and 1 of an integer with these
// bounds. Empty for one that is described by numbers.
std::vector<std::string> CountedValues(const data::ColumnSchema& schema);

}  // namespace partita::methods::describe
