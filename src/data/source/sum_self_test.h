// Whether an engine adds up as this program does: numbers on which engines differ (halves, ends of bounds,
// subnormal ones, NULL, NaN, infinities, negative products, sums past 2^63, levels with blanks and capitals) through
// the text of the sums themselves, as a list of values.
#pragma once

#include <string>

#include "data/source/sum_source.h"

namespace partita::data {

// Throws kRefused, naming `engine`, if any number differs.
void RequireExactSums(const SqlDialect& dialect, const std::string& engine,
                      const AskStatement& ask);

}  // namespace partita::data
