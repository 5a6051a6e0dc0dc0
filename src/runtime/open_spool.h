// The store of a compute node by its name on the command line.
#pragma once

#include <memory>
#include <string>

#include "crypto/box.h"
#include "methods/dca/spool.h"

namespace partita::runtime {

// A file: SQLite, made if it is missing. "postgres://..." or "postgresql://...": the database of
// this compute node in PostgreSQL, which any number of its processes may use at once. node: its box
// key. Throws as the spools do, and kUsage for another kind of store; no message holds a password.
std::unique_ptr<methods::dca::Spool> OpenSpool(const std::string& where,
                                               const crypto::BoxPublicKey& node,
                                               const methods::dca::StudyHash& study,
                                               uint64_t epoch);

}  // namespace partita::runtime
