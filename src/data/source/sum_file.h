// Sums as a database formed them, in a file that does not change: what was approved is what runs.
//
//     partita sums 1
//     of 5f0c...                  the digest of what was asked (DigestOf)
//     with PostgreSQL 15.8
//     20                          the numbers, a line each (NumbersOf)
#pragma once

#include <filesystem>
#include <string>

#include "data/source/sum_query.h"

namespace partita::data {

// Whether the name ends in .sums
bool IsSumFile(const std::filesystem::path& path);

struct SumFile {
  std::string engine;
  SumAnswer answer;
};

std::string SumFileText(const SumQuery& query, const SumFile& file);

// Throws, in the name of `source`, kBadInput for what SumFileText did not write, kRefused for sums of another query,
// kBadData for numbers that no rows add up to.
SumFile ReadSumFile(const std::string& text, const SumQuery& query, const std::string& source);

}  // namespace partita::data
