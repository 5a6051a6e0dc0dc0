#include "study/text.h"

#include <algorithm>

#include "data/suggest.h"

namespace partita::study {

std::string Quote(std::string_view text) {
  constexpr size_t kLongest = 60;
  std::string quoted = "'";
  for (char c : text.substr(0, kLongest)) quoted += (c < ' ' || c > '~') ? '?' : c;
  return quoted + (text.size() > kLongest ? "...'" : "'");
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
