#include "run/party/table_columns.h"

#include <algorithm>

#include "data/holding.h"

namespace partita::run {

std::vector<std::string> TableColumns(const Study& study, size_t party) {
  std::vector<std::string> names;
  // A time of survival may be a variable as well.
  const auto add = [&](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  const data::Schema schema =
      data::SchemaForParty(study.file.dictionary, study.partition, party, study.row_columns);
  for (const data::ColumnSchema& variable : schema.columns) {
    if (variable.type == data::ColumnType::kSurvival) {
      add(variable.time_column);
      add(variable.event_column);
    } else {
      add(variable.name);
    }
  }
  return names;
}

}  // namespace partita::run
