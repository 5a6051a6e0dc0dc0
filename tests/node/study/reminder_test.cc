// A study that waits for the own steward is in the audit log after two and after five days, once each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/study/codec.h"
#include "tests/node/scene.h"

namespace partita::node::reminder_test {
namespace {

constexpr int64_t kDay = 86'400;

struct WaitingScene : Scene {
  WaitingScene() : Scene({}, false) {
    RunTo(1, Phase::kSettled);
    world.RunUntilQuiet(world.now + 10);
    since = At(1).waits_since;
    EXPECT_TRUE(WaitsForOwnSteward(At(1)));
    EXPECT_GT(since, World::kBegin);
  }
  void RunToDay(int64_t days, int64_t seconds = 0) {
    world.RunUntilQuiet(since + days * kDay + seconds);
    world.now = since + days * kDay + seconds;
    world.RunUntilQuiet(world.now);
  }
  std::vector<std::string> Reminders() {
    std::vector<std::string> said;
    for (const AuditEntry& entry : world.site(1).disk.audit) {
      if (entry.record.action != AuditAction::kWaiting) continue;
      EXPECT_EQ(entry.record.study, id);
      EXPECT_EQ(entry.record.subject, "south");
      EXPECT_EQ(entry.record.actor.kind, ActorKind::kNode);
      said.push_back(entry.record.outcome);
    }
    return said;
  }
  void Approve() {
    const Study study = At(1);
    world.Command(1, id,
                  OwnApproval{ApprovalText("south", *study.agreement_hash, study.facts.plan_hash,
                                           study.expires)});
  }

  int64_t since = 0;
};

const char kTwo[] = "for a decision of its steward for 2 days";
const char kFive[] = "for a decision of its steward for 5 days";

TEST(ReminderTest, OnceAfterTwoAndAfterFiveDays) {
  WaitingScene scene;
  scene.RunToDay(2, -1);
  EXPECT_TRUE(scene.Reminders().empty());
  scene.RunToDay(2);
  EXPECT_EQ(scene.Reminders(), std::vector<std::string>{kTwo});
  scene.world.Again(1);
  scene.RunToDay(5, -1);
  EXPECT_EQ(scene.Reminders(), std::vector<std::string>{kTwo});
  scene.RunToDay(5);
  EXPECT_EQ(scene.Reminders(), (std::vector<std::string>{kTwo, kFive}));
  scene.RunToDay(9);
  EXPECT_EQ(scene.Reminders().size(), 2U);
  EXPECT_EQ(scene.At(1).phase, Phase::kSettled);
}

// A node that was off says the later one alone.
TEST(ReminderTest, ANodeThatWasOffSaysItOnce) {
  WaitingScene scene;
  scene.world.site(1).node.reset();
  scene.world.now = scene.since + 6 * kDay;
  scene.world.Again(1);
  scene.world.RunUntilQuiet(scene.world.now + 10);
  EXPECT_EQ(scene.Reminders(), std::vector<std::string>{kFive});
}

TEST(ReminderTest, WhoHasDecidedIsNotReminded) {
  WaitingScene scene;
  scene.Approve();
  EXPECT_FALSE(WaitsForOwnSteward(scene.At(1)));
  scene.RunToDay(6);
  EXPECT_TRUE(scene.Reminders().empty());
  WaitingScene other;
  other.RunToDay(3);
  other.world.Command(1, other.id, OwnWithdrawal{.by_steward = true, .reason = "consent is gone"});
  other.RunToDay(6);
  EXPECT_EQ(other.Reminders(), std::vector<std::string>{kTwo});
}

// It then waits from the time that the clock shows now.
TEST(ReminderTest, AClockThatIsSetBackDelaysNoReminder) {
  WaitingScene scene;
  scene.world.SetBack(20 * kDay);
  scene.world.node(1).Tick(scene.world.now);
  scene.world.RunUntilQuiet(scene.world.now + 10);
  EXPECT_LE(scene.At(1).waits_since, scene.world.now);
  scene.since = scene.At(1).waits_since;
  scene.RunToDay(2);
  EXPECT_EQ(scene.Reminders(), std::vector<std::string>{kTwo});
}

// The state of a release before reminders: it waits for nobody's reminder, and is written as one of now.
TEST(ReminderTest, StatesWithoutRemindersAreRead) {
  WaitingScene scene;
  Study study = scene.At(1);
  Bytes old = EncodeStudy(study);
  old.resize(old.size() - 20);  // and without a first signature
  ASSERT_EQ(old[0] + old[1], 3);
  (old[0] == 3 ? old[0] : old[1]) = 2;
  study.waits_since = 0;
  EXPECT_EQ(DecodeStudy(old), study);
  EXPECT_FALSE(WaitsForOwnSteward(study));
  EXPECT_EQ(DecodeStudy(EncodeStudy(study)), study);
  Bytes longer = old;
  longer.push_back(0);
  EXPECT_THROW(DecodeStudy(longer), Error);
}

}  // namespace
}  // namespace partita::node::reminder_test
