// What first-time authors write, and what they are told: every file of tests/study/mistakes is a
// study with one mistake; the .txt beside it holds the message, which begins with
// FILE:LINE:COLUMN, and from its second line on the hint.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "study/file/study_file.h"
#include "tests/paths.h"
#include "tests/study/all_methods.h"

namespace partita::study::mistakes_test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> MistakenStudies() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(SourcePath("tests/study/mistakes"))) {
    if (entry.path().extension() == ".toml") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string Contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(MistakesTest, EveryMistakeIsExplained) {
  const std::vector<fs::path> studies = MistakenStudies();
  ASSERT_GE(studies.size(), 60u);
  for (const fs::path& path : studies) {
    SCOPED_TRACE(path.filename().string());
    fs::path expected = path;
    expected.replace_extension(".txt");
    try {
      const StudyFile study = ParseStudyFile(Contents(path), path.filename().string());
      StudyPartition(study, study.parties);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_FALSE(error.hint().empty());
      EXPECT_EQ(error.message() + "\n" + error.hint() + "\n", Contents(expected));
    }
  }
}

TEST(MistakesTest, EveryExpectationHasItsPlaceAndItsMistake) {
  for (const fs::path& path : MistakenStudies()) {
    fs::path expected = path;
    expected.replace_extension(".txt");
    EXPECT_THAT(Contents(expected),
                ::testing::MatchesRegex(path.filename().string() + ":[0-9]+:[0-9]+: .+\n.+\n"));
  }
  for (const auto& entry : fs::directory_iterator(SourcePath("tests/study/mistakes"))) {
    fs::path study = entry.path();
    EXPECT_TRUE(fs::exists(study.replace_extension(".toml"))) << entry.path();
  }
}

}  // namespace
}  // namespace partita::study::mistakes_test
