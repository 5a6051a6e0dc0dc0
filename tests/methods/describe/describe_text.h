// A study of method `describe` with three clinics, and edits of it (study_text.h).
#pragma once

#include <string>

#include "tests/study/study_text.h"

namespace partita::methods::describe::testing {

// Line numbers matter: tests quote them.
inline const std::string kDescribeStudy = study::RowsSplit("clinics", {"north", "south", "west"}) +
                                          R"([[variable]]
name = "age"
type = "numeric"
lower = 18
upper = 98
unit = "years"
[[variable]]
name = "score"
type = "integer"
lower = 0
upper = 30
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
name = "arm"
type = "factor"
levels = ["control", "treated"]
[[variable]]
name = "onset"
type = "survival"
time = "onset_time"
event = "onset_event"
lower = 0
upper = 100
[[derived]]
name = "decade"
from = "age"
transform = "cut"
points = [40, 60]
labels = ["young", "middle", "old"]
[disclosure]
min_rows = 200
[engine]
name = "dealer"
[design]
site = "ignore"
missing = "complete"
[[analysis]]
method = "describe"
variables = ["age", "score", "smoker", "stage"]
group = "arm"
quantiles = [0.25, 0.5, 0.75]
release = ["table"]
)";

}  // namespace partita::methods::describe::testing
