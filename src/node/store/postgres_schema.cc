#include "node/store/postgres_schema.h"

#include <fmt/format.h>

#include "base/error.h"
#include "node/store/sqlite_schema.h"

namespace partita::node {
namespace {

constexpr int64_t kOldestServer = 150000;

constexpr char kServer[] =
    "SELECT current_setting('server_version_num')::bigint, "
    "current_setting('fsync')::boolean AND current_setting('full_page_writes')::boolean";
// From the catalogue itself, whatever the session knew before.
constexpr char kSchemaThere[] =
    "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = 'partita_node')";
constexpr char kTablesThere[] =
    "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = 'partita_node' AND c.relname = 'store')";
constexpr char kStore[] = "SELECT version, identity, changes FROM partita_node.store";

// Texts are kept as their bytes: no encoding of the database or order of its language changes them.
constexpr char kNodeTables[] = R"(
CREATE TABLE partita_node.store (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  version bigint NOT NULL, identity bytea NOT NULL, changes bigint NOT NULL);
CREATE TABLE partita_node.node (
  id bigint PRIMARY KEY CHECK (id = 1), incarnation bytea NOT NULL, next_number bigint NOT NULL,
  stopped bigint NOT NULL, restored bigint NOT NULL);
CREATE TABLE partita_node.study (
  rowid bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
  id bytea PRIMARY KEY, is_open bigint NOT NULL, state bytea NOT NULL);
CREATE INDEX study_open ON partita_node.study (is_open) WHERE is_open = 1;
CREATE TABLE partita_node.outbox (
  number bigint PRIMARY KEY, receiver bytea NOT NULL, study bytea NOT NULL, useful bigint NOT NULL,
  message bytea NOT NULL);
CREATE TABLE partita_node.received (
  name bytea PRIMARY KEY, sender bytea NOT NULL, incarnation bytea NOT NULL, number bytea NOT NULL,
  study bytea NOT NULL, message bytea NOT NULL, UNIQUE (sender, incarnation, number));
CREATE INDEX received_study ON partita_node.received (study);
CREATE TABLE partita_node.taken (
  sender bytea NOT NULL, day bigint NOT NULL, bytes bigint NOT NULL, PRIMARY KEY (sender, day));
CREATE TABLE partita_node.body (
  digest bytea NOT NULL, study bytea NOT NULL, bytes bytea NOT NULL, PRIMARY KEY (digest, study));
CREATE INDEX body_study ON partita_node.body (study);
CREATE TABLE partita_node.ending (
  study bytea PRIMARY KEY, ended bigint NOT NULL, kept bigint NOT NULL);
CREATE TABLE partita_node.audit (
  number bigint PRIMARY KEY, study bytea NOT NULL, actor bytea NOT NULL, entry bytea NOT NULL);
CREATE INDEX audit_study ON partita_node.audit (study, number);
CREATE INDEX audit_actor ON partita_node.audit (actor, number);
CREATE TABLE partita_node.audit_head (
  id bigint PRIMARY KEY CHECK (id = 1), number bigint NOT NULL, digest bytea NOT NULL);
CREATE TABLE partita_node.audit_day (
  number bigint PRIMARY KEY, day bigint NOT NULL, entry bigint NOT NULL, digest bytea NOT NULL);
CREATE TABLE partita_node.peer_log (
  party bytea PRIMARY KEY, number bigint NOT NULL, day bigint NOT NULL, digest bytea NOT NULL,
  incarnation bytea NOT NULL, message_number bigint NOT NULL, departed_day bigint NOT NULL);
CREATE TABLE partita_node.peer_day (
  party bytea NOT NULL, number bigint NOT NULL, digest bytea NOT NULL, message bytea NOT NULL,
  PRIMARY KEY (party, number));
CREATE TABLE partita_node.log_fault (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, party bytea NOT NULL, departs bigint NOT NULL,
  had bigint NOT NULL, time bigint NOT NULL, before bytea NOT NULL, message bytea NOT NULL);
CREATE TABLE partita_node.log_receipt (
  party bytea PRIMARY KEY, head bytea NOT NULL, number bigint NOT NULL, digest bytea NOT NULL,
  departs bigint NOT NULL, had bigint NOT NULL, incarnation bytea NOT NULL,
  message_number bigint NOT NULL, message bytea NOT NULL, time bigint NOT NULL,
  fault_day bigint NOT NULL);
CREATE FUNCTION partita_node.refuse() RETURNS trigger LANGUAGE plpgsql AS
  $$BEGIN RAISE EXCEPTION 'rows of this table are not changed or deleted'; END$$;
CREATE TRIGGER not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON partita_node.audit
  FOR EACH STATEMENT EXECUTE FUNCTION partita_node.refuse();
CREATE TRIGGER not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON partita_node.audit_day
  FOR EACH STATEMENT EXECUTE FUNCTION partita_node.refuse();
CREATE TRIGGER not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON partita_node.log_fault
  FOR EACH STATEMENT EXECUTE FUNCTION partita_node.refuse()
)";

}  // namespace

void RequireServer(postgres::Session& session) {
  const postgres::Rows server = session.Query(kServer);
  if (server.Integer(0, 0) < kOldestServer) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the server of the node's state is too old ({})", server.Integer(0, 0)),
                "Use PostgreSQL 15 or later.");
  }
  if (server.Integer(0, 1) == 0) {
    throw Error(ErrorCode::kBadInput,
                "the server of the node's state does not write durably (fsync or full_page_writes "
                "is off)",
                "Switch both on: what a node said to others must survive a loss of power.");
  }
}

bool HasNodeTables(postgres::Session& session) {
  return session.Query(kTablesThere).Integer(0, 0) != 0;
}

void MakeNodeTables(postgres::Session& session, const DatabaseMark& mark) {
  // A role may own the schema and nothing else.
  if (session.Query(kSchemaThere).Integer(0, 0) == 0) session.Execute("CREATE SCHEMA partita_node");
  session.Execute(kNodeTables);
  session.Query("INSERT INTO partita_node.store (version, identity, changes) VALUES ($1, $2, $3)",
                {postgres::Value::BigInteger(kTablesVersion), postgres::Value::Blob(mark.identity),
                 postgres::Value::BigInteger(static_cast<int64_t>(mark.changes))});
}

DatabaseMark MarkOf(postgres::Session& session) {
  const postgres::Rows store = session.Query(kStore);
  if (store.size() != 1 || store.Integer(0, 0) != kTablesVersion) {
    throw Error(ErrorCode::kBadInput,
                "the database is not the state of a node of this version of Partita",
                "Name an empty database, or the one that this node made; an older version of the "
                "program reads what an older one wrote.");
  }
  return {store.Fixed<16>(0, 1), static_cast<uint64_t>(store.Integer(0, 2))};
}

}  // namespace partita::node
