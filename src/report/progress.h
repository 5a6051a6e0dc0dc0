// Progress in a terminal: one line that refreshes itself, or plain lines in a log; or for a program that
// draws it itself.
#pragma once

#include <atomic>
#include <functional>
#include <ostream>
#include <string>

#include "base/clock.h"
#include "base/progress.h"

namespace partita::report {

struct ProgressStyle {
  bool refresh =
      false;  // one line, redrawn at most twice a second; else a line per phase and every 30 s
  bool color = false;
  bool json =
      false;  // for programs: a JSON object per line, at most two in a second beside the first of a phase
};

// From the descriptor and the environment: refresh on a terminal that is not "dumb", color unless
// NO_COLOR is set and not empty.
ProgressStyle DetectProgressStyle(int descriptor);

// Not thread-safe. Writes to `out` (stderr in the command line); leaves no half line behind when it
// is destroyed. `cancelled` is set by a signal handler; null: never cancelled.
class TerminalProgress : public Progress {
 public:
  using Now = std::function<SteadyClock::time_point()>;
  // label: stands in front of every line, for example the party's name; may be empty.
  TerminalProgress(std::ostream& out, ProgressStyle style, std::string label,
                   const std::atomic<bool>* cancelled, Now now = SteadyClock::now);
  ~TerminalProgress() override;
  TerminalProgress(const TerminalProgress&) = delete;
  TerminalProgress& operator=(const TerminalProgress&) = delete;

  void Phase(std::string_view name) override;
  void Step(uint64_t done, uint64_t total) override;
  void CheckCancelled() override;
  // Ends the refreshed line, so that other text can follow.
  void Finish();

 private:
  void Draw();
  void WriteObject(double seconds);

  std::ostream& out_;
  ProgressStyle style_;
  std::string label_;
  const std::atomic<bool>* cancelled_;
  Now now_;
  std::string phase_;
  uint64_t done_ = 0, total_ = 0;
  SteadyClock::time_point phase_start_, last_draw_;
  size_t drawn_width_ = 0;  // of the line on the terminal; 0: none
};

}  // namespace partita::report
