// The tables of a PostgresSpool: made once per database, checked at every connection.
#pragma once

#include "base/postgres_session.h"
#include "crypto/box.h"

namespace partita::sums {

// Makes schema and tables for this node if there are none, one process at a time. Throws kBadInput
// without the right to.
void MakeTables(postgres::Session& connection, const crypto::BoxPublicKey& node);

// Throws kBadInput unless the tables are of this version and the server writes durably, kRefused if
// they belong to another node, or if server or timeline are not those they were made on.
void CheckTables(postgres::Session& connection, const crypto::BoxPublicKey& node);

}  // namespace partita::sums
