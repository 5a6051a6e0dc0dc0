// Of studies that are over: when they were, and what is still kept (study/retention.h), as a table of the node's
// SQLite file. The row of a study stays when everything else of it goes: its number is not taken again.
#pragma once

#include <optional>
#include <vector>

#include "base/sqlite.h"
#include "node/study/retention.h"

namespace partita::node {

// All of these within a transaction of the caller.
void MakeEndingTable(sqlite::Database& database);
// Of a file that was made before: of studies that are over, which then end for it at their expiry, or what may come
// after. One that cannot be read is left out, and is kept for good.
void FillEndingTable(sqlite::Database& database);
// Once: a study that is there keeps its time.
void PutEnding(sqlite::Database& database, const StudyId& study, int64_t ended);
// With what this deletes of the study. Throws kInternal for one that is not over.
void KeepLess(sqlite::Database& database, const StudyId& study, Kept kept);

std::optional<OverStudy> ReadEnding(const sqlite::Database& database, const StudyId& study);
// Those that ended first, first.
std::vector<OverStudy> ReadEndings(const sqlite::Database& database);

}  // namespace partita::node
