#include "run/method/sum_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace partita::run {

void NeedsRows(const std::string& what, const std::string& hint) {
  throw Error(ErrorCode::kRefused, what + ", and only sums come from the database", hint);
}

void RequireOneBlockAlone(const Study& study, size_t party) {
  if (!data::HoldsOneBlockAlone(study.partition, party))
    NeedsRows("rows whose columns are split, or of several blocks, go on shares one by one",
              kFreezeRows);
}

void RequireSumBits(const Study& study) {
  const std::optional<int>& bits = study.file.engine.input_bits;
  if (!bits || *bits > data::kMostSumBits) {
    NeedsRows("a database adds up exactly on a grid of 30 bits or fewer, which all holders use",
              "write input_bits = 30 in [engine] of the study file");
  }
}

SumColumns::SumColumns(const Study& study, size_t party)
    : held_(study.partition.HolderOf(party)->columns) {
  const data::Schema schema =
      data::SchemaForParty(study.file.dictionary, study.partition, party, study.row_columns);
  for (const data::ColumnSchema& column : schema.columns) {
    if (column.type != data::ColumnType::kSurvival && column.type != data::ColumnType::kKey)
      columns_.push_back(column);
  }
}

size_t SumColumns::Of(const std::string& name) const {
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].name == name) return c;
  }
  NeedsRows(fmt::format("'{}' is derived from another variable by this program", name),
            "derive it in the query, as a variable of the dictionary, or freeze the rows");
}

data::SumRows SumColumns::Rows(const std::vector<data::Condition>& conditions) const {
  data::SumRows rows;
  for (const data::Condition& condition : conditions)
    rows.push_back({Of(condition.variable), condition});
  return rows;
}

data::SumRows SumColumns::Complete(const std::vector<std::string>& names,
                                   data::SumRows rows) const {
  for (const std::string& name : names) {
    if (std::find(held_.begin(), held_.end(), name) == held_.end()) continue;
    data::Condition there;
    there.variable = name;
    there.kind = data::Condition::Kind::kPresent;
    rows.push_back({Of(name), there});
  }
  return rows;
}

data::SumRows SumColumns::OfLevel(const std::string& name, size_t level, data::SumRows rows) const {
  const size_t column = Of(name);
  data::Condition is_level;
  is_level.variable = name;
  is_level.levels = {columns_[column].levels.at(level)};
  rows.push_back({column, is_level});
  return rows;
}

data::Table TableOfLevels(const data::ColumnSchema& schema) {
  data::Table table;
  table.num_rows = schema.levels.size();
  data::Column& column = table.columns.emplace_back();
  column.schema = schema;
  for (size_t level = 0; level < schema.levels.size(); ++level)
    column.codes.push_back(static_cast<int32_t>(level));
  return table;
}

}  // namespace partita::run
