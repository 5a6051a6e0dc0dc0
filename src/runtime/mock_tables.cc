#include "runtime/mock_tables.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include "net/socket.h"

namespace partita::runtime {
namespace {

// Per latent variable the observed ones that measure it.
std::vector<std::vector<std::string>> Clusters(const stats::ParameterTable& table) {
  std::map<std::string, std::vector<std::string>> indicators;
  for (const stats::Parameter& row : table.rows) {
    const bool observed =
        std::find(table.observed.begin(), table.observed.end(), row.rhs) != table.observed.end();
    if (row.op == "=~" && observed && row.group == 1) indicators[row.lhs].push_back(row.rhs);
  }
  std::vector<std::vector<std::string>> clusters;
  for (const std::string& latent : table.latent) {
    if (indicators.contains(latent)) clusters.push_back(indicators[latent]);
  }
  return clusters;
}

void WriteNewFile(const std::filesystem::path& path, const std::string& text) {
  const net::Socket file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  size_t written = 0;
  while (file.valid() && written < text.size()) {
    const ssize_t now = ::write(file.fd(), text.data() + written, text.size() - written);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) break;
    written += static_cast<size_t>(now);
  }
  if (file.valid() && written == text.size()) return;
  const std::string reason = std::strerror(errno);
  if (file.valid()) ::unlink(path.c_str());
  throw Error(ErrorCode::kUsage, fmt::format("cannot write {}: {}", path.string(), reason),
              "choose another folder: mock data never replaces a file");
}

}  // namespace

data::MockStudy MakeMockTables(const MleStudy& study, uint64_t rows_per_block, uint64_t seed) {
  data::MockOptions options;
  options.rows_per_block = rows_per_block;
  options.seed = seed;
  if (study.file.design.missing != study::MissingPolicy::kRefuse)
    options.missing_rate = kMockMissingRate;
  options.clusters = Clusters(study.analysis.table);
  options.separator = study.file.table.separator;
  options.decimal = study.file.table.decimal;
  return data::MakeMockStudy(study.file.dictionary, study.partition, study.row_columns, options);
}

std::vector<std::filesystem::path> WriteMockTables(const MleStudy& study,
                                                   const data::MockStudy& mock,
                                                   const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths(study.parties.size());
  for (const data::MockTable& table : mock.tables) {
    const std::filesystem::path home = folder / study.parties[table.party].name;
    std::filesystem::create_directories(home);
    paths[table.party] = home / "data.csv";
    WriteNewFile(paths[table.party], table.csv);
  }
  return paths;
}

}  // namespace partita::runtime
