// What dies, is lost, comes late or cannot be read: jobs, starts, writes, states.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/scene.h"

namespace partita::node::silence_test {
namespace {

constexpr int64_t kEnd = World::kBegin + World::kLife;

TEST(Silence, AJobThatDiesIsAskedAgain) {
  for (const JobKind kind : {JobKind::kCheck, JobKind::kCommit, JobKind::kDiscard}) {
    for (const std::string& victim : ThreeParties()) {
      World world({});
      int begun = 0;
      world.job_dies = [&](const std::string& site, const JobRequest& job) {
        return site == victim && job.kind == kind && ++begun <= 2;
      };
      const StudyId id = world.Propose(0);
      world.RunUntilQuiet(World::kBegin + 3600);
      EXPECT_EQ(begun, 3) << JobKindName(kind) << " at " << victim;
      for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kFinished) << JobKindName(kind);
        EXPECT_TRUE(world.StudyAt(i, id).discarded) << JobKindName(kind);
        EXPECT_FALSE(world.site(i).folders[id].has_key) << JobKindName(kind);
      }
    }
  }
}

TEST(Silence, AStopThatDiesIsAskedAgain) {
  WorldOptions options;
  options.job_seconds = 1000;
  Scene scene(options);
  int begun = 0;
  scene.world.job_dies = [&](const std::string& site, const JobRequest& job) {
    return site == "south" && job.kind == JobKind::kStop && ++begun <= 2;
  };
  scene.RunTo(1, Phase::kRunning);
  const int64_t withdrawn_at = scene.world.now;
  scene.world.Command(1, scene.id, OwnWithdrawal{.by_steward = true, .reason = "consent is gone"});
  scene.world.RunUntilQuiet(withdrawn_at + 500);
  EXPECT_EQ(begun, 3);
  EXPECT_TRUE(scene.world.openings[scene.id].empty());
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(IsEnd(scene.At(i).phase)) << i;
}

TEST(Silence, ACheckThatOutlivesItsStudyLeavesNoKey) {
  World world({});
  std::vector<JobRequest> jobs;
  world.job_dies = [&](const std::string& site, const JobRequest& job) {
    if (site == "west") jobs.push_back(job);
    return site == "west" && job.kind == JobKind::kCheck;
  };
  const StudyId id = world.Propose(0);
  world.RunUntilQuiet(World::kBegin + 10);
  world.Command(0, id, OwnWithdrawal{.by_steward = false, .reason = "a mistake"});
  world.RunUntilQuiet(World::kBegin + 1000);
  ASSERT_EQ(world.StudyAt(2, id).phase, Phase::kWithdrawn);
  ASSERT_FALSE(IsOpen(world.StudyAt(2, id)));
  world.site(2).folders[id].has_key = true;
  jobs.clear();
  Checked late;
  late.facts.parties = ThreeParties();
  late.run_certificate = BytesOf("late");
  world.node(2).Report(id, late, world.now);
  EXPECT_TRUE(IsOpen(world.StudyAt(2, id)));
  world.RunUntilQuiet(world.now + 10);
  EXPECT_EQ(jobs, (std::vector<JobRequest>{{JobKind::kDiscard, 1}}));
  EXPECT_FALSE(world.site(2).folders[id].has_key);
  EXPECT_FALSE(IsOpen(world.StudyAt(2, id)));
}

TEST(Silence, ATableIsFrozenOnce) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  scene.world.RunUntilQuiet(scene.world.now + 5);
  const Study before = scene.At(1);
  ASSERT_TRUE(before.agreement_hash.has_value());
  int commits = 0;
  scene.world.job_dies = [&](const std::string&, const JobRequest& job) {
    commits += job.kind == JobKind::kCommit ? 1 : 0;
    return false;
  };
  scene.world.Again(1);
  scene.world.RunUntilQuiet(scene.world.now + 500);
  EXPECT_EQ(commits, 0);
  scene.world.node(1).Report(scene.id, Committed{Digest{9}}, scene.world.now);
  EXPECT_EQ(scene.At(1).agreement_hash, before.agreement_hash);
}

// North starts, reaches south alone, and burns.
TEST(Silence, AStartThatReachedOneAloneEndsAlikeAtTheOthers) {
  for (const bool with_words : {true, false}) {
    Scene scene;
    scene.world.loses = [&](const OutboxEntry& entry) {
      const Kind kind = DecodeMessage(entry.message).message.kind;
      return entry.to == "west" && kind == Kind::kStart;
    };
    scene.RunTo(1, Phase::kScheduled);
    if (with_words) {
      scene.world.site(0).node.reset();
      scene.world.KillJobs(scene.world.site(0));
    }
    scene.world.RunUntilQuiet(World::kBegin + 3600);
    const Study south = scene.At(1);
    const Study west = scene.At(2);
    // West refused an attempt of which it has heard by south's word only.
    EXPECT_TRUE(south.closed > 0 || west.phase == Phase::kClosing) << with_words;
    scene.world.RunUntilQuiet(kEnd + 3 * 86'400);
    EXPECT_EQ(scene.At(1).phase, scene.At(2).phase) << with_words;
    EXPECT_EQ(scene.At(1).charged, scene.At(2).charged) << with_words;
    EXPECT_EQ(scene.At(1).closed, scene.At(2).closed) << with_words;
    EXPECT_TRUE(IsEnd(scene.At(1).phase));
  }
}

// ---- Reports that cannot be read -----------------------------------------------------------------

void ExpectReadableAgain(Scene& scene, size_t i) {
  const Study before = scene.At(i);
  EXPECT_EQ(DecodeStudy(EncodeStudy(before)), before);
  scene.world.Again(i);
  EXPECT_TRUE(scene.world.node(i).set_apart().empty());
}

std::vector<Ended> SickWords() {
  std::vector<Ended> words(4);
  for (Ended& ended : words) ended.attempt = 1;
  words[0].signature.assign(81, 7);
  words[1].outcome = Outcome::kFinished;
  words[1].may_have_opened = false;
  words[2].outcome = static_cast<Outcome>(0);
  words[3].outcome = static_cast<Outcome>(77);
  return words;
}

TEST(Silence, AWordThatCannotBeReadIsNoWord) {
  for (const Ended& sick : SickWords()) {
    AgreedScene scene;
    EXPECT_EQ(scene.Send("north", 1, Kind::kStart, Encode(Start{1, {1}})), Receipt::kTaken);
    scene.world.node(1).Report(scene.id, JobEnded{sick}, scene.world.now);
    Ended unsaid;
    unsaid.attempt = 1;
    EXPECT_EQ(scene.At(1).ended.at("south"), unsaid);
    ExpectReadableAgain(scene, 1);
    AgreedScene ended;
    ended.world.Command(1, ended.id, OwnWithdrawal{.by_steward = true, .reason = "no"});
    ended.world.node(1).Report(ended.id, Discarded{sick}, ended.world.now);
    EXPECT_EQ(ended.At(1).refusal, unsaid);
    ExpectReadableAgain(ended, 1);
  }
}

TEST(Silence, ProgressAndOffersThatCannotBeReadAreNotSent) {
  Scene scene;
  scene.RunTo(1, Phase::kRunning);
  for (const Progress& sick : {Progress{1, "two\nlines", 5}, Progress{1, "more than all", 1001},
                               Progress{1, std::string(500, 'x'), 5}}) {
    const Study before = scene.At(1);
    scene.world.node(1).Report(scene.id, JobProgress{sick}, scene.world.now);
    ExpectUnmoved(before, scene.At(1));
  }
  World world({});
  StudyId id{};
  world.job_dies = [&](const std::string& site, const JobRequest& job) {
    if (site != "west" || job.kind != JobKind::kCheck) return false;
    Checked sick;
    sick.facts.parties = ThreeParties();
    sick.run_certificate = BytesOf("a run key");
    sick.address = std::string(10'000, 'x');
    world.node(2).Report(id, sick, world.now);
    return true;
  };
  id = world.Propose(0);
  world.RunUntilQuiet(World::kBegin + 1000);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(world.StudyAt(i, id).phase, Phase::kRejected) << i;
}

TEST(Silence, AStudyThatCannotBeReadRestsAndTheOthersGoOn) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  scene.world.RunUntilQuiet(scene.world.now + 5);
  Bytes& state = scene.world.site(1).disk.studies[scene.id];
  const Bytes whole = state;
  state.resize(state.size() / 2);
  scene.world.Again(1);
  EXPECT_EQ(scene.world.node(1).set_apart(), std::set<StudyId>{scene.id});
  EXPECT_EQ(scene.world.node(1).Find(scene.id), std::nullopt);
  const Bytes body = Encode(Withdraw{.by_steward = false, .reason = "no"});
  EXPECT_EQ(scene.Send("north", 1, Kind::kWithdraw, body), Receipt::kLater);
  scene.world.node(1).Report(scene.id, Committed{Digest{9}}, scene.world.now);
  EXPECT_EQ(scene.world.site(1).disk.studies[scene.id].size(), whole.size() / 2);
  const StudyId other =
      scene.world.node(0).Propose("another", scene.world.now + World::kLife, scene.world.now);
  scene.world.RunUntilQuiet(scene.world.now + 100);
  EXPECT_EQ(scene.world.StudyAt(2, other).phase, Phase::kSettled);
}

// ---- Writes that fail, clocks that are set back --------------------------------------------------

TEST(Silence, AfterAWriteThatFailedTheNodeRefusesEverything) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  World::Site& south = scene.world.site(1);
  int calls = 0;
  // After the write: it is on the disk, and the node does not know.
  MemoryStore failing(south.disk, [&] {
    if (++calls == 2) throw Error(ErrorCode::kStorage, "the disk is full");
  });
  const int64_t now = scene.world.now;
  Node node(Node::Parts{"south", failing, *south.trust, *south.random, south, {}});
  const Bytes body = Encode(Withdraw{.by_steward = false, .reason = "no"});
  const Bytes message = SignedBy("north", "south", Kind::kWithdraw, scene.id, body, 77, now);
  EXPECT_THROW(node.Receive(message, now), Error);
  EXPECT_EQ(scene.At(1).phase, Phase::kWithdrawn);
  const auto refuses = [](const std::function<void()>& what) {
    try {
      what();
      ADD_FAILURE() << "it went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kStorage);
    }
  };
  refuses([&] { node.Report(scene.id, Committed{Digest{1}}, now); });
  refuses([&] { node.Command(scene.id, OwnWithdrawal{true, "no"}, now); });
  refuses([&] { node.Propose("another", now + World::kLife, now); });
  refuses([&] { node.EmergencyStop(now); });
  refuses([&] { node.Tick(kEnd); });
  EXPECT_EQ(scene.At(1).phase, Phase::kWithdrawn);
  EXPECT_EQ(calls, 2);
}

TEST(Silence, AClockThatIsSetBackHoldsUpNothing) {
  for (const Phase phase :
       {Phase::kValidated, Phase::kAgreed, Phase::kScheduled, Phase::kRunning}) {
    Scene scene;
    // North waits for answers to its question.
    bool lost = phase == Phase::kAgreed;
    scene.world.loses = [&](const OutboxEntry& entry) {
      return lost && DecodeMessage(entry.message).message.kind == Kind::kSlot;
    };
    scene.RunTo(0, phase);
    lost = false;
    scene.world.SetBack(7 * 86'400);
    const int64_t back = scene.world.now;
    for (int64_t at = back; at <= back + 7200; at += 10) {
      scene.world.now = at;
      for (size_t i = 0; i < 3; ++i) scene.world.node(i).Tick(at);
      scene.world.RunUntilQuiet(at + 9);
    }
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(scene.At(i).phase, Phase::kFinished) << PhaseName(phase) << i;
  }
}

}  // namespace
}  // namespace partita::node::silence_test
