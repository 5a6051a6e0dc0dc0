#include "methods/describe/own_numbers.h"

#include <cmath>

#include "base/error.h"
#include "methods/describe/mantel_haenszel.h"

namespace partita::methods::describe {
namespace {

class Counter {
 public:
  Counter(const Spec& spec, const data::Table& table, const std::vector<size_t>& rows, size_t site)
      : spec_(spec),
        table_(table),
        rows_(rows),
        layout_(spec),
        own_(NoNumbers(spec)),
        site_(spec.by_site ? site : 0) {
    if (!spec.group || spec.by_site) return;
    group_ = &table.Get(spec.group->schema.name).codes;
  }

  OwnNumbers Count() {
    size_t number = 0;
    for (size_t v = 0; v < spec_.variables.size(); ++v) {
      if (CountedValues(spec_.variables[v].schema).empty()) {
        AddNumbers(v, number++);
      } else {
        AddCounts(v);
      }
    }
    if (spec_.compared.mantel_haenszel) own_.stratum = OwnStratum(spec_, own_.counts);
    return std::move(own_);
  }

 private:
  size_t GroupOf(size_t row) const {
    return group_ == nullptr ? site_ : static_cast<size_t>((*group_)[row]);
  }

  void AddRow(size_t row_of_counts, size_t row) {
    ++own_.counts[row_of_counts * layout_.groups + GroupOf(row)];
  }
  void AddMissing(size_t v, size_t row) {
    if (!spec_.missing) throw Error(ErrorCode::kInternal, "a cell is missing");
    AddRow(layout_.first_row[v] + layout_.rows_of[v] - 1, row);
  }

  void AddCounts(size_t v) {
    const data::Column& column = table_.Get(spec_.variables[v].schema.name);
    const bool levels = !column.schema.levels.empty();
    for (const size_t row : rows_) {
      const double value = levels ? column.codes[row] : column.numbers[row];
      if (value >= 0) {
        AddRow(layout_.first_row[v] + static_cast<size_t>(value), row);
      } else {
        AddMissing(v, row);  // a code of -1, or not a number
      }
    }
  }

  void AddNumbers(size_t v, size_t number) {
    const data::ColumnSchema& schema = spec_.variables[v].schema;
    const std::vector<double>& values = table_.Get(schema.name).numbers;
    const Cells cells = CellsOf(schema, spec_.most_cells);
    for (const size_t row : rows_) {
      if (std::isnan(values[row])) {
        AddMissing(v, row);
        continue;
      }
      AddRow(layout_.first_row[v], row);
      const Int128 z = OnUnitGrid(schema, values[row]);
      const size_t entry = number * layout_.groups + GroupOf(row);
      own_.sums[entry] += z;
      own_.squares[entry] += z * z;
      if (!NeedsHistograms(spec_)) continue;
      ++own_.histograms[number][cells.Of(values[row]) * layout_.groups + GroupOf(row)];
    }
  }

  const Spec& spec_;
  const data::Table& table_;
  const std::vector<size_t>& rows_;
  const Layout layout_;
  OwnNumbers own_;
  const size_t site_;
  const std::vector<int32_t>* group_ = nullptr;
};

}  // namespace

data::ColumnScale UnitScale(const data::ColumnSchema& schema) {
  return {schema.lower + (schema.upper - schema.lower) / 2, (schema.upper - schema.lower) / 2};
}

int64_t OnUnitGrid(const data::ColumnSchema& schema, double value) {
  return data::RoundToGrid(data::ToUnitInterval(value, UnitScale(schema)), kValueBits);
}

OwnNumbers NoNumbers(const Spec& spec) {
  const Layout layout(spec);
  OwnNumbers own;
  own.counts.resize(layout.num_rows() * layout.groups);
  own.sums.resize(layout.numbers.size() * layout.groups);
  own.squares.resize(own.sums.size());
  if (spec.compared.mantel_haenszel) own.stratum.resize(TwoValued(spec).size() * kStratumTerms);
  if (!NeedsHistograms(spec)) return own;
  for (const size_t v : layout.numbers) {
    own.histograms.emplace_back(CellsOf(spec.variables[v].schema, spec.most_cells).count *
                                layout.groups);
  }
  return own;
}

void AddNumbers(const Spec& spec, const OwnNumbers& more, OwnNumbers& own) {
  const auto add = [](const std::vector<Int128>& from, std::vector<Int128>& to) {
    for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  add(more.counts, own.counts);
  add(more.sums, own.sums);
  add(more.squares, own.squares);
  for (size_t h = 0; h < own.histograms.size(); ++h) add(more.histograms[h], own.histograms[h]);
  // Of all rows together.
  if (spec.compared.mantel_haenszel) own.stratum = OwnStratum(spec, own.counts);
}

OwnNumbers CountOwn(const Spec& spec, const data::Table& table, const std::vector<size_t>& rows,
                    size_t site) {
  return Counter(spec, table, rows, site).Count();
}

}  // namespace partita::methods::describe
