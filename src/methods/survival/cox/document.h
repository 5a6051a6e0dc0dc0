// A fit of proportional hazards as a result.
#pragma once

#include <string>

#include "methods/survival/cox/result.h"
#include "study/plan/document.h"

namespace partita::methods::survival {

inline constexpr char kCoxFile[] = "coefficients.csv";

// factors: of the study (data::FactorsOf).
study::Document CoxDocument(const std::string& title, const CoxTask& task,
                            const data::Schema& factors, const CoxResult& result);

}  // namespace partita::methods::survival
