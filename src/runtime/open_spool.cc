#include "runtime/open_spool.h"

#include "base/error.h"
#include "methods/dca/postgres_spool.h"
#include "methods/dca/sqlite_spool.h"

namespace partita::runtime {

std::unique_ptr<methods::dca::Spool> OpenSpool(const std::string& where,
                                               const crypto::BoxPublicKey& node,
                                               const methods::dca::StudyHash& study,
                                               uint64_t epoch) {
  if (where.starts_with("postgres://") || where.starts_with("postgresql://")) {
    methods::dca::PostgresSettings settings;
    settings.connection = where;
    settings.node = node;
    return std::make_unique<methods::dca::PostgresSpool>(std::move(settings), study, epoch);
  }
  if (where.find("://") != std::string::npos) {
    throw Error(ErrorCode::kUsage, "there is no store of the kind that --spool names",
                "name a file, or a database: postgres://USER@HOST/DATABASE");
  }
  return std::make_unique<methods::dca::SqliteSpool>(where, study, epoch);
}

}  // namespace partita::runtime
