#include "run/doctor/doctor.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/text_table.h"
#include "data/source/open_table.h"
#include "data/source/sum_file.h"
#include "data/table_check.h"
#include "run/doctor/doctor_checks.h"
#include "run/party/pushed_sums.h"

namespace partita::run {
namespace {

void LoadStudy(const StudyLoader& load, DoctorContext& context, Findings& findings) {
  if (context.options.study.empty()) return;
  findings.Try("study file", [&] {
    context.study = load(context.options.study);
    findings.Ok("study file", fmt::format("'{}' is valid: {} parties", context.study->file.name,
                                          context.study->parties.size()));
    if (!context.options.party.empty())
      context.party = PartyByName(*context.study, context.options.party);
  });
}

// The path is the owner's; what is wrong with which line stays with `data check`.
void CheckData(DoctorContext& context, Findings& findings) {
  const DoctorOptions& options = context.options;
  if (options.data.empty() || !context.study || !context.party) return;
  if (!context.study->parties[*context.party].holder) return;
  findings.Try("table", [&] {
    if (data::IsSumFile(options.data)) {
      const LocalData sums = LoadSums(*context.study, *context.party, options.data, {});
      context.table_rows = sums.cells.rows;
      findings.Ok("table", fmt::format("sums of {} rows", FormatCount(sums.cells.rows)));
      return;
    }
    const data::OpenedTable opened = data::OpenTableFile(options.data);
    data::TableCheckOptions checks = context.study->TableChecks();
    checks.csv = data::WithDialect(checks.csv, opened.dialect);
    const data::TableCheck check = data::CheckTable(
        opened.bytes, options.data.string(), context.study->file.dictionary,
        context.study->partition, *context.party, context.study->row_columns, checks);
    context.table_rows = check.num_rows;
    if (check.usable()) {
      findings.Ok("table",
                  fmt::format("{} rows, fits the dictionary", FormatCount(check.num_rows)));
      return;
    }
    const data::TableProblem& first = check.problems.front();
    findings.Problem(
        "table",
        fmt::format("{}: {}{}",
                    check.problems.size() == 1
                        ? "a problem"
                        : fmt::format("{} problems or remarks, the first", check.problems.size()),
                    first.column.empty() ? "" : "'" + first.column + "': ", first.what),
        fmt::format("partita data check {} --study {} --party {}", options.data.string(),
                    options.study.string(), options.party));
  });
  struct stat status {};
  if (::stat(options.data.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0) {
    findings.Warn("table access",
                  fmt::format("every user of this machine can read {}", options.data.string()),
                  fmt::format("chmod o-r {}", options.data.string()));
  }
}

void RequireForPeers(const DoctorOptions& options) {
  if (!options.with_peers) return;
  if (!options.study.empty() && !options.party.empty() && !options.roster.empty() &&
      !options.key.empty() && !options.certificate.empty())
    return;
  throw Error(ErrorCode::kUsage, "meeting the peers needs more than was given",
              "say --study, --party, and --folder (or --roster, --key and --certificate)");
}

}  // namespace

bool Findings::Try(const std::string& name, const std::function<void()>& check) {
  try {
    check();
    return true;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kCancelled) throw;
    Problem(name, error.message(), error.hint());
  } catch (const std::exception& error) {
    Problem(name, error.what(), "");
  }
  return false;
}

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kProblem:
      return "problem";
  }
  throw Error(ErrorCode::kInternal, "unknown verdict");
}

std::vector<DoctorCheck> Doctor(const DoctorOptions& options, const StudyLoader& load,
                                Progress& progress) {
  RequireForPeers(options);
  Findings findings;
  DoctorContext context{options, {}, {}, {}, {}, 0};
  CheckVersions(findings);
  LoadStudy(load, context, findings);
  CheckRoster(context, findings);
  CheckKeyAndCertificate(context, findings);
  CheckData(context, findings);
  CheckPort(context, findings);
  CheckReach(context, findings, progress);
  CheckClock(context, findings);
  CheckFolder(context, findings);
  CheckResources(context, findings);
  CheckLocale(findings);
  if (options.with_peers) {
    if (context.study && context.party && context.own_entry) {
      CheckPeers(context, findings, progress);
    } else {
      findings.Problem("peers", "not met: the study file, the roster or the party is not in order",
                       "see the problems above");
    }
  }
  return findings.Take();
}

}  // namespace partita::run
