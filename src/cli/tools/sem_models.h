// Models fitted to moments that somebody has in a file, in the clear: what `partita sem` works on.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "methods/mle/fit/result.h"
#include "stats/sem/moments.h"

namespace partita::cli {

// A JSON file {"variables": ["x1", ...], "groups": [{"label": "a", "n": 301, "mean": [...],
// "covariance": [[...], ...]}, ...]}: covariances with divisor n, in the order of the variables.
struct MomentsFile {
  std::vector<std::string> variables;
  std::vector<std::string> labels;  // of the groups; one without groups
  std::vector<stats::GroupMoments> groups;
};
// Throws kBadInput, naming file and what is wrong with it.
MomentsFile ReadMomentsFile(const std::string& path);

// What the commands say of a model.
struct SemModelSpec {
  std::string name, file;  // file: of the model's text
  std::string function = "sem";
  std::vector<std::string> group_equal;
  bool std_lv = false, modification_indices = false;
  size_t bootstrap = 0;
};

// The fit with the tables of its family and those that were asked for. Throws kBadInput as
// PrepareAnalysis and FitSem.
methods::mle::MleResult FitModelFile(const SemModelSpec& spec, const MomentsFile& moments,
                                     Progress& progress);

}  // namespace partita::cli
