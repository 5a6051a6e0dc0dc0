// Sentences on where two dictionaries differ, for a site's own people.
#pragma once

#include <string>
#include <vector>

#include "study/file/site_dictionary.h"

namespace partita::study {

// What saving `after` in the place of `before` changes, by variable; none if nothing does.
std::vector<std::string> ChangesBetween(const SiteDictionary& before, const SiteDictionary& after);

// Where a study takes the columns of a table for something else than the site's dictionary says: variables that it
// lacks, types, units, bounds, levels and their order, missing codes. asked: what the study reads of this site,
// without columns that only name rows.
std::vector<std::string> DifferencesFrom(const SiteDictionary& dictionary,
                                         const data::Schema& asked);

// Those of these columns of the table that are hidden, or that a hidden survival variable is made of; whatever the
// case of their letters.
std::vector<std::string> HiddenAmong(const SiteDictionary& dictionary,
                                     const std::vector<std::string>& columns);

}  // namespace partita::study
