// The file of a ledger: how it is made, what makes its commits durable, and which tables it has.
// Private to the ledger.
#pragma once

#include <string>

#include "base/sqlite.h"
#include "privacy/ledger/entry.h"
#include "privacy/ledger/journal.h"
#include "privacy/ledger/sqlite_ledger.h"

namespace partita::privacy::ledger {

[[noreturn]] void ThrowDamaged(const std::string& file, const std::string& what);
Digest DigestFrom(ByteView bytes, const std::string& file);

// How a ledger's file is opened. Its failures: kTimeout while other connections hold it, kRefused if
// it is damaged or no database, kStorage for a disk that is full or fails, kUsage for everything
// else that the system refuses (no such file, no permission).
sqlite::Database::Options OpenOptions(const LedgerOptions& options, bool create);

// Throws kRefused unless the pragma has that value.
void RequireSetting(sqlite::Database& database, const char* pragma, const char* expected);

// Makes a whole ledger with an empty journal, mode 0600, or nothing: the file appears under its
// name when all that belongs into it is on the disk. False if something has the name already.
// Throws kUsage if it cannot be made, kRefused if SeenHeads knows one that was here.
bool MakeLedgerFile(const LedgerOptions& options);

// Sets what makes commits durable, and reads it back (R35). Throws kRefused for a file that
// something else changed.
void Configure(sqlite::Database& database);

// Throws kRefused unless the tables are those of a ledger, to the letter; of an earlier version
// with the hint to take it over.
void RequireSchema(sqlite::Database& database);

void InsertEntry(sqlite::Database& database, int64_t account, const Entry& entry);
void InsertJournalRow(sqlite::Database& database, const JournalRow& row);

// Puts the tables of this version in the place of those of version 1, whose receipts were in no
// chain. In a write transaction of the caller, who verifies the file before it commits. Throws
// kUsage for a file that is of this version, kRefused for one that is damaged or no ledger.
void TakeOver(sqlite::Database& database, const Stamp& stamp);

}  // namespace partita::privacy::ledger
