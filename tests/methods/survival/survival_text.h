// A study of method `survival` with three clinics, and edits of it (study_text.h).
#pragma once

#include <string>

namespace partita::methods::survival::testing {

// Line numbers matter: tests quote them.
inline const std::string kSurvivalStudy = R"(partita = 1
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
