// A small valid study file and edits of it.
#pragma once

#include <string>
#include <vector>

#include "study/file/study_file.h"
#include "tests/study/edited.h"

namespace partita::study {

// Line numbers matter: tests quote them.
inline const std::string kSmallStudy = R"(partita = 1
name = "small"
[[party]]
name = "north"
roles = ["holder", "receiver"]
columns = ["x1", "x2"]
[[party]]
name = "south"
roles = ["holder"]
columns = ["x3", "school"]
[[party]]
name = "helper"
roles = ["dealer"]
[[rows]]
name = "all"
count = 156
[table]
key = "id"
decimal = "."
[[variable]]
name = "x1"
type = "numeric"
lower = -10
upper = 20.5
unit = "points"
missing_codes = ["-9", "NA"]
[[variable]]
name = "x2"
type = "numeric"
lower = 0
upper = 1
[[variable]]
name = "x3"
type = "integer"
lower = 0
upper = 7
[[variable]]
name = "school"
type = "factor"
levels = ["Pasteur", "Grant-White"]
reference = "Grant-White"
[engine]
name = "dealer"
fraction_bits = 38
[network]
timeout_seconds = 2.5
[[analysis]]
method = "mle"
protocol = "pooled-moments"
function = "cfa"
model = """
f =~ x1 + x2 + x3
"""
group = "school"
group_equal = ["loadings", "intercepts"]
std_lv = true
meanstructure = true
fixed_x = false
information = "observed"
release = ["moments"]
[design]
site = "ignore"
missing = "refuse"
)";

// The first lines of a study of holders with rows of their own, whose blocks have the first letter
// of their names, and of a dealer. The first holder is the receiver. counts: of the blocks; none: no
// number is public.
inline std::string RowsSplit(const std::string& name, const std::vector<std::string>& holders,
                             const std::vector<int>& counts = {}) {
  std::string text = "partita = 1\nname = \"" + name + "\"\n", blocks;
  for (size_t i = 0; i < holders.size(); ++i) {
    const std::string block = holders[i].substr(0, 1);
    text += "[[party]]\nname = \"" + holders[i] + "\"\nroles = [\"holder\"" +
            (i == 0 ? ", \"receiver\"" : "") + "]\nrows = [\"" + block + "\"]\n";
    blocks += "[[rows]]\nname = \"" + block + "\"\n";
    if (!counts.empty()) blocks += "count = " + std::to_string(counts[i]) + "\n";
  }
  return text + "[[party]]\nname = \"helper\"\nroles = [\"dealer\"]\n" + blocks;
}

}  // namespace partita::study
