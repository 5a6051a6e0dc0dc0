#include "node/store/postgres_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "node/store/copy_tables.h"
#include "node/store/postgres_schema.h"
#include "node/store/sqlite_store.h"

namespace partita::node {
namespace {

// "PNOD": of this program's advisory locks, which are of one database.
constexpr int kLockClass = 0x504e4f44;
constexpr char kHoldLock[] = "SELECT pg_advisory_lock($1, 0)";
constexpr char kHolder[] =
    "SELECT coalesce(host(a.client_addr), 'the machine of the database'), "
    "to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"') "
    "FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
    "WHERE l.locktype = 'advisory' AND l.granted AND l.classid::bigint = $1 AND l.objid = 0 AND "
    "l.database = (SELECT oid FROM pg_database WHERE datname = current_database())";
constexpr char kChanges[] = "SELECT changes FROM partita_node.store";
// Few: a row may be as large as a message may.
constexpr char kNextRows[] = "FETCH FORWARD 8 FROM partita_scan_";
constexpr char kNotAvailable[] = "55P03";

Error StateFailure(std::string_view state, const std::string& message) {
  if (state.empty() || state.starts_with("08") || state.starts_with("57P") || state == "25P03") {
    return {ErrorCode::kStorage, message,
            "What was being written may be there or not. Check the database server, and start the "
            "node again: it goes on from what is there."};
  }
  if (state == kNotAvailable) return {ErrorCode::kUsage, message, "Stop it first."};
  if (state == "53100") {
    return {ErrorCode::kStorage, message,
            "The disk of the database server is full. Make room, and start the node again."};
  }
  if (state == "42501") {
    return {ErrorCode::kStorage, message,
            "The role owns the database, or the schema partita_node in it (docs/node-guide.md)."};
  }
  if (state == "25006") {
    return {ErrorCode::kStorage, message,
            "The server is a standby or read-only; name the primary."};
  }
  return {ErrorCode::kStorage, message, "Check the database server, and start the node again."};
}

class PostgresRows : public SqlRows {
 public:
  explicit PostgresRows(postgres::Rows rows) : rows_(std::move(rows)) {}
  bool Step() override { return next_++ < rows_.size(); }
  bool IsNull(int column) override { return rows_.IsNull(next_ - 1, column); }
  int64_t Integer(int column) override { return rows_.Integer(next_ - 1, column); }
  ByteView Blob(int column) override { return rows_.Blob(next_ - 1, column); }
  std::string Text(int column) override { return rows_.Text(next_ - 1, column); }

 private:
  postgres::Rows rows_;
  size_t next_ = 0;
};

// A cursor of the transaction that goes on.
class ScannedRows : public SqlRows {
 public:
  ScannedRows(postgres::Session& session, const std::string& cursor)
      : session_(session), fetch_(kNextRows + cursor), rows_(session.Query(fetch_)) {}
  bool Step() override {
    if (rows_.Step()) return true;
    rows_ = PostgresRows(session_.Query(fetch_));
    return rows_.Step();
  }
  bool IsNull(int column) override { return rows_.IsNull(column); }
  int64_t Integer(int column) override { return rows_.Integer(column); }
  ByteView Blob(int column) override { return rows_.Blob(column); }
  std::string Text(int column) override { return rows_.Text(column); }

 private:
  postgres::Session& session_;
  const std::string fetch_;
  PostgresRows rows_;
};

postgres::Value ValueOf(const SqlValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value))
    return postgres::Value::BigInteger(*number);
  if (const auto* bytes = std::get_if<ByteView>(&value)) return postgres::Value::Blob(*bytes);
  // Texts are kept as their bytes.
  return postgres::Value::Blob(AsBytes(std::get<std::string>(value)));
}

// For as long as the connection lives.
void HoldLock(postgres::Session& session, std::chrono::milliseconds patience) {
  session.Execute(fmt::format("SET lock_timeout = {}", std::max<int64_t>(1, patience.count())));
  try {
    session.Query(kHoldLock, {postgres::Value::Integer(kLockClass)});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kUsage) throw;
    const postgres::Rows holder = session.Query(kHolder, {postgres::Value::BigInteger(kLockClass)});
    std::string who;
    if (holder.size() != 0 && !holder.IsNull(0, 1))
      who = fmt::format(" (from {}, since {})", holder.Text(0, 0), holder.Text(0, 1));
    throw Error(ErrorCode::kUsage,
                "another node serves, or is being backed up, from the database of this one" + who,
                "Stop it first: one process at a time has the state of a node.");
  }
  session.Execute("SET lock_timeout = 0");
}

}  // namespace

PostgresSql::PostgresSql(const PostgresState& state)
    : session_(state.connection,
               {.what = "the database of the node's state",
                .password_place = "name that in node.toml below [state]: credentials = \"FILE\"",
                .writes = true,
                .password = state.password},
               state.statement_timeout, StateFailure),
      mark_file_(state.mark) {
  // A machine that is gone holds the lock for a minute, not for the two hours of TCP.
  session_.Execute(
      "SET search_path = pg_catalog, partita_node; SET tcp_keepalives_idle = 30; "
      "SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3");
  RequireServer(session_);
  HoldLock(session_, state.lock_patience);
}

std::unique_ptr<SqlRows> PostgresSql::Query(const std::string& sql,
                                            const std::vector<SqlValue>& values) {
  std::vector<postgres::Value> given;
  given.reserve(values.size());
  for (const SqlValue& value : values) given.push_back(ValueOf(value));
  return std::make_unique<PostgresRows>(session_.Query(sql, given));
}

std::unique_ptr<SqlRows> PostgresSql::Scan(const std::string& sql) {
  const std::string cursor = std::to_string(scans_++);
  session_.Execute("DECLARE partita_scan_" + cursor + " NO SCROLL CURSOR FOR " + sql);
  return std::make_unique<ScannedRows>(session_, cursor);
}

void PostgresSql::Begin(Kind kind) {
  using Transaction = postgres::Transaction;
  is_writing_ = kind == Kind::kWrite;
  if (!is_writing_) {
    transaction_.emplace(session_, Transaction::Kind::kReading);
    return;
  }
  transaction_.emplace(session_, Transaction::Kind::kSerial,
                       fmt::format("UPDATE partita_node.store SET changes = changes + 1 WHERE "
                                   "changes = {}",
                                   mark_.changes));
  if (transaction_->begun().affected() == 1) return;
  transaction_.reset();
  FailReplaced();
}

void PostgresSql::Commit() {
  transaction_.value().Commit();
  transaction_.reset();
  if (!is_writing_) return;
  mark_.changes += 1;
  WriteDatabaseMark(mark_file_, mark_);
}

void PostgresSql::RequireHeld() {
  const postgres::Rows changes = session_.Query(kChanges);
  if (changes.size() != 1 || static_cast<uint64_t>(changes.Integer(0, 0)) != mark_.changes)
    FailReplaced();
}

void PostgresSql::FailReplaced() {
  throw Error(ErrorCode::kStorage,
              "somebody else has written the state of this node in its database",
              "Another node serves from it, or an older copy was put back: start this one again, "
              "and it says which.");
}

bool PostgresSql::HasTables() { return HasNodeTables(session_); }

void PostgresSql::TakeOver() {
  const DatabaseMark there = MarkOf(session_);
  RequireSameDatabase(ReadDatabaseMark(mark_file_), there);
  mark_ = there;
  // Whoever had it before does not know this change.
  Begin(Kind::kWrite);
  Commit();
}

void PostgresSql::TakeOverToRead() { mark_ = MarkOf(session_); }

void PostgresSql::BeginTables(crypto::RandomSource& random) {
  random.Fill(mark_.identity);
  mark_.changes = 0;
  // First: what comes to be is known here, whenever this process ends.
  WriteDatabaseMark(mark_file_, mark_);
  is_writing_ = true;
  transaction_.emplace(session_, postgres::Transaction::Kind::kSerial);
  MakeNodeTables(session_, {mark_.identity, 1});
}

PostgresStore::PostgresStore(const PostgresState& state, crypto::RandomSource& random)
    : sql_(state) {
  if (sql_.HasTables()) {
    sql_.TakeOver();
    return;
  }
  const std::optional<DatabaseMark> kept = ReadDatabaseMark(state.mark);
  if (kept && kept->changes != 0) {
    throw Error(
        ErrorCode::kRefused,
        fmt::format("the database is empty, and this node made {} changes in it", kept->changes),
        "Name the database that it had, or bring it back. If it is lost, restore the node "
        "from its backup.");
  }
  Incarnation incarnation{};
  random.Fill(incarnation);
  const AuditHead none;
  sql_.BeginTables(random);
  sql_.Do("INSERT INTO node VALUES (1, $1, 1, 0, 0)", {ByteView(incarnation)});
  sql_.Do("INSERT INTO audit_head VALUES (1, 0, $1)", {ByteView(none.digest)});
  sql_.Commit();
}

namespace {

void CopyToFile(PostgresSql& sql, const std::filesystem::path& file) {
  if (std::filesystem::exists(file))
    throw Error(ErrorCode::kStorage, "there is a file " + file.string(), "Remove it.");
  crypto::SystemRandom random;
  SqliteStore copy(file, random);
  SqlTransaction writing(copy.sql(), Sql::Kind::kWrite);
  {
    SqlTransaction reading(sql, Sql::Kind::kRead);
    CopyTables(sql, copy.sql());
  }
  writing.Commit();
}

void RequireEmpty(PostgresSql& sql) {
  if (!sql.HasTables()) return;
  throw Error(ErrorCode::kUsage, "there is the state of a node in the database",
              "Stop that node. If its state is lost or moved, remove the schema: DROP SCHEMA "
              "partita_node CASCADE.");
}

}  // namespace

void PostgresStore::CopyTo(const std::filesystem::path& file) { CopyToFile(sql_, file); }

void CopyPostgresState(const PostgresState& state, const std::filesystem::path& file) {
  PostgresSql sql(state);
  if (!sql.HasTables()) {
    throw Error(ErrorCode::kUsage, "there is no state of a node in the database of this one",
                "Name the database that the node serves from.");
  }
  sql.TakeOverToRead();
  CopyToFile(sql, file);
}

void FillPostgresState(const PostgresState& state, const std::filesystem::path& file,
                       crypto::RandomSource& random) {
  SqliteStore filled(file, random);
  PostgresSql sql(state);
  RequireEmpty(sql);
  sql.BeginTables(random);
  SqlTransaction reading(filled.sql(), Sql::Kind::kRead);
  CopyTables(filled.sql(), sql);
  sql.Commit();
}

void RequireNoPostgresState(const PostgresState& state) {
  PostgresSql sql(state);
  RequireEmpty(sql);
}

}  // namespace partita::node
