// The store of a compute node by its name on the command line.
#pragma once

#include <memory>
#include <string>

#include "crypto/box.h"
#include "sums/spool/spool.h"

namespace partita::sums {

// A file: SQLite, made if it is missing. "postgres://...", "postgresql://..." or "keyword=value
// ..." (a file of such a name: "./a=b"): the database of this compute node in PostgreSQL, which any
// number of its processes may use at once. node: its box key. Throws as the spools do, and kUsage
// for another kind of store; a connection string that holds a password is refused.
std::unique_ptr<Spool> OpenSpool(const std::string& where, const crypto::BoxPublicKey& node,
                                 const StudyHash& study, uint64_t epoch);

}  // namespace partita::sums
