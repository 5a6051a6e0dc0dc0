// What is wrong with a JSON text, in words of its own instead of the library's.
#pragma once

#include <string>
#include <string_view>

namespace partita {

// Of an exception of nlohmann-json with this `id` and text: "'rows' is missing", "it is no JSON
// (line 2, column 5)". Of other_error 501, which readers throw themselves, their own words; else no
// words of the text but the name of a key.
std::string JsonProblem(int id, std::string_view what);

}  // namespace partita
