// The audit log (audit/audit.h) as a table of the node's SQLite file: rows are added and never changed, which
// triggers hold to as well. Which entry is the newest stands in a row of its own, so that a log that was cut at
// its end shows.
#pragma once

#include "base/sqlite.h"
#include "node/audit/audit.h"

namespace partita::node {

// All of these within a transaction of the caller.
void MakeAuditTable(sqlite::Database& database);
void AppendAudit(sqlite::Database& database, const std::vector<AuditRecord>& records);
// As Store::ReadAudit and Store::CheckAudit.
AuditPage ReadAuditTable(const sqlite::Database& database, const AuditFilter& filter,
                         uint64_t before, size_t limit);
AuditCheck CheckAuditTable(const sqlite::Database& database, uint64_t from, size_t limit);
// Number 0: there is none.
AuditHead NewestAudit(const sqlite::Database& database);
// None if it is not there, or cannot be read.
std::optional<AuditEntry> FindAuditEntry(const sqlite::Database& database, uint64_t number);

}  // namespace partita::node
