// What of a study's move stands in the audit log.
#pragma once

#include "node/audit/audit.h"
#include "node/study/study.h"

namespace partita::node {

// Of an event that was applied: approvals, rejections, withdrawals, attempts that began or ended here, the end
// of the study. actor: who gave a command; what a peer's message says is the peer's, everything else the node's
// own.
std::vector<AuditRecord> AuditOfMove(const Event& event, const Study& before, const Study& after,
                                     const std::string& self, const Actor& actor, int64_t now);

}  // namespace partita::node
