// Files of studies whose time is over: what goes, what stays, and that it is deleted again after a kill.
#include "node/job/tidy_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "base/hex.h"
#include "run/simulate/temporary_folder.h"

namespace partita::node::tidy_folders_test {
namespace {

namespace fs = std::filesystem;
using ::testing::UnorderedElementsAre;

constexpr StudyId kStudy = {7};

class TidyFoldersTest : public ::testing::Test {
 protected:
  TidyFoldersTest() {
    Fill(folder_);
    Fill(other_);
    Put(run() / "edition-pupils.rows");
    Put(run() / "pupils.row_sets");
  }
  static void Put(const fs::path& file) { WriteFileAtomically(file.string(), "x"); }
  // As a study that was run leaves its folder (job/folder.h).
  static void Fill(const fs::path& folder) {
    fs::create_directories(folder / "result");
    for (const char* name :
         {"attempt", "ended", "discarded", "lock", "approval.uses", "approval.json", "draft.json",
          "statement", "table", "run.cert.pem", "problem.txt", "problem.txt.tmp1",
          "result/result.json", "result/report.html"})
      Put(folder / name);
  }
  static std::set<std::string> Names(const fs::path& folder) {
    std::set<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
      names.insert(entry.path().filename().string());
    return names;
  }
  size_t Delete(Kept kept) { return DeleteWhatIsNotKept(run(), {kStudy, 1'790'000'000, kept}); }
  const fs::path& run() const { return home_.path(); }

  run::TemporaryFolder home_;
  fs::path folder_ = home_.path() / ToHex(kStudy), other_ = home_.path() / ToHex(StudyId{8});
};

TEST_F(TidyFoldersTest, NothingGoesBeforeItsTime) {
  const std::set<std::string> before = Names(folder_);
  EXPECT_EQ(Delete(Kept::kAll), 0U);
  EXPECT_EQ(Names(folder_), before);
}

TEST_F(TidyFoldersTest, TheResultGoesWithWhatWentWrong) {
  const std::set<std::string> other = Names(other_);
  EXPECT_EQ(Delete(Kept::kDocuments), 3U);
  EXPECT_THAT(Names(folder_), UnorderedElementsAre("attempt", "ended", "discarded", "lock",
                                                   "approval.uses", "approval.json", "draft.json",
                                                   "statement", "table", "run.cert.pem"));
  EXPECT_EQ(Delete(Kept::kDocuments), 0U);
  EXPECT_EQ(Names(other_), other);
}

// By these a job refuses a second run, whatever the node says.
TEST_F(TidyFoldersTest, WhatTellsOfRunsStaysForGood) {
  EXPECT_GT(Delete(Kept::kNumber), 0U);
  EXPECT_THAT(Names(folder_),
              UnorderedElementsAre("attempt", "ended", "discarded", "lock", "approval.uses"));
  EXPECT_EQ(Delete(Kept::kNumber), 0U);
  // Of tables, not of studies.
  EXPECT_TRUE(fs::exists(run() / "edition-pupils.rows"));
  EXPECT_TRUE(fs::exists(run() / "pupils.row_sets"));
}

TEST_F(TidyFoldersTest, WhatAKillLeftGoesTheNextTime) {
  fs::remove_all(folder_ / "result" / "report.html");
  EXPECT_EQ(Delete(Kept::kDocuments), 3U);
  EXPECT_FALSE(fs::exists(folder_ / "result"));
}

TEST_F(TidyFoldersTest, NothingBehindALinkGoes) {
  fs::remove_all(folder_);
  EXPECT_EQ(Delete(Kept::kNumber), 0U) << "a study that this site never ran";
  fs::create_directory_symlink(other_, folder_);
  const std::set<std::string> other = Names(other_);
  EXPECT_EQ(Delete(Kept::kNumber), 0U);
  EXPECT_EQ(Names(other_), other);
  fs::remove(folder_);
  fs::create_directory(folder_);
  fs::create_directory_symlink(other_, folder_ / "result");
  EXPECT_EQ(Delete(Kept::kDocuments), 1U);
  EXPECT_EQ(Names(other_), other);
}

}  // namespace
}  // namespace partita::node::tidy_folders_test
