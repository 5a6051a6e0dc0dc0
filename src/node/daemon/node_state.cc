#include "node/daemon/node_state.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include "base/error.h"
#include "base/password_file.h"
#include "node/store/postgres_store.h"
#include "node/store/sqlite_store.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

bool IsInDatabase(const NodeConfig& config) { return !config.state.database.empty(); }

fs::path StateFile(const NodeFolder& folder) { return folder.state() / "node.sqlite"; }

// With a point in its name: no list of the node, so it is in no backup.
fs::path MarkFile(const NodeFolder& folder) { return folder.state() / "database.mark"; }

PostgresState DatabaseOf(const NodeFolder& folder, const NodeConfig& config) {
  PostgresState state;
  state.connection = config.state.database;
  if (!config.state.credentials.empty())
    state.password = ReadPasswordFile(config.state.credentials);
  state.statement_timeout = std::chrono::seconds(config.state.timeout_seconds);
  state.mark = MarkFile(folder);
  return state;
}

void RequireOnePlace(const NodeFolder& folder, const NodeConfig& config) {
  if (IsInDatabase(config) && fs::exists(StateFile(folder))) {
    throw Error(ErrorCode::kUsage,
                fmt::format("the state of this node is in {}, and node.toml names a database",
                            StateFile(folder).string()),
                "Take [state] out of node.toml, or move the state into the database: partita node "
                "move-state FOLDER --to database.");
  }
  if (!IsInDatabase(config) && fs::exists(MarkFile(folder))) {
    throw Error(ErrorCode::kUsage,
                "the state of this node is in a database that node.toml does not name any more",
                "Name it again below [state] in node.toml.");
  }
}

void RequireDatabase(const NodeConfig& config) {
  if (IsInDatabase(config)) return;
  throw Error(ErrorCode::kUsage, "node.toml names no database for the state",
              "Name it below [state]: database = \"postgresql://USER@HOST/DATABASE\".");
}

}  // namespace

net::Socket LockState(const NodeFolder& folder) {
  const std::string file = (folder.state() / "lock").string();
  net::Socket lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) {
    throw Error(ErrorCode::kUsage, fmt::format("cannot write in {}", folder.state().string()),
                "Run as the user who owns the node's folder.");
  }
  if (::flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) {
    throw Error(ErrorCode::kUsage,
                fmt::format("a node serves in {} already", folder.path().string()),
                "Stop it first.");
  }
  return lock;
}

std::unique_ptr<SqlStore> OpenState(const NodeFolder& folder, const NodeConfig& config,
                                    crypto::RandomSource& random) {
  RequireOnePlace(folder, config);
  if (IsInDatabase(config))
    return std::make_unique<PostgresStore>(DatabaseOf(folder, config), random);
  return std::make_unique<SqliteStore>(StateFile(folder), random);
}

void CopyState(const NodeFolder& folder, const NodeConfig& config, const fs::path& file) {
  RequireOnePlace(folder, config);
  if (IsInDatabase(config)) return CopyPostgresState(DatabaseOf(folder, config), file);
  if (!fs::exists(StateFile(folder))) {
    throw Error(ErrorCode::kUsage,
                fmt::format("there is no state of a node in {}", folder.path().string()),
                "name the folder of a node, not its socket, with --at");
  }
  crypto::SystemRandom random;
  SqliteStore(StateFile(folder), random).CopyTo(file);
}

void RequireNoState(const NodeFolder& folder, const NodeConfig& config) {
  const bool is_marked = !IsInDatabase(config) && fs::exists(MarkFile(folder));
  if (fs::exists(StateFile(folder)) || is_marked) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("there is the state of a node in {}", folder.path().string()),
        "Stop the node, and move the folder 'state' away if it is lost; leave 'run' where it "
        "is.");
  }
  if (IsInDatabase(config)) RequireNoPostgresState(DatabaseOf(folder, config));
}

void PutState(const NodeFolder& folder, const NodeConfig& config, const fs::path& file,
              crypto::RandomSource& random) {
  if (!IsInDatabase(config)) return fs::rename(file, StateFile(folder));
  FillPostgresState(DatabaseOf(folder, config), file, random);
  fs::remove(file);
}

void MoveStateToDatabase(const NodeFolder& folder, const NodeConfig& config,
                         crypto::RandomSource& random) {
  const net::Socket lock = LockState(folder);
  RequireDatabase(config);
  if (!fs::exists(StateFile(folder))) {
    throw Error(ErrorCode::kUsage,
                fmt::format("there is no state of a node in {}", StateFile(folder).string()),
                "Where it is in the database already, nothing is to be done.");
  }
  FillPostgresState(DatabaseOf(folder, config), StateFile(folder), random);
  fs::remove(StateFile(folder));
}

void MoveStateToFile(const NodeFolder& folder, const NodeConfig& config,
                     crypto::RandomSource& random) {
  const net::Socket lock = LockState(folder);
  RequireDatabase(config);
  if (!fs::exists(MarkFile(folder))) {
    throw Error(ErrorCode::kUsage, "the state of this node is not in a database",
                "Nothing is to be done.");
  }
  // Both are there where a move was killed on its way. Nothing was served since, so the file is whole and the newest.
  if (!fs::exists(StateFile(folder))) {
    const fs::path fresh = folder.state() / "moving.sqlite";
    fs::remove(fresh);
    PostgresStore(DatabaseOf(folder, config), random).CopyTo(fresh);
    fs::rename(fresh, StateFile(folder));
  }
  fs::remove(MarkFile(folder));
}

}  // namespace partita::node
