// Connections of an upload store, and what its operator is told when one fails.
#pragma once

#include <chrono>
#include <string>

#include "base/postgres_session.h"

namespace partita::sums {

// Throws as postgres::Session does, later kUnreachable, or kBadInput where rights or tables are missing.
postgres::Session OpenSpoolSession(const std::string& connection,
                                   std::chrono::milliseconds statement_timeout);

}  // namespace partita::sums
