#include "methods/describe/own_columns.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "methods/describe/own_numbers.h"

namespace partita::methods::describe {
namespace {

class ColumnMaker {
 public:
  ColumnMaker(const Spec& spec, const data::Table& table, const std::vector<size_t>& rows)
      : spec_(spec), table_(table), rows_(rows), layout_(spec) {}

  OwnColumns Make() {
    for (size_t v = 0; v < spec_.variables.size(); ++v) {
      const data::ColumnSchema& schema = spec_.variables[v].schema;
      const data::Column& column = table_.Get(schema.name);
      const bool number = CountedValues(schema).empty();
      std::vector<uint32_t> places;
      for (const size_t row : rows_) places.push_back(PlaceOf(v, column, row, number));
      own_.count_rows.push_back(std::move(places));
      if (number) AddNumber(schema, column.numbers);
    }
    return std::move(own_);
  }

 private:
  uint32_t PlaceOf(size_t v, const data::Column& column, size_t row, bool number) const {
    if (table_.Absent(row)) return kNoCell;
    const double value = column.schema.levels.empty() ? column.numbers[row] : column.codes[row];
    const bool missing = number ? std::isnan(value) : !(value >= 0);
    if (missing && !spec_.missing) throw Error(ErrorCode::kInternal, "a cell is missing");
    if (missing) return static_cast<uint32_t>(layout_.first_row[v] + layout_.rows_of[v] - 1);
    return static_cast<uint32_t>(layout_.first_row[v] + (number ? 0 : static_cast<size_t>(value)));
  }

  void AddNumber(const data::ColumnSchema& schema, const std::vector<double>& numbers) {
    const Cells cells = CellsOf(schema, spec_.most_cells);
    std::vector<int64_t> values;
    std::vector<uint32_t> places;
    for (const size_t row : rows_) {
      const bool missing = std::isnan(numbers[row]);
      values.push_back(missing ? 0 : OnUnitGrid(schema, numbers[row]));
      places.push_back(missing ? kNoCell : static_cast<uint32_t>(cells.Of(numbers[row])));
    }
    own_.values.push_back(std::move(values));
    own_.cells.push_back(std::move(places));
  }

  const Spec& spec_;
  const data::Table& table_;
  const std::vector<size_t>& rows_;
  const Layout layout_;
  OwnColumns own_;
};

}  // namespace

OwnColumns SelectingColumns(const Spec& spec, const data::Table& table,
                            const std::vector<size_t>& rows, const std::vector<uint8_t>& taken) {
  const Layout layout(spec);
  OwnColumns own;
  for (const size_t row : rows) {
    const int32_t group = spec.group ? table.Get(spec.group->schema.name).codes[row] : 0;
    const bool takes_part = taken[row] != 0 && group >= 0;
    own.groups.push_back(static_cast<uint32_t>(takes_part ? group : layout.groups));
  }
  return own;
}

OwnColumns DescribedColumns(const Spec& spec, const data::Table& table,
                            const std::vector<size_t>& rows) {
  return ColumnMaker(spec, table, rows).Make();
}

}  // namespace partita::methods::describe
