// A dictionary on its way to a study file: [table] and [[variable]] as `partita init` and `partita
// data describe` draft them, those of a study file, or what a site's dictionary lets others see
// (site_dictionary.h). Bounds may be missing. Of comments, which may tell what is in a table,
// nothing is kept, nor of hidden variables.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace partita::study {

struct DraftVariable {
  std::string name, type;
  std::vector<std::string> levels;
  std::map<std::string, std::string> values;  // of the other keys, as TOML
};

// Whether it needs bounds, or levels, that are not there.
bool LacksBounds(const DraftVariable& variable);
bool LacksLevels(const DraftVariable& variable);

struct DictionaryDraft {
  std::string file;  // for messages
  std::string key;   // the column that names a row; empty: not said
  char separator = ',', decimal = '.';
  std::vector<DraftVariable> variables;
  std::vector<std::string> unused;  // names of variables that were taken out again
};

// Throws kBadInput "FILE:LINE:COLUMN: ..." for what no dictionary has.
DictionaryDraft ParseDictionaryDraft(const std::string& text, const std::string& file_name);
DictionaryDraft LoadDictionaryDraft(const std::string& path);

}  // namespace partita::study
