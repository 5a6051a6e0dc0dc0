// Every study that somebody starts from, and every example, can be rehearsed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "methods/all.h"
#include "methods/prepare_study.h"
#include "tests/methods/rehearsals.h"
#include "tests/paths.h"

namespace partita::methods::rehearse_test {
namespace {

// A few steps say as much of a fault as many.
constexpr uint64_t kSteps = 40;

run::Rehearsal RehearseIt(const run::Study& study) {
  SilentProgress progress;
  run::RehearsalOptions options;
  options.max_steps = kSteps;
  return run::Rehearse(study, options, progress);
}

TEST(RehearseEverythingTest, EveryTemplate) {
  for (const Method& method : AllMethods()) {
    for (const study::StudyTemplate& start : method.templates()) {
      SCOPED_TRACE(method.section.method + (start.is_private ? " private " : " ") +
                   std::string(data::PartitionKindName(start.partition)));
      rehearsals::ExpectPassed(RehearseIt(*PrepareStudy(ParseStudyFile(start.text, "study.toml"))));
    }
  }
}

// Studies of a folder and those below, the largest left out.
std::vector<std::filesystem::path> ExampleStudies() {
  std::vector<std::filesystem::path> studies;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SourcePath("examples"))) {
    if (entry.path().filename() != "study.toml") continue;
    if (entry.path().parent_path().filename() == "adult_census") continue;
    studies.push_back(entry.path());
  }
  std::sort(studies.begin(), studies.end());
  return studies;
}

TEST(RehearseEverythingTest, EveryExample) {
  const std::vector<std::filesystem::path> studies = ExampleStudies();
  EXPECT_GE(studies.size(), 7u);
  for (const std::filesystem::path& file : studies) {
    SCOPED_TRACE(file.string());
    rehearsals::ExpectPassed(RehearseIt(*PrepareStudy(LoadStudyFile(file.string()))));
  }
}

// 45,222 rows.
TEST(RehearseEverythingTest, TheLargestExample) {
  const auto study = PrepareStudy(LoadStudyFile(SourcePath("examples/adult_census/study.toml")));
  SilentProgress progress;
  run::RehearsalOptions options;
  options.max_steps = 4;
  const run::Rehearsal rehearsal = run::Rehearse(*study, options, progress);
  rehearsals::ExpectPassed(rehearsal);
  ASSERT_EQ(rehearsal.shortened.size(), 1u);
  EXPECT_EQ(rehearsal.shortened[0],
            "4 of the 20000 iterations are rehearsed, with the noise of the whole run.");
}

}  // namespace
}  // namespace partita::methods::rehearse_test
