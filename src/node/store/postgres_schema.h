// The tables of a node's state in PostgreSQL, in a schema of their own, partita_node: as those in SQLite, and one that
// says which they are and counts changes.
#pragma once

#include "base/postgres_session.h"
#include "node/store/database_mark.h"

namespace partita::node {

// Throws kBadInput for a server that is older than PostgreSQL 15, or does not write durably (fsync, full_page_writes).
void RequireServer(postgres::Session& session);

bool HasNodeTables(postgres::Session& session);

// Within a transaction: the tables with one change, and nothing in them.
void MakeNodeTables(postgres::Session& session, const DatabaseMark& mark);

// Throws kBadInput for tables of another version.
DatabaseMark MarkOf(postgres::Session& session);

}  // namespace partita::node
