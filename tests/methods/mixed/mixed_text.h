// A study of method `mixed` with three hospitals, and edits of it (edited.h).
#pragma once

#include <string>

#include "tests/study/study_text.h"

namespace partita::methods::mixed::testing {

// Line numbers matter: tests quote them.
inline const std::string kMixedStudy =
    study::RowsSplit("wards", {"north", "south", "west"}, {120, 120, 120}) +
    R"toml([[variable]]
name = "ward"
type = "integer"
lower = 1
upper = 60
[[variable]]
name = "age"
type = "integer"
lower = 20
upper = 90
unit = "years"
[[variable]]
name = "arm"
type = "factor"
levels = ["old", "new"]
[[variable]]
name = "score"
type = "numeric"
lower = 0
upper = 100
[disclosure]
min_rows = 300
[engine]
name = "dealer"
[design]
site = "ignore"
missing = "complete"
[[analysis]]
method = "mixed"
formula = "score ~ age + arm + (1 | ward)"
release = ["estimates"]
)toml";

// Which arm a patient is in, and how old; of the same patients.
inline std::string Logistic() {
  return study::Edited(study::Edited(kMixedStudy, "score ~ age + arm + (1 | ward)",
                                     "arm ~ age + score + (1 | ward)"),
                       "method = \"mixed\"", "method = \"mixed\"\nfamily = \"binomial\"");
}
inline std::string Counts() {
  return study::Edited(study::Edited(kMixedStudy, "score ~ age + arm + (1 | ward)",
                                     "age ~ arm + score + (1 | ward)"),
                       "method = \"mixed\"", "method = \"mixed\"\nfamily = \"poisson\"");
}

// With a slope of age: what opens of it tells more than half of the bits of so few rows.
inline std::string Sloped() {
  return study::Edited(study::Edited(kMixedStudy, "score ~ age + arm + (1 | ward)",
                                     "score ~ age + arm + (1 + age | ward)"),
                       "[engine]", "[release]\naccept = \"table of covariates\"\n[engine]");
}

// The same of five hospitals as groups.
inline std::string FiveSites() {
  const std::string two_more = R"toml([[party]]
name = "east"
roles = ["holder"]
rows = ["e"]
[[party]]
name = "centre"
roles = ["holder"]
rows = ["c"]
[[rows]]
name = "e"
count = 120
[[rows]]
name = "c"
count = 120
)toml";
  const std::string text = study::Edited(kMixedStudy, "(1 | ward)", "(1 | site)");
  return study::Edited(text, "[[party]]\nname = \"helper\"",
                       two_more + "[[party]]\nname = \"helper\"");
}

}  // namespace partita::methods::mixed::testing
