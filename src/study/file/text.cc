#include "study/file/text.h"

#include <algorithm>

#include "data/suggest.h"

namespace partita::study {

std::string Quote(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string quoted = "'";
  for (char c : text.substr(0, kLongest)) quoted += (c < ' ' || c > '~') ? '?' : c;
  return quoted + (text.size() > kLongest ? "...'" : "'");
}

bool HasControl(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7F) return true;
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (byte == 0xC2 && next < 0xA0) return true;  // U+0080 to U+009F
    if (byte != 0xE2 || i + 2 >= text.size()) continue;
    const auto last = static_cast<unsigned char>(text[i + 2]);
    if (next == 0x80 && last >= 0xA8 && last <= 0xAE) return true;  // U+2028 to U+202E
    if (next == 0x81 && last >= 0xA6 && last <= 0xA9) return true;  // U+2066 to U+2069
  }
  return false;
}

std::string KnownNamesHint(std::string_view name, const std::vector<std::string>& known) {
  constexpr size_t kMostListed = 16;
  // Every single letter resembles every other one.
  const std::string nearest = name.size() > 1 ? data::Nearest(name, known) : "";
  std::string hint = nearest.empty() ? "" : "did you mean " + Quote(nearest) + "? ";
  const auto listed =
      known.begin() + static_cast<std::ptrdiff_t>(std::min(known.size(), kMostListed));
  hint += "known here: " + Join({known.begin(), listed});
  return known.size() > kMostListed ? hint + ", ..." : hint;
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
