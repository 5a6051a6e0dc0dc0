// When two data sets count as neighbours. Every epsilon names its adjacency (methods.md, R-h).
#pragma once

#include <string_view>

namespace partita::privacy {

enum class Adjacency {
  kAddRemove,  // one has one row more than the other; the number of rows is not public
  kReplace,    // one row of the one stands in the place of another; the number of rows is public
};

// "add-remove", "replace": the names used in study files and JSON.
constexpr std::string_view AdjacencyName(Adjacency adjacency) {
  return adjacency == Adjacency::kAddRemove ? "add-remove" : "replace";
}

}  // namespace partita::privacy
