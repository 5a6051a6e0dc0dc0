// The estimates as a table for R, Python and spreadsheets: one line per parameter of every
// analysis, the columns of result.json's `parameters` behind `analysis`, `group.n`, `group.label`,
// then the robust standard errors with their tests and intervals (suffix .robust; empty: none),
// then those of least squares with their degrees of freedom (suffix .lm; of regressions). Moments
// of fixed covariates and constraints, which have no numbers, have no line.
//
// RFC 4180: commas, CRLF, texts quoted where needed. Numbers are the shortest text that reads back
// as the same double; missing ones are empty. A text that a spreadsheet would take for a formula
// (it begins with = + - @ or a control character) gets an apostrophe in front, except in `op`.
#pragma once

#include <span>
#include <string>

#include "methods/mle/fit/result.h"

namespace partita::methods::mle {

// Throws kInternal for a fit that does not belong to its parameter table.
std::string EstimatesCsv(std::span<const MleResult> results);

}  // namespace partita::methods::mle
