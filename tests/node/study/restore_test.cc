// A node that was put back to an older state: what was agreed before does not run after it, and nothing twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/node/scene.h"

namespace partita::node::restore_test {
namespace {

// As a restore does it, at a machine with the folders of jobs as they are now, or none.
void Restore(World& world, size_t i, Disk before, bool keeps_folders) {
  before.incarnation.fill(88);
  before.next_number = 1;
  before.outbox.clear();
  before.restored = true;
  world.site(i).node.reset();
  world.site(i).disk = std::move(before);
  if (!keeps_folders) {
    for (auto& [id, folder] : world.site(i).folders) {
      folder = {};
      folder.exists = folder.has_key = false;
    }
  }
  world.Again(i);
}

// The state of every phase, put back when all was over.
TEST(RestoreTest, AStudyThatWasRunIsNotRunAgain) {
  for (const size_t site : {size_t{0}, size_t{1}}) {
    for (const bool keeps_folders : {true, false}) {
      for (Phase phase = Phase::kProposed; phase <= Phase::kClosing;
           phase = static_cast<Phase>(static_cast<int>(phase) + 1)) {
        Scene scene;
        std::optional<Disk> before;
        scene.world.on_delivery = [&](const OutboxEntry&) {
          const Study now = scene.At(site);
          if (!before && now.id == scene.id && now.phase >= phase)
            before = scene.world.site(site).disk;
        };
        scene.RunTo(0, Phase::kFinished);
        scene.world.RunUntilQuiet(World::kBegin + 3600);
        ASSERT_EQ(scene.world.openings[scene.id].size(), 1U);
        if (!before) continue;
        const Phase other = scene.At(2).phase;
        Restore(scene.world, site, *before, keeps_folders);
        scene.world.RunUntilQuiet(World::kBegin + World::kLife + 5 * 86'400);
        const std::string what = ThreeParties()[site] + ", " + PhaseName(phase);
        EXPECT_EQ(scene.world.openings[scene.id].size(), 1U) << what;
        EXPECT_EQ(scene.world.first_openings[scene.id], 1U) << what;
        EXPECT_TRUE(IsEnd(scene.At(site).phase)) << what << " " << PhaseName(scene.At(site).phase);
        EXPECT_EQ(scene.At(2).phase, other) << what;
        EXPECT_FALSE(scene.world.site(site).disk.restored);
      }
    }
  }
}

TEST(RestoreTest, StudiesThatWaitEndEverywhereAndTheOthersKnowWhy) {
  Scene scene({}, false);
  scene.RunTo(1, Phase::kSettled);
  scene.world.RunUntilQuiet(World::kBegin + 600);
  Restore(scene.world, 1, scene.world.site(1).disk, true);
  scene.world.RunUntilQuiet(World::kBegin + 1200);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(scene.At(i).phase, Phase::kWithdrawn) << i;
    EXPECT_EQ(scene.At(i).ending.who, "south") << i;
    EXPECT_EQ(scene.At(i).ending.what, "this site's node was restored from a backup") << i;
  }
}

TEST(RestoreTest, AKillOnTheWayEndsThemAllTheSame) {
  for (uint64_t point = 1; point < 12; ++point) {
    WorldOptions options;
    uint64_t points = 0;
    {
      Scene scene({}, false);
      scene.RunTo(1, Phase::kSettled);
      scene.world.RunUntilQuiet(World::kBegin + 600);
      points = scene.world.points;
    }
    options.harms[points + point] = Harm::kNode;
    Scene scene(options, false);
    scene.RunTo(1, Phase::kSettled);
    scene.world.RunUntilQuiet(World::kBegin + 600);
    Restore(scene.world, 1, scene.world.site(1).disk, true);
    scene.world.RunUntilQuiet(World::kBegin + 7200);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(scene.At(i).phase, Phase::kWithdrawn) << point;
    EXPECT_FALSE(scene.world.site(1).disk.restored) << point;
  }
}

}  // namespace
}  // namespace partita::node::restore_test
