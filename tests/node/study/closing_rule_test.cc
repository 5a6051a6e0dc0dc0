#include "node/study/closing_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace partita::node::closing_rule_test {
namespace {

// What a party may say.
enum Word { kMissing, kUnsigned, kNothing, kPerhaps, kResult, kNumWords };

PartyEnd End(Word word, bool receiver) {
  PartyEnd end{receiver, {}};
  if (word == kMissing) return end;
  Ended& ended = end.ended.emplace();
  ended.attempt = 1;
  ended.outcome = word == kResult ? Outcome::kFinished : Outcome::kFailed;
  ended.may_have_opened = word != kNothing;
  if (word != kUnsigned) ended.signature = {1};
  return end;
}

// The table of the design, row by row.
Closed Table(const std::vector<Word>& words, bool resumable) {
  const auto count = [&](Word word) { return std::count(words.begin(), words.end(), word); };
  if (count(kMissing) > 0) return Closed::kWait;
  if (words[0] == kResult && count(kNothing) == 0) return Closed::kFinished;  // the receiver
  if (count(kNothing) == static_cast<long>(words.size())) return Closed::kAgain;
  return resumable ? Closed::kResume : Closed::kFailed;
}

TEST(ClosingRule, IsTheTableForEverySetOfThree) {
  for (int code = 0; code < kNumWords * kNumWords * kNumWords; ++code) {
    const std::vector<Word> words = {static_cast<Word>(code % kNumWords),
                                     static_cast<Word>(code / kNumWords % kNumWords),
                                     static_cast<Word>(code / kNumWords / kNumWords)};
    std::vector<PartyEnd> all;
    for (size_t i = 0; i < 3; ++i) all.push_back(End(words[i], i == 0));
    for (const bool resumable : {false, true}) {
      EXPECT_EQ(CloseAttempt(all, resumable), Table(words, resumable)) << code;
      std::swap(all[1], all[2]);  // in any order
      EXPECT_EQ(CloseAttempt(all, resumable), Table(words, resumable)) << code;
    }
  }
}

TEST(ClosingRule, OneReceiverOfTwoIsEnough) {
  EXPECT_EQ(CloseAttempt({End(kUnsigned, true), End(kResult, true)}, false), Closed::kFinished);
  EXPECT_EQ(CloseAttempt({End(kNothing, true), End(kResult, true)}, false), Closed::kFailed);
  EXPECT_EQ(CloseAttempt({End(kPerhaps, true), End(kResult, false)}, false), Closed::kFailed);
}

}  // namespace
}  // namespace partita::node::closing_rule_test
