// The node's own log: a JSON object a line, {"time", "event", ...}, of fields with fixed names. Names of
// parties, studies, phases and error codes; no rows, keys, passphrases or digits.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"

namespace partita::node {

using LogField = std::pair<std::string, std::variant<std::string, int64_t>>;
// Takes whole lines without their break, from any thread.
using LogSink = std::function<void(const std::string& line)>;

class Log {
 public:
  explicit Log(LogSink sink) : sink_(std::move(sink)) {}

  void Write(const std::string& event, const std::vector<LogField>& fields = {}) const;
  // {"event": "error", "error_code", "message", "hint"}
  void Write(const Error& error, const std::string& doing) const;

 private:
  LogSink sink_;
};

}  // namespace partita::node
