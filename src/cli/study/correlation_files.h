// Where stores of correlations are.
#pragma once

#include <filesystem>
#include <string>

#include "mpc/correlation_store.h"

namespace partita::cli {

inline constexpr char kStoreExtension[] = ".correlations";

// The file that was given, or STUDY.correlations in the folder.
inline std::filesystem::path StorePath(const std::string& given, const std::string& folder,
                                       const std::string& study) {
  if (!given.empty()) return given;
  return std::filesystem::path(folder) / (study + kStoreExtension);
}

// Of whatever study and party. Throws as mpc::CorrelationStore, naming the file.
mpc::CorrelationStore OpenAnyStore(const std::string& file);

}  // namespace partita::cli
