// How long work tells its user that it goes on, and how the user tells it to stop.
#pragma once

#include <cstdint>
#include <string_view>

namespace partita {

// Implementations throttle; callers report as often as they like. All text is public: no
// data-dependent value.
class Progress {
 public:
  virtual ~Progress() = default;
  // A phase begins: "set-up", "moments", "fit", ...
  virtual void Phase(std::string_view name) = 0;
  // done of total units of the current phase.
  virtual void Step(uint64_t done, uint64_t total) = 0;
  // Throws kCancelled if the user asked to stop.
  virtual void CheckCancelled() = 0;
};

// Says nothing and never cancels.
class SilentProgress : public Progress {
 public:
  void Phase(std::string_view) override {}
  void Step(uint64_t, uint64_t) override {}
  void CheckCancelled() override {}
};

}  // namespace partita
