// Whether this host is ready for a study: every obstacle that can be seen before the day of the
// run, each with what to do about it.
//
// Nothing of the table leaves the host. With `with_peers` all parties run their doctors at the same
// time: they connect as in the study, compare study file and plan, and tell each other their
// clocks and how long a message takes on the slowest of their links, and nothing else.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/progress.h"

namespace partita::run {

enum class Verdict { kOk, kWarning, kProblem };
std::string_view VerdictName(Verdict verdict);  // "ok", "warning", "problem"

struct DoctorCheck {
  std::string name;  // "certificate", "port", "peer south", ...
  Verdict verdict = Verdict::kOk;
  std::string found;
  std::string fix;  // empty if ok
};

// Empty paths and names: what they are needed for is not checked.
struct DoctorOptions {
  std::filesystem::path study, roster, key, certificate, data;
  std::string party;
  std::filesystem::path folder = ".";            // where results will be written
  std::string listen_address;                    // instead of the roster's
  bool with_peers = false;                       // needs study, party, roster, key and certificate
  std::chrono::milliseconds peer_timeout{3000};  // of one connection attempt
  std::chrono::milliseconds wait{60'000};        // with_peers: for the others to come up
};

struct Study;
using StudyLoader =
    std::function<std::unique_ptr<const Study>(const std::filesystem::path& study_file)>;

// All checks, in a fixed order. Throws only kUsage (with_peers without what it needs) and
// kCancelled: whatever else goes wrong is a check with the verdict kProblem.
std::vector<DoctorCheck> Doctor(const DoctorOptions& options, const StudyLoader& load,
                                Progress& progress);

}  // namespace partita::run
