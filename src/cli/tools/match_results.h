// What is left of matchings, as commands show it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "cli/commands.h"
#include "cli/terminal/json.h"
#include "run/matching/matched_rows.h"

namespace partita::cli {

uint64_t TotalOf(const std::vector<uint64_t>& counts);
// "matched-ids", "hidden"; and of the latter "exact", "noisy", "nobody", as files have them.
std::string LevelName(match::Level level);
std::string CountName(match::Level level);
// Rows of the table that have a position.
uint64_t PresentIn(const run::MatchedRows& matched);
// file: where it lies.
Json MatchedJson(const run::MatchedRows& matched, const std::filesystem::path& file);

// Below `match`.
void AddMatchShow(CLI::App& match, Invocation& invocation);
void AddMatchPast(CLI::App& match, Invocation& invocation);

}  // namespace partita::cli
