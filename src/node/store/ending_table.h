// Of studies that are over: when they were, and what is still kept (study/retention.h), as a table of the node's
// database. The row of a study stays when everything else of it goes: its number is not taken again.
#pragma once

#include <optional>
#include <vector>

#include "node/store/sql.h"
#include "node/study/retention.h"

namespace partita::node {

// All of these within a transaction of the caller.
// Once: a study that is there keeps its time.
void PutEnding(Sql& sql, const StudyId& study, int64_t ended);
// With what this deletes of the study. Throws kInternal for one that is not over.
void KeepLess(Sql& sql, const StudyId& study, Kept kept);

std::optional<OverStudy> ReadEnding(Sql& sql, const StudyId& study);
// Those that ended first, first.
std::vector<OverStudy> ReadEndings(Sql& sql);

}  // namespace partita::node
