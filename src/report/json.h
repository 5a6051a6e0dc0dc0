// JSON whose members keep their order. nlohmann-json writes the shortest text of a double and null
// for what is not finite.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace partita::report {

using Json = nlohmann::ordered_json;

}  // namespace partita::report
