// SIGKILL of every process at every point of a study's life at three nodes, withdrawals and
// emergency stops at every point, every message lost, doubled or late. Wherever it strikes, the
// study ends the same at every node, the budget is never forgotten, and nothing opens twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/world.h"

namespace partita::node::kill_matrix_test {
namespace {

struct Ends {
  std::vector<Study> studies;
  size_t openings = 0;

  Phase phase() const { return studies.front().phase; }
  bool charged() const { return studies.front().charged; }
  std::string Text() const {
    std::string text;
    for (const Study& study : studies) {
      text += PhaseName(study.phase) + " (" + std::to_string(study.closed) + " closed" +
              (study.charged ? ", charged) " : ") ");
    }
    return text;
  }
};

// Whatever was killed when: the log tells the study's life once, and what it tells is what the node holds.
void ExpectAudited(const std::vector<AuditEntry>& log, const Study& study,
                   const std::string& what) {
  std::map<AuditAction, int> times;
  std::set<std::string> approvals;
  std::string ended;
  AuditHead head;
  for (const AuditEntry& entry : log) {
    EXPECT_EQ(FaultOf(head, entry), std::nullopt) << what;
    head = HeadOf(entry);
    ++times[entry.record.action];
    if (entry.record.action == AuditAction::kStudyEnd) ended = entry.record.outcome;
    if (entry.record.action != AuditAction::kApproval) continue;
    EXPECT_TRUE(approvals.insert(entry.record.subject).second) << what << ": approved twice";
  }
  EXPECT_EQ(times[AuditAction::kProposal], 1) << what;
  // One that was over and answers a start ends again: the last word counts.
  EXPECT_TRUE(ended.starts_with(PhaseName(study.phase))) << what << ": " << ended;
  std::set<std::string> held;
  for (const auto& approval : study.approvals) held.insert(approval.first);
  EXPECT_EQ(approvals, held) << what;
}

// Runs to the end and checks what holds whatever happened.
Ends RunToTheEnd(World& world, const StudyId& id, const std::string& what) {
  world.RunUntilQuiet(World::kBegin + World::kLife + 3 * 86'400);
  Ends ends;
  for (size_t i = 0; i < 3; ++i) {
    Study study = world.StudyAt(i, id);
    // A study that was withdrawn before it was checked at home never came to the others.
    const bool unheard = i > 0 && study.id != id && ends.studies[0].facts.parties.empty();
    if (unheard) continue;
    ExpectAudited(world.site(i).disk.audit, study, what);
    ends.studies.push_back(std::move(study));
  }
  ends.openings = world.openings[id].size();
  for (const Study& study : ends.studies) {
    EXPECT_EQ(study.id, id) << what;
    EXPECT_TRUE(IsEnd(study.phase)) << what << ": " << ends.Text();
    EXPECT_FALSE(IsOpen(study)) << what << ": keys are left";
    // Forgotten budget: something opened, and this node would take its reservation back.
    EXPECT_TRUE(study.charged || ends.openings == 0) << what << ": " << ends.Text();
    EXPECT_EQ(study.phase, ends.phase()) << what << ": " << ends.Text();
    EXPECT_EQ(study.charged, ends.charged()) << what << ": " << ends.Text();
  }
  return ends;
}

// Points and deliveries of a run without harm.
struct Size {
  uint64_t points = 0, deliveries = 0;
};
Size SizeOf(WorldOptions options) {
  World world(std::move(options));
  const StudyId id = world.Propose(0);
  const Ends ends = RunToTheEnd(world, id, "no harm");
  EXPECT_EQ(ends.phase(), Phase::kFinished) << ends.Text();
  EXPECT_EQ(ends.openings, size_t{1});
  return {world.points, world.deliveries};
}

std::string At(const std::string& what, uint64_t place) {
  return what + " at " + std::to_string(place);
}

struct Counts {
  uint64_t runs = 0, finished = 0, failed = 0, withdrawn = 0;

  void Add(Phase phase) {
    ++runs;
    if (phase == Phase::kFinished) ++finished;
    if (phase == Phase::kFailed) ++failed;
    if (phase == Phase::kWithdrawn) ++withdrawn;
  }
};

struct Blow {
  const char* name;
  Harm harm;
  int64_t down_seconds;
};
constexpr Blow kBlows[] = {
    {"node killed, back at once", Harm::kNode, 0},     {"node killed", Harm::kNode, 5},
    {"node killed for 200 s", Harm::kNode, 200},       {"job killed", Harm::kJob, 5},
    {"machine lost, back at once", Harm::kMachine, 0}, {"machine lost", Harm::kMachine, 5},
    {"machine lost for 200 s", Harm::kMachine, 200}};

TEST(KillMatrix, EveryProcessAtEveryPoint) {
  const uint64_t last = SizeOf({}).points;
  ASSERT_GT(last, uint64_t{150});
  Counts counts;
  for (const Blow& blow : kBlows) {
    for (uint64_t point = 1; point <= last && !HasFailure(); ++point) {
      WorldOptions options;
      options.harms[point] = blow.harm;
      options.down_seconds = blow.down_seconds;
      World world(options);
      const StudyId id = world.Propose(0);
      const std::string what = At(blow.name, point);
      const Ends ends = RunToTheEnd(world, id, what);
      counts.Add(ends.phase());
      EXPECT_LE(ends.openings, size_t{1}) << what << ": opened twice";
      // A node that is killed ends no study: its job goes on.
      if (blow.harm == Harm::kNode) {
        EXPECT_EQ(ends.phase(), Phase::kFinished) << what << ": " << ends.Text();
      }
      if (ends.phase() != Phase::kFinished) {
        EXPECT_EQ(ends.phase(), Phase::kFailed) << what << ": " << ends.Text();
        EXPECT_TRUE(ends.charged()) << what;
      }
    }
  }
  EXPECT_GE(counts.runs, uint64_t{1000});
  EXPECT_GT(counts.finished, counts.runs * 9 / 10);
  EXPECT_GT(counts.failed, uint64_t{0});
}

TEST(KillMatrix, StudiesThatResumeAreFinishedWhereverTheyWereInterrupted) {
  WorldOptions resumable;
  resumable.resumable = true;
  const uint64_t last = SizeOf(resumable).points;
  for (const Harm harm : {Harm::kJob, Harm::kMachine}) {
    for (uint64_t point = 1; point <= last && !HasFailure(); ++point) {
      WorldOptions options = resumable;
      options.harms[point] = harm;
      World world(options);
      const StudyId id = world.Propose(0);
      const Ends ends = RunToTheEnd(world, id, At("resumable", point));
      EXPECT_EQ(ends.phase(), Phase::kFinished) << point << ": " << ends.Text();
    }
  }
}

TEST(KillMatrix, ASecondBlowWhileTheFirstIsMended) {
  const uint64_t last = SizeOf({}).points;
  CountedRandom random(5);
  Counts counts;
  for (int run = 0; run < 400 && !HasFailure(); ++run) {
    WorldOptions options;
    options.seed = static_cast<uint64_t>(run) + 10;
    options.lost_percent = 20;
    options.doubled_percent = 20;
    options.reorder = true;
    std::string what = "run " + std::to_string(run) + ":";
    for (int blow = 0; blow < 3; ++blow) {
      const uint64_t point = 1 + random.Below(2 * last);
      options.harms[point] = static_cast<Harm>(1 + random.Below(3));
      what += " " + std::to_string(point);
    }
    options.down_seconds = static_cast<int64_t>(random.Below(100));
    World world(options);
    const StudyId id = world.Propose(0);
    const Ends ends = RunToTheEnd(world, id, what);
    counts.Add(ends.phase());
    EXPECT_LE(ends.openings, size_t{1}) << what << ": opened twice";
  }
  EXPECT_GT(counts.finished, counts.runs / 2);
}

TEST(KillMatrix, EveryDeliveryLostOrItsAnswerOrOnceMoreLater) {
  const uint64_t last = SizeOf({}).deliveries;
  ASSERT_GT(last, uint64_t{20});
  for (const Fate fate : {Fate::kLost, Fate::kAnswerLost, Fate::kTwice}) {
    for (uint64_t delivery = 1; delivery <= last && !HasFailure(); ++delivery) {
      WorldOptions options;
      options.fates[delivery] = fate;
      World world(options);
      const StudyId id = world.Propose(0);
      const Ends ends = RunToTheEnd(world, id, At("delivery", delivery));
      EXPECT_EQ(ends.phase(), Phase::kFinished) << delivery << ": " << ends.Text();
      EXPECT_EQ(ends.openings, size_t{1}) << delivery;
    }
  }
}

TEST(KillMatrix, WithdrawnAtEveryPointByEverybody) {
  const uint64_t last = SizeOf({}).points;
  Counts counts;
  for (size_t who = 0; who < 3; ++who) {
    for (uint64_t point = 1; point <= last && !HasFailure(); ++point) {
      World* there = nullptr;
      StudyId id{};
      WorldOptions options;
      options.at_point = point;
      options.then = [&](bool inside) {
        const auto withdraw = [&there, &id, who] {
          there->Command(who, id, OwnWithdrawal{.by_steward = true, .reason = "consent is gone"});
        };
        if (inside) return there->After(0, withdraw);
        withdraw();
      };
      World world(options);
      there = &world;
      id = world.Propose(0);
      const std::string what = At("withdrawn by " + ThreeParties()[who], point);
      const Ends ends = RunToTheEnd(world, id, what);
      if (world.StudyAt(who, id).id != id) continue;
      counts.Add(ends.phase());
      // "What is durable here first wins here", but all end alike.
      EXPECT_TRUE(ends.phase() == Phase::kWithdrawn || ends.phase() == Phase::kFinished ||
                  ends.phase() == Phase::kFailed)
          << what << ": " << ends.Text();
      if (ends.phase() == Phase::kWithdrawn) {
        EXPECT_FALSE(ends.charged()) << what;
        EXPECT_EQ(ends.openings, size_t{0}) << what;
      }
      if (ends.phase() == Phase::kFinished) {
        EXPECT_EQ(ends.openings, size_t{1}) << what;
      }
    }
  }
  EXPECT_GT(counts.withdrawn, counts.runs / 3);
  EXPECT_GT(counts.finished, uint64_t{0});
}

TEST(KillMatrix, WithdrawnWhileProcessesDieAndMessagesAreLost) {
  const uint64_t last = SizeOf({}).points;
  CountedRandom random(6);
  Counts counts;
  for (int run = 0; run < 400 && !HasFailure(); ++run) {
    World* there = nullptr;
    StudyId id{};
    const size_t who = random.Below(3);
    WorldOptions options;
    options.seed = static_cast<uint64_t>(run) + 10;
    options.lost_percent = 20;
    options.doubled_percent = 20;
    options.reorder = true;
    options.resumable = random.Below(4) == 0;
    options.down_seconds = static_cast<int64_t>(random.Below(100));
    options.at_point = 1 + random.Below(2 * last);
    options.then = [&there, &id, who](bool) {
      there->After(0, [&there, &id, who] {
        there->Command(who, id, OwnWithdrawal{.by_steward = true, .reason = "consent is gone"});
      });
    };
    for (int blow = 0; blow < 2; ++blow)
      options.harms[1 + random.Below(2 * last)] = static_cast<Harm>(1 + random.Below(3));
    World world(options);
    there = &world;
    id = world.Propose(0);
    const Ends ends = RunToTheEnd(world, id, At("run", static_cast<uint64_t>(run)));
    counts.Add(ends.phase());
    EXPECT_TRUE(options.resumable || ends.openings <= size_t{1}) << run;
  }
  EXPECT_GT(counts.withdrawn, counts.runs / 10);
  EXPECT_GT(counts.finished, counts.runs / 10);
}

TEST(KillMatrix, StoppedInAnEmergencyAtEveryPoint) {
  const uint64_t last = SizeOf({}).points;
  Counts counts;
  for (size_t who = 0; who < 3; ++who) {
    for (uint64_t point = 1; point <= last && !HasFailure(); point += 2) {
      World* there = nullptr;
      WorldOptions options;
      options.at_point = point;
      options.then = [&](bool) {
        there->After(0, [&there, who] { there->node(who).EmergencyStop(there->now); });
        there->After(5000, [&there, who] { there->node(who).EndEmergencyStop(there->now); });
      };
      World world(options);
      there = &world;
      const StudyId id = world.Propose(0);
      const Ends ends = RunToTheEnd(world, id, At("stopped", point));
      counts.Add(ends.phase());
      EXPECT_LE(ends.openings, size_t{1}) << point;
    }
  }
  EXPECT_GT(counts.finished, counts.runs / 2);
}

}  // namespace
}  // namespace partita::node::kill_matrix_test
