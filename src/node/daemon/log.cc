#include "node/daemon/log.h"

#include <nlohmann/json.hpp>

#include "base/utc_time.h"

namespace partita::node {

void Log::Write(const std::string& event, const std::vector<LogField>& fields) const {
  nlohmann::ordered_json line = {{"time", FormatUtc(NowUtc())}, {"event", event}};
  for (const LogField& field : fields) {
    std::visit([&](const auto& value) { line[field.first] = value; }, field.second);
  }
  // Peers' words need not be UTF-8.
  sink_(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

void Log::Write(const Error& error, const std::string& doing) const {
  Write("error", {{"doing", doing},
                  {"error_code", std::string(ErrorCodeName(error.code()))},
                  {"message", error.message()},
                  {"hint", error.hint()}});
}

}  // namespace partita::node
