#include "runtime/mock_tables.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "net/socket.h"

namespace partita::runtime {
namespace {

// Per latent variable of an analysis the variables of the dictionary that measure it.
void AddClusters(const methods::mle::MleAnalysis& analysis,
                 std::vector<std::vector<std::string>>& clusters) {
  const stats::ParameterTable& table = analysis.table;
  for (const std::string& latent : table.latent) {
    std::vector<std::string> cluster;
    for (const stats::Parameter& row : table.rows) {
      if (row.op != "=~" || row.lhs != latent || row.group != 1) continue;
      for (const data::DesignColumn& variable : analysis.variables) {
        if (variable.schema.name == row.rhs) cluster.push_back(variable.source);
      }
    }
    if (!cluster.empty()) clusters.push_back(std::move(cluster));
  }
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
  for (const PreparedAnalysis& prepared : study.analyses)
    AddClusters(prepared.analysis, options.clusters);
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
