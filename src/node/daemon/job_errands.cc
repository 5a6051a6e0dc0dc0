#include "node/daemon/job_errands.h"

#include <signal.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "node/daemon/request_fields.h"
#include "node/job/short_answer.h"
#include "node/job/wire.h"

namespace partita::node {
namespace {

constexpr std::chrono::seconds kTablePatience{20}, kDraftPatience{60}, kTidyPatience{300};
constexpr size_t kMaxTidyBytes = 4096;
constexpr int kMostTidyLevels = 2;

// Waited for here; its answer is all that it is for.
class JobOfErrand {
 public:
  explicit JobOfErrand(StartedJob job) : job_(std::move(job)) {}
  JobOfErrand(const JobOfErrand&) = delete;
  JobOfErrand& operator=(const JobOfErrand&) = delete;
  ~JobOfErrand() {
    if (job_.child == 0) return;
    ::kill(job_.child, SIGKILL);
    int status = 0;
    while (::waitpid(job_.child, &status, 0) < 0 && errno == EINTR) continue;
  }

  std::string Answer(const JobErrand& errand, size_t max_bytes,
                     std::chrono::milliseconds patience) {
    SendErrand(job_.channel, errand);
    return ReceiveText(job_.channel, max_bytes, patience, job_.sends);
  }

 private:
  StartedJob job_;
};

std::string AskJob(const JobStarter& start, const JobErrand& errand, const std::string& who,
                   size_t max_bytes, std::chrono::milliseconds patience) {
  const auto fail = [&who](const std::string& what) {
    return Error(ErrorCode::kRefused, who + " " + what, "Try again, and see the node's log.");
  };
  StartedJob started;
  try {
    started = start();
  } catch (const Error& error) {
    throw fail("cannot be started: " + error.message());
  }
  JobOfErrand job(std::move(started));
  try {
    std::string text = job.Answer(errand, max_bytes, patience);
    if (!text.empty()) return text;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kTimeout) throw;
    // One that is gone takes no errand, either.
    if (error.code() != ErrorCode::kUnreachable)
      throw fail("answers what is not taken: " + error.message());
  }
  throw fail("ended without an answer");
}

}  // namespace

TableAsker AskTablesOfJob(JobStarter start) {
  return [start = std::move(start)](TableLook look, const std::string& table) {
    JobErrand errand;
    errand.kind = look == TableLook::kDraft     ? ErrandKind::kDraft
                  : look == TableLook::kBudgets ? ErrandKind::kBudgets
                                                : ErrandKind::kPlaces;
    errand.name = table;
    return AskJob(start, errand, "the job that looks at the tables", kMaxTableLookBytes,
                  look == TableLook::kDraft ? kDraftPatience : kTablePatience);
  };
}

Bytes AskLedgerOfJob(const JobStarter& start, const JobErrand& errand, size_t max_bytes) {
  const std::string told =
      AskJob(start, errand, "the job that looks into the ledger after a restore", max_bytes,
             kTablePatience);
  return ShortAnswerIn(AsBytes(told));
}

size_t TidyByJob(const JobStarter& start, const std::vector<OverStudy>& studies) {
  const std::string text =
      AskJob(start, {ErrandKind::kTidy, studies, {}, {}},
             "the job that deletes what is kept no longer", kMaxTidyBytes, kTidyPatience);
  RequestFields said(ParseShallow<nlohmann::json>(text, kMostTidyLevels), "job");
  const int64_t deleted = said.Number("deleted");
  const std::string problem = said.Text("problem");
  said.End();
  if (!problem.empty()) {
    throw Error(ErrorCode::kStorage, problem,
                "Let the jobs' user write in the node's folder `run`.");
  }
  return static_cast<size_t>(deleted);
}

}  // namespace partita::node
