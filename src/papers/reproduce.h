// Parts of `partita reproduce`, private to it.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <string>

#include "cli/commands.h"
#include "stats/blr/figure2.h"

namespace partita::papers {

// A table of the UCI repository as Heikkila et al. (2017) used it.
struct UciTable {
  const char* name;
  const char* file;
  size_t train, test;  // rows of each split
};
inline constexpr std::array<UciTable, 3> kUciTables = {
    {{"red_wine", "winequality_red.csv", 1000, 500},
     {"white_wine", "winequality_white.csv", 3000, 1000},
     {"abalone", "abalone.csv", 3000, 1000}}};

// Comma separated, with the repository's column names as header; the sex of an abalone becomes 0
// (M) or 1 (F, I) as in the paper's code. Throws kBadInput if FOLDER/FILE cannot be read, kBadData
// with line and column for a cell that is missing or no number.
stats::blr::Table ReadUciTable(const std::string& folder, const UciTable& table);

// dca-table1, a command of `reproduce`.
void AddTable1(CLI::App& reproduce, cli::Invocation& invocation);

}  // namespace partita::papers
