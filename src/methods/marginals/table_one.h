// Table 1 of noisy counts: every column by the levels of a group, and over all rows. Of studies with
// pairs of a group (spec.group), and of method `describe` with [analysis.privacy] (spec.describes).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "methods/marginals/counts.h"
#include "methods/marginals/study.h"
#include "stats/marginals/description.h"

namespace partita::methods::marginals {

inline constexpr char kTableOneFile[] = "table1.csv";

// A column in a group, or over all rows; intervals at 95 % over the noise (stats/marginals/description.h).
struct Described {
  size_t column = 0;
  std::optional<size_t> level;          // of the group; none: all rows
  std::vector<double> counts;           // by level, missing cells the last
  double noise_stddev = 0;              // of each
  stats::marginals::Bounded rows = {};  // with a value
  // Of the rows with a value, by level; of numbers with more than two levels none.
  std::vector<stats::marginals::Bounded> shares = {};
  std::optional<stats::marginals::Bounded> mean = {}, sd = {};  // of numbers
  std::vector<Quartile> quartiles = {};                         // of numbers and dates
};
// Columns in their order, but the group; of each all rows, then its levels.
std::vector<Described> DescribedBy(const MarginalsStudy& study, const OpenedTables& opened);

// A column whose two groups are compared; of shares the level.
struct Difference {
  size_t column = 0;
  std::optional<size_t> level;
  std::optional<stats::marginals::Bounded> value;  // none: may be anything
};
// Standardized, the first level of the group less the second. Empty unless spec.differences.
std::vector<Difference> DifferencesBy(const MarginalsStudy& study, const OpenedTables& opened);

// What the tables of a study with `rows` rows, spread evenly over all levels, would say: the expected
// half-width of intervals, for forecasts. In percent points of a share in a group; by number its mean, in
// all and what is of the bins.
struct ExpectedWidths {
  double count = 0, share = 0;
  struct Mean {
    size_t column = 0;
    double all = 0, bins = 0;  // infinite: may be anything
  };
  std::vector<Mean> means;
};
ExpectedWidths WidthsFor(const MarginalsStudy& study, double rows);

study::DocumentSection TableOneSection(const MarginalsStudy& study, const OpenedTables& opened);

// An entry of Described each, `group` null over all rows.
nlohmann::ordered_json TableOneJson(const MarginalsStudy& study, const OpenedTables& opened);

// variable,statistic,level,group,estimate,lower,upper: a line for each number of the table.
std::string TableOneCsv(const MarginalsStudy& study, const OpenedTables& opened);

// The whole result of method `describe`.
study::Document TableOneDocument(const MarginalsStudy& study, const MarginalsRun& result);

}  // namespace partita::methods::marginals
