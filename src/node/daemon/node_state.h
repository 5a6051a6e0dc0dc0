// Where the state of a node lies: state/node.sqlite in its folder, or the database that `[state]` of node.toml names.
// A node has it in one place. Where the other one holds something, nothing is opened: a state that was forgotten in silence
// would be a node that forgot what it said.
#pragma once

#include <filesystem>
#include <memory>

#include "crypto/random.h"
#include "net/socket.h"
#include "node/daemon/node_folder.h"
#include "node/store/sql_store.h"

namespace partita::node {

// Held for as long as the socket is: one process a folder. Throws kUsage if another one serves there.
net::Socket LockState(const NodeFolder& folder);

// Makes it at the first start. Throws kUsage if the other place holds a state, or another process has this one, and what
// SqliteStore and PostgresStore throw.
std::unique_ptr<SqlStore> OpenState(const NodeFolder& folder, const NodeConfig& config,
                                    crypto::RandomSource& random);

// Of a node that does not serve, to a file that is not there. Throws kUsage if there is no state.
void CopyState(const NodeFolder& folder, const NodeConfig& config,
               const std::filesystem::path& file);

// Throws kUsage if there is a state, in either place.
void RequireNoState(const NodeFolder& folder, const NodeConfig& config);

// file: of a SqliteStore, in the folder's `state`; it is gone afterwards. Throws kUsage if there is a state.
void PutState(const NodeFolder& folder, const NodeConfig& config, const std::filesystem::path& file,
              crypto::RandomSource& random);

// From the file into the database that node.toml names, or back, as it is: nothing is restored by that. Where it was it is
// not valid any more. After a kill on the way nothing can be served before it is done again. Throws kUsage if a node serves
// in the folder, or the state is not there.
void MoveStateToDatabase(const NodeFolder& folder, const NodeConfig& config,
                         crypto::RandomSource& random);
void MoveStateToFile(const NodeFolder& folder, const NodeConfig& config,
                     crypto::RandomSource& random);

}  // namespace partita::node
