// Counting the runs of an envelope: exact under concurrency, and never forgetful.
#include "run/approval/envelope_uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/data/expect_error.h"

namespace partita::run::envelope_uses_test {
namespace {

namespace fs = std::filesystem;
using crypto::Digest;
using ::testing::HasSubstr;

constexpr int64_t kNow = 1'790'000'000;

class EnvelopeUsesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/partita-uses-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    file_ = folder_ / "e.uses";
    StartEnvelopeUses(file_, envelope_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  uint64_t Count(uint64_t max_results) {
    return CountEnvelopeUse(file_, envelope_, max_results, study_, kNow);
  }
  std::string Text() const {
    std::ifstream in(file_);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void Append(const std::string& text) { std::ofstream(file_, std::ios::app) << text; }

  fs::path folder_, file_;
  const Digest envelope_ = {1}, study_ = {2};
};

TEST_F(EnvelopeUsesTest, CountsUpToTheLimit) {
  EXPECT_EQ(EnvelopeUses(file_, envelope_), 0u);
  EXPECT_EQ(Count(2), 1u);
  EXPECT_EQ(Count(2), 2u);
  const std::string full = Text();
  ExpectError(ErrorCode::kRefused, "all 2 runs that the envelope allows are used up",
              "sign a new envelope", [&] { Count(2); });
  EXPECT_EQ(Text(), full) << "a refused run is not counted";
  EXPECT_EQ(full, "partita envelope uses 1 " + ToHex(envelope_) + "\n2026-09-21T14:13:20Z " +
                      ToHex(study_) + "\n2026-09-21T14:13:20Z " + ToHex(study_) + "\n");
}

TEST_F(EnvelopeUsesTest, IsNotForOthers) {
  EXPECT_EQ(fs::status(file_).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(EnvelopeUsesTest, ATornLineIsAUse) {
  Count(9);
  Append("2026-09");  // a crash in the middle of a write
  EXPECT_EQ(EnvelopeUses(file_, envelope_), 2u);
  EXPECT_EQ(Count(9), 3u);
  EXPECT_EQ(EnvelopeUses(file_, envelope_), 3u);
  Append("2");
  ExpectError(ErrorCode::kRefused, "all 4 runs", "", [&] { Count(4); });
}

TEST_F(EnvelopeUsesTest, NothingIsForgotten) {
  ExpectError(ErrorCode::kRefused, "this is not the record of the envelope's uses", "Sign the",
              [&] { CountEnvelopeUse(file_, {7}, 9, study_, kNow); });
  std::ofstream(file_) << "";  // emptied
  ExpectError(ErrorCode::kRefused, "this is not the record of the envelope's uses", "Sign the",
              [&] { Count(9); });
  fs::remove(file_);
  ExpectError(ErrorCode::kRefused, "the record of the envelope's uses is missing", "Sign the",
              [&] { Count(9); });
  EXPECT_FALSE(fs::exists(file_));
  fs::create_symlink(folder_ / "elsewhere", file_);
  ExpectError(ErrorCode::kRefused, "cannot open the record", "ordinary file", [&] { Count(9); });
}

// Runs `body` in `count` child processes at once; returns their exit codes.
std::vector<int> InProcesses(unsigned count, const std::function<int()>& body) {
  std::vector<pid_t> children;
  for (unsigned i = 0; i < count; ++i) {
    const pid_t pid = fork();
    if (pid == 0) _exit(body());
    children.push_back(pid);
  }
  std::vector<int> codes;
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  return codes;
}

// A barrier for processes that were forked after it was made.
class Barrier {
 public:
  explicit Barrier(unsigned processes)
      : barrier_(static_cast<pthread_barrier_t*>(mmap(nullptr, sizeof(pthread_barrier_t),
                                                      PROT_READ | PROT_WRITE,
                                                      MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(barrier_, &shared, processes);
    pthread_barrierattr_destroy(&shared);
  }
  ~Barrier() { munmap(barrier_, sizeof(pthread_barrier_t)); }
  Barrier(const Barrier&) = delete;
  Barrier& operator=(const Barrier&) = delete;
  void Wait() { pthread_barrier_wait(barrier_); }

 private:
  pthread_barrier_t* barrier_;
};

// Many envelopes one after the other; for each all processes set off together.
TEST_F(EnvelopeUsesTest, EightProcessesSpendExactlyTheLimit) {
  constexpr unsigned kProcesses = 8, kEnvelopes = 60;
  constexpr uint64_t kLimit = 3;
  std::vector<fs::path> files;
  for (unsigned i = 0; i < kEnvelopes; ++i) {
    files.push_back(folder_ / std::to_string(i));
    StartEnvelopeUses(files.back(), envelope_);
  }
  Barrier barrier(kProcesses);
  const std::vector<int> counted = InProcesses(kProcesses, [&] {
    int successes = 0;
    for (const fs::path& file : files) {
      barrier.Wait();
      try {
        CountEnvelopeUse(file, envelope_, kLimit, study_, kNow);
        ++successes;
      } catch (const Error&) {
      }
    }
    return successes;
  });
  unsigned sum = 0;
  for (const int count : counted) {
    ASSERT_GE(count, 0);
    sum += static_cast<unsigned>(count);
  }
  EXPECT_EQ(sum, kEnvelopes * kLimit);
  for (const fs::path& file : files) EXPECT_EQ(EnvelopeUses(file, envelope_), kLimit);
}

// Signing again puts another record in the place of one that somebody has open.
TEST_F(EnvelopeUsesTest, ANewRecordCountsFromZero) {
  Count(9);
  StartEnvelopeUses(file_, {5});
  EXPECT_EQ(EnvelopeUses(file_, {5}), 0u);
  ExpectError(ErrorCode::kRefused, "not the record", "", [&] { Count(9); });
}

// A process that dies between the count and its first message has used up a run.
TEST_F(EnvelopeUsesTest, ACrashAfterCountingWastes) {
  const std::vector<int> ended = InProcesses(3, [&]() -> int {
    Count(3);
    kill(getpid(), SIGKILL);
    return 0;
  });
  EXPECT_THAT(ended, ::testing::Each(-1));
  EXPECT_EQ(EnvelopeUses(file_, envelope_), 3u);
  ExpectError(ErrorCode::kRefused, "used up", "", [&] { Count(3); });
}

// A disk that takes only a part of the line: the run is refused, and counted.
TEST_F(EnvelopeUsesTest, AFullDiskWastes) {
  const auto size = static_cast<rlim_t>(fs::file_size(file_));
  const std::vector<int> ended = InProcesses(1, [&]() -> int {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{size + 10, size + 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    try {
      Count(2);
      return 0;
    } catch (const Error& error) {
      return error.message().find("cannot count this use of the envelope") != std::string::npos ? 5
                                                                                                : 1;
    }
  });
  EXPECT_EQ(ended[0], 5);
  EXPECT_EQ(EnvelopeUses(file_, envelope_), 1u);
  EXPECT_EQ(Count(2), 2u);
}

}  // namespace
}  // namespace partita::run::envelope_uses_test
