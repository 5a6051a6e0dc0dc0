// A study of method `survival` with three clinics, and edits of it (study_text.h).
#pragma once

#include <string>

#include "tests/study/study_text.h"

namespace partita::methods::survival::testing {

// Line numbers matter: tests quote them.
inline const std::string kSurvivalStudy = study::RowsSplit("clinics", {"north", "south", "west"}) +
                                          R"([[variable]]
name = "death"
type = "survival"
time = "days"
event = "died"
lower = 0
upper = 100
unit = "days"
[[variable]]
name = "age"
type = "numeric"
lower = 18
upper = 98
[[variable]]
name = "arm"
type = "factor"
levels = ["control", "treated"]
[[derived]]
name = "decade"
from = "age"
transform = "cut"
points = [40, 60]
labels = ["young", "middle", "old"]
[disclosure]
min_rows = 470
[engine]
name = "dealer"
[design]
site = "ignore"
missing = "complete"
[[analysis]]
method = "survival"
formula = "Surv(days, died) ~ arm"
report = [20, 40, 60]
release = ["curves"]
)";

}  // namespace partita::methods::survival::testing
