// Studies and changes that tests of the store write.
#pragma once

#include <vector>

#include "tests/node/world.h"

namespace partita::node {

// Every state that a study passes through at three nodes.
inline std::vector<Study> States() {
  std::vector<Study> states;
  World world({});
  StudyId id{};
  world.on_delivery = [&](const OutboxEntry&) {
    for (size_t i = 0; i < 3; ++i) {
      const Study study = world.StudyAt(i, id);
      if (study.id == id) states.push_back(study);
    }
  };
  id = world.Propose(0);
  world.RunUntilQuiet(World::kBegin + 3600);
  for (size_t i = 0; i < 3; ++i) states.push_back(world.StudyAt(i, id));
  return states;
}

inline Change Example(const Study& study) {
  Change change;
  change.study = study;
  change.send = {{7, "south", study.id, 1000, BytesOf("message")}};
  change.bodies = {BytesOf("body")};
  change.received = ReceivedMessage{
      Digest{1}, "west", Incarnation{2}, UINT64_MAX, study.id, BytesOf("received"), 20'000, 300};
  change.next_number = 8;
  return change;
}

// A study that is over, as `Node` writes it.
inline Change OverAt(const Study& study, int64_t ended) {
  Change change;
  change.study = study;
  change.ended = ended;
  return change;
}

}  // namespace partita::node
