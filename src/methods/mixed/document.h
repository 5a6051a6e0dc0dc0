// A linear mixed model for people and programs: tables and intervals on terminals and pages, JSON.
#pragma once

#include <string>

#include "methods/mixed/result.h"
#include "study/plan/document.h"

namespace partita::methods::mixed {

// factors: of the study (data::FactorsOf).
study::Document MixedDocument(const std::string& title, const Task& task,
                              const data::Schema& factors, const Regression& regression);

}  // namespace partita::methods::mixed
