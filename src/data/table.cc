#include "data/table.h"

#include <fmt/format.h>

#include "data/suggest.h"

namespace partita::data {

const Column& Table::Get(std::string_view name) const {
  std::vector<std::string> names;
  for (const Column& column : columns) {
    if (column.schema.name == name) return column;
    names.push_back(column.schema.name);
  }
  throw Error(ErrorCode::kBadInput, fmt::format("the table has no column '{}'", name),
              SuggestionHint(name, names));
}

}  // namespace partita::data
