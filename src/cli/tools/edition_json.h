// An edition as commands print it (run/party/editions.h).
#pragma once

#include <nlohmann/json.hpp>

#include "base/utc_time.h"
#include "cli/terminal/json.h"
#include "run/party/editions.h"

namespace partita::cli {

inline Json EditionJson(const run::Edition& edition) {
  return {{"number", edition.number},
          {"opened", FormatUtc(edition.opened)},
          {"rows", edition.rows},
          {"served", edition.served},
          {"reason", edition.reason}};
}

}  // namespace partita::cli
