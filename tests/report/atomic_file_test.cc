#include "report/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>

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

// A disk without room: what was there stays, and nothing is left beside it.
TEST_F(AtomicFileTest, AFullDiskIsAnErrorOfItsOwn) {
  const std::string path = folder_ / "result.json";
  WriteFileAtomically(path, "first");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto on_signal = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1 << 16, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto code = [](const std::function<void()>& write) {
    try {
      write();
    } catch (const Error& error) {
      return std::string(ErrorCodeName(error.code()));
    }
    return std::string("written");
  };
  const std::string large(1 << 17, 'x');
  const std::string written = code([&] { WriteFileAtomically(path, large); });
  const std::string appended = code([&] { partita::AppendDurably(path, large); });
  const std::string reserved = code([&] { partita::RoomOnDisk room(path, 1 << 17); });
  const std::string fits = code([&] { partita::RoomOnDisk room(path, 1 << 15); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, on_signal);
  EXPECT_EQ(written, "storage");
  EXPECT_EQ(appended, "storage");
  EXPECT_EQ(reserved, "storage");
  EXPECT_EQ(fits, "written");
  EXPECT_EQ(ReadText(path).substr(0, 5), "first");
  EXPECT_EQ(NumFiles(), 1U);
}

TEST_F(AtomicFileTest, RoomIsTakenAndGivenBack) {
  const std::string path = folder_ / "result.json";
  {
    const partita::RoomOnDisk room(path, 1 << 20);
    ASSERT_EQ(NumFiles(), 1U);
    struct stat status {};
    ASSERT_EQ(::stat(fs::directory_iterator(folder_)->path().c_str(), &status), 0);
    EXPECT_GE(status.st_blocks * 512, 1 << 20);  // not a hole
  }
  EXPECT_EQ(NumFiles(), 0U);
  EXPECT_THROW(partita::RoomOnDisk(folder_ / "missing" / "x", 1), Error);
}

TEST_F(AtomicFileTest, AppendsToWhatIsThere) {
  const std::string path = folder_ / "marks";
  EXPECT_THROW(partita::AppendDurably(path, "x"), Error);
  WriteFileAtomically(path, "a");
  partita::AppendDurably(path, "bc");
  partita::AppendDurably(path, "");
  EXPECT_EQ(ReadText(path), "abc");
}

}  // namespace
}  // namespace partita::report::atomic_file_test
