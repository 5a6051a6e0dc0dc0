#include "base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include "base/error.h"

namespace partita::files_test {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / "partita_files_test";
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  size_t NumFiles() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }
  static std::string Text(const std::string& path) { return ReadFile(path, 4 << 20, "the file"); }
  fs::path folder_;
};

// "code: message" of what `act` throws, "" if nothing.
std::string Failure(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return std::string(ErrorCodeName(error.code())) + ": " + error.message();
  }
  return "";
}

// While it lives no file can grow beyond `bytes`: a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) : on_signal_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, on_signal_);
  }

 private:
  rlimit before_{};
  void (*on_signal_)(int);
};

TEST_F(FilesTest, ReadsAllOfAFile) {
  const std::string path = folder_ / "table.csv", name = "the table " + path;
  const std::string content = std::string(100'000, 'x') + '\0' + "end";
  WriteFileAtomically(path, content);
  EXPECT_EQ(ReadFile(path, content.size(), "the table"), content);
  EXPECT_EQ(Failure([&] { ReadFile(path, content.size() - 1, "the table"); }),
            "bad-input: " + name + " is larger than 100003 bytes");
  WriteFileAtomically(path, std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(Failure([&] { ReadFile(path, 1 << 20, "the table"); }),
            "bad-input: " + name + " is larger than 1 MiB");
  WriteFileAtomically(path, "");
  EXPECT_EQ(ReadFile(path, 0, "the table"), "");
  fs::remove(path);
  EXPECT_EQ(Failure([&] { ReadFile(path, 9, "the table"); }), "bad-input: cannot read " + name);
  fs::create_directory(path);
  EXPECT_EQ(Failure([&] { ReadFile(path, 9, "the table"); }), "bad-input: cannot read " + name);
}

TEST_F(FilesTest, ReadsASecret) {
  const std::string path = folder_ / "shares", name = "the shares " + path;
  const std::string content = std::string(100'000, 's') + '\0' + "x";
  WriteFileAtomically(path, content);
  const SecretBytes secret = ReadSecretFile(path, content.size(), "the shares");
  EXPECT_TRUE(
      std::equal(content.begin(), content.end(), secret.Expose().begin(), secret.Expose().end()));
  EXPECT_EQ(Failure([&] { ReadSecretFile(path, content.size() - 1, "the shares"); }),
            "bad-input: " + name + " is larger than 100001 bytes");
  WriteFileAtomically(path, "");
  EXPECT_TRUE(ReadSecretFile(path, 0, "the shares").Expose().empty());
  for (const std::string& none : {folder_.string(), (folder_ / "none").string()}) {
    EXPECT_EQ(Failure([&] { ReadSecretFile(none, 9, "the shares"); }),
              "bad-input: cannot read the shares " + none);
  }
}

TEST_F(FilesTest, ANewFileReplacesNothing) {
  const std::string path = folder_ / "key", name = "the key " + path;
  WriteNewFile(path, "secret", 0600, "the key");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
  EXPECT_EQ(Failure([&] { WriteNewFile(path, "other", 0600, "the key"); }),
            "usage: cannot write " + name + ": it exists");
  EXPECT_EQ(Text(path), "secret");
  const fs::path link = folder_ / "link";
  fs::create_symlink(folder_ / "nowhere", link);
  EXPECT_NE(Failure([&] { WriteNewFile(link, "x", 0600, "the key"); }), "");
  EXPECT_FALSE(fs::exists(folder_ / "nowhere"));
  EXPECT_THAT(Failure([&] { WriteNewFile(folder_ / "no" / "key", "x", 0600, "the key"); }),
              testing::StartsWith("usage: cannot write the key "));
}

TEST_F(FilesTest, NoHalfOfANewFileStays) {
  const std::string path = folder_ / "study.toml";
  std::string failure;
  {
    const FullDisk full(1000);
    failure = Failure([&] { WriteNewFile(path, std::string(1001, 'x'), 0666, "the study file"); });
  }
  EXPECT_THAT(failure, testing::StartsWith("storage: cannot write the study file " + path));
  EXPECT_EQ(NumFiles(), 0U);
}

TEST_F(FilesTest, WritesAndReplaces) {
  const std::string path = folder_ / "result.json";
  WriteFileAtomically(path, "first");
  EXPECT_EQ(Text(path), "first");
  WriteFileAtomically(path, "");
  EXPECT_EQ(Text(path), "");
  const std::string large(3 << 20, 'x');
  WriteFileAtomically(path, large);
  EXPECT_EQ(Text(path), large);
  EXPECT_EQ(NumFiles(), 1U);
}

TEST_F(FilesTest, OnlyTheOwnerMayRead) {
  const std::string path = folder_ / "result.json";
  WriteFileAtomically(path, "x");
  struct stat status {};
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST_F(FilesTest, LeavesNothingBehindWhenItFails) {
  // The target is a folder that is not empty: the rename fails after everything was written.
  const std::string path = folder_ / "taken";
  fs::create_directories(folder_ / "taken" / "inside");
  EXPECT_THAT(Failure([&] { WriteFileAtomically(path, "x"); }),
              testing::StartsWith("usage: cannot write " + path));
  EXPECT_EQ(NumFiles(), 1U);
  EXPECT_TRUE(fs::is_directory(path));
  EXPECT_THROW(WriteFileAtomically(folder_ / "missing" / "result.json", "x"), Error);
}

// A disk without room: what was there stays, and nothing is left beside it.
TEST_F(FilesTest, AFullDiskIsAnErrorOfItsOwn) {
  const std::string path = folder_ / "result.json";
  WriteFileAtomically(path, "first");
  const std::string large(1 << 17, 'x');
  std::string written, appended, reserved, fits;
  {
    const FullDisk full(1 << 16);
    written = Failure([&] { WriteFileAtomically(path, large); });
    appended = Failure([&] { AppendDurably(path, large); });
    reserved = Failure([&] { RoomOnDisk room(path, 1 << 17); });
    fits = Failure([&] { RoomOnDisk room(path, 1 << 15); });
  }
  using testing::StartsWith;
  EXPECT_THAT(written, StartsWith("storage: "));
  EXPECT_THAT(appended, StartsWith("storage: "));
  EXPECT_THAT(reserved, StartsWith("storage: "));
  EXPECT_EQ(fits, "");
  EXPECT_EQ(Text(path).substr(0, 5), "first");
  EXPECT_EQ(NumFiles(), 1U);
}

// Bytes of files of this size that this process has open and that have no name.
int64_t BytesWithoutName(int64_t size) {
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    struct stat status {};
    if (::stat(entry.path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (status.st_nlink == 0 && status.st_size == size) bytes += status.st_blocks * 512;
  }
  return bytes;
}

// A process that is killed leaves nothing.
TEST_F(FilesTest, RoomIsTakenAndGivenBackWithoutAName) {
  const std::string path = folder_ / "result.json";
  {
    const RoomOnDisk room(path, 1 << 20);
    EXPECT_EQ(NumFiles(), 0U);
    EXPECT_GE(BytesWithoutName(1 << 20), 1 << 20);  // not a hole
  }
  EXPECT_EQ(BytesWithoutName(1 << 20), 0);
  EXPECT_THROW(RoomOnDisk(folder_ / "missing" / "x", 1), Error);
}

TEST_F(FilesTest, AppendsToWhatIsThere) {
  const std::string path = folder_ / "marks";
  EXPECT_THROW(AppendDurably(path, "x"), Error);
  WriteFileAtomically(path, "a");
  AppendDurably(path, "bc");
  AppendDurably(path, "");
  EXPECT_EQ(Text(path), "abc");
}

}  // namespace
}  // namespace partita::files_test
