// The words of a matching's plan: who learns what, and what is not prevented.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "privacy/statement.h"
#include "run/matching/matching_file.h"

namespace partita::run {

// Clauses, of the party of that index among MatchingFile::Names.
std::vector<std::string> MatchingLearns(const MatchingFile& file, size_t party);
// Whole sentences.
std::vector<std::string> MatchingNotPrevented(const MatchingFile& file);
// What is found, by whom: one sentence or two.
std::string MatchingAim(const MatchingFile& file);

// Of the number of matches, where it has noise (count_noise.h).
std::optional<privacy::Statement> MatchingPrivacy(const MatchingFile& file);

}  // namespace partita::run
