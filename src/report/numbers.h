// Numbers as a statistical report prints them.
#pragma once

#include <cstdint>
#include <string>

namespace partita::report {

std::string Fixed3(double value);        // "0.931", "-0.110"; "NA" for what is not a number
std::string Significant3(double value);  // "12.3", "0.00456"
std::string Percent(double share);       // "2.5 %", "0.00456 %"
std::string PValue(double value);        // "0.043", "< 0.001", "NA"

// A count of rows, suppressed if it is above 0 and below min_cell: "fewer than 5".
std::string SuppressedCount(uint64_t count, uint64_t min_cell);

}  // namespace partita::report
