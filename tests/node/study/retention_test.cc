// What a node keeps of studies that are over, and for how long: the rules, that what is due goes once, with an entry
// of the audit log, whenever the node is killed, and that a study whose documents are gone does not come back.
#include "node/study/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/scene.h"

namespace partita::node::retention_test {
namespace {

constexpr int64_t kDay = 86'400;
constexpr int64_t kYear = 31'557'600;
constexpr RetentionRules kRules = {.results_days = 30, .documents_years = 2};

OverStudy Over(int64_t ended, Kept kept = Kept::kAll) { return {StudyId{1}, ended, kept}; }

TEST(RetentionTest, WhatIsKeptWhen) {
  const int64_t ended = 1'790'000'000;
  EXPECT_EQ(KeptAt(ended, Over(ended), kRules), Kept::kAll);
  EXPECT_EQ(KeptAt(ended + 30 * kDay - 1, Over(ended), kRules), Kept::kAll);
  EXPECT_EQ(KeptAt(ended + 30 * kDay, Over(ended), kRules), Kept::kDocuments);
  EXPECT_EQ(KeptAt(ended + 2 * kYear - 1, Over(ended), kRules), Kept::kDocuments);
  EXPECT_EQ(KeptAt(ended + 2 * kYear, Over(ended), kRules), Kept::kNumber);
  // By default results stay as long as documents, for ten years.
  EXPECT_EQ(KeptAt(ended + 10 * kYear - 1, Over(ended), {}), Kept::kAll);
  EXPECT_EQ(KeptAt(ended + 10 * kYear, Over(ended), {}), Kept::kNumber);
  // Never longer than documents, and nothing comes back when the rules or the clock change.
  EXPECT_EQ(KeptUntilOf(0, {.results_days = 36'500, .documents_years = 1}).results, kYear);
  EXPECT_EQ(KeptAt(ended, Over(ended, Kept::kDocuments), kRules), Kept::kDocuments);
  EXPECT_EQ(KeptAt(ended, Over(ended, Kept::kNumber), {}), Kept::kNumber);
}

TEST(RetentionTest, RulesAreSaidInWords) {
  EXPECT_EQ(KeptText(Kept::kDocuments, kRules), "kept for 30 days after the end of the study");
  EXPECT_EQ(KeptText(Kept::kNumber, kRules), "kept for 2 years after the end of the study");
  EXPECT_EQ(KeptText(Kept::kDocuments, {}), "kept for 10 years after the end of the study");
  EXPECT_EQ(KeptText(Kept::kDocuments, {.results_days = 1, .documents_years = 1}),
            "kept for 1 day after the end of the study");
}

// South of a study that is finished, and what it had received by then.
struct FinishedScene : Scene {
  explicit FinishedScene(WorldOptions options = {}) : Scene(std::move(options)) {
    RunTo(0, Phase::kFinished);
    world.RunUntilQuiet(World::kBegin + 3600);
    EXPECT_FALSE(IsOpen(At(1)));
    proposal = EncodeMessage(Sent(Kind::kProposal, "south"));
    ended = south().FindEnd(id).value().ended;
  }
  Node& south() { return world.node(1); }
  Disk& disk() { return world.site(1).disk; }
  size_t TidyAt(int64_t time) {
    world.now = time;
    return south().Tidy(kRules, time);
  }
  // Of the entries `deleted`: what was.
  std::vector<std::string> Deleted() {
    std::vector<std::string> subjects;
    for (const AuditEntry& entry : disk().audit) {
      if (entry.record.action != AuditAction::kDeleted) continue;
      EXPECT_EQ(entry.record.study, id);
      EXPECT_EQ(entry.record.actor.kind, ActorKind::kNode);
      subjects.push_back(entry.record.subject + ", " + entry.record.outcome);
    }
    return subjects;
  }
  size_t MessagesKept() {
    size_t kept = 0;
    for (const auto& entry : disk().received) {
      if (entry.second.study == id && !entry.second.message.empty()) ++kept;
    }
    return kept;
  }

  Bytes proposal;
  int64_t ended = 0;
};

const char kResultGone[] = "result, kept for 30 days after the end of the study";
const char kDocumentsGone[] = "documents, kept for 2 years after the end of the study";

TEST(RetentionTest, AResultGoesOnceAndDocumentsLater) {
  FinishedScene scene;
  const Study before = scene.At(1);
  const size_t messages = scene.MessagesKept();
  ASSERT_GT(messages, 5U);
  EXPECT_EQ(scene.TidyAt(scene.ended + 30 * kDay - 1), 0U);
  EXPECT_EQ(scene.Deleted().size(), 0U);
  EXPECT_EQ(scene.TidyAt(scene.ended + 30 * kDay), 1U);
  EXPECT_EQ(scene.south().FindEnd(scene.id)->kept, Kept::kDocuments);
  EXPECT_EQ(scene.At(1), before);
  EXPECT_EQ(scene.MessagesKept(), messages);
  EXPECT_EQ(scene.TidyAt(scene.ended + 31 * kDay), 0U);
  EXPECT_EQ(scene.Deleted(), std::vector<std::string>{kResultGone});
  EXPECT_EQ(scene.TidyAt(scene.ended + 2 * kYear), 1U);
  EXPECT_EQ(scene.Deleted(), (std::vector<std::string>{kResultGone, kDocumentsGone}));
  EXPECT_FALSE(scene.south().Find(scene.id));
  EXPECT_EQ(scene.MessagesKept(), 0U);
  EXPECT_EQ(scene.south().FindEnd(scene.id)->kept, Kept::kNumber);
  EXPECT_EQ(scene.TidyAt(scene.ended + 20 * kYear), 0U);
}

// A node that served seldom: both are due at once.
TEST(RetentionTest, BothGoTogether) {
  FinishedScene scene;
  EXPECT_EQ(scene.TidyAt(scene.ended + 3 * kYear), 1U);
  EXPECT_EQ(scene.Deleted(), (std::vector<std::string>{kResultGone, kDocumentsGone}));
}

TEST(RetentionTest, AStudyThatIsDeletedDoesNotComeBack) {
  FinishedScene scene;
  ASSERT_EQ(scene.TidyAt(scene.ended + 2 * kYear), 1U);
  // The same bytes were taken; the same study under a new number of a message is refused.
  EXPECT_EQ(scene.south().Receive(scene.proposal, scene.world.now), Receipt::kTaken);
  const SignedMessage old = DecodeMessage(scene.proposal);
  EXPECT_EQ(scene.Send("north", 1, Kind::kProposal, old.message.body), Receipt::kRefused);
  EXPECT_THAT(scene.LastRefusal(1), ::testing::HasSubstr("is deleted here"));
  EXPECT_EQ(scene.Send("north", 1, Kind::kStart, Encode(Start{1, {1}})), Receipt::kRefused);
  EXPECT_FALSE(scene.south().Find(scene.id));
  // Also for another process over the same disk.
  scene.world.Again(1);
  EXPECT_EQ(scene.Send("north", 1, Kind::kProposal, old.message.body), Receipt::kRefused);
}

// Before and after each write: there is one entry, and what it says is so, whichever came first.
TEST(RetentionTest, AKillLeavesAllOfItOrNothing) {
  for (const bool after : {false, true}) {
    FinishedScene scene;
    const int64_t due = scene.ended + 30 * kDay;
    scene.world.now = due;
    int writes = 0;
    MemoryStore store(scene.disk(), [&] {
      if (writes++ == (after ? 1 : 0)) throw Killed{};
    });
    Node::Parts parts = scene.world.PartsOf(scene.world.site(1));
    Node dying({parts.self, store, parts.trust, parts.random, parts.jobs, {}, parts.steady, false});
    EXPECT_THROW(dying.Tidy(kRules, due), Killed);
    EXPECT_EQ(scene.Deleted().size(), after ? 1U : 0U);
    scene.world.Again(1);
    EXPECT_EQ(scene.TidyAt(due), after ? 0U : 1U);
    EXPECT_EQ(scene.Deleted(), std::vector<std::string>{kResultGone});
    EXPECT_EQ(scene.south().FindEnd(scene.id)->kept, Kept::kDocuments);
  }
}

TEST(RetentionTest, OpenStudiesKeepEverything) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  EXPECT_TRUE(scene.world.node(1).FindEnded().empty());
  EXPECT_EQ(scene.world.node(1).Tidy({.results_days = 1, .documents_years = 1},
                                     World::kBegin + 50 * kYear),
            0U);
  EXPECT_EQ(scene.At(1).phase, Phase::kSettled);
}

// A late word of a job opens a study again, until its key is deleted once more: nothing of it goes meanwhile.
TEST(RetentionTest, AStudyThatIsOpenAgainKeepsEverything) {
  World world({});
  world.job_dies = [&](const std::string& site, const JobRequest& job) {
    return site == "west" && job.kind == JobKind::kCheck;
  };
  const StudyId id = world.Propose(0);
  world.RunUntilQuiet(World::kBegin + 10);
  world.Command(0, id, OwnWithdrawal{.by_steward = false, .reason = "a mistake"});
  world.RunUntilQuiet(World::kBegin + 1000);
  ASSERT_TRUE(world.node(2).FindEnd(id).has_value());
  Checked late;
  late.facts.parties = ThreeParties();
  late.run_certificate = BytesOf("late");
  world.node(2).Report(id, late, world.now);
  ASSERT_TRUE(IsOpen(world.StudyAt(2, id)));
  world.now += 3 * kYear;
  EXPECT_EQ(world.node(2).Tidy(kRules, world.now), 0U);
  world.RunUntilQuiet(world.now + 10);
  ASSERT_FALSE(IsOpen(world.StudyAt(2, id)));
  EXPECT_EQ(world.node(2).Tidy(kRules, world.now), 1U);
}

TEST(RetentionTest, ManyGoAHundredAtATime) {
  FinishedScene scene;
  const OverStudy one = *scene.south().FindEnd(scene.id);
  for (uint8_t i = 1; i <= 249; ++i) {
    OverStudy more = one;
    more.id = {};
    more.id[0] = i;
    scene.disk().endings[more.id] = more;
  }
  scene.world.now = scene.ended + 30 * kDay;
  for (const size_t tidied : {100U, 100U, 50U, 0U})
    EXPECT_EQ(scene.south().Tidy(kRules, scene.world.now), tidied);
}

// A machine that starts with a clock of another century deletes nothing for a day, by when somebody may have set it.
TEST(RetentionTest, AClockFarAheadIsDoubtedForADay) {
  WorldOptions options;
  options.tells_log = true;
  FinishedScene scene(options);
  ASSERT_NE(scene.south().newest_day().number, 0U);
  scene.world.Again(1);
  EXPECT_EQ(scene.TidyAt(scene.ended + 39 * kDay), 1U) << "a node that was off for some weeks";
  FinishedScene away(options);
  away.world.Again(1);
  const int64_t wrong = away.ended + 50 * kYear;
  EXPECT_EQ(away.TidyAt(wrong), 0U);
  EXPECT_EQ(away.TidyAt(wrong + kDay - 1), 0U);
  EXPECT_TRUE(away.Deleted().empty());
  // Set right again, and wrong again: a day from then on.
  EXPECT_EQ(away.TidyAt(away.ended + 10), 0U);
  // It stays there for a day: believed, as everywhere else.
  away.world.Again(1);
  EXPECT_EQ(away.TidyAt(wrong), 0U);
  EXPECT_EQ(away.TidyAt(wrong + kDay), 1U);
}

}  // namespace
}  // namespace partita::node::retention_test
