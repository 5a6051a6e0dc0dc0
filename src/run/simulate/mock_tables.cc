#include "run/simulate/mock_tables.h"

#include "base/files.h"

namespace partita::run {
data::MockStudy MakeMockTables(const Study& study, uint64_t rows_per_block, uint64_t seed) {
  data::MockOptions options;
  options.rows_per_block = rows_per_block;
  options.seed = seed;
  options.patterns = study.file.design.patterns;
  if (study.file.design.missing == study::MissingPolicy::kComplete)
    options.missing_rate = kMockMissingRate;
  options.clusters = study.MockClusters();
  options.separator = study.file.table.separator;
  options.decimal = study.file.table.decimal;
  return data::MakeMockStudy(study.file.dictionary, study.partition, study.row_columns, options);
}

std::vector<std::filesystem::path> WriteMockTables(const Study& study, const data::MockStudy& mock,
                                                   const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths(study.parties.size());
  for (const data::MockTable& table : mock.tables) {
    const std::filesystem::path home = folder / study.parties[table.party].name;
    std::filesystem::create_directories(home);
    paths[table.party] = home / "data.csv";
    WriteNewFile(paths[table.party], table.csv, 0644, "the table");
  }
  return paths;
}

}  // namespace partita::run
