// One small, stable set of exit codes; docs/exit-codes.md explains each.
#pragma once

#include <span>
#include <string_view>

#include "base/error.h"

namespace partita::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kUnreachable = 3,
  kTimedOut = 4,
  kRefused = 5,
  kBudgetExceeded = 6,
  kBadData = 7,
  kNotConverged = 8,
  kPartyLost = 9,
  kStorage = 10,
  kInternal = 70,
  kInterrupted = 130,
};

struct ExitCodeMeaning {
  ExitCode code;
  std::string_view meaning;
};

// All of them, in order.
std::span<const ExitCodeMeaning> ExitCodes();

// kBadInput (a study file, model or roster with an error) is wrong usage: the user can fix it and
// try again.
ExitCode ExitCodeOf(ErrorCode code);

}  // namespace partita::cli
