#include "cli/sums/round_options.h"

#include <filesystem>

#include "base/utc_time.h"

namespace partita::cli {

namespace fs = std::filesystem;

crypto::Identity IdentityIn(const std::string& folder, const std::string& key,
                            const std::string& certificate) {
  const fs::path in = folder;
  return crypto::LoadIdentity(certificate.empty() ? in / "cert.pem" : fs::path(certificate),
                              key.empty() ? in / "key.pem" : fs::path(key));
}

std::optional<run::LedgerOptions> LedgerOf(const std::string& file, const std::string& table) {
  if (file.empty()) return std::nullopt;
  return run::LedgerOptions{file, table};
}

sums::RoundLog LogTo(const OutputOptions& output) {
  return [output](const std::string& line) { PrintNote(output, FormatUtc(NowUtc()) + " " + line); };
}

}  // namespace partita::cli
