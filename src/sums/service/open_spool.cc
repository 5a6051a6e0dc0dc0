#include "sums/service/open_spool.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "sums/spool/postgres_spool.h"
#include "sums/spool/sqlite_spool.h"

namespace partita::sums {
namespace {

// A URI, or libpq's "keyword=value ...". A file whose name begins like that is named with its
// folder (./a=b).
bool IsConnection(std::string_view where) {
  if (where.starts_with("postgres://") || where.starts_with("postgresql://")) return true;
  where.remove_prefix(std::min(where.find_first_not_of(' '), where.size()));
  const size_t end = where.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  if (end == 0 || end == std::string_view::npos) return false;
  const size_t next = where.find_first_not_of(' ', end);
  return next != std::string_view::npos && where[next] == '=';
}

}  // namespace

std::unique_ptr<Spool> OpenSpool(const std::string& where, const crypto::BoxPublicKey& node,
                                 const StudyHash& study, uint64_t epoch) {
  if (IsConnection(where)) {
    PostgresSettings settings;
    settings.connection = where;
    settings.node = node;
    return std::make_unique<PostgresSpool>(std::move(settings), study, epoch);
  }
  if (where.find("://") != std::string::npos) {
    throw Error(ErrorCode::kUsage, "there is no store of the kind that --spool names",
                "name a file, or a database: postgres://USER@HOST/DATABASE or 'host=... "
                "dbname=...'");
  }
  return std::make_unique<SqliteSpool>(where, study, epoch);
}

}  // namespace partita::sums
