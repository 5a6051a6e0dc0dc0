#include "data/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace partita::data {

namespace {

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Levenshtein distance without regard to case, two rows of the table at a time.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitute = diagonal + (Lower(a[i - 1]) == Lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

// Names longer than this are cut for the comparison: it costs their product.
constexpr size_t kMaxCompared = 64;

}  // namespace

std::string Nearest(std::string_view name, std::span<const std::string> candidates) {
  name = name.substr(0, kMaxCompared);
  size_t best_distance = std::max<size_t>(1, (name.size() + 1) / 3) + 1;
  std::string best;
  for (const std::string& candidate : candidates) {
    size_t distance = EditDistance(name, std::string_view(candidate).substr(0, kMaxCompared));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string SuggestionHint(std::string_view name, std::span<const std::string> candidates) {
  std::string nearest = Nearest(name, candidates);
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  if (candidates.empty()) return {};
  constexpr size_t kMaxListed = 10;
  std::string hint = "known names: ";
  for (size_t i = 0; i < std::min(candidates.size(), kMaxListed); ++i) {
    hint += fmt::format("{}'{}'", i == 0 ? "" : ", ", candidates[i]);
  }
  return candidates.size() > kMaxListed ? hint + ", ..." : hint;
}

}  // namespace partita::data
