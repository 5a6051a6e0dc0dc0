// What went wrong with this party's own files in the middle of a run. Its owner gets the error with
// places and reasons, the peers one general sentence (methods.md, R-i).
#pragma once

#include <string>

#include "base/error.h"

namespace partita::runtime {

class OwnError : public Error {
 public:
  // what: "its own privacy ledger".
  OwnError(const Error& own, const std::string& what)
      : Error(own), told_(ErrorCode::kRefused, what + " does not allow this run") {}

  const Error& told() const { return told_; }

 private:
  Error told_;
};

// Calls `work`; what it throws is the owner's alone.
template <typename Work>
auto KeepToOwner(const char* what, Work work) {
  try {
    return work();
  } catch (const OwnError&) {
    throw;
  } catch (const Error& error) {
    throw OwnError(error, what);
  }
}

}  // namespace partita::runtime
