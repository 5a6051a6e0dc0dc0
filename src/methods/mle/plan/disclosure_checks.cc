#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "methods/mle/study/computations.h"
#include "methods/mle/study/missing_patterns.h"

namespace partita::methods::mle {
namespace {

class CheckList {
 public:
  CheckList(const MleStudy& study, const study::DisclosureSpec& thresholds,
            const PreparedAnalysis& analysis, std::string name)
      : study_(study),
        spec_(thresholds),
        computation_(study.computations[analysis.computation]),
        index_(analysis.computation),
        analysis_(analysis),
        rows_(computation_.row_sets[analysis.row_set]),
        name_(std::move(name)) {}

  std::vector<DisclosureCheck> Make() {
    CheckRows();
    CheckOtherPatterns();
    CheckGroups();
    CheckPatterns();
    CheckComplement();
    for (size_t v : CheckedVariables()) CheckColumn(v);
    CheckOutcomes();
    return std::move(checks_);
  }

 private:
  void Add(const std::string& variable, const std::string& rule, CountForm count, uint64_t minimum,
           bool warning = false) {
    count.computation = index_;
    checks_.push_back({name_, variable, rule, std::move(count), minimum, warning});
  }
  // The check added last also passes where there is no such row.
  void AllowNone(CountForm rows) {
    rows.computation = index_;
    checks_.back().or_none = std::move(rows);
  }

  void CheckRows() {
    const auto parameters = static_cast<uint64_t>(analysis_.analysis.table.num_free);
    const CountForm rows = HasPatterns(study_) ? Sum(rows_.cells) : CountRows(rows_.total_cell);
    Add("rows", fmt::format("at least min_rows = {} rows", spec_.min_rows), rows, spec_.min_rows);
    Add("rows", fmt::format("more rows than the {} parameters", parameters), rows, parameters + 1);
    Add("rows", fmt::format("at least five rows for each of the {} parameters", parameters), rows,
        5 * parameters, !spec_.refuse_small_samples);
  }

  // A holder of whole rows refuses its own; of rows that are split nobody knows all that is
  // missing.
  void CheckOtherPatterns() {
    const std::vector<data::Segment>& segments = study_.partition.segments;
    if (!HasPatterns(study_) || study_.file.design.leave_out_other_patterns ||
        std::none_of(segments.begin(), segments.end(),
                     [](const data::Segment& segment) { return segment.shared(); }))
      return;
    Add("rows", "no row has a pattern of missing values that the study does not list",
        Combine(Sum(rows_.cells), CountRows(rows_.total_cell), -1), 0);
  }

  static CountForm Sum(const std::vector<size_t>& cells) {
    CountForm sum;
    for (size_t cell : cells) sum = Combine(std::move(sum), CountRows(cell), 1);
    return sum;
  }

  // Cells of each level of the group; one, without patterns of missing values.
  size_t NumPatterns() const { return std::max<size_t>(1, study_.file.design.patterns.size()); }
  std::vector<size_t> OfLevel(size_t level) const {
    const auto first = rows_.cells.begin() + static_cast<std::ptrdiff_t>(level * NumPatterns());
    return {first, first + static_cast<std::ptrdiff_t>(NumPatterns())};
  }
  std::vector<size_t> OfPattern(const RowSet& rows, size_t pattern) const {
    std::vector<size_t> cells;
    for (size_t i = pattern; i < rows.cells.size(); i += NumPatterns())
      cells.push_back(rows.cells[i]);
    return cells;
  }

  // Whether no moments of a pattern open, so that how many rows have it tells nobody anything.
  bool PatternsStaySealed() const {
    return HasPatterns(study_) && computation_.protocol == kSealed;
  }

  // The cells that are counted together: each by itself where its moments open.
  std::vector<std::vector<size_t>> Counts() const {
    std::vector<std::vector<size_t>> counts;
    if (PatternsStaySealed()) {
      for (size_t level = 0; level * NumPatterns() < rows_.cells.size(); ++level)
        counts.push_back(OfLevel(level));
    } else {
      for (size_t cell : rows_.cells) counts.push_back({cell});
    }
    return counts;
  }
  std::vector<size_t> ThatHave(std::vector<size_t> cells, size_t v, size_t w) const {
    std::erase_if(cells, [&](size_t cell) { return !Has(cell, v) || !Has(cell, w); });
    return cells;
  }

  // What a sealed fit says of a variable, or of two together, is about the rows that have them.
  void CheckSeenTogether() {
    for (const std::vector<size_t>& cells : Counts()) {
      std::set<std::vector<size_t>> checked = {cells};
      for (size_t i = 0; i < analysis_.variables.size(); ++i) {
        for (size_t j = i; j < analysis_.variables.size(); ++j) {
          const size_t v = analysis_.variables[i], w = analysis_.variables[j];
          const std::vector<size_t> both = ThatHave(cells, v, w);
          if (both.empty() || !checked.insert(both).second) continue;
          const std::string names = i == j ? NameOf(v) : NameOf(v) + " and " + NameOf(w);
          Add(names,
              fmt::format("{}at least {} rows that have {}{}", i == j ? "" : "none or ",
                          spec_.min_cell, names,
                          rows_.group.empty() ? ""
                                              : fmt::format(" where {} is {}", rows_.group,
                                                            computation_.task.cells[both[0]].name)),
              Sum(both), spec_.min_cell);
          if (i != j) AllowNone(Sum(both));
        }
      }
    }
  }

  // The moments of every pattern open by themselves.
  void CheckPatterns() {
    if (!HasPatterns(study_)) return;
    if (PatternsStaySealed()) {
      CheckSeenTogether();
      return;
    }
    for (size_t cell : rows_.cells) {
      Add("rows", fmt::format("none or at least {} {}", spec_.min_cell, RowsOf(cell)),
          CountRows(cell), spec_.min_cell);
      AllowNone(CountRows(cell));
    }
  }

  void CheckGroups() {
    if (rows_.group.empty()) return;
    const std::vector<std::string>& levels = study_.factors.Find(rows_.group)->levels;
    for (size_t level = 0; level < levels.size(); ++level) {
      Add(rows_.group,
          fmt::format("at least {} rows where {} is {}", spec_.min_cell, rows_.group,
                      levels[level]),
          Sum(OfLevel(level)), spec_.min_cell);
    }
  }

  // Who learns the moments of two nested sets of rows learns those of the difference.
  void CheckComplement() {
    for (const RowSet& other : computation_.row_sets) {
      if (!IsPart(rows_.subset, other.subset)) continue;
      if (PatternsStaySealed()) {
        Add("rows", fmt::format("at least {} rows are outside of its subset", spec_.min_cell),
            Combine(Sum(other.cells), Sum(rows_.cells), -1), spec_.min_cell);
        return;
      }
      for (size_t k = 0; k < study_.file.design.patterns.size(); ++k) {
        const CountForm rows = Combine(Sum(OfPattern(other, k)), Sum(OfPattern(rows_, k)), -1);
        Add("rows",
            fmt::format("none or at least {} {} are outside of its subset", spec_.min_cell,
                        mle::PatternText(study_.file.design.patterns[k])),
            rows, spec_.min_cell);
        AllowNone(rows);
      }
      if (HasPatterns(study_)) return;
      Add("rows", fmt::format("at least {} rows are outside of its subset", spec_.min_cell),
          Combine(CountRows(other.total_cell), CountRows(rows_.total_cell), -1), spec_.min_cell);
      return;
    }
  }
  static bool IsPart(const std::vector<data::Condition>& subset,
                     const std::vector<data::Condition>& whole) {
    return whole.size() < subset.size() &&
           std::all_of(whole.begin(), whole.end(), [&](const data::Condition& condition) {
             return std::find(subset.begin(), subset.end(), condition) != subset.end();
           });
  }

  // The 0/1 columns of the analysis, and the indicators of its factors.
  std::vector<size_t> CheckedVariables() const {
    std::vector<size_t> checked;
    std::set<std::string> factors;
    for (size_t v : analysis_.variables) {
      const data::DesignColumn& column = computation_.variables[v];
      if (IsBinary(column.schema)) checked.push_back(v);
      factors.insert(column.factor);
      factors.insert(column.source);
    }
    for (size_t v = 0; v < computation_.variables.size(); ++v) {
      const data::DesignColumn& column = computation_.variables[v];
      if (IsSecond(v)) continue;
      if (!column.level.empty() && IsBinary(column.schema) && factors.count(column.factor) > 0 &&
          std::find(checked.begin(), checked.end(), v) == checked.end())
        checked.push_back(v);
    }
    return checked;
  }

  size_t Counted(size_t v) const { return computation_.counted[v]; }
  // There for counting only, beside the same column with fixed effects.
  bool IsSecond(size_t v) const {
    for (size_t first = 0; first < v; ++first) {
      if (computation_.counted[first] == v) return true;
    }
    return false;
  }

  std::string Ones(size_t v) const {
    const data::DesignColumn& column = computation_.variables[v];
    return column.level.empty() ? column.schema.name + " is 1"
                                : column.factor + " is " + column.level;
  }
  std::string Zeros(size_t v) const {
    const data::DesignColumn& column = computation_.variables[v];
    return column.level.empty() ? column.schema.name + " is 0"
                                : column.factor + " is not " + column.level;
  }
  std::string NameOf(size_t v) const {
    const data::DesignColumn& column = computation_.variables[v];
    return column.level.empty() ? column.schema.name : column.factor;
  }

  // By group, so that no group's cell is small; by the patterns that have the variable.
  void CheckColumn(size_t v) {
    for (const std::vector<size_t>& all : Counts()) {
      const std::vector<size_t> cells = ThatHave(all, v, v);
      if (cells.empty()) continue;
      AddInCells(cells, v, Ones(v), [&](size_t cell) { return CountOnes(cell, Counted(v)); });
      AddInCells(cells, v, Zeros(v), [&](size_t cell) { return CountZeros(cell, Counted(v)); });
    }
  }
  template <typename Count>
  void AddInCells(const std::vector<size_t>& cells, size_t v, const std::string& what,
                  Count count_of) {
    const size_t cell = cells.front();
    CountForm count;
    for (size_t c : cells) count = Combine(std::move(count), count_of(c), 1);
    const bool by_pattern = HasPatterns(study_) && !PatternsStaySealed();
    const std::string rows =
        PatternsStaySealed() ? "rows" : PatternText(computation_.selections[cell]);
    const std::string none = by_pattern ? fmt::format(", or no {} at all", RowsOf(cell)) : "";
    Add(NameOf(v),
        fmt::format("at least {} {} where {}{}{}", spec_.min_cell, rows, what, InGroup(cell), none),
        std::move(count), spec_.min_cell);
    if (by_pattern) AllowNone(CountRows(cell));
  }
  bool Has(size_t cell, size_t v) const {
    const std::optional<size_t> pattern = computation_.selections[cell].pattern;
    if (!pattern) return true;
    return !Lacks(study_.file.design.patterns[*pattern], computation_.variables[v]);
  }
  std::string PatternText(const RowSelection& selection) const {
    if (!selection.pattern) return "rows";
    return mle::PatternText(study_.file.design.patterns[*selection.pattern]);
  }
  std::string RowsOf(size_t cell) const {
    std::string text = PatternText(computation_.selections[cell]);
    if (!rows_.group.empty())
      text += fmt::format(" where {} is {}", rows_.group, computation_.task.cells[cell].name);
    return text;
  }
  std::string InGroup(size_t cell) const {
    if (rows_.group.empty()) return "";
    return fmt::format(" and {} is {}", rows_.group, computation_.task.cells[cell].name);
  }

  // Every level of a factor by every value of a 0/1 outcome.
  void CheckOutcomes() {
    const std::vector<std::string>& names = analysis_.analysis.table.observed;
    for (size_t y = 0; y < names.size(); ++y) {
      const size_t outcome = analysis_.variables[y];
      if (!IsBinary(computation_.variables[outcome].schema) || !IsOutcome(names[y])) continue;
      for (size_t v : CheckedVariables()) {
        if (v == outcome) continue;
        for (const std::vector<size_t>& all : Counts()) {
          const std::vector<size_t> cells = ThatHave(all, v, outcome);
          if (cells.empty()) continue;
          for (const auto& [level, value] : {std::pair{true, true}, std::pair{true, false},
                                             std::pair{false, true}, std::pair{false, false}}) {
            AddInCells(cells, v,
                       fmt::format("{} and {}", level ? Ones(v) : Zeros(v),
                                   value ? Ones(outcome) : Zeros(outcome)),
                       [&, one = level, outcome_one = value](size_t cell) {
                         return CountBoth(cell, Counted(v), one, Counted(outcome), outcome_one);
                       });
          }
        }
      }
    }
  }
  bool IsOutcome(const std::string& name) const {
    const auto& rows = analysis_.analysis.table.rows;
    return std::any_of(rows.begin(), rows.end(), [&](const stats::Parameter& row) {
      return row.op == "~" && row.lhs == name;
    });
  }

  const MleStudy& study_;
  const study::DisclosureSpec& spec_;
  const Computation& computation_;
  size_t index_;
  const PreparedAnalysis& analysis_;
  const RowSet& rows_;
  std::string name_;
  std::vector<DisclosureCheck> checks_;
};

}  // namespace

std::vector<DisclosureCheck> PlanDisclosureChecks(const MleStudy& study,
                                                  const study::DisclosureSpec& thresholds) {
  std::vector<DisclosureCheck> checks;
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    CheckList list(study, thresholds, study.analyses[a], study.file.analyses[a].name);
    for (DisclosureCheck& check : list.Make()) checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace partita::methods::mle
