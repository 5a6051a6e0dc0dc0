// The state of a node from one database into another, row by row.
#pragma once

#include "node/store/sql.h"

namespace partita::node {

// to: has the tables, with nothing in them but what making them put there. Within transactions of the caller, of both.
void CopyTables(Sql& from, Sql& to);

}  // namespace partita::node
