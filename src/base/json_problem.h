// What is wrong with a JSON text, in words of its own instead of the library's.
#pragma once

#include <string>
#include <string_view>

namespace partita {

// Of an exception of nlohmann-json with this `id` and text: "'rows' is missing", "it is no JSON
// (byte 17)". No words of the library, and of the text only the name of a key.
std::string JsonProblem(int id, std::string_view what);

}  // namespace partita
