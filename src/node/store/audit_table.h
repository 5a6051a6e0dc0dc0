// The audit log (audit/audit.h) as a table of the node's database: rows are added and never changed, which
// triggers hold to as well. Which entry is the newest stands in a row of its own, so that a log that was cut at
// its end shows.
#pragma once

#include "node/audit/audit.h"
#include "node/store/sql.h"

namespace partita::node {

// All of these within a transaction of the caller.
void AppendAudit(Sql& sql, const std::vector<AuditRecord>& records);
// As Store::ReadAudit and Store::CheckAudit.
AuditPage ReadAuditTable(Sql& sql, const AuditFilter& filter, uint64_t before, size_t limit);
AuditCheck CheckAuditTable(Sql& sql, uint64_t from, size_t limit);
// Number 0: there is none.
AuditHead NewestAudit(Sql& sql);
// None if it is not there, or cannot be read.
std::optional<AuditEntry> FindAuditEntry(Sql& sql, uint64_t number);

}  // namespace partita::node
