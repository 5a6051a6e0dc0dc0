// Turns a reference fit (tests/references/sem) and one of its partitions into a study folder: a
// study file and one table per party, rows shuffled, as institutions would bring them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace partita::testing {

struct ReferenceStudyOptions {
  std::string engine = "dealer";
  uint64_t shuffle_seed = 1;     // order of the rows in every table
  bool reverse_parties = false;  // order of the parties in the roster
  double unit_factor = 1;        // all columns (and bounds) multiplied by it: other units
  std::string protocol = "pooled-moments";
  // What to write after "release = "; empty: what the protocol needs.
  std::string release;
  bool robust = false;
  bool on_grid = false;  // estimates open on the grid of the release rule, not with all digits
  bool last_holder_groups = false;  // who holds the grouping factor of a split block: the last
                                    // holder instead of the first
};

// Ids of the complete-data references, without pca_hs9.
std::vector<std::string> CompleteDataReferences();
nlohmann::json LoadReference(const std::string& id);

// Writes FOLDER/study.toml and FOLDER/PARTY/data.csv; returns the path of the study file.
std::string WriteReferenceStudy(const nlohmann::json& reference, const nlohmann::json& partition,
                                const std::string& folder, const ReferenceStudyOptions& options);

// A new empty folder below the test's temporary directory.
std::string MakeTemporaryFolder(const std::string& name);

}  // namespace partita::testing
