// The parts of a doctor's visit (doctor.h). Internal to run/doctor.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "net/roster.h"
#include "run/doctor/doctor.h"
#include "run/method/study.h"

namespace partita::run {

// Collects checks.
class Findings {
 public:
  void Ok(std::string name, std::string found) {
    checks_.push_back({std::move(name), Verdict::kOk, std::move(found), {}});
  }
  void Warn(std::string name, std::string found, std::string fix) {
    checks_.push_back({std::move(name), Verdict::kWarning, std::move(found), std::move(fix)});
  }
  void Problem(std::string name, std::string found, std::string fix) {
    checks_.push_back({std::move(name), Verdict::kProblem, std::move(found), std::move(fix)});
  }
  // An Error of `check` becomes a problem; kCancelled goes on. True if there was none.
  bool Try(const std::string& name, const std::function<void()>& check);

  std::vector<DoctorCheck> Take() { return std::move(checks_); }

 private:
  std::vector<DoctorCheck> checks_;
};

// What other checks need, as far as it is there.
struct DoctorContext {
  const DoctorOptions& options;
  std::shared_ptr<const Study> study;
  std::optional<size_t> party;  // channel index
  net::Roster roster;           // in the order of the channel if there is a study
  std::optional<size_t> own_entry;
  uint64_t table_rows = 0;  // of this party's table
};

void CheckVersions(Findings& findings);
void CheckLocale(Findings& findings);
void CheckClock(const DoctorContext& context, Findings& findings);
void CheckFolder(const DoctorContext& context, Findings& findings);
void CheckResources(const DoctorContext& context, Findings& findings);

void CheckKeyAndCertificate(const DoctorContext& context, Findings& findings);
void CheckRoster(DoctorContext& context, Findings& findings);

// Seconds since 1970 of "2026-09-01 12:00:00 UTC"; empty if it is no such text.
std::optional<int64_t> SecondsOf(const std::string& utc);

void CheckPort(const DoctorContext& context, Findings& findings);
// One connection attempt to each party that this one has to reach.
void CheckReach(const DoctorContext& context, Findings& findings, Progress& progress);
// All doctors at once: connection, hello, clocks.
void CheckPeers(const DoctorContext& context, Findings& findings, Progress& progress);

}  // namespace partita::run
