// What the own people may know of the tables of node.toml: where they lie, whether they are there, and what the ledger
// says of them. No row of a table is read, and none of a database asked for.
//
// A job does it: it alone has tables and ledger. The daemon asks for it on behalf of the pages (daemon/job_errands.h).
#pragma once

#include <string>

#include "node/job/settings.h"

namespace partita::node {

// kPlaces: what everybody of the site may know. kBudgets: with the ledger, for stewards and auditors.
// kDraft: of one table, what a dictionary of it could begin with (own_dictionary.h); it alone reads rows.
enum class TableLook { kPlaces, kBudgets, kDraft };

// {"tables": [...]}, one for each of the catalogue, by name:
//   name, source   "CSV file", "PostgreSQL database": never a path, a host or a user
//   present        whether the file is there; of a database, whether its source file is
// and with kBudgets
//   exact_served   whether an exact result of some of its rows was given
//   problem        why there is no budget though a ledger is kept, for its owner; else empty
//   budget         null, or lines (privacy/ledger/audit.h: BudgetLine), exact, notes, open, and history:
//                  the newest 500 lines, the oldest first
// Never throws for a table or a ledger that cannot be read: what it could not read is not there.
std::string LookAtTables(const JobSettings& settings, TableLook look);

}  // namespace partita::node
