// The words of a matching's plan: who learns what, and what is not prevented.
#pragma once

#include <string>
#include <vector>

#include "run/matching/matching_file.h"

namespace partita::run {

// Clauses, of the party of that index among MatchingFile::Names.
std::vector<std::string> MatchingLearns(const MatchingFile& file, size_t party);
// Whole sentences.
std::vector<std::string> MatchingNotPrevented(const MatchingFile& file);
// What is found, by whom: one sentence or two.
std::string MatchingAim(const MatchingFile& file);

}  // namespace partita::run
