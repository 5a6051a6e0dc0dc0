#include "node/study/closing_rule.h"

#include <algorithm>

namespace partita::node {
namespace {

bool IsSigned(const PartyEnd& end) { return !end.ended->signature.empty(); }
bool NothingOpened(const PartyEnd& end) { return IsSigned(end) && !end.ended->may_have_opened; }
bool HasResult(const PartyEnd& end) {
  return end.receiver && IsSigned(end) && end.ended->outcome == Outcome::kFinished;
}

}  // namespace

Closed CloseAttempt(const std::vector<PartyEnd>& all, bool resumable) {
  for (const PartyEnd& end : all) {
    if (!end.ended.has_value()) return Closed::kWait;
  }
  const bool finished = std::any_of(all.begin(), all.end(), HasResult);
  if (finished && std::none_of(all.begin(), all.end(), NothingOpened)) return Closed::kFinished;
  if (std::all_of(all.begin(), all.end(), NothingOpened)) return Closed::kAgain;
  return resumable ? Closed::kResume : Closed::kFailed;
}

}  // namespace partita::node
