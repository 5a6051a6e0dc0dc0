#include "methods/describe/named_rows.h"

#include <utility>
#include <vector>

#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"

namespace partita::methods::describe {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;

// Which counts are compared together: of every row of the layout those by group, over all groups, and
// of rows left out; then the rows of each group.
class Lines {
 public:
  Lines(const Task& task, const Layout& layout)
      : layout_(layout), width_(layout.groups + 2), missing_(task.spec.missing) {
    const std::vector<uint8_t> crossed = task.Crossed();
    const size_t variables = layout.rows_of.size();
    for (size_t v = 0; v < variables && layout.grouped; ++v)
      crossed[v] != 0 ? AddCrossed(v) : AddOfOneHolder(v);
    for (size_t v = 0; v < variables; ++v) AddValues(v, layout.groups, AllRows(v));
  }

  size_t num_entries() const { return layout_.num_rows() * width_ + layout_.groups; }
  bool empty() const { return lines_.empty(); }
  // Lines x entries, and tables x lines: 0 or 1.
  mpc::PublicMatrix Sums() const { return Marks(lines_, num_entries()); }
  mpc::PublicMatrix OfTables() const {
    const size_t tables = layout_.rows_of.size() * (layout_.grouped ? 2 : 1);
    std::vector<std::vector<size_t>> by_table(tables);
    for (size_t l = 0; l < tables_.size(); ++l) by_table[tables_[l]].push_back(l);
    return Marks(by_table, lines_.size());
  }

 private:
  size_t AllRows(size_t v) const { return v + (layout_.grouped ? layout_.rows_of.size() : 0); }
  size_t ValuesOf(size_t v) const { return layout_.rows_of[v] - (missing_ ? 1 : 0); }
  size_t Entry(size_t v, size_t row, size_t column) const {
    return (layout_.first_row[v] + row) * width_ + column;
  }

  void Add(std::vector<size_t> entries, size_t table) {
    lines_.push_back(std::move(entries));
    tables_.push_back(table);
  }

  void AddValues(size_t v, size_t column, size_t table) {
    if (ValuesOf(v) < 2) return;
    std::vector<size_t> entries;
    for (size_t row = 0; row < ValuesOf(v); ++row) entries.push_back(Entry(v, row, column));
    Add(std::move(entries), table);
  }

  void AddCrossed(size_t v) {
    for (size_t row = 0; row < layout_.rows_of[v]; ++row) {
      std::vector<size_t> entries;
      for (size_t g = 0; g < layout_.groups; ++g) entries.push_back(Entry(v, row, g));
      entries.push_back(Entry(v, row, layout_.groups + 1));
      Add(std::move(entries), v);
    }
    for (size_t g = 0; g < layout_.groups; ++g) AddValues(v, g, v);
  }

  void AddOfOneHolder(size_t v) {
    std::vector<size_t> entries;
    for (size_t g = 0; g < layout_.groups; ++g) entries.push_back(layout_.num_rows() * width_ + g);
    Add(std::move(entries), v);
    AddValues(v, layout_.groups, v);
  }

  static mpc::PublicMatrix Marks(const std::vector<std::vector<size_t>>& rows, size_t columns) {
    mpc::PublicMatrix marks{{{rows.size(), columns}, std::vector<Int128>(rows.size() * columns)},
                            0};
    for (size_t r = 0; r < rows.size(); ++r) {
      for (const size_t column : rows[r]) marks.values.values[r * columns + column] = 1;
    }
    return marks;
  }

  const Layout& layout_;
  const size_t width_;
  const bool missing_;
  std::vector<std::vector<size_t>> lines_;  // entries of each
  std::vector<size_t> tables_;              // of each line
};

}  // namespace

std::optional<mpc::SharedBits> NobodyNamed(Engine& engine, const Task& task, const Layout& layout,
                                           const Shared& counts, const Shared& left_out) {
  const Lines lines(task, layout);
  if (lines.empty()) return std::nullopt;
  const auto most = static_cast<double>(task.max_rows());
  const std::vector<Shared> columns = {counts, mpc::SumOfRows(engine, counts, most), left_out};
  const Shared by_row = engine.Concatenate(columns, false);
  // Every row has one value of the first variable, or lacks it.
  const Shared first = engine.Slice(counts, 0, 0, {layout.rows_of.front(), layout.groups});
  const std::vector<Shared> entries = {mpc::Reshape(by_row, {by_row.shape.size(), 1}),
                                       engine.Transpose(engine.SumRows(first))};
  const std::vector<Shared> all = {WithBound(engine.Concatenate(entries, true), most)};
  const std::vector<mpc::SharedBits> some = {engine.Not(mpc::IsZero(engine, all).front())};

  const auto width = static_cast<double>(lines.num_entries());
  const Shared sums =
      WithBound(engine.MultiplyPublic(lines.Sums(), engine.ToRing(some).front()), width);
  const std::vector<Shared> less = {mpc::PlusConstant(engine, sums, -1, width + 1)};
  const std::vector<mpc::SharedBits> single = mpc::IsZero(engine, less);
  const std::vector<Shared> failures = {
      WithBound(engine.MultiplyPublic(lines.OfTables(), engine.ToRing(single).front()),
                static_cast<double>(sums.shape.rows))};
  return mpc::IsZero(engine, failures).front();
}

}  // namespace partita::methods::describe
