// A study::Document and its tables as JSON, both directions.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "study/plan/document.h"

namespace partita::report {

// title, columns, rows.
nlohmann::ordered_json CellTableJson(const CellTable& table);
CellTable ReadCellTable(const nlohmann::ordered_json& json);

// Keys `document` and `result`.
void AppendDocument(const study::Document& document, nlohmann::ordered_json& json);

// Without the contents of files. Throws what nlohmann-json throws if something is missing or of
// another type.
study::Document ReadDocument(const nlohmann::ordered_json& json);

}  // namespace partita::report
