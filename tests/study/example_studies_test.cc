// The study files in examples/ are right and fit their tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "study/file/study_file.h"
#include "tests/paths.h"
#include "tests/study/all_methods.h"

namespace partita::study::example_studies_test {
namespace {

using ::testing::HasSubstr;

const std::string kExamples = SourcePath("examples/three_factor/");

std::string HeaderOf(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return "," + line + ",";
}

void ExpectFits(const std::string& kind, data::PartitionKind partition_kind) {
  const StudyFile study = LoadStudyFile(kExamples + kind + "/study.toml");
  EXPECT_EQ(StudyPartition(study, study.parties).kind, partition_kind);
  EXPECT_EQ(study.dictionary.columns.size(), 9U);
  size_t holders = 0;
  for (const Party& party : study.parties) {
    if (!party.holder) continue;
    ++holders;
    const std::string header = HeaderOf(kExamples + kind + "/" + party.name + "/data.csv");
    for (const std::string& column : party.columns) {
      EXPECT_THAT(header, HasSubstr("," + column + ",")) << party.name;
    }
    if (!study.table.key.empty()) {
      EXPECT_THAT(header, HasSubstr("," + study.table.key + ","));
    }
    if (party.rows.size() > 1) {
      EXPECT_THAT(header, HasSubstr("," + study.table.block + ","));
    }
  }
  EXPECT_EQ(holders, kind == "complex" ? 4U : 3U);
}

TEST(ExampleStudiesTest, HorizontalFitsItsTables) {
  ExpectFits("horizontal", data::PartitionKind::kHorizontal);
}

TEST(ExampleStudiesTest, ComplexFitsItsTables) {
  ExpectFits("complex", data::PartitionKind::kComplex);
  const StudyFile study = LoadStudyFile(kExamples + "complex/study.toml");
  EXPECT_EQ(StudyPartition(study, study.parties).TotalRows(), 301U);
}

}  // namespace
}  // namespace partita::study::example_studies_test
