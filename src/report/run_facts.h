// What happened in a run, as one party saw it: the part of a report that does not depend on the
// method.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace partita::report {

// Payload of one phase over all links of this party; frame headers come on top.
struct PhaseFacts {
  std::string phase;
  uint64_t rounds = 0;
  uint64_t messages_sent = 0, messages_received = 0;
  uint64_t bytes_sent = 0, bytes_received = 0;
  double seconds = 0;
};

// One line of the release gate's count.
struct ReleaseFacts {
  std::string id, what, to, mechanism;
  uint64_t max_count = 0;
  uint64_t opened = 0;
};

struct RunFacts {
  std::string party;                                           // whose report this is
  std::string study_file_hash, study_hash, plan_hash, run_id;  // hexadecimal
  std::string software_version;
  std::string started_at;  // UTC, "2024-05-01T12:00:00Z"
  double seconds_total = 0;
  std::vector<PhaseFacts> phases;
  std::vector<ReleaseFacts> releases;
};

}  // namespace partita::report
