// SIGKILL of every process at every point of a study's life at three nodes, withdrawals at every
// point, messages lost, doubled and reordered. Wherever it strikes, the study ends the same at every
// node, the budget is never forgotten, and nothing opens twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/world.h"

namespace partita::node::kill_matrix_test {
namespace {

struct Ends {
  std::vector<Study> studies;
  bool opened = false;
  bool same = true;

  Phase phase() const { return studies.front().phase; }
  std::string Text() const {
    std::string text;
    for (const Study& study : studies) {
      text += PhaseName(study.phase) + " (" + std::to_string(study.closed) + " closed" +
              (study.charged ? ", charged) " : ") ");
    }
    return text;
  }
};

// Runs to the end and checks what holds whatever happened.
Ends RunToTheEnd(World& world, const StudyId& id, const std::string& what) {
  world.RunUntilQuiet(World::kBegin + World::kLife + 3 * 86'400);
  Ends ends;
  for (size_t i = 0; i < 3; ++i) ends.studies.push_back(world.StudyAt(i, id));
  ends.opened = !world.openings[id].empty();
  for (const Study& study : ends.studies) {
    EXPECT_TRUE(IsEnd(study.phase)) << what << ": " << ends.Text();
    EXPECT_FALSE(IsOpen(study)) << what;
    // Forgotten budget: something opened, and this node would take its reservation back.
    if (ends.opened) {
      EXPECT_TRUE(study.charged) << what << ": " << ends.Text();
    }
    ends.same =
        ends.same && study.phase == ends.phase() && study.charged == ends.studies[0].charged;
  }
  return ends;
}

class Matrix : public ::testing::Test {
 protected:
  // The points of a run without harm.
  static uint64_t PointsOf(WorldOptions options) {
    World world(std::move(options));
    const StudyId id = world.Propose(0);
    const Ends ends = RunToTheEnd(world, id, "no harm");
    EXPECT_EQ(ends.phase(), Phase::kFinished) << ends.Text();
    EXPECT_TRUE(ends.same);
    EXPECT_EQ(world.openings[id].size(), size_t{1});
    return world.points;
  }
};

TEST_F(Matrix, EveryProcessKilledAtEveryPoint) {
  const uint64_t last = PointsOf({});
  ASSERT_GT(last, uint64_t{200});
  uint64_t runs = 0, finished = 0, failed = 0;
  for (const Harm harm : {Harm::kNode, Harm::kJob, Harm::kMachine}) {
    for (const int64_t down : {int64_t{0}, int64_t{5}, int64_t{200}}) {
      if (harm == Harm::kJob && down != 5) continue;
      for (uint64_t point = 1; point <= last; ++point) {
        WorldOptions options;
        options.at_point = point;
        options.harm = harm;
        options.down_seconds = down;
        World world(options);
        const StudyId id = world.Propose(0);
        const std::string what = "harm " + std::to_string(static_cast<int>(harm)) + ", down " +
                                 std::to_string(down) + " s, point " + std::to_string(point);
        const Ends ends = RunToTheEnd(world, id, what);
        ++runs;
        EXPECT_TRUE(ends.same) << what << ": " << ends.Text();
        EXPECT_LE(world.openings[id].size(), size_t{1}) << what << ": opened twice";
        // A node that is killed ends no study: its job goes on. Nor does a job before its mark.
        if (harm == Harm::kNode) {
          EXPECT_EQ(ends.phase(), Phase::kFinished) << what << ": " << ends.Text();
        }
        EXPECT_TRUE(ends.phase() == Phase::kFinished || ends.phase() == Phase::kFailed)
            << what << ": " << ends.Text();
        if (ends.phase() == Phase::kFailed) {
          EXPECT_TRUE(ends.studies[0].charged) << what;
        }
        (ends.phase() == Phase::kFinished ? finished : failed) += 1;
        if (HasFailure()) return;
      }
    }
  }
  RecordProperty("points", static_cast<int>(runs));
  EXPECT_GE(runs, uint64_t{1000});
  EXPECT_GT(finished, runs / 2);
  EXPECT_GT(failed, uint64_t{0});
}

}  // namespace
}  // namespace partita::node::kill_matrix_test
