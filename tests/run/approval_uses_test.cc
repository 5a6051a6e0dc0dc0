// Counting the runs of an approval: by file, by ledger, over attempts that go on, under
// concurrency.
#include "run/approval/approval_uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/data/expect_error.h"

namespace partita::run::approval_uses_test {
namespace {

namespace fs = std::filesystem;
using crypto::Digest;
using privacy::ledger::Used;

constexpr int64_t kNow = 1'790'000'000;

ApprovedRun Attempt(uint8_t number, bool goes_on = false) { return {{number}, goes_on}; }

class ApprovalUsesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/partita-runs-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    file_ = folder_ / "approval-south.uses";
    approval_.party = "south";
    Start(1);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void Start(uint64_t runs) {
    approval_.runs = runs;
    StartApprovalUses(file_, approval_);
  }
  void Count(const ApprovedRun& run, const ApprovalLedger& ledger = {}) {
    RequireApprovalLeft(file_, approval_, run, ledger);
    CountApprovalUse(file_, approval_, run, ledger, kNow);
  }
  void ExpectUsedUp(const ApprovedRun& run, const ApprovalLedger& ledger = {}) {
    const uint64_t before = Uses();
    for (const bool at_once : {false, true}) {
      ExpectError(ErrorCode::kRefused, "the approval of party south is used up", "approve again",
                  [&] {
                    if (at_once) return CountApprovalUse(file_, approval_, run, ledger, kNow);
                    RequireApprovalLeft(file_, approval_, run, ledger);
                  });
    }
    EXPECT_EQ(Uses(), before) << "a refused run is not counted";
  }
  uint64_t Uses() const { return ApprovalUses(file_, approval_); }

  // A ledger as far as approvals see it.
  ApprovalLedger Ledger() {
    return {[this](const Digest&) { return in_ledger_; },
            [this](const std::optional<Used>& use) {
              ++spent_;
              if (use) in_ledger_.push_back(use->run_id);
            }};
  }

  fs::path folder_, file_;
  study::Approval approval_;
  std::vector<Digest> in_ledger_;
  int spent_ = 0;
};

TEST_F(ApprovalUsesTest, CountsAsManyRunsAsItIsFor) {
  Count(Attempt(1));
  ExpectUsedUp(Attempt(2));
  Start(3);
  for (uint8_t run = 1; run <= 3; ++run) Count(Attempt(run));
  EXPECT_EQ(Uses(), 3u);
  ExpectUsedUp(Attempt(4));
}

TEST_F(ApprovalUsesTest, AnAttemptThatGoesOnIsTheSameRun) {
  Count(Attempt(1));
  Count(Attempt(2, /*goes_on=*/true));
  Count(Attempt(3, /*goes_on=*/true));
  EXPECT_EQ(Uses(), 1u);
  ExpectUsedUp(Attempt(4));
}

// The attempt before ended before anything could be opened, or was under another approval.
TEST_F(ApprovalUsesTest, WhatGoesOnIsCountedIfNothingWasBefore) {
  Count(Attempt(1, /*goes_on=*/true));
  EXPECT_EQ(Uses(), 1u);
  ExpectUsedUp(Attempt(2));
}

TEST_F(ApprovalUsesTest, LookingCountsNothing) {
  for (int i = 0; i < 3; ++i) RequireApprovalLeft(file_, approval_, Attempt(1), {});
  EXPECT_EQ(Uses(), 0u);
}

TEST_F(ApprovalUsesTest, TheLedgerSpendsAndCountsAtOnce) {
  Count(Attempt(1), Ledger());
  EXPECT_EQ(spent_, 1);
  EXPECT_EQ(in_ledger_, std::vector<Digest>{{1}});
  EXPECT_EQ(Uses(), 1u);
  ExpectUsedUp(Attempt(2), Ledger());
  EXPECT_EQ(spent_, 1) << "a refused run spends nothing";
  // One that goes on spends what it has reserved, and counts nothing.
  Count(Attempt(3, /*goes_on=*/true), Ledger());
  EXPECT_EQ(spent_, 2);
  EXPECT_EQ(in_ledger_.size(), 1u);
}

TEST_F(ApprovalUsesTest, FileAndLedgerAreCountedTogether) {
  Start(3);
  Count(Attempt(1));            // without the ledger
  Count(Attempt(2), Ledger());  // with it: in both
  EXPECT_EQ(Uses(), 2u);
  in_ledger_.push_back({3});  // spent, then the process was killed
  ExpectUsedUp(Attempt(4), Ledger());
}

TEST_F(ApprovalUsesTest, NothingIsCountedIfTheLedgerRefuses) {
  ApprovalLedger refuses = Ledger();
  refuses.spend = [](const std::optional<Used>&) {
    throw Error(ErrorCode::kTimeout, "the ledger is in use", "wait");
  };
  ExpectError(ErrorCode::kTimeout, "in use", "wait", [&] { Count(Attempt(1), refuses); });
  EXPECT_EQ(Uses(), 0u);
  Count(Attempt(1));
}

TEST_F(ApprovalUsesTest, TheRecordIsThatOfTheApproval) {
  study::Approval other = approval_;
  other.nonce = {1};
  ExpectError(ErrorCode::kRefused, "this is not the record of the approval's uses", "Approve again",
              [&] { RequireApprovalLeft(file_, other, Attempt(1), {}); });
  std::ofstream(file_, std::ios::app) << "2026-";  // a crash in the middle of a line
  EXPECT_EQ(Uses(), 1u);
  ExpectUsedUp(Attempt(1));
  fs::remove(file_);
  ExpectError(ErrorCode::kRefused, "the record of the approval's uses is missing", "Approve again",
              [&] { Count(Attempt(1)); });
}

// Eight processes that all found a run left.
TEST_F(ApprovalUsesTest, ProcessesAtTheSameTimeTakeExactlyAsManyRuns) {
  for (int round = 0; round < 40; ++round) {
    Start(3);
    int start[2];
    ASSERT_EQ(pipe(start), 0);
    std::vector<pid_t> children;
    for (uint8_t process = 0; process < 8; ++process) {
      const pid_t child = fork();
      if (child == 0) {
        close(start[1]);
        char byte = 0;
        if (read(start[0], &byte, 1) != 0) _exit(2);  // until all are there
        try {
          CountApprovalUse(file_, approval_, Attempt(process), {}, kNow);
          _exit(0);
        } catch (const Error& error) {
          _exit(error.code() == ErrorCode::kRefused ? 5 : 1);
        }
      }
      children.push_back(child);
    }
    close(start[0]);
    close(start[1]);
    int counted = 0, refused = 0;
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      counted += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
      refused += WIFEXITED(status) && WEXITSTATUS(status) == 5 ? 1 : 0;
    }
    ASSERT_EQ(counted, 3) << "round " << round;
    ASSERT_EQ(refused, 5);
    ASSERT_EQ(Uses(), 3u);
  }
}

}  // namespace
}  // namespace partita::run::approval_uses_test
