// A job that is started for one answer, without an order, and ended when it has answered.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace partita::node {

struct ShortJob {
  std::vector<std::string> program;  // of a job, with its arguments
  std::string what;                  // "looks at the tables", for messages
  std::string hint;
  size_t most_bytes = 0;  // of the answer
  std::chrono::seconds patience{20};
};

// input: written to the job's channel, which is closed that way then. Returns what the job wrote, at least one byte.
// Throws kRefused where no job could be started or it gave no answer, kTimeout.
Bytes AskShortJob(const ShortJob& job, ByteView input = {});

}  // namespace partita::node
