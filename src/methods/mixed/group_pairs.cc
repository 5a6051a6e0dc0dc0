#include "methods/mixed/group_pairs.h"

#include <fmt/format.h>

namespace partita::methods::mixed {
namespace {

// Has another row with the second level, or has none.
constexpr size_t kHas = 0, kHasNot = 1, kAnswers = 2;

// Rows, or groups once each.
class CellCounter {
 public:
  CellCounter(size_t cells, bool count_groups)
      : counts_(cells, 0), last_(count_groups ? cells : 0, 0) {}
  // group: from 1 on, and no smaller than those before.
  void Add(size_t cell, size_t group) {
    if (!last_.empty()) {
      if (last_[cell] == group) return;
      last_[cell] = group;
    }
    ++counts_[cell];
  }
  const std::vector<Int128>& counts() const { return counts_; }

 private:
  std::vector<Int128> counts_;
  std::vector<size_t> last_;  // the group that a cell counted last
};

// Of two margins: the cell of each row in them.
std::vector<Int128> CountPair(const std::vector<size_t>& first, size_t firsts,
                              const std::vector<size_t>& second, size_t seconds, size_t classes,
                              const GroupedNumbers& grouped, bool count_groups) {
  CellCounter all(firsts * classes, count_groups), has(firsts * seconds * classes, count_groups);
  std::vector<size_t> in_group(seconds, 0);  // rows with each level
  size_t begin = 0;
  for (size_t g = 0; g < grouped.sizes.size(); ++g) {
    const size_t end = begin + grouped.sizes[g];
    std::vector<size_t> present;
    for (size_t i = begin; i < end; ++i) {
      if (in_group[second[i]]++ == 0) present.push_back(second[i]);
    }
    for (size_t i = begin; i < end; ++i) {
      const size_t row_class = grouped.classes.empty() ? 0 : grouped.classes[i];
      all.Add(first[i] * classes + row_class, g + 1);
      for (const size_t level : present) {
        // A row is not beside itself.
        const size_t others = in_group[level] - (second[i] == level ? 1 : 0);
        if (others > 0) has.Add((first[i] * seconds + level) * classes + row_class, g + 1);
      }
    }
    for (const size_t level : present) in_group[level] = 0;
    begin = end;
  }
  std::vector<Int128> cells(firsts * seconds * kAnswers * classes);
  for (size_t pair = 0; pair < firsts * seconds; ++pair) {
    for (size_t c = 0; c < classes; ++c) {
      const Int128 with = has.counts()[pair * classes + c];
      cells[(pair * kAnswers + kHas) * classes + c] = with;
      cells[(pair * kAnswers + kHasNot) * classes + c] =
          all.counts()[pair / seconds * classes + c] - with;
    }
  }
  return cells;
}

}  // namespace

void AddGroupPairs(const Spec& spec, data::ModelCounts& counts) {
  if (!spec.covariance) return;
  const std::vector<data::LevelMargin> margins = data::LevelMargins(spec, counts);
  for (const data::LevelMargin& first : margins) {
    for (const data::LevelMargin& second : margins) {
      const std::string name =
          fmt::format("{} beside {} in one {}", first.name, second.name, spec.group_name());
      if (first.cells * second.cells > data::kMostCellsTogether) data::RefuseCells(name);
      counts.names.push_back(name);
      counts.sizes.push_back(first.cells * second.cells * kAnswers * counts.classes);
      counts.num_cells += counts.sizes.back();
      data::RequireFewCells(counts);
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
      const std::vector<Int128> pair =
          CountPair(cells[m], margins[m].cells, cells[other], margins[other].cells, counts.classes,
                    grouped, count_groups);
      of_tables.insert(of_tables.end(), pair.begin(), pair.end());
    }
  }
  return of_tables;
}

}  // namespace partita::methods::mixed
