// Models fitted to moments that somebody has in a file, in the clear: what `partita sem` and
// `partita study refit` work on.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "methods/mle/fit/result.h"
#include "methods/mle/report/moments_json.h"

namespace partita::cli {

// From a file as moments_json.h has it, one of `--moments-out`, or a result.json; `analysis`: whose
// moments, where there are several (else empty). Throws kBadInput, naming file and what is wrong
// with it.
methods::mle::NamedMoments ReadMomentsFile(const std::string& path, const std::string& analysis);

// What the commands say of a model.
struct SemModelSpec {
  std::string name, file;  // file: of the model's text
  std::string function = "sem";
  std::vector<std::string> group_equal;
  bool std_lv = false, modification_indices = false;
  size_t bootstrap = 0;
};

// The fit with the tables of its family and those that were asked for. Throws kBadInput as
// PrepareAnalysis and FitReleased.
methods::mle::MleResult FitModelFile(const SemModelSpec& spec,
                                     const methods::mle::NamedMoments& moments, Progress& progress);

}  // namespace partita::cli
