// Encodings of columns in the files of fitted models and opened tables. All of it is public.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "data/encoding.h"

namespace partita::data {

// Of a column in such a file; above it comparing levels would take too long.
inline constexpr size_t kMostFileLevels = 10000;

// An object: "name", "type", "encoding", and "levels" and "pooled" or "lower", "upper" and "bins";
// "edges" where there are.
nlohmann::ordered_json EncodingJson(const ColumnEncoding& encoding);

// The inverse; other members are passed over. Throws kBadInput for types and encodings that are not
// known, more than kMostFileLevels levels, and as CheckEncoding; what nlohmann-json throws if
// something is
// missing or of another type.
ColumnEncoding ParseEncodingJson(const nlohmann::ordered_json& json);

}  // namespace partita::data
