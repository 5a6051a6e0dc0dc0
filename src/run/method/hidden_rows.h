// What methods share that take rows of which nobody knows which match (level hidden of [rows.match]).
//
// A holder's own rows against what opens may tell it which of these match: so may an answer about few
// rows that it picks by its own columns, exact sums of its columns, estimates to a few digits.
#pragma once

#include "run/method/study.h"

namespace partita::run {

inline constexpr char kMatchedIdsHint[] =
    "match the lists at level \"matched-ids\", where holders know which of their rows match";

// Whether the rows of some block are hidden.
bool HasHiddenRows(const Study& study);

// Throws kBadInput where such a block is not the only one: min_rows would count all blocks together.
void RequireHiddenAlone(const Study& study);

// Throws kBadInput where an analysis has a subset of its own: everybody sees whether it has enough rows.
void RequireNoSubset(const Study& study, const study::AnalysisSpec& analysis);

// Throws kBadInput where some block's rows are hidden, for a method that others of its name take:
// what: "noise on a table".
void RequireKnownRows(const Study& study, const study::Position& position, const std::string& what);

// Throws kBadInput where the receiver of a study of hidden rows holds some of them.
void RequireOutsideReceiver(const Study& study);

}  // namespace partita::run
