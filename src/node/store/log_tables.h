// Days of the own audit log, and what other sites told of theirs (audit/log_days.h), as tables of the node's
// database. Days of the own log and faults of others are added and never changed, which triggers hold to as
// well.
#pragma once

#include <optional>
#include <vector>

#include "node/store/sql.h"
#include "node/store/store.h"

namespace partita::node {

// Those that write, within a transaction of the caller.
// Closes a day with the newest entry of the audit log as it is now.
void CloseLogDay(Sql& sql, int64_t day);
void PutPeerLog(Sql& sql, const PeerLogNews& news);
void PutLogReceipt(Sql& sql, const KeptReceipt& kept);

LogDay NewestLogDay(Sql& sql);  // number 0: none
// As in Store.
std::vector<LogDay> ReadLogDays(Sql& sql, uint64_t from, size_t limit);
std::vector<PeerLog> ReadPeerLogs(Sql& sql);
std::optional<PeerDay> ReadPeerDay(Sql& sql, const std::string& party, uint64_t number);
std::vector<LogFault> ReadLogFaults(Sql& sql, size_t limit);
std::vector<KeptReceipt> ReadLogReceipts(Sql& sql);

// Whether days follow from each other and from the entries of the log, and are those for which other sites gave
// their receipts. The number is that of an entry.
std::optional<AuditFault> FaultOfLogDays(Sql& sql);

}  // namespace partita::node
