// A study of method `glm` with three clinics, and edits of it (edited.h).
#pragma once

#include <string>

namespace partita::methods::glm::testing {

// Line numbers matter: tests quote them.
inline const std::string kGlmStudy = R"(partita = 1
name = "clinics"
[[party]]
name = "north"
roles = ["holder", "receiver"]
rows = ["n"]
[[party]]
name = "south"
roles = ["holder"]
rows = ["s"]
[[party]]
name = "west"
roles = ["holder"]
rows = ["w"]
[[party]]
name = "helper"
roles = ["dealer"]
[[rows]]
name = "n"
[[rows]]
name = "s"
[[rows]]
name = "w"
[[variable]]
name = "age"
type = "numeric"
lower = 20
upper = 90
unit = "years"
[[variable]]
name = "smoker"
type = "integer"
lower = 0
upper = 1
[[variable]]
name = "stage"
type = "factor"
levels = ["one", "two", "three"]
[[variable]]
name = "event"
type = "integer"
lower = 0
upper = 1
[disclosure]
min_rows = 300
[engine]
name = "dealer"
[design]
site = "ignore"
missing = "complete"
[[analysis]]
method = "glm"
family = "binomial"
formula = "event ~ age + smoker + stage"
release = ["estimates"]
)";

}  // namespace partita::methods::glm::testing
