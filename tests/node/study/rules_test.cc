// Time and numbers: expiry, retries, silence, slots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/node/scene.h"

namespace partita::node::rules_test {
namespace {

constexpr int64_t kEnd = World::kBegin + World::kLife;

TEST(Rules, WhatNobodyApprovesExpiresEverywhereAndKeysAreDeleted) {
  World world({});
  world.approves = false;
  const StudyId id = world.Propose(0);
  world.RunUntilQuiet(kEnd - 1);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kSettled);
  world.RunUntilQuiet(kEnd + 10);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kExpired);
    EXPECT_FALSE(world.StudyAt(i, id).charged);
    EXPECT_TRUE(world.StudyAt(i, id).discarded);
    EXPECT_FALSE(world.site(i).folders[id].has_key);
  }
}

// Three attempts by itself, after one and five minutes; then a steward's word for each, 20 in all. Each has a
// tag of its own, by which nobody's connection comes to another one.
TEST(Rules, RetriesOnlyWhileNothingCanHaveOpened) {
  World world({});
  const StudyId id = world.Propose(0);
  std::vector<int64_t> starts;
  std::set<Tag> tags;
  world.on_delivery = [&](const OutboxEntry& entry) {
    const SignedMessage message = DecodeMessage(entry.message);
    if (message.message.kind != Kind::kStart || entry.to != "south") return;
    starts.push_back(world.now);
    tags.insert(DecodeStart(message.message.body).tag);
    // West's job never comes up.
    world.After(2, [&] { world.KillJobs(world.site(2)); });
  };
  world.RunUntilQuiet(World::kBegin + 7200);
  ASSERT_EQ(starts.size(), size_t{3});
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kAgreed);
    EXPECT_EQ(world.StudyAt(i, id).closed, 3u);
    EXPECT_FALSE(world.StudyAt(i, id).charged);
  }
  EXPECT_GE(starts[1] - starts[0], 60);
  EXPECT_GE(starts[2] - starts[1], 300);
  for (uint32_t attempt = 4; attempt <= kMostAttempts; ++attempt) {
    EXPECT_EQ(world.StudyAt(0, id).phase, Phase::kAgreed);
    // The convener's word alone starts nothing: a holder that deviates may be the convener.
    world.node(0).Command(id, Retry{}, world.now);
    world.node(1).Command(id, Retry{}, world.now);
    if (attempt == 4) {
      world.RunUntilQuiet(world.now + 4000);
      EXPECT_EQ(starts.size(), size_t{3});
    }
    world.node(2).Command(id, Retry{}, world.now);
    world.RunUntilQuiet(world.now + 4000);
    EXPECT_EQ(starts.size(), size_t{attempt});
  }
  EXPECT_EQ(tags.size(), starts.size());
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kFailed);
    EXPECT_FALSE(world.StudyAt(i, id).charged);
  }
  EXPECT_THROW(world.node(0).Command(id, Retry{}, world.now), Error);
  EXPECT_TRUE(world.openings[id].empty());
}

TEST(Rules, OneThatNeverSaysHowItEndedFailsTheStudyAtTheExpiryCharged) {
  World world({});
  const StudyId id = world.Propose(0);
  for (int i = 0; i < 100 && world.StudyAt(2, id).phase < Phase::kScheduled; ++i)
    world.RunUntilQuiet(world.now + 1);
  ASSERT_EQ(world.StudyAt(2, id).phase, Phase::kScheduled);
  // West is never seen again.
  world.KillJobs(world.site(2));
  world.site(2).node.reset();
  world.RunUntilQuiet(kEnd - 1);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kClosing);
  world.RunUntilQuiet(kEnd + 10);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kFailed);
    EXPECT_TRUE(world.StudyAt(i, id).charged);
  }
}

TEST(Rules, ARunIsNotCutOffByTheExpiry) {
  WorldOptions options;
  options.job_seconds = 4000;
  World world(options);
  world.approves = false;
  const StudyId id = world.Propose(0);
  world.RunUntilQuiet(kEnd - 3000);
  world.approves = true;
  world.RunUntilQuiet(kEnd - 100);
  EXPECT_EQ(world.StudyAt(0, id).phase, Phase::kRunning);
  world.RunUntilQuiet(kEnd + 2000);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kFinished);
}

TEST(Rules, NothingStartsInTheLastFiveMinutes) {
  World world({});
  world.approves = false;
  const StudyId id = world.Propose(0);
  world.RunUntilQuiet(kEnd - kLastStartSeconds);
  world.approves = true;
  world.RunUntilQuiet(kEnd + 100);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kExpired);
    EXPECT_EQ(world.StudyAt(i, id).closed, 0u);
  }
}

TEST(Rules, AFileThatOnePartyFindsInvalidIsRejectedAtAllWithItsReason) {
  World world({});
  Checked refused;
  refused.refusal = "the variable fev1 is not in the table";
  bool done = false;
  StudyId id{};
  world.on_delivery = [&](const OutboxEntry& entry) {
    const SignedMessage message = DecodeMessage(entry.message);
    if (message.message.kind != Kind::kProposal || entry.to != "west" || done) return;
    done = true;
    world.After(0, [&] { world.node(2).Report(id, refused, world.now); });
  };
  id = world.Propose(0);
  world.RunUntilQuiet(World::kBegin + 1000);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kRejected);
    EXPECT_EQ(world.StudyAt(i, id).ending.who, "west");
    EXPECT_THAT(world.StudyAt(i, id).ending.what, ::testing::HasSubstr("fev1"));
  }
}

TEST(Rules, EmergencyStopEndsRunsAndStartsNothing) {
  WorldOptions options;
  options.job_seconds = 100;
  World world(options);
  const StudyId id = world.Propose(0);
  for (int i = 0; i < 100 && world.StudyAt(1, id).phase < Phase::kRunning; ++i)
    world.RunUntilQuiet(world.now + 1);
  world.node(1).EmergencyStop(world.now);
  const int64_t stopped_at = world.now;
  world.RunUntilQuiet(stopped_at + 50'000);
  EXPECT_TRUE(world.node(1).stopped());
  EXPECT_TRUE(world.site(1).disk.stopped);
  // It goes on when a steward says so, if nothing opened.
  world.node(1).EndEmergencyStop(world.now);
  world.RunUntilQuiet(stopped_at + 100'000);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(world.StudyAt(i, id).phase, world.StudyAt(0, id).phase);
  EXPECT_EQ(world.StudyAt(0, id).charged,
            !world.openings[id].empty() || world.StudyAt(0, id).phase == Phase::kFailed);
}

// Whoever follows the study is told who ended it, not only that it was interrupted.
TEST(Rules, WhoWithdrawsDuringARunIsNamed) {
  WorldOptions options;
  options.job_seconds = 100;
  World world(options);
  const StudyId id = world.Propose(0);
  for (int i = 0; i < 100 && world.StudyAt(2, id).phase < Phase::kRunning; ++i)
    world.RunUntilQuiet(world.now + 1);
  world.RunUntilQuiet(world.now + 20);  // all have met, and marked that they open
  ASSERT_EQ(world.StudyAt(2, id).phase, Phase::kRunning);
  world.node(2).Command(id, OwnWithdrawal{.by_steward = true, .reason = "consent is gone"},
                        world.now);
  world.RunUntilQuiet(world.now + 5000);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kFailed);
    EXPECT_TRUE(world.StudyAt(i, id).charged);
    EXPECT_EQ(world.StudyAt(i, id).ending.who, "west");
    EXPECT_THAT(world.StudyAt(i, id).ending.what,
                ::testing::AllOf(::testing::StartsWith("consent is gone; "),
                                 ::testing::HasSubstr("charged")));
  }
}

// What goes on does, nothing begins, and what waited runs afterwards.
TEST(Rules, ANodeThatDrainsLetsRunsEndAndBeginsNone) {
  WorldOptions options;
  options.job_seconds = 100;
  World world(options);
  const StudyId going = world.Propose(0, "the first study");
  for (int i = 0; i < 100 && world.StudyAt(1, going).phase < Phase::kRunning; ++i)
    world.RunUntilQuiet(world.now + 1);
  ASSERT_EQ(world.StudyAt(1, going).phase, Phase::kRunning);
  world.node(1).Drain(true, world.now);
  EXPECT_EQ(world.node(1).Runs(), 1u);
  const StudyId waiting = world.Propose(2, "the second study");
  world.RunUntilQuiet(world.now + 5'000);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world.StudyAt(i, going).phase, Phase::kFinished);
    EXPECT_EQ(world.StudyAt(i, waiting).phase, Phase::kAgreed);
  }
  EXPECT_EQ(world.node(1).Runs(), 0u);
  // No attempt was in vain: conveners are told before they begin one.
  EXPECT_EQ(world.StudyAt(1, waiting).closed, 0u);
  world.node(1).Drain(false, world.now);
  world.RunUntilQuiet(world.now + 5'000);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(world.StudyAt(i, waiting).phase, Phase::kFinished);
}

// No deadlock, no starvation, never two jobs at a node that has room for one.
TEST(Rules, AHundredStudiesQueuedAtThreeNodesAllRun) {
  WorldOptions options;
  options.job_seconds = 20;
  World world(options);
  std::vector<StudyId> ids;
  for (size_t i = 0; i < 100; ++i) {
    std::string text = "study " + std::to_string(i);
    ids.push_back(world.Propose(i % 3, text));
  }
  world.RunUntilQuiet(World::kBegin + 3 * 86'400);
  int64_t last = 0;
  for (const StudyId& id : ids) {
    for (size_t i = 0; i < 3; ++i) {
      const Study study = world.StudyAt(i, id);
      EXPECT_EQ(study.phase, Phase::kFinished);
      EXPECT_EQ(study.closed, 0u);  // no attempt was in vain
      last = std::max(last, study.scheduled_at);
    }
    EXPECT_EQ(world.openings[id].size(), size_t{1});
  }
  EXPECT_EQ(world.most_jobs_at_a_site, 1u);
  RecordProperty("simulated_seconds", static_cast<int>(last - World::kBegin));
  EXPECT_LT(last - World::kBegin, 86'400);
}

// West's approval reaches north, which convenes, before it reaches south: a "busy" of south would cost a minute.
TEST(Rules, AQuestionThatComesBeforeTheLastApprovalIsAnsweredWithIt) {
  Scene scene;
  int lost = 0, questions = 0;
  scene.world.loses = [&](const OutboxEntry& entry) {
    const Message message = DecodeMessage(entry.message).message;
    if (message.kind == Kind::kAskSlot && entry.to == "south") questions += 1;
    const bool late =
        message.kind == Kind::kApproval && message.from == "west" && entry.to == "south";
    return late && lost++ < 2;
  };
  scene.RunTo(0, Phase::kAgreed);
  const int64_t agreed = scene.world.now;
  EXPECT_EQ(scene.At(1).phase, Phase::kApproved);
  scene.RunTo(1, Phase::kFinished);
  EXPECT_EQ(lost, 3);
  EXPECT_EQ(questions, 1);
  EXPECT_LT(scene.world.now - agreed, 15);
  EXPECT_FALSE(scene.At(1).asked.has_value());
}

// Such a question is of use for as long as the convener waits, and of a node that has room only.
TEST(Rules, AQuestionThatCameTooLongAgoOrToAStoppedNodeGetsNoSlot) {
  for (const bool stopped : {false, true}) {
    Scene scene;
    scene.world.loses = [&](const OutboxEntry& entry) {
      const Message message = DecodeMessage(entry.message).message;
      return message.kind == Kind::kApproval && message.from == "west" && entry.to == "south";
    };
    scene.RunTo(0, Phase::kAgreed);
    scene.world.RunUntilQuiet(scene.world.now + 2);
    ASSERT_TRUE(scene.At(1).asked.has_value());
    if (stopped) {
      scene.world.node(1).EmergencyStop(scene.world.now);
    } else {
      scene.world.now += kAskSeconds + 1;
    }
    const auto late = std::find_if(scene.sent.begin(), scene.sent.end(), [](const OutboxEntry& e) {
      const Message message = DecodeMessage(e.message).message;
      return message.kind == Kind::kApproval && message.from == "west" && e.to == "south";
    });
    ASSERT_NE(late, scene.sent.end());
    EXPECT_EQ(scene.world.node(1).Receive(late->message, scene.world.now), Receipt::kTaken);
    EXPECT_EQ(scene.At(1).phase, Phase::kAgreed);
    EXPECT_EQ(scene.At(1).lease_until, 0);
  }
}

// The text of the outbox's waits: 1 s, doubling, to 10 min, between half and the whole.
TEST(Rules, TheOutboxWaitsBetweenOneSecondAndTenMinutes) {
  World world({});
  World::Site& north = world.site(0);
  for (size_t i = 1; i < 3; ++i) world.site(i).node.reset();
  const StudyId id = world.Propose(0);
  world.RunUntilQuiet(World::kBegin + 3);  // validated: proposals wait for peers that are down
  north.node = std::make_unique<Node>(world.PartsOf(north));
  const std::vector<OutboxEntry> due = north.node->Due(world.now + 100'000);
  ASSERT_FALSE(due.empty());
  const uint64_t number = due.front().number;
  for (const OutboxEntry& entry : due) {
    if (entry.number != number) north.node->Delivered(entry.number);
  }
  int64_t now = world.now + 100'000;
  int64_t longest = 0;
  for (int tries = 0; tries < 20; ++tries) {
    north.node->Failed(number, now);
    const int64_t next = north.node->NextDelivery().value();
    const int64_t whole = std::min<int64_t>(600, int64_t{1} << std::min(tries, 10));
    EXPECT_GE(next - now, std::max<int64_t>(1, whole / 2)) << tries;
    EXPECT_LE(next - now, whole) << tries;
    longest = std::max(longest, next - now);
    now = next;
    EXPECT_EQ(north.node->Due(now).size(), size_t{1});
  }
  EXPECT_GT(longest, 300);
  // It stays until it is taken, or useless.
  world.now = kEnd + kClosingSeconds + 10;
  EXPECT_TRUE(north.node->Due(world.now).empty());
  EXPECT_TRUE(north.disk.outbox.empty());
  EXPECT_EQ(world.StudyAt(0, id).phase, Phase::kValidated);
}

}  // namespace
}  // namespace partita::node::rules_test
