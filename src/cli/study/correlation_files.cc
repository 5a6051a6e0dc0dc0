#include "cli/study/correlation_files.h"

#include <fmt/format.h>

#include "base/error.h"

namespace partita::cli {

mpc::CorrelationStore OpenAnyStore(const std::string& file) {
  std::unique_ptr<mpc::StoreStorage> storage = mpc::OpenStoreFile(file, /*create=*/false);
  try {
    return mpc::CorrelationStore::Open(std::move(storage));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", file, error.message()), error.hint());
  }
}

}  // namespace partita::cli
