// The dictionary that a site keeps of one of its tables: what its variables are and can be, and which of them other
// sites may ask for. A TOML file of [[variable]] parts as in study files, with two keys more:
//
//     [[variable]]
//     name = "hours"
//     description = "lessons a week, by the timetable"
//     type = "numeric"
//     lower = 0
//     upper = 40
//     peers = "hidden"      # studies that ask for it are refused here; left out: "visible"
//
// A visible variable is complete, as a study file needs it, and is read by the same code. A hidden one may leave out
// bounds and levels. All of it is written by people: nothing is taken from a table.
#pragma once

#include <string>
#include <vector>

#include "data/schema.h"

namespace partita::study {

inline constexpr size_t kMaxSiteDictionaryBytes = size_t{1} << 20;
inline constexpr size_t kMaxDescriptionBytes = 500;

struct SiteVariable {
  std::string name, type, description, unit;
  std::string lower, upper;  // as written: "0", "2000-01-31"; empty: not said, as all texts here
  std::vector<std::string> levels, missing_codes;
  std::string reference, contrasts, time, event;
  bool hidden = false;

  bool operator==(const SiteVariable&) const = default;
};

struct SiteDictionary {
  std::vector<SiteVariable> variables;

  bool operator==(const SiteDictionary&) const = default;
  // Null if there is none of this name.
  const SiteVariable* Find(std::string_view name) const;
};

// Throws kBadInput "FILE:LINE:COLUMN: ..." for the first thing that is wrong. A [table] part, which drafts have, is
// read and forgotten.
SiteDictionary ParseSiteDictionary(const std::string& text, const std::string& file_name);

// The file, without comments of its own but its head. Whatever texts hold, it is TOML: ParseSiteDictionary gives the
// same dictionary, or says what is wrong with it.
std::string SiteDictionaryText(const SiteDictionary& dictionary);

// What ParseSiteDictionary would refuse, of all variables, at most one problem each.
struct DictionaryProblem {
  size_t variable = 0;  // index
  std::string message, hint;

  bool operator==(const DictionaryProblem&) const = default;
};
std::vector<DictionaryProblem> ProblemsOf(const SiteDictionary& dictionary);

// A [[variable]] of a study file; its description is a comment.
std::string OfferedVariable(const SiteVariable& variable);
// Those that are visible, for who writes studies (`partita study new --dictionary`); nothing of the others.
std::string OfferedText(const SiteDictionary& dictionary);

// The columns of those that are complete; of a dictionary without problems.
data::Schema CompleteColumns(const SiteDictionary& dictionary);

}  // namespace partita::study
