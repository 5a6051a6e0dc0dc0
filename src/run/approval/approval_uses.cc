#include "run/approval/approval_uses.h"

#include <fmt/format.h>

#include <set>

#include "base/utc_time.h"
#include "run/approval/uses_record.h"

namespace partita::run {
namespace {

constexpr CountedDocument kApproval = {"approval", "Approve again: partita study approve STUDY."};

// Runs by their name: that of the ledger's and of the lines' ends is the same.
std::set<std::string> CountedRuns(const UsesRecord& record, const crypto::Digest& approval,
                                  const ApprovalLedger& ledger) {
  std::set<std::string> runs;
  for (const std::string& line : record.lines()) {
    const size_t blank = line.find(' ');
    // A torn line has a name that no run has.
    runs.insert(blank == std::string::npos ? line + " torn" : line.substr(blank + 1));
  }
  if (ledger.runs_of) {
    for (const crypto::Digest& run : ledger.runs_of(approval)) runs.insert(ToHex(run));
  }
  return runs;
}

// Whether the run is still to be counted. Throws kRefused if the approval does not pay for it.
bool IsNew(const UsesRecord& record, const study::Approval& approval, const ApprovedRun& run,
           const ApprovalLedger& ledger) {
  const std::set<std::string> runs = CountedRuns(record, study::ApprovalDigest(approval), ledger);
  if (runs.contains(ToHex(run.run_id)) || (run.goes_on && !runs.empty())) return false;
  if (runs.size() < approval.runs) return true;
  const std::string times = approval.runs == 1
                                ? "one run, and that has been"
                                : fmt::format("{} runs, and as many have been", approval.runs);
  record.Refuse(
      fmt::format("the approval of party {} is used up: it is for {}", approval.party, times),
      "Read the plan again and approve again: partita study approve STUDY --force, "
      "with --runs N for several runs. (A run that was interrupted goes on where the "
      "method keeps its state: leave that in its place.)");
}

}  // namespace

void StartApprovalUses(const std::filesystem::path& file, const study::Approval& approval) {
  UsesRecord::Start(file, kApproval, study::ApprovalDigest(approval));
}

void RequireApprovalLeft(const std::filesystem::path& file, const study::Approval& approval,
                         const ApprovedRun& run, const ApprovalLedger& ledger) {
  const UsesRecord record(file, kApproval, study::ApprovalDigest(approval),
                          UsesRecord::Access::kRead);
  IsNew(record, approval, run, ledger);
}

void CountApprovalUse(const std::filesystem::path& file, const study::Approval& approval,
                      const ApprovedRun& run, const ApprovalLedger& ledger, int64_t now) {
  const crypto::Digest digest = study::ApprovalDigest(approval);
  UsesRecord record(file, kApproval, digest, UsesRecord::Access::kCount);
  const bool counts = IsNew(record, approval, run, ledger);
  std::optional<privacy::ledger::Used> use;
  if (counts) use = privacy::ledger::Used{digest, approval.runs, run.run_id};
  // The ledger first: what it spends, it counts.
  if (ledger.spend) ledger.spend(use);
  if (counts) record.Append(fmt::format("{} {}", FormatUtc(now), ToHex(run.run_id)));
}

uint64_t ApprovalUses(const std::filesystem::path& file, const study::Approval& approval) {
  return UsesRecord(file, kApproval, study::ApprovalDigest(approval), UsesRecord::Access::kRead)
      .lines()
      .size();
}

}  // namespace partita::run
