#include "report/progress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "base/error.h"

namespace partita::report::progress_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class ProgressTest : public ::testing::Test {
 protected:
  TerminalProgress Make(ProgressStyle style, const std::string& label = "north") {
    return TerminalProgress(out_, style, label, &cancelled_, [this] { return now_; });
  }
  // What was written since the last call.
  std::string Taken() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }
  std::ostringstream out_;
  std::atomic<bool> cancelled_ = false;
  SteadyClock::time_point now_{};
};

TEST_F(ProgressTest, RefreshesOneLineAtMostTwiceASecond) {
  TerminalProgress progress = Make({.refresh = true});
  progress.Phase("moments");
  EXPECT_EQ(Taken(), "\rnorth: moments");
  now_ += milliseconds(499);
  progress.Step(1, 4);
  EXPECT_EQ(Taken(), "");
  now_ += milliseconds(1);
  progress.Step(2, 4);
  EXPECT_EQ(Taken(), "\rnorth: moments, 50 %");
  now_ += seconds(75);
  progress.Step(3, 4);
  EXPECT_EQ(Taken(), "\rnorth: moments, 75 %, 1 min 15 s");
  // A shorter line wipes what is left of the longer one.
  progress.Phase("fit");
  EXPECT_EQ(Taken(), "\rnorth: fit" + std::string(22, ' '));
  progress.Finish();
  EXPECT_EQ(Taken(), "\r" + std::string(10, ' ') + "\r");
  progress.Finish();
  EXPECT_EQ(Taken(), "");
}

TEST_F(ProgressTest, WritesObjectsForProgramsAtMostTwiceASecond) {
  TerminalProgress progress = Make({.json = true});
  progress.Phase("the \"fit\"");
  EXPECT_EQ(Taken(), "{\"phase\":\"the \\\"fit\\\"\",\"done\":0,\"total\":0,\"seconds\":0.0}\n");
  now_ += milliseconds(499);
  progress.Step(1, 4);
  EXPECT_EQ(Taken(), "");
  now_ += milliseconds(1);
  progress.Step(2, 4);
  EXPECT_EQ(Taken(), "{\"phase\":\"the \\\"fit\\\"\",\"done\":2,\"total\":4,\"seconds\":0.5}\n");
  // Nothing is left on a line that is to be wiped.
  progress.Finish();
  EXPECT_EQ(Taken(), "");
}

TEST_F(ProgressTest, WritesALineToALogForEveryPhaseAndEveryThirtySeconds) {
  TerminalProgress progress = Make({}, "");
  progress.Phase("moments");
  EXPECT_EQ(Taken(), "moments\n");
  now_ += seconds(29);
  progress.Step(1, 3);
  EXPECT_EQ(Taken(), "");
  now_ += seconds(1);
  progress.Step(1, 3);
  EXPECT_EQ(Taken(), "moments, 33 %, 30 s\n");
  progress.Step(2, 3);
  EXPECT_EQ(Taken(), "");
  progress.Finish();
  EXPECT_EQ(Taken(), "");
}

TEST_F(ProgressTest, ColoursOnlyOnDemand) {
  TerminalProgress progress = Make({.refresh = true, .color = true});
  progress.Phase("fit");
  EXPECT_EQ(Taken(), "\r\x1b[2mnorth: fit\x1b[0m");
}

TEST_F(ProgressTest, LeavesNoHalfLineBehind) {
  {
    TerminalProgress progress = Make({.refresh = true});
    progress.Phase("fit");
    Taken();
  }
  EXPECT_EQ(Taken(), "\r" + std::string(10, ' ') + "\r");
}

TEST_F(ProgressTest, StopsWhenTheUserAsks) {
  TerminalProgress progress = Make({});
  EXPECT_NO_THROW(progress.CheckCancelled());
  cancelled_ = true;
  try {
    progress.CheckCancelled();
    FAIL() << "not stopped";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kCancelled);
  }
  TerminalProgress unstoppable(out_, {}, "", nullptr);
  EXPECT_NO_THROW(unstoppable.CheckCancelled());
}

TEST_F(ProgressTest, TheClockGoesOnWhileWaiting) {
  TerminalProgress progress = Make({.refresh = true});
  progress.Phase("connect");
  Taken();
  now_ += seconds(2);
  progress.CheckCancelled();
  EXPECT_EQ(Taken(), "\rnorth: connect, 2 s");
}

TEST(ProgressStyleTest, FilesAreNotTerminals) {
  const int descriptor = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  EXPECT_FALSE(DetectProgressStyle(descriptor).refresh);
  EXPECT_FALSE(DetectProgressStyle(descriptor).color);
  ::close(descriptor);
}

TEST(ProgressStyleTest, ObeysTermAndNoColor) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0) << "there are no pseudo terminals: mount /dev/pts";
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "xterm", 1);
  EXPECT_TRUE(DetectProgressStyle(terminal).refresh);
  EXPECT_TRUE(DetectProgressStyle(terminal).color);
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_TRUE(DetectProgressStyle(terminal).refresh);
  EXPECT_FALSE(DetectProgressStyle(terminal).color);
  ::setenv("NO_COLOR", "", 1);
  EXPECT_TRUE(DetectProgressStyle(terminal).color);
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(DetectProgressStyle(terminal).refresh);
  ::close(terminal);
}

}  // namespace
}  // namespace partita::report::progress_test
