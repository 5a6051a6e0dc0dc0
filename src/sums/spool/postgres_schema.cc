#include "sums/spool/postgres_schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace partita::sums {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int kOldestServer = 150000;

// Shares are encrypted: they do not compress. No foreign keys on the rows: each would cost a
// query, and nothing here deletes rounds.
constexpr char kTables[] = R"(
CREATE SCHEMA partita_dca;
CREATE TABLE partita_dca.spool (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  version integer NOT NULL, node bytea NOT NULL, system bigint NOT NULL, timeline text NOT NULL);
CREATE TABLE partita_dca.round (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  study bytea NOT NULL, epoch bytea NOT NULL,
  frozen boolean NOT NULL DEFAULT false, closing bytea, publication bytea, chunk_uploads integer,
  UNIQUE (study, epoch),
  CHECK (closing IS NULL OR frozen), CHECK (publication IS NULL OR closing IS NOT NULL));
CREATE TABLE partita_dca.share (
  round integer NOT NULL, client bytea NOT NULL, upload bytea NOT NULL, request bytea NOT NULL,
  share bytea NOT NULL, PRIMARY KEY (round, client));
ALTER TABLE partita_dca.share ALTER COLUMN share SET STORAGE EXTERNAL;
CREATE TABLE partita_dca.chunk (
  round integer NOT NULL, number integer NOT NULL, worker text, until_ms bigint,
  attempts integer NOT NULL DEFAULT 0, result bytea, PRIMARY KEY (round, number));
ALTER TABLE partita_dca.chunk ALTER COLUMN result SET STORAGE EXTERNAL
)";

// Where this database lives: a new server has another identifier, recovery from a backup another
// timeline.
#define PARTITA_DCA_PLACE                                 \
  "(SELECT system_identifier FROM pg_control_system()), " \
  "substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"

// From the catalogue itself: names that were not there are cached until the transaction ends.
constexpr char kTablesThere[] =
    "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = 'partita_dca' AND c.relname = 'spool')";
constexpr char kRecord[] =
    "INSERT INTO partita_dca.spool (version, node, system, timeline) "
    "SELECT $1, $2, " PARTITA_DCA_PLACE;
constexpr char kServer[] =
    "SELECT current_setting('server_version_num')::integer, "
    "current_setting('fsync')::boolean AND current_setting('full_page_writes')::boolean";
constexpr char kSpool[] =
    "SELECT version, node, system, timeline, " PARTITA_DCA_PLACE " FROM partita_dca.spool";

#undef PARTITA_DCA_PLACE

void CheckServer(postgres::Session& connection) {
  const postgres::Rows server = connection.Query(kServer);
  if (server.Integer(0, 0) < kOldestServer) {
    throw Error(ErrorCode::kBadInput,
                fmt::format("the upload store's server is too old ({})", server.Integer(0, 0)),
                "Use PostgreSQL 15 or later.");
  }
  if (server.Integer(0, 1) == 0) {
    throw Error(ErrorCode::kBadInput,
                "the upload store's server does not write durably (fsync or full_page_writes is "
                "off)",
                "Switch both on: an upload that is acknowledged must survive a loss of power.");
  }
}

}  // namespace

void MakeTables(postgres::Session& connection, const crypto::BoxPublicKey& node) {
  if (connection.Query(kTablesThere).Integer(0, 0) != 0) return;
  // "PDCA": one process makes them, the others wait and find them.
  postgres::Transaction transaction(connection, postgres::Transaction::Kind::kDurable,
                                    "SELECT pg_advisory_xact_lock(1346651969, -1)");
  if (connection.Query(kTablesThere).Integer(0, 0) != 0) return;
  connection.Execute(kTables);
  connection.Query(kRecord,
                   {postgres::Value::Integer(kSchemaVersion), postgres::Value::Blob(node)});
  transaction.Commit();
}

void CheckTables(postgres::Session& connection, const crypto::BoxPublicKey& node) {
  CheckServer(connection);
  const postgres::Rows spool = connection.Query(kSpool);
  if (spool.size() != 1 || spool.Integer(0, 0) != kSchemaVersion) {
    throw Error(ErrorCode::kBadInput,
                "the database is not an upload store of this version of Partita",
                "Name an empty database, or the one that this compute node made.");
  }
  if (!std::ranges::equal(spool.Blob(0, 1), node)) {
    throw Error(ErrorCode::kRefused, "the database holds the uploads of another compute node",
                "Each compute node has a database of its own: whoever reads the shares of all of "
                "them learns the rows of the clients.");
  }
  if (spool.Integer(0, 2) != spool.Integer(0, 4) || spool.Text(0, 3) != spool.Text(0, 5)) {
    throw Error(ErrorCode::kRefused,
                "the database is not where this compute node left it: it was copied, restored from "
                "a backup, or its standby took over",
                "A restored store forgets what was opened. Read \"Restoring\" in "
                "docs/private-sums-operations.md before you accept it.");
  }
}

}  // namespace partita::sums
