#include "sums/spool/spool_session.h"

#include "base/error.h"

namespace partita::sums {
namespace {

// By SQLSTATE (PostgreSQL's appendix A).
Error SpoolFailure(std::string_view state, const std::string& message) {
  if (state == "53100") {
    return {ErrorCode::kUnreachable, message,
            "The disk of the database server is full. Make room; what was acknowledged is there."};
  }
  if (state == "42501") {
    return {ErrorCode::kBadInput, message,
            "Grant this role what docs/private-sums-operations.md names, or start once as the "
            "owner of the tables."};
  }
  if (state == "25006") {
    return {ErrorCode::kUnreachable, message,
            "The server is a standby or read-only; use the primary."};
  }
  if (state == "42P01" || state == "42P06" || state == "42703" || state == "3F000") {
    return {ErrorCode::kBadInput, message,
            "The database does not hold the tables of this version of Partita; use the one that "
            "this compute node made."};
  }
  return {ErrorCode::kUnreachable, message,
          "Check the database server and start again; what was acknowledged is in the store."};
}

}  // namespace

postgres::Session OpenSpoolSession(const std::string& connection,
                                   std::chrono::milliseconds statement_timeout) {
  return {connection,
          {.what = "the upload store",
           .password_place = "name that with passfile=FILE",
           .writes = true},
          statement_timeout,
          SpoolFailure};
}

}  // namespace partita::sums
