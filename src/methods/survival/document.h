// Curves for people and programs: tables and a plot on terminals and pages, curves.csv, JSON.
#pragma once

#include <string>

#include "methods/survival/result.h"
#include "study/plan/document.h"

namespace partita::methods::survival {

inline constexpr char kCurvesFile[] = "curves.csv";

study::Document CurvesDocument(const std::string& title, const Task& task,
                               const SurvivalCurves& curves, uint64_t min_cell);

}  // namespace partita::methods::survival
