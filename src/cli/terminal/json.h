// JSON whose members keep their order.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace partita::cli {

using Json = nlohmann::ordered_json;

}  // namespace partita::cli
