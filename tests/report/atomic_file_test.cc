#include "report/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "tests/report/sample_run.h"

namespace partita::report::atomic_file_test {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "partita_atomic_file_test";
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  size_t NumFiles() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  fs::path folder_;
};

TEST_F(AtomicFileTest, WritesAndReplaces) {
  const std::string path = folder_ / "result.json";
  WriteFileAtomically(path, "first");
  EXPECT_EQ(ReadText(path), "first");
  WriteFileAtomically(path, "");
  EXPECT_EQ(ReadText(path), "");
  const std::string large(3 << 20, 'x');
  WriteFileAtomically(path, large);
  EXPECT_EQ(ReadText(path), large);
  EXPECT_EQ(NumFiles(), 1U);
}

TEST_F(AtomicFileTest, OnlyTheOwnerMayRead) {
  const std::string path = folder_ / "result.json";
  WriteFileAtomically(path, "x");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(AtomicFileTest, LeavesNothingBehindWhenItFails) {
  // The target is a folder that is not empty: the rename fails after everything was written.
  const std::string path = folder_ / "taken";
  fs::create_directories(folder_ / "taken" / "inside");
  try {
    WriteFileAtomically(path, "x");
    FAIL() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUsage);
    EXPECT_THAT(error.message(), testing::HasSubstr(path));
  }
  EXPECT_EQ(NumFiles(), 1U);
  EXPECT_TRUE(fs::is_directory(path));
  EXPECT_THROW(WriteFileAtomically(folder_ / "missing" / "result.json", "x"), Error);
}

}  // namespace
}  // namespace partita::report::atomic_file_test
