#include "runtime/mock_tables.h"

#include "runtime/new_file.h"

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
    WriteNewFile(paths[table.party], table.csv, 0644);
  }
  return paths;
}

}  // namespace partita::runtime
