// A regression for people and programs: tables on terminals and pages, coefficients.csv, terms.csv,
// JSON.
#pragma once

#include <string>

#include "methods/glm/result.h"
#include "study/plan/document.h"

namespace partita::methods::glm {

inline constexpr char kCoefficientsFile[] = "coefficients.csv", kTermsFile[] = "terms.csv";

// factors: of the study (data::FactorsOf).
study::Document RegressionDocument(const std::string& title, const Task& task,
                                   const data::Schema& factors, const Regression& regression);

}  // namespace partita::methods::glm
