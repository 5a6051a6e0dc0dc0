// The shortest study file that says what somebody wants: no comments, and no key that says what
// would hold without it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "study/file/dictionary_draft.h"
#include "study/file/study_file.h"

namespace partita::study {

struct ShortParty {
  std::string name;
  bool holder = true, receiver = false;  // neither: a dealer
  std::vector<std::string> columns;      // where columns are split
  std::optional<uint64_t> rows;          // of its own, where rows are split: a public number
};

struct ShortStudy {
  std::string name, title, site, missing, engine;
  Declaration declared;
  std::vector<ShortParty> parties;
  std::optional<uint64_t> min_rows, min_cell;  // of [disclosure]
  std::optional<uint64_t> common_rows;  // where columns are split; else every holder has its own
  std::optional<RowMatch> match;        // of these, where they were matched: instead of a key
  std::string accept;                   // of [release]; empty: nothing beyond its rule
  std::string weights, weights_type, cluster;  // of [design]; empty: none
  DictionaryDraft dictionary;
  // [[analysis]]: keys with their values as TOML; "privacy.epsilon" is epsilon of
  // [analysis.privacy].
  std::vector<std::pair<std::string, std::string>> analysis;
  std::vector<std::pair<std::string, std::string>>
      engine_keys;  // further ones of [engine], likewise
};

// The rows of a holder are a block with its name; those that all hold are "all".
std::string ShortStudyText(const ShortStudy& study);

}  // namespace partita::study
