// Days of the own audit log, and what other sites told of theirs (audit/log_days.h), as tables of the node's
// SQLite file. Days of the own log and faults of others are added and never changed, which triggers hold to as
// well.
#pragma once

#include <optional>
#include <vector>

#include "base/sqlite.h"
#include "node/store/store.h"

namespace partita::node {

// Those that write, within a transaction of the caller.
void MakeLogTables(sqlite::Database& database);
// Closes a day with the newest entry of the audit log as it is now.
void CloseLogDay(sqlite::Database& database, int64_t day);
void PutPeerLog(sqlite::Database& database, const PeerLogNews& news);
void PutLogReceipt(sqlite::Database& database, const KeptReceipt& kept);

LogDay NewestLogDay(const sqlite::Database& database);  // number 0: none
// As in Store.
std::vector<LogDay> ReadLogDays(const sqlite::Database& database, uint64_t from, size_t limit);
std::vector<PeerLog> ReadPeerLogs(const sqlite::Database& database);
std::optional<PeerDay> ReadPeerDay(const sqlite::Database& database, const std::string& party,
                                   uint64_t number);
std::vector<LogFault> ReadLogFaults(const sqlite::Database& database, size_t limit);
std::vector<KeptReceipt> ReadLogReceipts(const sqlite::Database& database);

// Whether days follow from each other and from the entries of the log, and are those for which other sites gave
// their receipts. The number is that of an entry.
std::optional<AuditFault> FaultOfLogDays(const sqlite::Database& database);

}  // namespace partita::node
