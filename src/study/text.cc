#include "study/text.h"

namespace partita::study {

std::string Quote(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string quoted = "'";
  for (char c : text.substr(0, kLongest)) quoted += (c < ' ' || c > '~') ? '?' : c;
  return quoted + (text.size() > kLongest ? "...'" : "'");
}

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) joined += separator;
    joined += parts[i];
  }
  return joined;
}

}  // namespace partita::study
