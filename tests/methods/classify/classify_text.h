// A study of method `classify` with three clinics, and edits of it (study_text.h).
#pragma once

#include <string>

#include "tests/study/study_text.h"

namespace partita::methods::classify {

// Line numbers matter: tests quote them.
inline const std::string kClassifyStudy =
    study::RowsSplit("relapse", {"north", "south", "west"}, {500, 400, 300}) +
    R"([[variable]]
name = "age"
type = "numeric"
lower = 20
upper = 80
[[variable]]
name = "dose"
type = "numeric"
lower = 0
upper = 10
[[variable]]
name = "sex"
type = "factor"
levels = ["female", "male"]
[[variable]]
name = "relapse"
type = "factor"
levels = ["no", "yes"]
[[variable]]
name = "stage"
type = "factor"
levels = ["one", "two", "three"]
[[variable]]
name = "onset"
type = "survival"
time = "onset_time"
event = "onset_event"
lower = 0
upper = 100
[engine]
name = "dealer"
[design]
site = "ignore"
missing = "refuse"
[[analysis]]
method = "classify"
protocol = "dp-sgd"
outcome = "relapse"
positive = "yes"
predictors = ["age", "dose", "sex"]
intercept = true
row_norm = 1.5
lambda = 0.001
iterations = 60
step = 4
sampling_rate = 0.5
clip_norm = 0.8
optimiser = "sgd"
evaluation = "private"
test_share = 0.25
score_bins = 8
interval_share = 0.4
level = 0.9
[analysis.privacy]
epsilon = 4
delta = 1e-4
adjacency = "replace"
)";

}  // namespace partita::methods::classify
