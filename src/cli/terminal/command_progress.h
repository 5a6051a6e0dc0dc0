// Progress of a long command on the terminal, unless --quiet; Control-C cancels either way.
#pragma once

#include <unistd.h>

#include <iostream>

#include "cli/commands.h"
#include "cli/study/simulate.h"
#include "cli/terminal/interrupt.h"
#include "report/progress.h"

namespace partita::cli {

// As --progress says.
inline report::ProgressStyle ProgressStyleOf(const OutputOptions& output) {
  if (output.progress == "jsonl") return {.json = true};
  return report::DetectProgressStyle(STDERR_FILENO);
}

class CommandProgress {
 public:
  explicit CommandProgress(const OutputOptions& output)
      : terminal_(std::cerr, ProgressStyleOf(output), "", &Interrupted()),
        is_quiet_(output.quiet) {}

  Progress& progress() { return is_quiet_ ? static_cast<Progress&>(quiet_) : terminal_; }
  void Finish() { terminal_.Finish(); }

 private:
  report::TerminalProgress terminal_;
  CancellableProgress quiet_;
  bool is_quiet_;
};

}  // namespace partita::cli
