// What went wrong with this party's own files in the middle of a run. Its owner gets the error with
// places and reasons, the peers one number of a fixed list (net/stop.h).
#pragma once

#include "base/error.h"
#include "net/stop.h"

namespace partita::run {

class OwnError : public Error {
 public:
  OwnError(const Error& own, net::StopReason told) : Error(own), told_(told) {}

  net::StopReason told() const { return told_; }

 private:
  net::StopReason told_;
};

// Calls `work`; what it throws is the owner's alone.
template <typename Work>
auto KeepToOwner(net::StopReason told, Work work) {
  try {
    return work();
  } catch (const OwnError&) {
    throw;
  } catch (const Error& error) {
    throw OwnError(error, told);
  }
}

}  // namespace partita::run
