#include "run/method/useful.h"

#include <fmt/format.h>

#include "base/error.h"

namespace partita::run {

void RequireUseful(const Study& study, bool accept) {
  if (accept) return;
  const Forecast forecast = study.Utility();
  if (forecast.useless.empty()) return;
  throw Error(ErrorCode::kRefused, "the result would hardly be useful: " + forecast.useless,
              fmt::format("what helps: {}; --accept-useless goes on all the same", forecast.helps));
}

}  // namespace partita::run
