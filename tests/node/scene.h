// One study of three nodes, up to some phase, with every message that was sent.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/node/world.h"

namespace partita::node {

struct Scene {
  World world;
  StudyId id{};
  std::vector<OutboxEntry> sent;
  uint64_t number = 1000;

  explicit Scene(WorldOptions options = {}, bool approves = true) : world(std::move(options)) {
    world.approves = approves;
    world.on_delivery = [this](const OutboxEntry& entry) { sent.push_back(entry); };
    id = world.Propose(0);
  }
  Study At(size_t i) { return world.StudyAt(i, id); }
  // Stops as soon as node i is there.
  void RunTo(size_t i, Phase phase) {
    for (int seconds = 0; seconds < 300 && At(i).phase < phase; ++seconds) {
      world.RunUntilQuiet(world.now);
      if (At(i).phase < phase) world.now += 1;
    }
    ASSERT_EQ(At(i).phase, phase);
  }
  Receipt Send(const std::string& from, size_t to, Kind kind, const Bytes& body) {
    return world.node(to).Receive(
        SignedBy(from, ThreeParties()[to], kind, id, body, ++number, world.now), world.now);
  }
  std::string LastRefusal(size_t i) { return world.node(i).refusals().back(); }
  // The first message of a kind to a party.
  SignedMessage Sent(Kind kind, const std::string& to) {
    for (const OutboxEntry& entry : sent) {
      const SignedMessage message = DecodeMessage(entry.message);
      if (message.message.kind == kind && entry.to == to) return message;
    }
    ADD_FAILURE() << "no " << KindName(kind) << " to " << to;
    return {};
  }
};

inline void ExpectUnmoved(const Study& before, const Study& after) { EXPECT_EQ(before, after); }

struct AgreedScene : Scene {
  // All have agreed, and north, which is stopped, asks for no slots.
  AgreedScene() {
    world.node(0).EmergencyStop(world.now);
    world.RunUntilQuiet(world.now + 60);
    EXPECT_EQ(At(1).phase, Phase::kAgreed);
  }
};

}  // namespace partita::node
