// The example tables: what the generator writes, byte by byte, and one table cut in two ways.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "data/csv_reader.h"
#include "data/holding.h"
#include "tests/data/tables.h"
#include "tests/paths.h"

namespace partita::data::examples_test {
namespace {

namespace fs = std::filesystem;

const fs::path kExample = fs::path(SourcePath()) / "examples" / "three_factor";

std::string FileText(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Tests() {
  std::vector<std::string> names;
  for (int i = 1; i <= 9; ++i) names.push_back("x" + std::to_string(i));
  return names;
}

Schema Dictionary() {
  Schema schema;
  for (const std::string& name : Tests()) schema.columns.push_back(Numeric(name, -10, 20));
  return schema;
}

void ExpectGenerates(const char* generator, const std::string& example, size_t num_files) {
  const fs::path folder = fs::path(testing::TempDir()) / example;
  fs::remove_all(folder);
  const std::string program = BinaryPath("bin/" + std::string(generator));
  const std::string command = "'" + program + "' '" + folder.string() + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const fs::path committed =
        fs::path(SourcePath()) / "examples" / example / fs::relative(entry.path(), folder);
    EXPECT_EQ(FileText(entry.path()), FileText(committed)) << committed;
  }
  EXPECT_EQ(files, num_files);
  fs::remove_all(folder);
}

TEST(ExamplesTest, TheGeneratorsWriteTheCommittedTables) {
  ExpectGenerates("generate_three_factor", "three_factor", 8);
  ExpectGenerates("generate_private_regression", "private_regression", 3);
  ExpectGenerates("generate_synthetic_registry", "synthetic_registry", 2);
  ExpectGenerates("generate_private_classifier", "private_classifier", 3);
}

struct Party {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::string> blocks;
};

// Sums over all holders of the exact cross products of columns of one holder.
Int128 SumOfSquares(const Partition& partition, const std::vector<Party>& parties,
                    const std::string& folder, const RowColumns& rows) {
  Int128 total = 0;
  for (size_t party = 0; party < parties.size(); ++party) {
    const Schema schema = SchemaForParty(Dictionary(), partition, party, rows);
    CsvContents contents =
        ReadCsvFile(kExample / folder / parties[party].name / "data.csv", schema, {});
    RequireClean(contents.report);
    const Holding holding = MakeHolding(std::move(contents.table), partition, party, rows);
    for (const BlockRows& block : holding.blocks) {
      std::vector<Int128> z(block.num_rows * parties[party].columns.size());
      ScaledRows(holding, block.block, parties[party].columns, 50)(0, block.num_rows, z.data());
      for (Int128 value : z) total += value * value;
    }
  }
  return total;
}

Partition PartitionOf(const std::vector<Party>& parties, const std::vector<RowBlock>& blocks) {
  std::vector<Holder> holders;
  for (size_t i = 0; i < parties.size(); ++i) {
    holders.push_back({parties[i].name, i, parties[i].columns, parties[i].blocks});
  }
  return MakePartition(Tests(), blocks, holders);
}

TEST(ExamplesTest, BothPartitionsHoldThePooledTable) {
  CsvContents pooled = ReadCsvFile(kExample / "pooled.csv", Dictionary(), {});
  RequireClean(pooled.report);
  EXPECT_EQ(pooled.table.num_rows, 301u);
  Int128 expected = 0;
  for (const Column& column : pooled.table.columns) {
    for (double x : column.numbers) {
      const Int128 z = RoundToGrid(ToUnitInterval(x, ScaleOf(column.schema)), 50);
      expected += z * z;
    }
  }
  const std::vector<Party> horizontal = {
      {"north", Tests(), {"n"}}, {"south", Tests(), {"s"}}, {"west", Tests(), {"w"}}};
  EXPECT_EQ(SumOfSquares(PartitionOf(horizontal, {{"n", 120}, {"s", 101}, {"w", 80}}), horizontal,
                         "horizontal", {}),
            expected);
  const std::vector<Party> complex = {{"north", {"x1", "x2", "x3"}, {"pasteur"}},
                                      {"south", {"x1", "x2", "x3"}, {"grant-white"}},
                                      {"east", {"x4", "x5", "x6"}, {"pasteur", "grant-white"}},
                                      {"west", {"x7", "x8", "x9"}, {"pasteur", "grant-white"}}};
  EXPECT_EQ(SumOfSquares(PartitionOf(complex, {{"pasteur", 156}, {"grant-white", 145}}), complex,
                         "complex", {.key = "id", .block = "school"}),
            expected);
}

}  // namespace
}  // namespace partita::data::examples_test
