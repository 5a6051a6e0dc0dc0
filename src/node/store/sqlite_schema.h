// The tables of a node's state in a SQLite file.
#pragma once

#include "base/sqlite.h"
#include "crypto/random.h"

namespace partita::node {

// Of the tables, in whichever database: whoever changes them counts it up, and says here how older ones get there.
inline constexpr int64_t kTablesVersion = 5;

// Makes them in an empty file, with a new incarnation from `random`; those of an older version get what they lack. Throws
// kBadInput for a file of another kind, or of a later version.
void MakeNodeTables(sqlite::Database& database, crypto::RandomSource& random);

}  // namespace partita::node
