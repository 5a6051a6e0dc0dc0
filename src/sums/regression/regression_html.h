// The report of a regression on a private sum: one file that needs nothing else.
#pragma once

#include <string>

#include "sums/regression/result.h"

namespace partita::sums::regression {

// Coefficients with their intervals as table and plot, what the noise did to them, the bounds that
// everybody agreed on, the warnings and the privacy statement. No row of anybody is in it.
std::string RenderRegressionHtml(const RegressionResult& result, const std::string& collection);

}  // namespace partita::sums::regression
