// report.html: the whole result in one file for people. It holds everything that it needs (no
// network), is readable without JavaScript (tables and sentences are in the page, scripts only draw
// plots from the numbers in it) and on paper. Under 2 MB.
//
// Everything that comes from a study or a party is text to this page, never markup: it is escaped,
// and a content security policy allows no script but the one that the build embedded.
//
// Counts of rows above 0 and below RunFacts::min_cell are printed as "fewer than", and so is what
// they could be computed from: unlike result.json the report is for passing on.
#pragma once

#include <span>
#include <string>

#include "methods/mle/fit/result.h"
#include "report/run_facts.h"
#include "study/plan/plan.h"

namespace partita::methods::mle {

// Throws kInternal for no result, or for a fit that does not belong to its parameter table.
std::string RenderReportHtml(std::span<const MleResult> results, const study::Plan& plan,
                             const report::RunFacts& facts);

}  // namespace partita::methods::mle
