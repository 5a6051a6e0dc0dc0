// Numbers as a statistical report prints them.
#pragma once

#include <cstdint>
#include <string>

namespace partita::report {

std::string Fixed3(double value);        // "0.931", "-0.110"; "NA" for what is not a number
std::string Significant3(double value);  // "12.3", "0.00456"
std::string Percent(double share);       // "2.5 %", "0.00456 %"
// Four significant digits, whole numbers and large ones to the last: "0.3606", "12346", "0".
std::string Number4(double value);
// Three decimals, below 0.1 three significant digits: "12.346", "0.0512", "-2.4e-05", "0".
std::string Number3(double value);
// To the place of the third significant digit of the standard error: "12.3500" with 0.0512. As
// Number3 where there is no standard error. No zero has a sign.
std::string NumberAt(double value, double standard_error);
std::string PValue(double value);  // "0.043", "< 0.001", "NA"

// A count of rows, suppressed if it is above 0 and below min_cell: "fewer than 5".
std::string SuppressedCount(uint64_t count, uint64_t min_cell);

}  // namespace partita::report
