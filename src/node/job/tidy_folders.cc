#include "node/job/tidy_folders.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/hex.h"

namespace partita::node {
namespace {

namespace fs = std::filesystem;

// job/folder.h, run/approval/approval_files.h.
constexpr std::array<std::string_view, 5> kAgainstSecondRuns = {"attempt", "ended", "discarded",
                                                                "lock", "approval.uses"};

// With the temporary files beside them, whose names begin alike (base/files.h).
bool IsResult(const std::string& name) {
  return name == "result" || name.starts_with("problem.txt");
}

bool IsAgainstSecondRuns(const std::string& name) {
  return std::find(kAgainstSecondRuns.begin(), kAgainstSecondRuns.end(), name) !=
         kAgainstSecondRuns.end();
}

}  // namespace

size_t DeleteWhatIsNotKept(const fs::path& run, const OverStudy& study) {
  if (study.kept == Kept::kAll) return 0;
  const fs::path folder = run / ToHex(study.id);
  size_t deleted = 0;
  try {
    if (!fs::is_directory(fs::symlink_status(folder))) return 0;
    std::vector<fs::path> due;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (IsResult(name) || (study.kept == Kept::kNumber && !IsAgainstSecondRuns(name)))
        due.push_back(entry.path());
    }
    for (const fs::path& path : due) {
      fs::remove_all(path);
      ++deleted;
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::kStorage,
                "what is kept no longer of study " + ToHex(study.id).substr(0, 12) +
                    " cannot be deleted: " + error.code().message(),
                "Let the jobs' user write in the node's folder `run`.");
  }
  return deleted;
}

}  // namespace partita::node
