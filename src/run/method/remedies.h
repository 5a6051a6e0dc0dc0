// What helps where counts failed the checks before a release: one hint of what failed, and of nothing else.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace partita::run {

// Of tables of counts.
inline constexpr char kRareLevels[] =
    "join rare levels (of a number by transform = \"cut\" in [[derived]], of a factor in tables "
    "and "
    "dictionary), leave the term out, or find more rows";
inline constexpr char kFewClusters[] =
    "take a variable of more clusters, or errors = \"robust\" without cluster in [design]";
inline constexpr char kFewRows[] = "find more rows, or leave terms out";

struct Remedy {
  bool failed = false;
  std::string helps;
};

// Of what failed, in this order, with semicolons between; empty if nothing did.
inline std::string HelpsOf(const std::vector<Remedy>& remedies) {
  std::string hint;
  for (const Remedy& remedy : remedies) {
    if (remedy.failed) hint += (hint.empty() ? "" : "; ") + remedy.helps;
  }
  return hint;
}

// Whether a bit of a check is 0.
inline bool AnyFailed(const std::vector<bool>& passed) {
  return std::find(passed.begin(), passed.end(), false) != passed.end();
}

}  // namespace partita::run
