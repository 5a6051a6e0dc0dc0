// The kinds of jobs, each a function from one order to its last word. Internal to node/job.
#pragma once

#include <atomic>
#include <chrono>

#include "node/job/folder.h"
#include "node/job/settings.h"
#include "node/job/wire.h"

namespace partita::node {

// How long a job waits for another one of the same study that is about to end, and a run that is
// stopped gets before it is killed.
inline constexpr std::chrono::seconds kFolderPatience{20};

struct JobWork {
  const JobSettings& settings;
  const JobOrder& order;
  StudyFolder& folder;
  const net::Socket& channel;
  net::Socket arrivals;              // of a run
  const std::atomic<bool>& stopped;  // SIGTERM
  // Whether the daemon has taken every report so far. After one that it did not nothing more is sent: a
  // part of that may be on its way, and a run does not wait for the daemon again and again.
  bool heard = true;

  const Study& study() const { return order.study; }
  uint32_t attempt() const { return order.request.attempt; }
  JobReport Report(Event event) const { return {study().id, std::move(event), {}}; }
  void Send(const JobReport& report) { heard = heard && SendReport(channel, report); }
};

// `check`: parses and prices the study file, binds the own table, makes the run key. Never throws for
// what a study asks: then the report says why it is not valid here.
JobReport CheckStudy(JobWork& work);
// `commit`: commits to the table, and says what approvals sign, with the approval to be signed. Reads the
// whole table, as `study approve` does. Done again it says the same.
JobReport CommitTable(JobWork& work);
// `run`, and `attach` to one that goes on.
JobReport RunAttempt(JobWork& work);
JobReport AttachToRun(JobWork& work);
// `status` and `stop`: nothing of the attempt goes on, or begins, afterwards.
JobReport EndAttempt(JobWork& work);
JobReport DiscardStudy(JobWork& work);

// What the folder shows of the attempt, signed; one that never began is refused for good. Not signed, and
// nothing is written, for a number that no attempt may have. Needs the lock.
Ended WordOn(const JobWork& work);

}  // namespace partita::node
