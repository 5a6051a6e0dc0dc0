// A study of method `glm` with three clinics, and edits of it (edited.h).
#pragma once

#include <string>

#include "tests/study/study_text.h"

namespace partita::methods::glm::testing {

// Line numbers matter: tests quote them.
inline const std::string kGlmStudy = study::RowsSplit("clinics", {"north", "south", "west"}) +
                                     R"([[variable]]
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
