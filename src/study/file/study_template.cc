#include "study/file/study_template.h"

namespace partita::study {
namespace {

constexpr char kHeader[] =
    R"(# A Partita study file. Every party reads it, checks it and approves its plan:
#   partita study validate study.toml
#   partita study plan study.toml
# docs/study-file.md describes every key. A line that starts with # is a comment.
partita = 1                        # format of this file
)";

constexpr char kHorizontalParties[] =
    R"(name = "my-study"                  # small letters, digits and -
title = "Each institution holds rows of its own"

# The parties, in the order of the roster. Exactly one is the receiver of the result.
[[party]]
name = "north"
roles = ["holder", "receiver"]
rows = ["north-rows"]              # the row blocks that it holds

[[party]]
name = "south"
roles = ["holder"]
rows = ["south-rows"]

# The dealer hands out randomness. It sees no data and must collude with nobody.
[[party]]
name = "helper"
roles = ["dealer"]
)";

constexpr char kSecretCounts[] = R"(
# One row block for each institution. Add count = 120 to make its number of rows public; without it
# only the receiver learns the total.
[[rows]]
name = "north-rows"

[[rows]]
name = "south-rows"
)";

constexpr char kPublicCounts[] = R"(
# One row block for each institution, and its public number of rows.
[[rows]]
name = "north-rows"
count = 1500

[[rows]]
name = "south-rows"
count = 1500
)";

constexpr char kVerticalParties[] =
    R"(name = "my-study"                  # small letters, digits and -
title = "Each institution holds columns of the same rows"

# The parties, in the order of the roster. Exactly one is the receiver of the result.
[[party]]
name = "north"
roles = ["holder", "receiver"]
columns = ["x1", "x2", "x3"]       # the variables that it contributes

[[party]]
name = "south"
roles = ["holder"]
columns = ["x4", "x5", "x6"]

# The dealer hands out randomness. It sees no data and must collude with nobody.
[[party]]
name = "helper"
roles = ["dealer"]

# The rows that all holders have in common, and their public number.
[[rows]]
name = "all"
count = 300

[table]
key = "id"                         # the column by which the holders bring their rows in one order
)";

constexpr char kTableFormat[] =
    R"(# separator = ";"                  # of the CSV files; a comma if left out
# decimal = ","                    # a point if left out
)";

constexpr char kPatientDictionary[] = R"(
# The dictionary: what every variable means. Bounds and levels are public and must come from what
# the variable can be, never from the data.
[[variable]]
name = "age"
type = "integer"
lower = 18
upper = 100
unit = "years"

[[variable]]
name = "dose"
type = "numeric"
lower = 0
upper = 10
# missing_codes = ["-9", "NA"]     # cells that mean "missing", beside the empty cell

[[variable]]
name = "sex"
type = "factor"
levels = ["female", "male"]

[[variable]]
name = "relapse"
type = "factor"
levels = ["no", "yes"]
)";

}  // namespace

std::string HorizontalStart(RowCounts counts) {
  return std::string(kHeader) + kHorizontalParties +
         (counts == RowCounts::kPublic ? kPublicCounts : kSecretCounts) + "\n[table]\n" +
         kTableFormat;
}

std::string VerticalStart() { return std::string(kHeader) + kVerticalParties + kTableFormat; }

std::string PatientDictionary() { return kPatientDictionary; }

}  // namespace partita::study
