// What `partita study new` asks about one analysis, as its method says it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace partita::study {

// What was said of an analysis so far, by key of [[analysis]]: "model", "privacy.epsilon".
using Said = std::map<std::string, std::string>;

enum class SaidAs {
  kText,
  kTexts,  // several, with commas between them
  kValue,  // TOML as it stands: a number, true, a list; a text if it is none of them
};

struct StartKey {
  std::string key;       // as in Said
  std::string question;  // a clause
  // Taken where nothing is said; empty: then the key is left out; none: it has to be said.
  std::optional<std::string> otherwise;
  SaidAs as = SaidAs::kText;
};

struct AnalysisStart {
  std::vector<StartKey> keys;               // beside `method`, in the order of the file
  std::string missing = "refuse";           // of [design]
  std::string complete_means = "left out";  // what missing = "complete" makes of them
  bool is_private = false;                  // there is none without [analysis.privacy]
  bool needs_counts = false;                // every row block declares its count
  std::string count;                        // of each holder, where the method knows it
  bool needs_min_rows = false;              // [disclosure] promises how many rows there are
  // Of [disclosure] where columns are split; none: as everywhere.
  std::optional<uint64_t> split_min_cell = {};
  bool uses_all = false;    // all variables of the dictionary, whichever it names
  bool takes_dates = true;  // else dates are left out of all
  // The key of [[analysis]], and its value, that takes `cluster` of [design]; empty: nothing does.
  std::pair<std::string, std::string> clusters;
};

// What was said under `key`, else `otherwise`.
inline std::string SaidOr(const Said& said, const std::string& key, const std::string& otherwise) {
  const auto found = said.find(key);
  return found == said.end() || found->second.empty() ? otherwise : found->second;
}

}  // namespace partita::study
