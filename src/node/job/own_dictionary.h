// The dictionary that this site keeps of a table (study/file/site_dictionary.h), in the node's folder, at work in jobs.
//
// A column that it hides is as good as not there: a study that asks for it is told the same as one whose columns no
// table has, so that nobody learns what a table holds by asking. Looked at anew by every check, commit and run. What
// is not hidden and differs is for the own steward to judge, and stops nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "node/job/documents.h"
#include "node/job/settings.h"
#include "study/file/site_dictionary.h"

namespace partita::node {

// folder: of all dictionaries of the node.
std::filesystem::path DictionaryFile(const std::filesystem::path& folder, const std::string& table);
// As it is written; none: the site keeps none of this table. Throws kBadInput for one that is too large.
std::optional<std::string> DictionaryText(const std::filesystem::path& folder,
                                          const std::string& table);

// The columns that the study reads of this party and the dictionary hides, "'income', 'village'"; empty: none, or there
// is no dictionary. For the own people. Throws kBadInput for a dictionary that cannot be read: then nothing is said to
// be visible.
std::string HiddenColumns(const JobSettings& settings, const std::string& table,
                          const Prepared& prepared);
// Throws kRefused with a reason for the own people if there are hidden ones.
void RequireOffered(const JobSettings& settings, const std::string& table,
                    const Prepared& prepared);

// Where the study takes the table for something else than the dictionary says, lines for the own stewards, at most
// kMaxDictionaryText bytes (statement.h); empty: there is no dictionary.
std::string DictionaryDifferences(const JobSettings& settings, const std::string& table,
                                  const Prepared& prepared);

// {"variables": [{"name", "type"}], "left_out": [{"name", "why"}]}: what a table's columns are called and look like, for
// the own steward to begin a dictionary with, or {"problem": ...}. Reads the table; bounds, levels and missing codes
// are left for people to write. Throws kUsage for a table that the catalogue lacks.
std::string DraftOfTable(const JobSettings& settings, const std::string& table);

}  // namespace partita::node
