#include "methods/mixed/group_pairs.h"

#include <fmt/format.h>

#include <algorithm>

namespace partita::methods::mixed {

void AddGroupPairs(const Spec& spec, data::ModelCounts& counts) {
  if (!spec.covariance) return;
  const std::vector<data::LevelMargin> margins = data::LevelMargins(spec, counts);
  for (const data::LevelMargin& first : margins) {
    for (const data::LevelMargin& second : margins) {
      const std::string name =
          fmt::format("{} beside {} in one {}", first.name, second.name, spec.group_name());
      if (first.cells * second.cells > data::kMostCellsTogether) data::RefuseCells(name);
      counts.names.push_back(name);
      counts.sizes.push_back(first.cells * second.cells * counts.classes);
      counts.num_cells += counts.sizes.back();
    }
  }
}

std::vector<Int128> CountGroupPairs(const Spec& spec, const data::ModelCounts& counts,
                                    const data::Table& table, const GroupedNumbers& grouped,
                                    bool count_groups) {
  if (!spec.covariance) return {};
  const std::vector<data::LevelMargin> margins = data::LevelMargins(spec, counts);
  const std::vector<std::vector<size_t>> cells =
      data::CellsByMargin(spec, counts, table, grouped.rows);
  std::vector<Int128> of_tables;
  for (size_t m = 0; m < margins.size(); ++m) {
    for (size_t other = 0; other < margins.size(); ++other) {
      const size_t seconds = margins[other].cells, first_cell = of_tables.size();
      of_tables.resize(first_cell + margins[m].cells * seconds * counts.classes);
      size_t begin = 0;
      for (const size_t size : grouped.sizes) {
        // Rows of this group by level of the first and class; which levels of the second it has.
        std::vector<Int128> rows(margins[m].cells * counts.classes);
        std::vector<bool> has(seconds, false);
        for (size_t i = begin; i < begin + size; ++i) {
          const size_t row_class = grouped.classes.empty() ? 0 : grouped.classes[i];
          ++rows[cells[m][i] * counts.classes + row_class];
          has[cells[other][i]] = true;
        }
        begin += size;
        for (size_t k = 0; k < rows.size(); ++k) {
          const size_t level = k / counts.classes, row_class = k % counts.classes;
          const Int128 counted = count_groups ? std::min<Int128>(rows[k], 1) : rows[k];
          for (size_t second = 0; second < seconds; ++second) {
            if (!has[second]) continue;
            of_tables[first_cell + (level * seconds + second) * counts.classes + row_class] +=
                counted;
          }
        }
      }
    }
  }
  return of_tables;
}

}  // namespace partita::methods::mixed
