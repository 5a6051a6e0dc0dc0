// A study::Document as JSON, both directions, for document_report.cc and result_json_reader.cc
// alone.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "study/document.h"

namespace partita::report {

// Keys `document` and `result`.
void AppendDocument(const study::Document& document, nlohmann::ordered_json& json);

// Without the contents of files. Throws what nlohmann-json throws if something is missing or of
// another type.
study::Document ReadDocument(const nlohmann::ordered_json& json);

}  // namespace partita::report
