// Connections to PostgreSQL that no setting of the machine leads elsewhere.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct pg_conn;
struct pg_result;

namespace partita::postgres {

struct Use {
  std::string_view what;  // is connected to, in messages: "the upload store"
  // How a file with the password is named: "name that with passfile=FILE".
  std::string_view password_place;
  bool writes = false;  // then no standby is taken
  std::string password = {};
};

using Connection = std::unique_ptr<pg_conn, void (*)(pg_conn*)>;

// connection: libpq's "key=value ..." or "postgresql://...". It must name a host: a folder of a
// local socket (host=/var/run/postgresql), this machine, or another one, to which only
// sslmode=verify-full is spoken (the default then; anything weaker is refused). Waits for the
// server at most connect_timeout seconds (10 unless the string says otherwise). Throws kBadInput
// for the string, also if it holds a password, kUnreachable.
Connection Connect(const std::string& connection, const Use& use);

// libpq's messages are several lines long, with a tab before the later ones.
std::string OneLine(std::string_view message);

// Of a result, by libpq's PG_DIAG_ numbers; empty if it has none.
std::string FieldOf(const pg_result* result, int field);

}  // namespace partita::postgres
