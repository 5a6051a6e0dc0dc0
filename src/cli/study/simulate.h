// Running a whole study on this machine and showing its end: `study simulate` and `demo`.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "cli/terminal/output.h"

namespace partita::cli {

struct SimulateOptions {
  std::string study_file;
  std::vector<std::string> data;  // PARTY=FILE
  bool in_process = false;
  std::string latency, bandwidth;
  std::string output;
  bool accept_useless = false;
};

// Prints the receiver's report, or every failed party's error with the root cause last. Returns the
// exit code.
int Simulate(const OutputOptions& output, const SimulateOptions& options);

// Says nothing; cancels on Control-C.
class CancellableProgress : public SilentProgress {
 public:
  void CheckCancelled() override;
};

}  // namespace partita::cli
