// Decimal text as an interval that contains the number.
#pragma once

#include <string>

#include "privacy/sampling/interval.h"

namespace partita::privacy::ledger {

// Digits, maybe a point and digits, maybe e, a sign and up to two digits; at most 24 characters.
bool IsDecimal(const std::string& text);

// Throws kUsage unless IsDecimal.
PreciseInterval OfDecimal(const std::string& text);

// a < b, as far as 192 bits tell: two different decimals of 24 characters are told apart.
bool DecimalLess(const std::string& a, const std::string& b);

}  // namespace partita::privacy::ledger
